//! A model's answer to a call of this process.

use std::fmt;

use bytes::Bytes;

use crate::{
    proxy::{AnswerCut, Relay},
    wire::FrameParser,
};

/// An answer that is under way. Dropping it cancels the call.
pub struct ModelAnswer {
    relay: Relay,
}

impl ModelAnswer {
    pub(crate) const fn new(relay: Relay) -> Self {
        Self { relay }
    }

    /// The data of the next events, in order; nothing after the terminal one. After a cut nothing comes either.
    pub async fn next(&mut self) -> Option<Result<Vec<Bytes>, AnswerCut>> {
        Some(self.relay.next().await?.map(data_of))
    }
}

impl fmt::Debug for ModelAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ModelAnswer").finish_non_exhaustive()
    }
}

/// The data of whole frames; comments have none.
fn data_of(frames: Bytes) -> Vec<Bytes> {
    let mut parser = FrameParser::new();
    parser.push(frames);
    let mut data = Vec::new();
    // A frame that is too long was refused before it got here.
    while let Ok(Some(frame)) = parser.next_frame() {
        data.extend(frame.data().map(|text| Bytes::copy_from_slice(&text)));
    }
    data.extend(
        parser
            .finish()
            .and_then(|frame| frame.data().map(|text| Bytes::copy_from_slice(&text))),
    );
    data
}
