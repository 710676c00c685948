//! What the merge request shows of the bot: approved, changes requested, or neither. Set, taken back, and read back.
//!
//! Requesting changes blocks the merge on GitLab Premium, and stays until the same user approves or takes it back: neither a
//! push nor taking an approval back does. Nothing tells reliably whether a request stands: the merge status shows only the
//! first check that fails, and the list of reviewers only those who were asked. So the summary remembers it.

use conclave_engine::{
    ports::AppliedStance,
    review::{ApprovalHold, HoldCause, Meanwhile, Review, Stance},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitLabError,
    approval::{self, NEWER, Standing},
    client::Client,
    latest::{Latest, Sight},
    marker::SummaryState,
    merge_request::{self, MergeRequestNow, Version},
    target::Watched,
};

/// The state of a merge request that can be opened again.
pub(crate) const CLOSED: &str = "closed";
/// Why a review that would approve leaves an earlier block as it is.
const BLOCK_STANDS: &str =
    "An earlier review requested changes, and this one was not judged or not finished, so that request stays.";
/// The merge status of a request for changes.
const REQUESTED: &str = "requested_changes";
/// The first version whose `bulk_publish` takes a reviewer's state.
const TAKES_STATE: (u64, u64) = (19, 2);
/// GitLab's operation for taking a request for changes back.
const MUTATION: &str = "mergeRequestDestroyRequestedChanges";

/// Statuses behind which a request for changes cannot be seen, because GitLab looks at something else first.
const MASKS: [&str; 19] = [
    "approvals_syncing",
    "checking",
    "ci_must_pass",
    "ci_still_running",
    "commits_status",
    "conflict",
    "discussions_not_resolved",
    "draft_status",
    "jira_association_missing",
    "locked_lfs_files",
    "locked_paths",
    "merge_request_blocked",
    "merge_time",
    "need_rebase",
    "not_approved",
    "preparing",
    "security_policy_violations",
    "status_checks_must_pass",
    "unchecked",
];

/// What is known before the stance is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before<'a> {
    /// The merge request as it is now.
    pub(crate) now: &'a MergeRequestNow,
    /// The version that was reviewed.
    pub(crate) version: &'a Version,
    /// Whether an earlier run has requested changes, as far as that is known.
    pub(crate) requested: bool,
    /// Whether this review may take such a request back.
    pub(crate) lifts: bool,
    /// The target branch, to be read again before it is approved.
    pub(crate) watched: Watched<'a>,
    /// What our newest note remembers.
    pub(crate) state: Option<&'a SummaryState>,
    /// Whether the review says something else than the last one.
    pub(crate) is_news: bool,
    /// Our account.
    pub(crate) bot: u64,
    /// Our approval, if it was read already.
    pub(crate) standing: Option<Standing>,
    /// What other runs post up to the last moment.
    pub(crate) latest: Latest<'a>,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) stance: AppliedStance,
    pub(crate) approved: bool,
    /// Whether a request for changes stands now, as far as that is known.
    pub(crate) requested: bool,
    /// Why it was not approved although the review asks for it.
    pub(crate) hold: Option<ApprovalHold>,
    /// What was in the way of an approval, or of lifting a block, at the last moment.
    pub(crate) meanwhile: Meanwhile,
    pub(crate) warnings: Vec<String>,
}

/// Brings what the merge request shows to what the review wants.
///
/// A merge request that is not open any more is left as it is, but a closed one, which can be opened again, loses our approval.
/// One that has a newer commit is neither approved nor blocked; an approval for an older commit is taken back all the same, and
/// one for the newest is another run's. A request for changes is taken back only by a review that may. That an approval was
/// refused is a warning; that one could not be taken back is an error, because it lets through what should not be.
pub(crate) async fn apply(
    client: &Client,
    wanted: Stance,
    review: &Review,
    before: Before<'_>,
) -> Result<Applied, GitLabError> {
    let standing = match before.standing {
        Some(standing) => standing,
        None => approval::read(client, before.bot).await?,
    };
    let mut run = Run {
        client,
        before,
        requested: before.requested,
        hold: None,
        meanwhile: Meanwhile::default(),
        warnings: Vec::new(),
    };
    let now = before.now;
    if !now.is_open() {
        if now.state() == CLOSED {
            run.without_approval(standing).await?;
        }
        if wanted != Stance::None {
            run.warnings
                .push(format!("{}: the merge request is {} by now", not(wanted), now.state()));
        }
        return Ok(run.end(wanted, None, standing.approved && now.state() != CLOSED));
    }
    if now.is_newer_than(&review.head_sha)
        && standing.is_for(&merge_request::newest_version(client).await?, before.state)
    {
        run.warnings.push(format!(
            "{}; another run has approved that one",
            NEWER.replace(not(Stance::Approved), not(wanted))
        ));
        return Ok(run.end(wanted, None, false));
    }
    if wanted != Stance::None && now.head() != Some(review.head_sha.as_str()) {
        run.warnings.push(NEWER.replace(not(Stance::Approved), not(wanted)));
        let approved = run.without_approval(standing).await?;
        let shown = if approved { Stance::Approved } else { Stance::None };
        return Ok(run.end(wanted, shown, approved));
    }
    match wanted {
        Stance::Approved => run.approve(review, standing).await,
        Stance::None => run.neither(standing).await,
        Stance::RequestedChanges => run.request_changes(standing).await,
    }
}

struct Run<'a> {
    client: &'a Client,
    before: Before<'a>,
    requested: bool,
    hold: Option<ApprovalHold>,
    meanwhile: Meanwhile,
    warnings: Vec<String>,
}

impl Run<'_> {
    fn end(self, wanted: Stance, shown: impl Into<Option<Stance>>, approved: bool) -> Applied {
        Applied {
            stance: AppliedStance {
                wanted,
                shown: shown.into(),
            },
            approved,
            requested: self.requested,
            hold: self.hold,
            meanwhile: self.meanwhile,
            warnings: self.warnings,
        }
    }

    async fn approve(mut self, review: &Review, standing: Standing) -> Result<Applied, GitLabError> {
        let hold = if self.requested && !self.before.lifts {
            Some(ApprovalHold::new(HoldCause::BlockStands, BLOCK_STANDS))
        } else {
            self.before.watched.changed(self.client).await?
        };
        if let Some(hold) = hold {
            self.warnings.push(format!("not approved: {}", hold.reason));
            self.hold = Some(hold);
            let approved = self.without_approval(standing).await?;
            let shown = self.shown(approved);
            return Ok(self.end(Stance::Approved, shown, approved));
        }
        let sight = self.before.latest.look().await?;
        if !sight.meanwhile.is_empty() {
            let approved = self.without_approval(standing).await?;
            return Ok(self.overtaken(sight, approved));
        }
        let given_for_this = standing.is_for(self.before.version, None);
        if given_for_this && !self.requested {
            return Ok(self.end(Stance::Approved, Stance::Approved, true));
        }
        let refused = approval::approve(self.client, &review.head_sha, standing.approved).await?;
        let approved = approval::read(self.client, self.before.bot).await?.approved;
        if approved {
            // Approving takes back the same user's request for changes.
            let requested = std::mem::take(&mut self.requested);
            if let Some(sight) = self.posted_just_now().await? {
                return self.undo(sight, requested).await;
            }
            return Ok(self.end(Stance::Approved, Stance::Approved, true));
        }
        self.warnings.push(refused.unwrap_or_else(|| not_what_was_asked(false)));
        let shown = self.without_request().await?;
        Ok(self.end(Stance::Approved, shown, false))
    }

    /// What another run has posted while the approval was on its way. That this run was told to end after it does not matter.
    async fn posted_just_now(&self) -> Result<Option<Sight>, GitLabError> {
        let latest = Latest {
            stop: None,
            ..self.before.latest
        };
        let sight = latest.look().await?;
        Ok((!sight.meanwhile.is_empty()).then_some(sight))
    }

    /// Takes an approval back that should not have been given, and asks again for the changes that it has lifted.
    async fn undo(mut self, sight: Sight, requested: bool) -> Result<Applied, GitLabError> {
        approval::take_back(self.client).await?;
        let approved = approval::read(self.client, self.before.bot).await?.approved;
        if requested || sight.requested {
            let path = self.client.merge_request_path("/notes");
            let command = json!({ "body": "/submit_review requested_changes" });
            match self.client.post("request changes", &path, &command).await {
                Ok(()) => self.requested = true,
                Err(error) => self.warnings.push(format!("no changes requested: {error}")),
            }
        }
        Ok(self.overtaken(sight, approved))
    }

    /// The end of a run that would approve and has seen at the last moment that it must not.
    fn overtaken(mut self, sight: Sight, approved: bool) -> Applied {
        self.warnings
            .push(format!("not approved: {}", sight.meanwhile.describe()));
        self.requested |= sight.requested;
        self.meanwhile = sight.meanwhile;
        let shown = self.shown(approved);
        self.end(Stance::Approved, shown, approved)
    }

    async fn neither(mut self, standing: Standing) -> Result<Applied, GitLabError> {
        let approved = self.without_approval(standing).await?;
        let shown = self.without_request().await?;
        let shown = if approved { Some(Stance::Approved) } else { shown };
        Ok(self.end(Stance::None, shown, approved))
    }

    /// What is shown where nothing was done about a request for changes.
    fn shown(&self, approved: bool) -> Stance {
        match (approved, self.requested) {
            (true, _) => Stance::Approved,
            (false, true) => Stance::RequestedChanges,
            (false, false) => Stance::None,
        }
    }

    /// Takes our approval back. Returns whether it stands all the same.
    async fn without_approval(&mut self, standing: Standing) -> Result<bool, GitLabError> {
        if !standing.approved {
            return Ok(false);
        }
        approval::take_back(self.client).await?;
        let approved = approval::read(self.client, self.before.bot).await?.approved;
        if approved {
            self.warnings.push(not_what_was_asked(true));
        }
        Ok(approved)
    }

    async fn request_changes(mut self, standing: Standing) -> Result<Applied, GitLabError> {
        let approved = self.without_approval(standing).await?;
        // A person who has taken our request back knows this review; only another one is worth asking again.
        if !self.requested || self.before.is_news {
            let path = self.client.merge_request_path("/notes");
            let command = json!({ "body": "/submit_review requested_changes" });
            match self.client.post("request changes", &path, &command).await {
                Ok(()) => self.requested = true,
                Err(error) => {
                    self.warnings.push(format!("no changes requested: {error}"));
                    return Ok(self.end(Stance::RequestedChanges, Stance::None, approved));
                }
            }
        }
        let status = status(self.client).await?;
        if status == REQUESTED || state_as_reviewer(self.client, self.before.bot).await? {
            return Ok(self.end(Stance::RequestedChanges, Stance::RequestedChanges, approved));
        }
        if MASKS.contains(&status.as_str()) {
            self.warnings.push(format!(
                "changes were requested; whether that blocks the merge cannot be seen, because GitLab looks at something \
                 else first (`{status}`)"
            ));
            return Ok(self.end(Stance::RequestedChanges, None, approved));
        }
        self.warnings.push(format!(
            "changes were requested, but GitLab shows the merge request as `{status}`: a request blocks on GitLab Premium \
             only, and the bot needs the role Developer. What blocks everywhere is a failed job, with --gate block"
        ));
        Ok(self.end(Stance::RequestedChanges, Stance::None, approved))
    }

    /// Takes our request for changes back, by the first of GitLab's ways that works. Never by approving: a merge that only
    /// waits for that would happen at once. Returns what is shown then.
    async fn without_request(&mut self) -> Result<Option<Stance>, GitLabError> {
        if !self.requested {
            return Ok(Some(Stance::None));
        }
        if !self.before.lifts {
            // Only a whole review that finds it fixed lifts it.
            return Ok(Some(Stance::RequestedChanges));
        }
        let sight = self.before.latest.look().await?;
        if !sight.meanwhile.is_empty() {
            self.warnings
                .push(format!("the request for changes stays: {}", sight.meanwhile.describe()));
            self.meanwhile = sight.meanwhile;
            return Ok(Some(Stance::RequestedChanges));
        }
        let seen = self.before.now.status() == REQUESTED;
        if takes_state(self.client).await {
            let path = self.client.merge_request_path("/draft_notes/bulk_publish");
            let body = json!({ "reviewer_state": "reviewed" });
            let sent = self
                .client
                .post("take its request for changes back", &path, &body)
                .await;
            if sent.is_ok() && seen && status(self.client).await? != REQUESTED {
                self.requested = false;
                return Ok(Some(Stance::None));
            }
        }
        if remove(self.client, self.before.now.project_path()).await {
            self.requested = false;
            return Ok(Some(Stance::None));
        }
        let path = self.client.merge_request_path("/notes");
        let command = json!({ "body": "/submit_review approved" });
        let sent = self
            .client
            .post("take its request for changes back", &path, &command)
            .await;
        let status = status(self.client).await?;
        if sent.is_ok() && status != REQUESTED {
            self.requested = false;
            return Ok(if seen || !MASKS.contains(&status.as_str()) {
                Some(Stance::None)
            } else {
                None
            });
        }
        self.warnings.push(
            "the bot's earlier request for changes could not be taken back; whoever may merge can remove or bypass it on \
             the merge request's page"
                .to_owned(),
        );
        Ok(Some(Stance::RequestedChanges))
    }
}

/// The beginning of a sentence that says that what was wanted was not done.
fn not(wanted: Stance) -> &'static str {
    match wanted {
        Stance::RequestedChanges => "no changes requested",
        Stance::Approved | Stance::None => "not approved",
    }
}

fn not_what_was_asked(approved: bool) -> String {
    format!(
        "GitLab shows the merge request as {} by the bot, which is not what was asked",
        if approved { "approved" } else { "not approved" }
    )
}

async fn status(client: &Client) -> Result<String, GitLabError> {
    let now = MergeRequestNow::read(client).await?;
    Ok(now.status().to_owned())
}

#[derive(Debug, Deserialize)]
struct Reviewer {
    #[serde(default)]
    user: Option<crate::discussions::User>,
    #[serde(default)]
    state: Option<String>,
}

/// Whether the list of reviewers shows our request. It does only if somebody made the bot a reviewer.
async fn state_as_reviewer(client: &Client, bot: u64) -> Result<bool, GitLabError> {
    let path = client.merge_request_path("/reviewers");
    let reviewers: Vec<Reviewer> = client.get("read its reviewers' states", &path).await?;
    Ok(reviewers.iter().any(|reviewer| {
        reviewer.user.as_ref().is_some_and(|user| user.id == bot) && reviewer.state.as_deref() == Some(REQUESTED)
    }))
}

/// Whether this server's `bulk_publish` takes a reviewer's state. Older ones ignore it without a word.
async fn takes_state(client: &Client) -> bool {
    let version: Result<Value, _> = client.get("read GitLab's version", "metadata").await;
    version.is_ok_and(|value| value["version"].as_str().and_then(major_minor) >= Some(TAKES_STATE))
}

fn major_minor(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Takes the request back the way GitLab's own page does. Whether that worked.
async fn remove(client: &Client, project: Option<&str>) -> bool {
    let Some(project) = project else { return false };
    let query = format!(
        "mutation($projectPath: ID!, $iid: String!) {{ {MUTATION}(input: {{ projectPath: $projectPath, iid: $iid }}) \
         {{ errors }} }}"
    );
    let variables = json!({ "projectPath": project, "iid": client.settings().iid.to_string() });
    let body = json!({ "query": query, "variables": variables });
    let answer = client.graphql("take its request for changes back", &body).await;
    answer.is_ok_and(|answer| answer["data"][MUTATION]["errors"].as_array().is_some_and(Vec::is_empty))
}

#[cfg(test)]
#[path = "stance_tests.rs"]
mod tests;
