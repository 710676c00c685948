//! Switches of the server: what a test can change about how this GitHub behaves.

use std::time::Duration;

/// Every switch of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Options {
    /// The version of an Enterprise Server, which serves below `/api/v3` and `/api/graphql` and has no rate limits;
    /// nothing is github.com, which serves at the root.
    pub enterprise: Option<String>,
    /// Operations that this server does not know, as in `GET /repos/{owner}/{repo}/rules/branches/{branch}`.
    pub missing_operations: Vec<String>,
    /// Fields that this server's GraphQL schema does not have, as in `PullRequestReviewThread.subjectType`.
    pub missing_fields: Vec<String>,
    /// Requests in an hour with one token, instead of GitHub's numbers. Counted for REST and GraphQL each.
    pub rate_limit: Option<u64>,
    /// Comments, reviews, checks and statuses that one token may create in a minute before the secondary limit answers.
    pub creations_per_minute: Option<usize>,
    /// The least time between two writes. Faster ones are violations.
    pub minimum_write_gap: Option<Duration>,
    /// Reviews of apps count as required approvals if they may write contents.
    pub app_approvals_count: bool,
    /// The second page of lists holds half of `per_page`, although more pages follow.
    pub short_middle_page: bool,
    /// Reads of a pull request for which `mergeable` is still being computed after each push.
    pub unmergeable_reads: u32,
    /// The largest patch in the list of files, in bytes; larger ones have no `patch`.
    pub patch_bytes: usize,
    /// The most comments that one review takes.
    pub comments_per_review: usize,
    /// Minimizing is allowed to apps without `contents: write`.
    pub apps_may_minimize: bool,
    /// A check run that has ended keeps its end, whatever it is set to.
    pub ended_checks_stay: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            enterprise: None,
            missing_operations: Vec::new(),
            missing_fields: Vec::new(),
            rate_limit: None,
            creations_per_minute: None,
            minimum_write_gap: None,
            app_approvals_count: true,
            short_middle_page: false,
            unmergeable_reads: 0,
            patch_bytes: 1_000_000,
            comments_per_review: 1_000,
            apps_may_minimize: true,
            ended_checks_stay: false,
        }
    }
}
