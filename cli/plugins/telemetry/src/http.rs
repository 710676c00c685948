//! Requests to the tracker: each ends within two seconds, and no answer is longer than it may be.

use std::time::Duration;

use conclave_certificates::{ClientError, ExtraCertificates, FailedConnection, redirect_target, shown};
use conclave_shared::problem::Problem;
use reqwest::{Client, Response, StatusCode, redirect::Policy};
use url::Url;

/// Time for one request: connecting, TLS, the answer's headers and all of its body.
pub(crate) const REQUEST: Duration = Duration::from_secs(2);

/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 512 * 1024;

/// The setting that has the tracker's address.
const URL_SETTING: &str = "CONCLAVE_TRACKER_URL";

/// What is said of an answer that is none of a tracker's, as the end of "the tracker …".
pub(crate) const STRANGE: &str = "answers with something else than a tracker would";

/// A client of the tracker at this address, whose requests have so much time. It follows no redirect: a token is for the address that a
/// user has set, and for no other.
pub(crate) fn client(url: &Url, limit: Duration, certificates: &ExtraCertificates) -> Result<Client, ClientError> {
    let client = Client::builder().timeout(limit).redirect(Policy::none());
    certificates.client(client, [url])
}

/// A route of the tracker, which may be installed below a path.
pub(crate) fn route(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
    url.set_query(None);
    url
}

/// The whole answer; an error if it does not end in time, or is longer than any answer of a tracker.
pub(crate) async fn body(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(describe)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            return Err("answers with more than a tracker would".to_owned());
        }
    }
    Ok(body)
}

/// What went wrong, as the end of "the tracker …".
pub(crate) fn describe(error: reqwest::Error) -> String {
    if error.is_timeout() {
        format!("did not answer within {} seconds", REQUEST.as_secs())
    } else {
        connection(error).to_string()
    }
}

/// Why a request got no whole answer.
pub(crate) fn connection(error: reqwest::Error) -> FailedConnection {
    FailedConnection::new(error, URL_SETTING)
}

/// The Worker's own words about a status, as one line without a colon, which separates what is wrong from the remedy.
pub(crate) async fn reason(response: Response) -> Option<String> {
    let body = body(response).await.ok()?;
    let problem: Problem = serde_json::from_slice(&body).ok()?;
    let clean = problem.detail.chars().filter(|character| !character.is_control());
    let clean: String = clean.take(300).collect();
    Some(clean.trim_end_matches('.').replace(": ", ", "))
}

/// What a status says that is not success, as the end of "the tracker …".
pub(crate) fn describe_status(response: &Response) -> String {
    let status = response.status();
    if status.is_redirection() {
        let target = redirect_target(response);
        return format!(
            "redirects to {target}: set {URL_SETTING} to the Worker's own address, and let machines pass what asks people to log in"
        );
    }
    if status == StatusCode::NOT_FOUND {
        let asked = shown(response.url());
        return format!("answered 404 at {asked}: set {URL_SETTING} to the review-tracker Worker's own address");
    }
    format!("answered {status}")
}
