//! A merge request on a forge during one run, and what the run remembers of it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use conclave_engine::{
    diff::FilteredFile,
    ports::StopSignal,
    publish::SummaryState,
    review::{ReviewSubject, StopCause},
};
use secrecy::SecretString;

use crate::{ApiError, Change, ForgeApi};

/// Posts the review of a merge request, and keeps what the merge request shows of the bot true until the run ends.
#[derive(Debug)]
pub struct Publisher {
    pub(crate) api: Box<dyn ForgeApi>,
    secret: SecretString,
    /// The commit that the pipeline runs for, if there is a pipeline.
    pub(crate) pipeline_head: Option<String>,
    /// Reports when the run has to end.
    pub(crate) stop: Option<StopSignal>,
    /// Whether this run has set the bot's review state.
    concluded: AtomicBool,
    /// Set when posting ended because the account may write nothing.
    pub(crate) denied: AtomicBool,
    /// Set when posting ended because the forge refused what the account asked.
    pub(crate) refused: AtomicBool,
    /// Set when the run left everything to another one: then nothing of its review was written.
    pub(crate) aside: AtomicBool,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// The merge request as it was last read.
    change: Option<Arc<Change>>,
    /// Whether it was read before the review asked for it.
    is_early: bool,
    /// The states that this run has written into our note.
    written: Vec<SummaryState>,
    /// The fate of an earlier approval when the run began, in words.
    taken_back: Option<String>,
    /// The files of a change that has none to review.
    left_out: Vec<FilteredFile>,
}

impl Publisher {
    /// A publisher that signs its markers with the installation's secret; nothing is asked yet.
    pub fn new(api: Box<dyn ForgeApi>, secret: SecretString) -> Self {
        Self {
            api,
            secret,
            pipeline_head: None,
            stop: None,
            concluded: AtomicBool::new(false),
            denied: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            aside: AtomicBool::new(false),
            memory: Mutex::default(),
        }
    }

    /// The same in a pipeline that runs for this commit.
    #[must_use]
    pub fn in_pipeline_of(mut self, head: Option<String>) -> Self {
        self.pipeline_head = head;
        self
    }

    /// The same for a run that may be asked to end: from then on it approves nothing and lifts nothing.
    #[must_use]
    pub fn stopped_by(mut self, stop: StopSignal) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Sets the time for one request, from the next one on.
    pub fn limit_requests(&self, limit: Duration) {
        self.api.http().limit_requests(limit);
    }

    /// Returns whether this run has set the bot's review state: what the merge request shows of the bot is of this run.
    pub fn has_concluded(&self) -> bool {
        self.concluded.load(Ordering::Relaxed)
    }

    /// The target branch that the review is for, once the merge request was read.
    pub fn target(&self) -> Option<String> {
        self.change().map(|change| change.target.branch.clone())
    }

    pub(crate) fn conclude(&self) {
        self.concluded.store(true, Ordering::Relaxed);
    }

    fn memory<T>(&self, with: impl FnOnce(&mut Memory) -> T) -> T {
        with(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The merge request, if it was loaded.
    pub(crate) fn change(&self) -> Option<Arc<Change>> {
        self.memory(|memory| memory.change.clone())
    }

    /// Reads the merge request.
    pub async fn load(&self) -> Result<Arc<Change>, ApiError> {
        let early = self.memory(|memory| std::mem::take(&mut memory.is_early).then(|| memory.change.clone()));
        if let Some(change) = early.flatten() {
            return Ok(change);
        }
        let change = Arc::new(Change::read(self.api.as_ref(), &self.secret).await?);
        self.memory(|memory| memory.change = Some(Arc::clone(&change)));
        Ok(change)
    }

    /// Reads the merge request before the review asks for it; the next [`Publisher::load`] need not read it again.
    pub(crate) async fn load_early(&self) -> Result<Arc<Change>, ApiError> {
        let change = self.load().await?;
        self.memory(|memory| memory.is_early = true);
        Ok(change)
    }

    /// The subject of the review, before the review asks for it.
    pub async fn subject(&self) -> Result<ReviewSubject, ApiError> {
        Ok(self.load_early().await?.subject.clone())
    }

    /// The states of our note that this run knows: the one that it read, and those that it wrote.
    pub(crate) fn own_states(&self, change: &Change) -> Vec<SummaryState> {
        let written = self.memory(|memory| memory.written.clone());
        change.state().into_iter().chain(written).collect()
    }

    /// Remembers what this run wrote into our note.
    pub(crate) fn wrote(&self, state: &SummaryState) {
        self.memory(|memory| memory.written.push(state.clone()));
    }

    /// The fate of an earlier approval when the run began, in words.
    pub(crate) fn taken_back(&self) -> Option<String> {
        self.memory(|memory| memory.taken_back.clone())
    }

    pub(crate) fn remember_taken_back(&self, words: String) {
        self.memory(|memory| memory.taken_back = Some(words));
    }

    /// The files of a change that has none to review.
    pub(crate) fn left_out(&self) -> Vec<FilteredFile> {
        self.memory(|memory| memory.left_out.clone())
    }

    pub(crate) fn remember_left_out(&self, files: &[FilteredFile]) {
        self.memory(|memory| memory.left_out = files.to_vec());
    }

    /// The cause if a person or a signal asked the run to end. A time limit that passes while a complete review is posted does not
    /// count: the review is complete.
    pub(crate) fn asked_to_end(&self) -> Option<StopCause> {
        let cause = self.stop.as_ref().and_then(StopSignal::cause);
        cause.filter(|cause| *cause == StopCause::Asked)
    }

    /// Takes an approval of ours back, if it stands.
    pub(crate) async fn withdraw_standing(&self, stands: bool) -> Result<(), ApiError> {
        if stands {
            self.api.withdraw_approval().await
        } else {
            Ok(())
        }
    }
}
