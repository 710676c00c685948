//! Request bodies with a limit.

use futures_util::StreamExt;
use worker::Request;

use crate::{Outcome, refusal, texts};

/// The request's body, or a 413 as soon as it is known to be longer than `limit` bytes.
///
/// A truthful `Content-Length` is refused before anything is read; a missing or false one is caught by counting while
/// the stream is read, so a huge upload never fills the isolate's memory.
pub async fn read_capped(request: &mut Request, limit: usize) -> Outcome<Vec<u8>> {
    let announced = request.headers().get("content-length")?;
    if announced
        .and_then(|length| length.parse::<u64>().ok())
        .is_some_and(|length| length > limit as u64)
    {
        return Err(refusal(&texts::too_large(limit))?);
    }
    if request.inner().body().is_none() {
        return Ok(Vec::new());
    }
    let mut stream = request.stream()?;
    let mut body = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        if body.len() + chunk.len() > limit {
            return Err(refusal(&texts::too_large(limit))?);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Returns whether a request says that its body is JSON.
pub fn is_json(request: &Request) -> worker::Result<bool> {
    let content_type = request.headers().get("content-type")?.unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    Ok(media_type.eq_ignore_ascii_case("application/json"))
}
