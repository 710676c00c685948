//! Opening threads with a request for each.

use conclave_engine::publish::ThreadDraft;
use futures_util::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream};

use crate::{ApiError, ApiErrorKind, ForgeApi, Opened, Version};

/// Tries the places of each draft one after the other, some drafts at once. An error is one that all others would meet too.
pub async fn one_by_one<'d>(
    api: &dyn ForgeApi,
    version: &Version,
    drafts: Vec<ThreadDraft<'d>>,
) -> Result<Vec<(ThreadDraft<'d>, Opened)>, ApiError> {
    let opening: Vec<BoxFuture<'_, _>> = drafts
        .iter()
        .map(|draft| first_place(api, version, draft).boxed())
        .collect();
    let at_once = api.traits().threads_at_once;
    let opened: Vec<Opened> = stream::iter(opening).buffered(at_once).try_collect().await?;
    Ok(drafts.into_iter().zip(opened).collect())
}

async fn first_place(api: &dyn ForgeApi, version: &Version, draft: &ThreadDraft<'_>) -> Result<Opened, ApiError> {
    let mut refusal = None;
    for place in &draft.places {
        match api.open_thread(version, draft, *place).await {
            Ok(note) => return Ok(Opened::new(note, *place)),
            Err(error) if error.kind == ApiErrorKind::Full => return Ok(Opened::Refused(error)),
            Err(error) if error.kind == ApiErrorKind::Refused => {
                tracing::debug!(%error, "the forge does not take a finding at this place");
                refusal = Some(error);
            }
            Err(error) if error.may_have_happened() => return Ok(Opened::Unknown(error)),
            Err(error) => return Err(error),
        }
    }
    let nowhere = || ApiError::new(ApiErrorKind::Refused, "there is no place for it on the diff");
    Ok(Opened::Refused(refusal.unwrap_or_else(nowhere)))
}
