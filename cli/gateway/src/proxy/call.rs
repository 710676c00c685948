//! One call of the runtime that was let in.

use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use bytes::Bytes;
use conclave_shared::model::ModelId;

use super::{core::Core, in_flight::InFlightRequest};
use crate::{errors::Refusal, provider::Provider};

/// One call of the runtime that was let in.
pub(crate) struct Call<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) provider: &'a Provider,
    pub(crate) request: Arc<InFlightRequest>,
    /// The name that stands in the body: the model's, or the spare one.
    pub(crate) written_for: ModelId,
    /// The model that the runtime asks for.
    pub(crate) asked: ModelId,
    pub(crate) headers: HeaderMap,
    /// The body as the runtime wrote it.
    pub(crate) body: Bytes,
    /// The refusal of the last attempt, if it was refused for good.
    pub(crate) refusal: Mutex<Option<Refusal>>,
}
