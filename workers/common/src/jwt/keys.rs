//! The issuer's keys, kept and renewed.
//!
//! They are asked for again when they are old, and when a token names one that is not among them: that is how a rotation
//! is noticed. Tokens are made by anybody, so the issuer is not asked more often than every few seconds whatever they
//! name. An issuer that is down costs nothing as long as the known keys are not too old.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use conclave_shared::oidc::{KeySet, PublicKey};
use futures_util::{
    StreamExt,
    future::{Either, select},
};
use worker::{AbortController, Delay, Fetch, Method, Request, RequestInit, RequestRedirect, Url, console_error};

use crate::{Outcome, now_ms, refusal, texts};

/// Keys this old are asked for again.
const FRESH_MS: i64 = 10 * 60_000;
/// Keys this old are not believed any more: one of them may have been withdrawn.
const OLDEST_MS: i64 = 24 * 3_600_000;
/// The issuer is not asked more often than this.
const AGAIN_MS: i64 = 5_000;
/// The time for an answer.
const LIMIT: Duration = Duration::from_secs(5);
/// The largest answer. GitLab's has about 2 KB.
const MAX_BODY: usize = 64 * 1024;

#[derive(Debug, Default)]
struct Known {
    keys: KeySet,
    /// When the keys were read.
    read_at_ms: Option<i64>,
    /// When the issuer was asked last, with or without success.
    asked_at_ms: Option<i64>,
}

thread_local! {
    /// By address. Addresses come from the Worker's settings only, so there are as many as there are issuers.
    static KNOWN: RefCell<BTreeMap<String, Known>> = const { RefCell::new(BTreeMap::new()) };
}

fn with_known<T>(url: &Url, with: impl FnOnce(&mut Known) -> T) -> T {
    KNOWN.with_borrow_mut(|known| with(known.entry(url.as_str().to_owned()).or_default()))
}

/// The key with this id, or nothing if the issuer has none.
pub(super) async fn find(url: &Url, id: Option<&str>) -> Outcome<Option<PublicKey>> {
    let now = now_ms();
    let (found, age, asked) = with_known(url, |known| {
        let age = known.read_at_ms.map(|at| now - at);
        let usable = age.is_some_and(|age| age < OLDEST_MS);
        let found = known.keys.find(id).filter(|_| usable).cloned();
        (found, age, known.asked_at_ms.is_some_and(|at| now - at < AGAIN_MS))
    });
    if found.is_some() && (asked || age.is_some_and(|age| age < FRESH_MS)) {
        return Ok(found);
    }
    if asked && age.is_some_and(|age| age < FRESH_MS) {
        // Just read, and it was not there.
        return Ok(None);
    }
    if asked {
        return Err(refusal(&texts::no_keys())?);
    }
    if age.is_some() {
        // Before the answer: requests that come meanwhile do with the keys that there are. Without any, all have to ask.
        with_known(url, |known| known.asked_at_ms = Some(now));
    }
    match fetch(url).await {
        Ok(keys) => {
            let found = keys.find(id).cloned();
            with_known(url, |known| {
                known.keys = keys;
                known.read_at_ms = Some(now_ms());
                known.asked_at_ms = known.read_at_ms;
            });
            Ok(found)
        }
        Err(reason) => {
            console_error!("the keys of the tokens' issuer cannot be read: {reason}");
            with_known(url, |known| known.asked_at_ms = Some(now_ms()));
            match found {
                Some(found) => Ok(Some(found)),
                None => Err(refusal(&texts::no_keys())?),
            }
        }
    }
}

async fn fetch(url: &Url) -> Result<KeySet, String> {
    let controller = AbortController::default();
    let signal = controller.signal();
    let asking = Box::pin(ask(url, &signal));
    match select(asking, Delay::from(LIMIT)).await {
        Either::Left((answer, _)) => answer,
        Either::Right(((), asking)) => {
            drop(asking);
            controller.abort();
            Err(format!("no answer within {} s", LIMIT.as_secs()))
        }
    }
}

async fn ask(url: &Url, signal: &worker::AbortSignal) -> Result<KeySet, String> {
    let words = |error: worker::Error| error.to_string();
    let mut init = RequestInit::new();
    // A redirect could lead anywhere.
    init.with_method(Method::Get).with_redirect(RequestRedirect::Manual);
    let request = Request::new_with_init(url.as_str(), &init).map_err(words)?;
    let mut response = Fetch::Request(request).send_with_signal(signal).await.map_err(words)?;
    if response.status_code() != 200 {
        return Err(format!("status {}", response.status_code()));
    }
    let mut body = Vec::new();
    let mut stream = response.stream().map_err(words)?;
    while let Some(chunk) = stream.next().await {
        body.extend_from_slice(&chunk.map_err(words)?);
        if body.len() > MAX_BODY {
            return Err(format!("more than {MAX_BODY} bytes"));
        }
    }
    KeySet::read(&body).ok_or_else(|| "the answer is not a set of keys".to_owned())
}
