//! One question to a server, within limits.

use chrono::{DateTime, Utc};
use conclave_certificates::{ExtraCertificates, innermost};
use futures_util::StreamExt;
use reqwest::{
    Client, Response, StatusCode,
    header::{ETAG, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION},
    redirect::{Action, Attempt, Policy},
};
use url::Url;

use crate::{
    FetchError, FetchSettings, TextUrl,
    address::{is_allowed, shown},
    cache::Copy,
};

/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 3;

/// Asks the server for the text, or whether the copy is still the same: then there is no new one.
pub(crate) async fn get(
    settings: &FetchSettings,
    url: &TextUrl,
    copy: Option<&Copy>,
    now: DateTime<Utc>,
) -> Result<Option<Copy>, FetchError> {
    let answer = tokio::time::timeout(settings.total, ask(settings, url, copy, now)).await;
    answer.unwrap_or(Err(FetchError::Late(settings.total)))
}

async fn ask(
    settings: &FetchSettings,
    url: &TextUrl,
    copy: Option<&Copy>,
    asked: DateTime<Utc>,
) -> Result<Option<Copy>, FetchError> {
    let mut request = client(settings, url.url())?.get(url.url().clone());
    if let Some(copy) = copy {
        for (name, value) in [(IF_NONE_MATCH, &copy.tag), (IF_MODIFIED_SINCE, &copy.modified)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
    }
    let response = request.send().await.map_err(unreachable)?;
    match response.status() {
        StatusCode::NOT_MODIFIED => Ok(None),
        StatusCode::OK => {
            let header = |name: HeaderName| {
                let value = response.headers().get(name)?.to_str().ok()?;
                Some(value.to_owned())
            };
            let (tag, modified) = (header(ETAG), header(LAST_MODIFIED));
            let text = String::from_utf8(body(response, settings.max_bytes).await?).map_err(|_| FetchError::NotText)?;
            Ok(Some(Copy {
                asked,
                tag,
                modified,
                text,
            }))
        }
        // The client itself stops at what is not http at all.
        status if status.is_redirection() => {
            let location = response.headers().get(LOCATION);
            let target = location.and_then(|value| value.to_str().ok()?.parse().ok());
            Err(FetchError::Unreachable(refused_redirect(target.as_ref())))
        }
        status => Err(FetchError::Status(status.as_u16())),
    }
}

fn client(settings: &FetchSettings, url: &Url) -> Result<Client, FetchError> {
    let certificates =
        ExtraCertificates::read(&settings.extra_ca_file).map_err(|error| FetchError::Unreachable(error.to_string()))?;
    let builder = Client::builder().redirect(Policy::custom(follow));
    let client = certificates.client(builder, [url]);
    client.map_err(|error| FetchError::Unreachable(error.to_string()))
}

/// The body, read piece by piece: a gigabyte costs no more than the limit.
async fn body(response: Response, max: usize) -> Result<Vec<u8>, FetchError> {
    let announced = response.content_length().unwrap_or(0);
    if announced > max as u64 {
        return Err(FetchError::TooLarge(max));
    }
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(unreachable)?;
        if body.len() + chunk.len() > max {
            return Err(FetchError::TooLarge(max));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn follow(attempt: Attempt<'_>) -> Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error("it redirects too often");
    }
    if is_allowed(attempt.url()) {
        return attempt.follow();
    }
    let text = refused_redirect(Some(attempt.url()));
    attempt.error(text)
}

fn refused_redirect(target: Option<&Url>) -> String {
    let target = target.map_or_else(|| "nowhere".to_owned(), shown);
    format!("it redirects to {target}, which is not an https address")
}

/// The innermost cause of an error, which is the one that says it.
fn unreachable(error: reqwest::Error) -> FetchError {
    FetchError::Unreachable(innermost(&error.without_url()))
}
