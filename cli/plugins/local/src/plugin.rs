//! The repository on this machine as a plugin: it brings what is to be reviewed.

use async_trait::async_trait;
use camino::Utf8PathBuf;
use conclave_engine::plugin::{ConfigureContext, PluginError, ReviewPlugin};
use tokio::sync::oneshot;

use crate::{LocalError, LocalReview, Range, load};

/// Where the range arrives, as soon as it is resolved.
pub type LocalArrival = oneshot::Receiver<Result<LocalReview, LocalError>>;

/// The plugin; without a range it contributes nothing.
#[derive(Debug)]
pub struct LocalPlugin {
    work: Option<Work>,
}

#[derive(Debug)]
struct Work {
    directory: Utf8PathBuf,
    range: Range,
    scratch: Utf8PathBuf,
    arrival: Option<oneshot::Sender<Result<LocalReview, LocalError>>>,
    loaded: Result<(), String>,
}

impl LocalPlugin {
    /// A plugin that has nothing to do: the review is of something else.
    pub fn off() -> Self {
        Self { work: None }
    }

    /// A plugin that resolves this range of the repository around `directory`, and where the result arrives. `scratch`
    /// takes a snapshot of the working tree, if one is needed.
    pub fn new(directory: Utf8PathBuf, range: Range, scratch: Utf8PathBuf) -> (Self, LocalArrival) {
        let (sender, arrival) = oneshot::channel();
        let work = Work {
            directory,
            range,
            scratch,
            arrival: Some(sender),
            loaded: Err("the repository was never looked at".to_owned()),
        };
        (Self { work: Some(work) }, arrival)
    }
}

#[async_trait]
impl ReviewPlugin for LocalPlugin {
    fn name(&self) -> &'static str {
        "local"
    }

    async fn bootstrap(&mut self) -> Result<(), PluginError> {
        let Some(work) = &mut self.work else { return Ok(()) };
        let result = load(&work.directory, &work.range, &work.scratch).await;
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
            Some(work) => work.loaded.clone().map_err(PluginError),
        }
    }
}
