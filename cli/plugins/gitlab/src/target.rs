//! The target branch: what a review's settings are read from, and what its approval is for.

use conclave_engine::{
    ports::SettingsWatch,
    review::{ApprovalHold, HoldCause},
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::{GitLabError, client::Client, merge_request::MergeRequestNow};

/// A branch, as GitLab shows it at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name.
    pub(crate) branch: String,
    /// Its newest commit; `None` where GitLab does not tell.
    pub(crate) tip: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Branch {
    #[serde(default)]
    commit: Option<Commit>,
}

#[derive(Debug, Deserialize)]
struct Commit {
    id: String,
}

#[derive(Debug, Deserialize)]
struct Comparison {
    #[serde(default)]
    commits: Vec<Commit>,
    #[serde(default)]
    compare_same_ref: Option<bool>,
}

impl Target {
    /// Reads the newest commit of a branch of the project. `base` is a commit that the branch has.
    pub(crate) async fn read(client: &Client, branch: &str, base: &str) -> Result<Self, GitLabError> {
        Ok(Self {
            branch: branch.to_owned(),
            tip: tip(client, branch, base).await?,
        })
    }
}

/// What the target branch was when the review began, and what its settings were.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched<'a> {
    pub(crate) target: &'a Target,
    /// A commit that the branch has.
    pub(crate) base: &'a str,
    pub(crate) settings: &'a dyn SettingsWatch,
}

impl Watched<'_> {
    /// Whether the merge request is for another branch now.
    pub(crate) fn retargeted(&self, now: &MergeRequestNow) -> Option<ApprovalHold> {
        let branch = now.target()?;
        (branch != self.target.branch).then(|| {
            hold(format!(
                "The target branch was changed from {} to {branch} during the review, which is of the merge into {}.",
                self.target.branch, self.target.branch
            ))
        })
    }

    /// Reads the target branch again, and says why an approval would be for another merge than the reviewed one.
    pub(crate) async fn changed(&self, client: &Client) -> Result<Option<ApprovalHold>, GitLabError> {
        let now = MergeRequestNow::read(client).await?;
        if let Some(hold) = self.retargeted(&now) {
            return Ok(Some(hold));
        }
        let branch = &self.target.branch;
        let tip = Target::read(client, branch, self.base).await?.tip;
        let (Some(tip), Some(_)) = (&tip, &self.target.tip) else {
            return Ok(Some(hold(format!(
                "GitLab does not tell the newest commit of {branch}, so its newest settings are unknown."
            ))));
        };
        if self.target.tip.as_ref() == Some(tip) {
            return Ok(None);
        }
        Ok(match self.settings.differing(tip).await {
            Ok(files) if files.is_empty() => None,
            Ok(files) => Some(
                hold(format!(
                    "Settings of {branch} changed during the review, which went by the older ones. Run it again."
                ))
                .at(files),
            ),
            Err(error) => Some(hold(format!(
                "{branch} has a newer commit, and whether its settings are the same could not be found out ({error}). Run it \
                 again."
            ))),
        })
    }
}

fn hold(reason: String) -> ApprovalHold {
    ApprovalHold::new(HoldCause::TargetBranch, reason)
}

/// Asks in each of the ways that servers and tokens differ in; a server that fails is an error.
async fn tip(client: &Client, branch: &str, base: &str) -> Result<Option<String>, GitLabError> {
    const WHAT: &str = "read the tip of the target branch";
    let project = client.project_path();
    let name = utf8_percent_encode(branch, NON_ALPHANUMERIC).to_string();
    let path = format!("{project}/repository/branches/{name}");
    if let Some(Branch { commit: Some(commit) }) = answered(client.get(WHAT, &path).await)? {
        return Ok(Some(commit.id));
    }
    let path = format!("{project}/repository/commits/{name}");
    if let Some(Commit { id }) = answered(client.get(WHAT, &path).await)? {
        return Ok(Some(id));
    }
    let path = format!("{project}/repository/compare?from={base}&to={name}");
    let comparison: Option<Comparison> = answered(client.get(WHAT, &path).await)?;
    Ok(
        comparison.and_then(|comparison| match comparison.commits.into_iter().next_back() {
            Some(newest) => Some(newest.id),
            None => (comparison.compare_same_ref == Some(true)).then(|| base.to_owned()),
        }),
    )
}

/// The answer; `None` where this server or this token does not have the operation.
fn answered<T>(answer: Result<T, GitLabError>) -> Result<Option<T>, GitLabError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error @ (GitLabError::Unreachable { .. } | GitLabError::Unauthorized { .. })) => Err(error),
        Err(GitLabError::Status { status, what, message }) if status >= 500 || status == 429 => {
            Err(GitLabError::Status { status, what, message })
        }
        Err(_) => Ok(None),
    }
}
