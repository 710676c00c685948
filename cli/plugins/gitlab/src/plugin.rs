//! GitLab as a plugin: it brings the merge request, and without it there is nothing to review.

use std::sync::Arc;

use async_trait::async_trait;
use conclave_engine::plugin::{ConfigureContext, PluginError, ReviewPlugin};
use conclave_forge::{ApiError, Change, Publisher};
use tokio::sync::oneshot;

/// Where the merge request arrives, as soon as it is loaded: others can go on with it while the other plugins still
/// fetch.
pub type MergeRequestArrival = oneshot::Receiver<Result<Arc<Change>, ApiError>>;

/// The plugin; without a merge request it contributes nothing.
#[derive(Debug)]
pub struct GitLabPlugin {
    work: Option<Work>,
}

#[derive(Debug)]
struct Work {
    publisher: Arc<Publisher>,
    arrival: Option<oneshot::Sender<Result<Arc<Change>, ApiError>>>,
    loaded: Result<(), String>,
}

impl GitLabPlugin {
    /// A plugin that has nothing to do: the review is of something else.
    pub fn off() -> Self {
        Self { work: None }
    }

    /// A plugin that loads a merge request, and where that arrives. The same [`Publisher`] posts the review.
    pub fn new(publisher: Arc<Publisher>) -> (Self, MergeRequestArrival) {
        let (sender, arrival) = oneshot::channel();
        let work = Work {
            publisher,
            arrival: Some(sender),
            loaded: Err("the merge request was never asked for".to_owned()),
        };
        (Self { work: Some(work) }, arrival)
    }
}

#[async_trait]
impl ReviewPlugin for GitLabPlugin {
    fn name(&self) -> &'static str {
        "gitlab"
    }

    async fn bootstrap(&mut self) -> Result<(), PluginError> {
        let Some(work) = &mut self.work else { return Ok(()) };
        let result = work.publisher.load().await;
        work.loaded = result.as_ref().map(|_| ()).map_err(ToString::to_string);
        if let Some(arrival) = work.arrival.take() {
            // Nobody waits any more if the run is being stopped.
            let _ = arrival.send(result);
        }
        work.loaded.clone().map_err(PluginError)
    }

    fn configure(&self, _context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        match &self.work {
            None => Ok(()),
            Some(work) => work
                .loaded
                .clone()
                .map_err(|reason| PluginError(format!("no forge, no review: {reason}"))),
        }
    }
}
