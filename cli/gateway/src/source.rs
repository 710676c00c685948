//! Where the bytes of an answer come from: a provider, or the recording of an earlier run.

use bytes::Bytes;
use conclave_resilience::classify::ProviderFault;
use reqwest::Response;

use crate::replay::Playing;

/// The body of an answer that comes in.
#[derive(Debug)]
pub(crate) enum Source {
    /// From a provider.
    Network(Response),
    /// From a recording.
    Recording(Playing),
}

impl Source {
    /// The next bytes; `None` at a clean end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderFault> {
        match self {
            Self::Network(response) => response.chunk().await.map_err(|error| {
                tracing::info!(error = %error.without_url(), "the answer broke off");
                ProviderFault::CutStream
            }),
            Self::Recording(playing) => playing.chunk(),
        }
    }
}
