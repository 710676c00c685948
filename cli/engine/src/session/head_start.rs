//! Who asks a model first.
//!
//! The gateway lets one call fill a provider's prompt cache before it sends the others that share its prefix. The runtime
//! prepares all prompts in one thread, so the sessions that fill the caches are prompted before all others: these are made
//! ready while the first answers are on their way, and not before.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

use conclave_shared::{model::ModelId, reviewer::ReviewerName};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};

use crate::{
    ports::{SessionId, UsageLedger},
    review::PanelMember,
};

/// How long the others wait at most. A runtime that is ready needs a fraction of it.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// How often the gateway is asked whether a first call has come.
const POLL: Duration = Duration::from_millis(5);

/// The sessions that go first, and whether they have asked.
#[derive(Debug, Clone)]
pub struct HeadStart {
    ahead: Arc<watch::Sender<BTreeSet<ReviewerName>>>,
    until: Instant,
}

impl HeadStart {
    /// The first member for each model goes first, of so many of the panel as can begin at once. Their time runs from now.
    pub fn of(members: &[PanelMember], sessions: usize) -> Self {
        let mut first: BTreeMap<&ModelId, &ReviewerName> = BTreeMap::new();
        for member in members.iter().take(sessions) {
            if let Ok(route) = &member.route {
                first.entry(route.first()).or_insert(&member.name);
            }
        }
        Self {
            ahead: Arc::new(watch::Sender::new(first.into_values().cloned().collect())),
            until: Instant::now() + MAX_WAIT,
        }
    }

    /// Waits until all that go first have asked their models, or long enough; not if this is one of them.
    pub(super) async fn wait(&self, name: &str) {
        let mut ahead = self.ahead.subscribe();
        let clear = ahead.wait_for(|ahead| ahead.is_empty() || leads(ahead, name));
        let _ = timeout_at(self.until, clear).await;
    }

    /// Watches for the first call of a session that goes first. It never comes back: it is for beside a turn.
    pub(super) async fn watch(&self, name: &str, session: &SessionId, ledger: &dyn UsageLedger) -> Infallible {
        while leads(&self.ahead.borrow(), name) {
            if ledger.idle_for(session).is_some() {
                self.started(name);
            } else {
                sleep(POLL).await;
            }
        }
        std::future::pending().await
    }

    /// Nobody has to wait for this session: it has asked its model, or never will.
    pub(super) fn started(&self, name: &str) {
        self.ahead.send_if_modified(|ahead| {
            let before = ahead.len();
            ahead.retain(|other| other.as_str() != name);
            ahead.len() < before
        });
    }
}

fn leads(ahead: &BTreeSet<ReviewerName>, name: &str) -> bool {
    ahead.iter().any(|other| other.as_str() == name)
}

#[cfg(test)]
#[path = "head_start_tests.rs"]
mod tests;
