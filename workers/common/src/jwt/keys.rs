//! The issuer's keys, kept and renewed.
//!
//! They are asked for again when they are old, and when a token names one that is not among them: that is how a rotation
//! is noticed. Tokens are made by anybody, so the issuer is asked once for an id, and for a few ids a minute, whatever they
//! name. An issuer that is down costs nothing as long as the known keys are not too old; without any, one request in some seconds
//! finds out that it is still down, and the others are refused at once.

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
/// The issuer is not asked more often than this, but for the ids below.
const AGAIN_MS: i64 = 5_000;
/// After a failure the issuer is not asked for so long.
const FAILED_MS: i64 = 10_000;
/// Ids for which the issuer is asked at once, and the time that they count for.
const MAX_UNKNOWN: usize = 4;
const UNKNOWN_MS: i64 = 60_000;
/// The time for an answer: well below the two seconds after which a review gives a Worker up.
const LIMIT: Duration = Duration::from_secs(1);
/// The largest answer. GitLab's has about 2 KB.
const MAX_BODY: usize = 64 * 1024;

#[derive(Debug, Default)]
struct Known {
    keys: KeySet,
    /// When the keys were read.
    read_at_ms: Option<i64>,
    /// When the issuer was asked last, with or without success.
    asked_at_ms: Option<i64>,
    /// When that failed, if nothing was read since.
    failed_at_ms: Option<i64>,
    /// Ids for which the issuer was asked and that it does not have, with the time.
    unknown: Vec<(String, i64)>,
}

/// The next step for an id.
#[derive(Debug)]
enum Step {
    /// This is its key, or there is none.
    Known(Option<PublicKey>),
    /// The issuer has to be asked; if it does not answer, this key still counts.
    Ask(Option<PublicKey>),
    /// The issuer was asked just now, without success.
    Unavailable,
}

impl Known {
    fn step(&self, id: Option<&str>, now: i64) -> Step {
        let within = |at: Option<i64>, limit: i64| at.is_some_and(|at| now - at < limit);
        let asked = within(self.asked_at_ms, AGAIN_MS);
        let failed = within(self.failed_at_ms, FAILED_MS);
        let is_fresh = within(self.read_at_ms, FRESH_MS);
        let usable = within(self.read_at_ms, OLDEST_MS);
        if let Some(found) = self.keys.find(id).filter(|_| usable).cloned() {
            return if is_fresh || asked || failed {
                Step::Known(Some(found))
            } else {
                Step::Ask(Some(found))
            };
        }
        if failed {
            return Step::Unavailable;
        }
        if !is_fresh || !asked {
            return Step::Ask(None);
        }
        // Just read, and it was not there: only another id is a reason to ask again.
        let mut recent = self.unknown.iter().filter(|(_, at)| now - at < UNKNOWN_MS);
        let is_known = recent.clone().any(|(unknown, _)| Some(unknown.as_str()) == id);
        if is_known || recent.nth(MAX_UNKNOWN - 1).is_some() {
            Step::Known(None)
        } else {
            Step::Ask(None)
        }
    }

    /// Takes the issuer's keys, which were asked for because of an id.
    fn read(&mut self, keys: KeySet, id: Option<&str>, now: i64) -> Option<PublicKey> {
        let found = keys.find(id).cloned();
        self.unknown.retain(|(_, at)| now - at < UNKNOWN_MS);
        if let (None, Some(id)) = (&found, id) {
            self.unknown.push((id.to_owned(), now));
        }
        self.keys = keys;
        self.read_at_ms = Some(now);
        self.asked_at_ms = Some(now);
        self.failed_at_ms = None;
        found
    }

    fn failed(&mut self, now: i64) {
        self.asked_at_ms = Some(now);
        self.failed_at_ms = Some(now);
    }
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
    let instead = match with_known(url, |known| known.step(id, now)) {
        Step::Known(found) => return Ok(found),
        Step::Unavailable => return Err(refusal(&texts::no_keys())?),
        Step::Ask(instead) => instead,
    };
    with_known(url, |known| {
        if known.read_at_ms.is_some() {
            // Before the answer: requests that come meanwhile do with the keys that there are. Without any, all have to ask.
            known.asked_at_ms = Some(now);
        }
    });
    match fetch(url).await {
        Ok(keys) => Ok(with_known(url, |known| known.read(keys, id, now_ms()))),
        Err(reason) => {
            console_error!("the keys of the tokens' issuer cannot be read: {reason}");
            with_known(url, |known| known.failed(now_ms()));
            match instead {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(known: &Known, id: &str, now: i64) -> bool {
        matches!(known.step(Some(id), now), Step::Ask(_))
    }

    #[test]
    fn the_first_token_of_a_new_key_is_a_reason_to_ask_and_an_id_that_is_not_there_is_none() {
        let mut known = Known::default();
        assert!(asks(&known, "old", 0));
        known.read(KeySet::default(), Some("guess"), 1_000);
        assert!(!asks(&known, "guess", 1_001), "it was just looked for");
        assert!(asks(&known, "new", 1_001), "another one was not");
    }

    #[test]
    fn ids_that_are_made_up_are_asked_for_a_few_times_and_then_every_five_seconds() {
        let (mut known, mut asked) = (Known::default(), 0);
        for guess in 0..1_000_i64 {
            let (id, now) = (format!("guess-{guess}"), guess * 10);
            if asks(&known, &id, now) {
                asked += 1;
                known.read(KeySet::default(), Some(&id), now);
            }
        }
        assert!((4..=7).contains(&asked), "{asked} in ten seconds");
    }

    #[test]
    fn an_issuer_that_failed_is_not_asked_again_at_once() {
        let mut known = Known::default();
        known.failed(1_000);
        for id in ["one", "two"] {
            assert!(matches!(known.step(Some(id), 1_000 + FAILED_MS - 1), Step::Unavailable));
            assert!(asks(&known, id, 1_000 + FAILED_MS));
        }
    }
}
