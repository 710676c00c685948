//! What a test sees, and the faults and hooks that it sets.

use std::time::Duration;

use serde_json::Value;

use crate::effects::Effect;
use crate::fault::Fault;
use crate::ids::{PullRef, RepositoryId};
use crate::log::{RequestRecord, Violation};
use crate::pipeline::Hook;
use crate::server::FakeGithub;
use crate::snapshot::{self, PullSnapshot};
use crate::template::Template;

/// The longest wait for requests.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

impl FakeGithub {
    /// Everything that broke the contract so far. A test ends with this being empty.
    pub fn violations(&self) -> Vec<Violation> {
        self.server.core().log.violations.clone()
    }

    /// Every request so far, git's as well.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.server.core().log.requests.clone()
    }

    /// The requests that tried to change something.
    pub fn writes(&self) -> Vec<RequestRecord> {
        self.requests().into_iter().filter(RequestRecord::is_write).collect()
    }

    /// The texts that acted on GitHub: mentions, references, closing words. A careful client has none.
    pub fn effects(&self) -> Vec<Effect> {
        self.server.core().state.effects.clone()
    }

    /// Forgets requests, violations and effects, for the second act of a test.
    pub fn forget_requests(&self) {
        let mut core = self.server.core();
        core.log.requests.clear();
        core.log.violations.clear();
        core.state.effects.clear();
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

    /// The state of a pull request, in one piece.
    pub fn snapshot(&self, pull: PullRef) -> PullSnapshot {
        snapshot::take(&self.server.core().state, pull)
    }

    /// The uploads to code scanning: the commit, the reference, and the log.
    pub fn sarifs(&self, repository: RepositoryId) -> Vec<[String; 3]> {
        let core = self.server.core();
        core.state.repository(repository).sarifs.values().cloned().collect()
    }

    /// The head of a pull request.
    pub fn head(&self, pull: PullRef) -> String {
        self.server.core().state.pull(pull).head.clone()
    }

    /// Makes something go wrong.
    pub fn inject(&self, fault: Fault) {
        self.server.core().faults.add(fault);
    }

    /// Forgets the faults that did not happen yet.
    pub fn clear_faults(&self) {
        self.server.core().faults.clear();
    }

    /// The number of faults that did not happen yet.
    pub fn remaining_faults(&self) -> u64 {
        self.server.core().faults.remaining()
    }

    /// Does something right before the next request that matches is handled: a push in the last moment.
    pub fn before(&self, method: &str, pattern: &str, run: impl FnOnce() + Send + 'static) {
        self.hook(method, pattern, false, Box::new(run));
    }

    /// Does something after the next request that matches was handled, and before it is answered.
    pub fn after(&self, method: &str, pattern: &str, run: impl FnOnce() + Send + 'static) {
        self.hook(method, pattern, true, Box::new(run));
    }

    /// Spoils every JSON answer before it is checked: shows that the stand-in finds its own mistakes.
    #[doc(hidden)]
    pub fn tamper_with_answers(&self, tamper: fn(&mut Value)) {
        self.server.core().tamper = Some(tamper);
    }

    fn hook(&self, method: &str, pattern: &str, is_after: bool, run: Box<dyn FnOnce() + Send>) {
        self.server.core().hooks.push(Hook {
            method: method.to_owned(),
            pattern: Template::parse(pattern),
            is_after,
            run,
        });
    }
}
