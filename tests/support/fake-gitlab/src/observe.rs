//! What a test asks the server afterwards.

use std::time::Duration;

use serde_json::Value;

use crate::MergeRequestRef;
use crate::log::{RequestRecord, Violation};
use crate::server::FakeGitlab;
use crate::snapshot::{self, MergeRequestSnapshot};

/// Time that [`FakeGitlab::wait_for_requests`] waits.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

impl FakeGitlab {
    /// Every break of the contract so far, in order.
    pub fn violations(&self) -> Vec<Violation> {
        self.server.core().log.violations.clone()
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.server.core().log.requests.clone()
    }

    /// The requests that tried to change something.
    pub fn writes(&self) -> Vec<RequestRecord> {
        self.requests().into_iter().filter(RequestRecord::is_write).collect()
    }

    /// Forgets requests and violations, for the second act of a test.
    pub fn forget_requests(&self) {
        let mut core = self.server.core();
        core.log.requests.clear();
        core.log.violations.clear();
    }

    /// Waits until the request log fulfils a condition.
    ///
    /// # Panics
    ///
    /// When the condition is not fulfilled within 30 seconds.
    pub async fn wait_for_requests(&self, condition: impl Fn(&[RequestRecord]) -> bool) {
        let mut bell = self.server.bell.subscribe();
        let wait = bell.wait_for(|_| condition(&self.server.core().log.requests));
        let waited = tokio::time::timeout(REQUEST_TIMEOUT, wait).await;
        waited
            .expect("the awaited request came in time")
            .expect("the server is alive");
    }

    /// The state of a merge request, in one piece and in a form that compares and serialises well.
    pub fn snapshot(&self, merge_request: MergeRequestRef) -> MergeRequestSnapshot {
        snapshot::take(&self.server.core().state, merge_request)
    }

    /// The head of the merge request's diff.
    pub fn head(&self, merge_request: MergeRequestRef) -> String {
        self.server.core().state.merge_request(merge_request).head().to_owned()
    }

    /// The three SHAs of the newest version, for the `position` of a test's own comment.
    pub fn diff_refs(&self, merge_request: MergeRequestRef) -> Value {
        let core = self.server.core();
        let version = core.state.merge_request(merge_request).version();
        serde_json::json!({ "base_sha": version.base, "start_sha": version.start, "head_sha": version.head })
    }

    /// Spoils every JSON answer before it is checked: shows that the fake finds its own mistakes.
    #[doc(hidden)]
    pub fn tamper_with_answers(&self, tamper: fn(&mut Value)) {
        self.server.core().tamper = Some(tamper);
    }
}
