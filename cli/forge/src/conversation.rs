//! The notes of the merge request, read page by page, and again where it may have grown.

use std::ops::Deref;

use conclave_engine::publish::Conversation;
use conclave_resilience::{classify::ProviderFault, retry::RetryPolicy};

use crate::{ApiError, ForgeApi};

/// The conversation as it was last read.
#[derive(Debug, Clone)]
pub(crate) struct LiveConversation<'a> {
    api: &'a dyn ForgeApi,
    bot: u64,
    conversation: Conversation,
    /// The page that the newest are on.
    last_page: u64,
}

impl<'a> LiveConversation<'a> {
    /// Reads all of it.
    pub(crate) async fn read(api: &'a dyn ForgeApi, bot: u64) -> Result<Self, ApiError> {
        let (threads, last_page) = api.threads(bot, 1).await?;
        Ok(Self::read_before(api, bot, Conversation { threads }, last_page))
    }

    /// A conversation that was read before, up to this page.
    pub(crate) fn read_before(api: &'a dyn ForgeApi, bot: u64, conversation: Conversation, last_page: u64) -> Self {
        Self {
            api,
            bot,
            conversation,
            last_page,
        }
    }

    /// Reads all of it again: what was there may have been edited.
    pub(crate) async fn read_again(&mut self) -> Result<(), ApiError> {
        *self = Self::read(self.api, self.bot).await?;
        Ok(())
    }

    /// Reads what has been added since: a forge lists threads in the order in which they began.
    pub(crate) async fn read_on(&mut self) -> Result<(), ApiError> {
        let from = self.last_page.max(1);
        let (threads, last_page) = self.api.threads(self.bot, from).await?;
        if from == 1 {
            self.conversation = Conversation { threads };
        } else {
            self.conversation.update(threads);
        }
        self.last_page = last_page;
        Ok(())
    }

    /// The conversation, and the page that the newest are on.
    pub(crate) fn into_parts(self) -> (Conversation, u64) {
        (self.conversation, self.last_page)
    }
}

impl Deref for LiveConversation<'_> {
    type Target = Conversation;

    fn deref(&self) -> &Conversation {
        &self.conversation
    }
}

/// Waits before something is tried again that has failed so many times; false when it has had its attempts.
pub(crate) async fn pause(retry: RetryPolicy, failed: u32) -> bool {
    let wait = retry.next_wait(failed, ProviderFault::ServerError, None, 0.5);
    if let Some(wait) = wait {
        tokio::time::sleep(wait).await;
    }
    wait.is_some()
}

/// Attempts to create something that must not exist twice: `fail`, look whether it is there, `go_on`.
#[derive(Debug)]
pub(crate) struct Attempts {
    retry: RetryPolicy,
    failed: u32,
    last: Option<ApiError>,
}

impl Attempts {
    pub(crate) const fn new(retry: RetryPolicy) -> Self {
        Self {
            retry,
            failed: 0,
            last: None,
        }
    }

    /// Takes the error of an attempt, and waits if it may have come after the work was done. Any other error is returned.
    pub(crate) async fn fail(&mut self, error: ApiError) -> Result<(), ApiError> {
        if !error.may_have_happened() {
            return Err(error);
        }
        tracing::warn!(%error, "looking whether it was posted all the same");
        self.failed += 1;
        let again = pause(self.retry, self.failed).await;
        self.last = (!again).then_some(error);
        Ok(())
    }

    /// Returns the error if no attempt is left.
    pub(crate) fn go_on(&mut self) -> Result<(), ApiError> {
        self.last.take().map_or(Ok(()), Err)
    }
}
