//! Quotas of tokens: events a minute, and projects a day that were never heard of before.
//!
//! A stolen token can send nonsense until it is taken off the list. These limits keep that nonsense small: without them it could fill
//! the database, and make up projects without end. Counts of a minute are in an object's memory, projects of a day in its storage;
//! both are forgotten when their time is over, so they do not grow.

mod object;

use std::{cell::RefCell, collections::BTreeSet};

use conclave_shared::{problem::Problem, token};
use conclave_worker_common::{Outcome, Refusal, problem};
use serde::{Deserialize, Serialize};
use worker::{Env, Method, Request, RequestInit, Result, console_error, wasm_bindgen::JsValue};

use crate::{
    caller::Account,
    clock::{self, DAY_MS},
    number::number,
    store, texts,
};

/// The binding of the object that counts.
const BINDING: &str = "QUOTA";
/// Events of a token, or of a project's jobs, in a minute.
const EVENTS_PER_MINUTE: &str = "INGEST_EVENTS_PER_MINUTE";
const DEFAULT_EVENTS: u64 = 60_000;
/// Projects of a token, or of all jobs, that are heard of for the first time on a day.
const NEW_PROJECTS_PER_DAY: &str = "INGEST_NEW_PROJECTS_PER_DAY";
const DEFAULT_NEW_PROJECTS: u64 = 500;
/// The names of known projects that an isolate keeps, so that it need not ask the database for each batch.
const MAX_KNOWN: usize = 5_000;

const MINUTE_MS: i64 = 60_000;

thread_local! {
    static KNOWN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// The cost of a batch.
#[derive(Debug, Serialize, Deserialize)]
struct Ask {
    now_ms: i64,
    account: String,
    events: u64,
    max_events: u64,
    projects_account: String,
    /// Hashes of the projects that the database does not know.
    new_projects: Vec<String>,
    max_new_projects: u64,
}

/// The granted part of it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Answer {
    /// Set if the events are within the limit of this minute.
    events: bool,
    /// Those of the new projects that are within the limit of this day.
    new_projects: Vec<String>,
}

/// Counts a batch. A refusal is for all of it; returned are the projects whose events cannot be taken today.
pub(crate) async fn count(
    env: &Env,
    account: &Account,
    events: usize,
    projects: &BTreeSet<String>,
) -> Outcome<BTreeSet<String>> {
    // Without the binding there is no limit: an older wrangler.toml still works.
    if env.durable_object(BINDING).is_err() {
        return Ok(BTreeSet::new());
    }
    let now_ms = clock::now_ms();
    let new: Vec<(String, &String)> = unknown(env, projects)
        .await
        .into_iter()
        .map(|name| (token::key(name), name))
        .collect();
    let ask = Ask {
        now_ms,
        account: account.events.clone(),
        events: events as u64,
        max_events: limit(env, EVENTS_PER_MINUTE, DEFAULT_EVENTS),
        projects_account: account.projects.clone(),
        new_projects: new.iter().map(|(key, _)| key.clone()).collect(),
        max_new_projects: limit(env, NEW_PROJECTS_PER_DAY, DEFAULT_NEW_PROJECTS),
    };
    let answer = match self::ask(env, &ask).await {
        Ok(answer) => answer,
        Err(error) => {
            // As with the database: what cannot be counted is not lost for it.
            console_error!("a batch could not be counted: {error}");
            return Ok(BTreeSet::new());
        }
    };
    if !answer.events {
        return Err(too_many(
            &texts::too_many_events_a_minute(ask.max_events),
            now_ms,
            MINUTE_MS,
        )?);
    }
    let refused: BTreeSet<String> = new
        .into_iter()
        .filter(|(key, _)| !answer.new_projects.contains(key))
        .map(|(_, name)| name.clone())
        .collect();
    if !refused.is_empty() && refused.len() == projects.len() {
        return Err(too_many(
            &texts::too_many_projects_a_day(ask.max_new_projects),
            now_ms,
            DAY_MS,
        )?);
    }
    Ok(refused)
}

/// Why an event of a project is refused.
pub(crate) fn refused_project(env: &Env) -> String {
    texts::project_beyond_quota(limit(env, NEW_PROJECTS_PER_DAY, DEFAULT_NEW_PROJECTS))
}

/// A 429 that says when the next window begins.
fn too_many(why: &Problem, now_ms: i64, window_ms: i64) -> Result<Refusal> {
    let response = problem(why)?;
    let seconds = (window_ms - now_ms.rem_euclid(window_ms)).div_euclid(1000).max(1);
    response.headers().set("retry-after", &seconds.to_string())?;
    Ok(Refusal::Answer(response))
}

/// Those of the projects that the database has never heard of. While it cannot be asked, none is unknown: events are taken then,
/// too.
async fn unknown<'a>(env: &Env, projects: &'a BTreeSet<String>) -> Vec<&'a String> {
    let unsure: Vec<&String> =
        KNOWN.with_borrow(|known| projects.iter().filter(|project| !known.contains(*project)).collect());
    if unsure.is_empty() {
        return unsure;
    }
    match store::known_projects(env, &unsure).await {
        Ok(known) => {
            let unknown = unsure.into_iter().filter(|project| !known.contains(*project)).collect();
            KNOWN.with_borrow_mut(|kept| {
                if kept.len() + known.len() > MAX_KNOWN {
                    kept.clear();
                }
                kept.extend(known);
            });
            unknown
        }
        Err(error) => {
            console_error!("it cannot be asked which projects are known: {error}");
            Vec::new()
        }
    }
}

fn limit(env: &Env, name: &'static str, default: u64) -> u64 {
    number(env, name).unwrap_or(default)
}

async fn ask(env: &Env, ask: &Ask) -> Result<Answer> {
    let stub = env.durable_object(BINDING)?.get_by_name("quota")?;
    let mut init = RequestInit::new();
    let body = serde_json::to_string(ask)?;
    init.with_method(Method::Post).with_body(Some(JsValue::from_str(&body)));
    let request = Request::new_with_init("http://quota/", &init)?;
    stub.fetch_with_request(request).await?.json().await
}
