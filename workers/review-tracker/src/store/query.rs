//! Common parts of every use of the database.

use conclave_worker_common::{Outcome, Refusal, problem};
use serde::de::DeserializeOwned;
use worker::{D1Database, D1Result, Env, wasm_bindgen::JsValue};

use crate::texts;

/// The database.
pub(crate) fn database(env: &Env) -> Outcome<D1Database> {
    Ok(env.d1("DB")?)
}

/// A failed statement as a refusal. Missing tables are an operator's task and are said so; the rest is a fault.
pub(crate) fn fault(error: worker::Error) -> Refusal {
    let text = error.to_string();
    if ["no such table", "no such column", "has no column", "no such index"]
        .iter()
        .any(|sign| text.contains(sign))
    {
        match problem(&texts::no_tables()) {
            Ok(answer) => Refusal::Answer(answer),
            Err(error) => Refusal::Fault(error),
        }
    } else {
        Refusal::Fault(error)
    }
}

/// A whole number as a parameter: D1 takes JavaScript's numbers, which are exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "times, days and counts stay far below 2^53")]
pub(crate) fn number(value: i64) -> JsValue {
    JsValue::from_f64(value as f64)
}

/// The rows of the next statement of a batch.
pub(crate) fn rows<T: DeserializeOwned>(results: &mut impl Iterator<Item = D1Result>) -> Outcome<Vec<T>> {
    match results.next() {
        Some(result) => Ok(result.results()?),
        None => Ok(Vec::new()),
    }
}
