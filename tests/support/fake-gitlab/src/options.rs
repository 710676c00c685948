//! Switches of the server: what a test can change about how this GitLab behaves.

use std::time::Duration;

/// The licence tier of the instance. It decides whether "requested changes" blocks a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Reviewer states exist, but nothing blocks; one reviewer at most.
    Free,
    /// The "requested changes" merge check and required approvals are active.
    Premium,
}

/// How lists are cut into pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pagination {
    /// The second page holds only half of `per_page`, although more pages follow (GitLab filters after paging).
    pub short_middle_page: bool,
    /// Send `x-total`, `x-total-pages` and `rel="last"`. GitLab leaves them out above 10,000 rows.
    pub totals: bool,
    /// The largest page the server hands out, whatever `per_page` asks for. GitLab's is 100.
    pub largest_page: usize,
}

impl Default for Pagination {
    fn default() -> Self {
        Self {
            short_middle_page: false,
            totals: true,
            largest_page: 100,
        }
    }
}

/// Limits of the diffs that the API hands out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLimits {
    /// A patch above this size is `too_large`, one above a tenth of it is `collapsed`; both come with an empty `diff`.
    pub patch_bytes: usize,
    /// Files beyond this number are left out of the list.
    pub files: usize,
}

impl Default for DiffLimits {
    fn default() -> Self {
        Self {
            patch_bytes: 200 * 1024,
            files: 1000,
        }
    }
}

/// Every switch of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches of the server, not one state"
)]
pub struct Options {
    /// The licence tier.
    pub tier: Tier,
    /// The version that `/version` and `/metadata` report.
    pub version: String,
    /// `bulk_publish` understands a body. Older servers ignore it silently.
    pub bulk_publish_takes_body: bool,
    /// A reviewer state of `reviewed` removes the caller's block record.
    pub reviewed_clears_block: bool,
    /// A second approval by the same user is refused with 401.
    pub second_approval_is_refused: bool,
    /// Context lines outside the printed hunks accept comments (GitLab unfolds the file).
    pub unfold_context: bool,
    /// `/api/graphql` answers (only the mutation that removes a block record).
    pub graphql: bool,
    /// How lists are paged.
    pub pagination: Pagination,
    /// Limits of the diffs.
    pub diff_limits: DiffLimits,
    /// The longest note in characters.
    pub note_characters: usize,
    /// The most notes that a merge request holds.
    pub notes_per_merge_request: usize,
    /// The time that every request takes, besides its work.
    pub latency: Duration,
    /// What time the server says that it is, as `Date` says it; by default the true one.
    pub date: Option<String>,
    /// `GET /personal_access_tokens/self` is known. Servers before 15.5 do not know it.
    pub describes_tokens: bool,
    /// The most notes that a user may post in a minute; more are answered with 429. GitLab's default is 300.
    pub notes_per_minute: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tier: Tier::Free,
            version: "19.5.0-ee".to_owned(),
            bulk_publish_takes_body: true,
            reviewed_clears_block: false,
            second_approval_is_refused: true,
            unfold_context: true,
            graphql: true,
            pagination: Pagination::default(),
            diff_limits: DiffLimits::default(),
            note_characters: 1_000_000,
            notes_per_merge_request: 5000,
            latency: Duration::ZERO,
            date: None,
            describes_tokens: true,
            notes_per_minute: None,
        }
    }
}

impl Options {
    /// Returns whether the version is that of the Enterprise Edition, which has approval rules even on the Free tier.
    pub(crate) fn is_enterprise(&self) -> bool {
        self.version.ends_with("-ee")
    }
}
