//! What a repository remembers, asked for while everything else is prepared.

use std::{sync::Arc, time::Duration};

use conclave_engine::memory::Recall;
use conclave_plugin_telemetry::{TelemetrySettings, TrackerClient};
use tokio::time::timeout;

/// Time that the prompts wait for what is still on its way. It was asked for while the diff was read and the runtime
/// was starting, so a tracker that is well has answered long before.
const GRACE: Duration = Duration::from_millis(40);

/// Where a repository's memory is.
#[derive(Debug, Clone)]
pub(crate) struct MemorySource(TelemetrySettings);

impl MemorySource {
    /// The memory of this tracker.
    pub(crate) const fn new(tracker: TelemetrySettings) -> Self {
        Self(tracker)
    }

    /// Asks in the background. Whatever goes wrong is a line in the log: the review goes on without a memory.
    pub(crate) fn ask(self) -> Recall {
        let (sender, recall) = Recall::channel();
        let Self(TelemetrySettings {
            url,
            access,
            project,
            certificates,
            ..
        }) = self;
        tokio::spawn(async move {
            let answer = async { TrackerClient::new(url, access, &certificates)?.memory(&project).await };
            match answer.await {
                Ok(memory) => drop(sender.send_replace(Arc::new(memory))),
                Err(error) => tracing::warn!(%error, "the review goes on without the repository's memory"),
            }
        });
        recall
    }
}

/// Waits for a moment, and no longer.
pub(crate) async fn give_a_moment(recall: &mut Recall) {
    let _ = timeout(GRACE, recall.arrived()).await;
}
