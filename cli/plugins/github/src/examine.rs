//! The rights of a token, found out without writing anything.
//!
//! GitHub does not tell what a job's or an App's token may do. It looks at the right before it looks at the content, so a request that
//! cannot be carried out says it: a review of a commit that is not there is either not allowed or not valid.

use std::time::Duration;

use conclave_forge::{ApiError, ApiErrorKind, ClientTimeouts};
use serde_json::{Value, json};

use crate::{GitHub, GitHubSettings, error::is_of_person, github::encoded};

/// A commit that no repository has.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// The rights of a token.
#[derive(Debug)]
pub struct Examination {
    /// The name of its account.
    pub account: String,
    /// The state of the pull request, as in `opened`.
    pub pull_request: Result<String, ApiError>,
    /// The rights to write.
    pub rights: Rights,
    /// The checks that rulesets require on the target branch; none where the token does not see them.
    pub required_checks: Option<Vec<String>>,
    /// The setting that lets workflows approve pull requests; none where the token does not see it.
    pub workflows_may_approve: Option<bool>,
}

/// The rights to write, by the names in a workflow's `permissions`; an error where GitHub did not say.
#[derive(Debug)]
pub struct Rights {
    /// Reviews and comments.
    pub pull_requests: Result<Right, ApiError>,
    /// Check runs.
    pub checks: Result<Right, ApiError>,
    /// Commit statuses.
    pub statuses: Result<Right, ApiError>,
    /// Code scanning; none where it was not asked about.
    pub security_events: Option<Result<Right, ApiError>>,
}

/// A right of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// The token has it.
    Granted,
    /// The token lacks it.
    Missing,
    /// The token is a person's and lacks it. There are rights that only Apps can have.
    MissingForPerson,
    /// GitHub does not find what it is for: the token does not see it, or the server has no such thing.
    Unfound,
}

/// Asks GitHub about a token, and about code scanning where `uploads` says that findings go there; nothing is repeated and nothing is
/// written. An error means that the token is not accepted, or that GitHub cannot be reached.
pub async fn examine(settings: &GitHubSettings, uploads: bool, limit: Duration) -> Result<Examination, ApiError> {
    let github = GitHub::new(settings, ClientTimeouts::once(limit))?;
    let (what, viewer) = ("say whose token it is", "query { viewer { login } }");
    let account = github.query(what, viewer, &json!({}), "/viewer/login").await?;
    let pull = github.read_pull().await;
    let required_checks = match &pull {
        Ok(pull) => github.required_checks(&pull.base.branch).await,
        Err(_) => None,
    };
    let review = json!({ "commit_id": NO_COMMIT, "event": "COMMENT", "body": "conclave doctor" });
    let check = json!({ "name": "conclave", "head_sha": NO_COMMIT });
    let status = json!({ "state": "pending", "context": "conclave" });
    let statuses = format!("/statuses/{NO_COMMIT}");
    // An empty text cannot be a log.
    let no_log = json!({ "commit_sha": NO_COMMIT, "ref": "refs/pull/0/head", "sarif": "" });
    let rights = Rights {
        pull_requests: match &pull {
            // What is not there cannot be written to: that says nothing of the right.
            Err(error) if error.kind == ApiErrorKind::NotFound => {
                let text = format!("there is no pull request {} to try it on", github.number);
                Err(ApiError::new(ApiErrorKind::NotFound, text))
            }
            _ => github.may_write(&github.pull("/reviews"), &review).await,
        },
        checks: github.may_write(&github.repository("/check-runs"), &check).await,
        statuses: github.may_write(&github.repository(&statuses), &status).await,
        security_events: if uploads {
            let url = github.repository("/code-scanning/sarifs");
            Some(github.may_write(&url, &no_log).await)
        } else {
            None
        },
    };
    let url = github.repository("/actions/permissions/workflow");
    let permissions: Result<Value, _> = github.http.get("read the settings of workflows", &url).await;
    let permissions = permissions.unwrap_or_default();
    Ok(Examination {
        account,
        pull_request: pull.map(|pull| pull.lifecycle().word().to_owned()),
        rights,
        workflows_may_approve: permissions["can_approve_pull_request_reviews"].as_bool(),
        required_checks,
    })
}

impl GitHub {
    /// The checks that the rulesets of a branch require. Older protections are shown to administrators only.
    async fn required_checks(&self, branch: &str) -> Option<Vec<String>> {
        let url = self.repository(&format!("/rules/branches/{}?per_page=100", encoded(branch)));
        let rules: Vec<Value> = self.http.list("read the rules of the branch", &url).await.ok()?;
        let checks = rules
            .iter()
            .filter_map(|rule| rule["parameters"]["required_status_checks"].as_array());
        let names = checks.flatten().filter_map(|check| check["context"].as_str());
        Some(names.map(str::to_owned).collect())
    }

    /// Reads a right from a request that cannot be carried out: with it, it fails for its content.
    async fn may_write(&self, url: &str, body: &Value) -> Result<Right, ApiError> {
        let Err(error) = self.create("try a right", url, body).await else {
            return Ok(Right::Granted);
        };
        match error.kind {
            ApiErrorKind::Refused => Ok(Right::Granted),
            ApiErrorKind::Forbidden if is_of_person(&error.words) => Ok(Right::MissingForPerson),
            ApiErrorKind::Forbidden => Ok(Right::Missing),
            ApiErrorKind::NotFound => Ok(Right::Unfound),
            _ => Err(error),
        }
    }
}
