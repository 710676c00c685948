//! The pull request as GitHub sends it.

use async_trait::async_trait;
use conclave_engine::{
    publish::{Account, Conversation, NoteForm},
    report::SuggestionSyntax,
    review::{AuthorRole, ReviewSubject},
};
use conclave_forge::{
    ApiError, ApiErrorKind, ChangeApi, ForgeTraits, HttpClient, Lifecycle, LoadedChange, MergeRequestState, Target,
    Version,
};
use serde::Deserialize;

use crate::{
    ExpectedHead, GitHub,
    conversation::Post,
    error::WORDS,
    github::encoded,
    graphql::may_ask_rest,
    own_reviews::SignedOpinion,
    people, reviewers,
    wire::{ACTOR, Actor, User, text},
};

const WHAT: &str = "read the pull request";

/// A pull request.
#[derive(Debug, Deserialize)]
pub(crate) struct Pull {
    pub(crate) number: u64,
    #[serde(default)]
    title: String,
    body: Option<String>,
    state: String,
    #[serde(default)]
    merged: bool,
    #[serde(default)]
    draft: bool,
    html_url: String,
    user: Option<User>,
    pub(crate) head: End,
    pub(crate) base: End,
}

/// One end of a pull request.
#[derive(Debug, Deserialize)]
pub(crate) struct End {
    #[serde(rename = "ref")]
    pub(crate) branch: String,
    pub(crate) sha: String,
    /// None where a fork was deleted.
    repo: Option<Repository>,
}

#[derive(Debug, Deserialize)]
struct Repository {
    id: u64,
    full_name: String,
}

impl End {
    /// The number of its repository.
    pub(crate) fn repository_id(&self) -> u64 {
        self.repo.as_ref().map_or(0, |repository| repository.id)
    }
}

impl Pull {
    /// Says how its head differs from the expected one, if it does.
    fn difference_from(&self, expected: &ExpectedHead) -> Option<String> {
        if self.head.sha != expected.sha {
            return Some(format!(
                "its head is {}, and the run was of {}. What was handed on is not believed; if there was a push meanwhile, its own run \
                 reviews it",
                self.head.sha, expected.sha
            ));
        }
        if self.head.repository_id() == expected.repository {
            return None;
        }
        let place = self.head.repo.as_ref().map_or_else(
            || "a repository that is gone".to_owned(),
            |repository| format!("the repository {} (number {})", repository.full_name, repository.id),
        );
        Some(format!(
            "its head {} is in {place}, and the run was of the same commit in the repository with the number {}. What was handed on is not \
             believed",
            self.head.sha, expected.repository
        ))
    }

    pub(crate) fn lifecycle(&self) -> Lifecycle {
        match (self.merged, self.state.as_str()) {
            (true, _) => Lifecycle::Over("merged".to_owned()),
            (false, "open") => Lifecycle::Open,
            (false, _) => Lifecycle::Closed,
        }
    }
}

/// The facts that may have changed since it was loaded, as one query has them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Now {
    state: String,
    head_ref_oid: String,
    base_ref_name: String,
    latest_opinionated_reviews: Option<Opinions>,
}

/// The newest opinion of each account.
#[derive(Debug, Deserialize)]
struct Opinions {
    nodes: Option<Vec<Option<Post>>>,
}

/// The commits where two branches part.
#[derive(Debug, Deserialize)]
struct Comparison {
    base_commit: Commit,
    merge_base_commit: Commit,
}

#[derive(Debug, Deserialize)]
struct Commit {
    sha: String,
}

impl GitHub {
    /// Reads what may have changed, and the newest opinion of each account, in one query.
    async fn read_state(&self) -> Result<MergeRequestState, ApiError> {
        let query = format!(
            "query($owner: String!, $name: String!, $number: Int!) {{ repository(owner: $owner, name: $name) {{ \
               pullRequest(number: $number) {{ state headRefOid baseRefName \
                 latestOpinionatedReviews(last: 100) {{ nodes {{ state body author {{ {ACTOR} }} }} }} }} }} }}"
        );
        let pointer = "/repository/pullRequest";
        let now: Now = self.query(WHAT, &query, &self.place(), pointer).await?;
        let (bot, signer) = (self.account().await?, self.signer().await?);
        let opinions = now.latest_opinionated_reviews.and_then(|opinions| opinions.nodes);
        let mut opinions = opinions.into_iter().flatten().flatten();
        let shows_request = opinions.any(|opinion| {
            let account = opinion.author.and_then(Actor::account);
            account.is_some_and(|account| account.id == bot)
                && opinion.state.as_deref() == Some("CHANGES_REQUESTED")
                && signer.read::<SignedOpinion>(&text(Some(opinion.body))).is_some()
        });
        Ok(MergeRequestState {
            lifecycle: match now.state.as_str() {
                "OPEN" => Lifecycle::Open,
                "CLOSED" => Lifecycle::Closed,
                word => Lifecycle::Over(word.to_lowercase()),
            },
            head: Some(now.head_ref_oid),
            target_branch: Some(now.base_ref_name),
            shows_request,
        })
    }

    pub(crate) async fn read_pull(&self) -> Result<Pull, ApiError> {
        let pull: Pull = self.http.get(WHAT, &self.pull("")).await?;
        let expected = self.expected.as_ref();
        let Some(difference) = expected.and_then(|expected| pull.difference_from(expected)) else {
            return Ok(pull);
        };
        let text = format!(
            "the pull request {} is not the one that the first workflow ran for: {difference}",
            self.number
        );
        Err(ApiError::new(ApiErrorKind::Settings, text))
    }

    /// Compares two commits or branches. The second page has no files, which can be many and are not needed.
    async fn compare(&self, what: &str, base: &str, head: &str) -> Result<Comparison, ApiError> {
        let range = format!("/compare/{}...{}?per_page=1&page=2", encoded(base), encoded(head));
        self.http.get(what, &self.repository(&range)).await
    }

    /// The version of the diff: the merge base is GitHub's own, because a branch's tip is none.
    async fn version(&self, pull: &Pull) -> Result<Version, ApiError> {
        let what = "find where the branch began";
        let compared = self.compare(what, &pull.base.branch, &pull.head.sha).await?;
        Ok(Version {
            base: compared.merge_base_commit.sha,
            start: compared.base_commit.sha,
            head: pull.head.sha.clone(),
            created_at: None,
        })
    }
}

#[async_trait]
impl ChangeApi for GitHub {
    fn traits(&self) -> ForgeTraits {
        ForgeTraits {
            words: WORDS,
            // 65,536 is GitHub's limit for all of a note.
            form: NoteForm {
                max_summary: 29_000,
                max_inline: 20_000,
                max_carry_over: 33_000,
                suggestion: SuggestionSyntax::LinesOfNote,
            },
            threads_at_once: 1,
        }
    }

    fn http(&self) -> &HttpClient {
        &self.http
    }

    async fn load(&self) -> Result<LoadedChange, ApiError> {
        self.committers.forget().await;
        let bot = self.account().await?;
        let pull = self.read_pull().await?;
        pull.lifecycle().require_open(WORDS.noun)?;
        let version = self.version(&pull).await?;
        // What was read need not be asked for.
        let _ = self.repository_id.set(pull.base.repository_id());
        let marker_scope = self.marker_scope().await?;
        *self.reviewed.lock().await = Some(version.head.clone());
        let target = pull.base.repository_id();
        let branch = pull.base.branch;
        let project = pull.base.repo.map(|repository| repository.full_name);
        let subject = ReviewSubject {
            forge: "github",
            project: project.unwrap_or_else(|| format!("{}/{}", self.owner, self.name)),
            merge_request: Some(self.number),
            web_url: Some(pull.html_url),
            base_sha: version.base.clone(),
            head_sha: version.head.clone(),
            settings_sha: Some(version.start.clone()),
            title: pull.title.into(),
            description: pull.body.unwrap_or_default().into(),
            source_branch: pull.head.branch.into(),
            target_branch: branch.clone().into(),
            draft: pull.draft,
            // An unknown place is a foreign one.
            from_fork: pull.head.repo.is_none_or(|source| source.id != target),
            ..ReviewSubject::default()
        };
        Ok(LoadedChange {
            bot,
            marker_scope,
            subject,
            target: Target {
                branch,
                tip: Some(version.start.clone()),
            },
            version,
            author: pull.user.map(|user| user.id),
        })
    }

    async fn state(&self) -> Result<MergeRequestState, ApiError> {
        match self.read_state().await {
            Err(error) if may_ask_rest(&error) => {
                let pull = self.read_pull().await?;
                Ok(MergeRequestState {
                    lifecycle: pull.lifecycle(),
                    shows_request: self.own_opinions().await?.requests_changes(),
                    head: Some(pull.head.sha),
                    target_branch: Some(pull.base.branch),
                })
            }
            read => read,
        }
    }

    async fn newest_version(&self) -> Result<Version, ApiError> {
        let pull = self.read_pull().await?;
        self.version(&pull).await
    }

    async fn heads(&self) -> Result<Vec<String>, ApiError> {
        // GitHub keeps no list of the heads that there were: those that were not replaced by force are commits of the branch.
        let commits: Vec<Commit> = self.http.list("read its commits", &self.pull("/commits")).await?;
        Ok(commits.into_iter().rev().map(|commit| commit.sha).collect())
    }

    async fn branch_tip(&self, branch: &str, base: &str) -> Result<Option<String>, ApiError> {
        let compared = self.compare("read the tip of the target branch", branch, base).await;
        Ok(ApiError::found(compared)?.map(|compared| compared.base_commit.sha))
    }

    async fn role(&self, user: &Account, author: Option<u64>, _written: &Conversation) -> Result<AuthorRole, ApiError> {
        people::role(self, user, author).await
    }

    async fn add_reviewers(&self, names: &[&str]) -> Result<Vec<String>, ApiError> {
        reviewers::add(self, names).await
    }
}
