//! Common parts of every use of the database.

use conclave_worker_common::{Outcome, Refusal, problem};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use worker::{D1Database, D1Result, Env, wasm_bindgen::JsValue};

use crate::{sketch::float, texts};

/// The largest whole number that a JSON number holds exactly, and that a row is read with.
const LARGEST: u64 = (1 << 53) - 1;

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
        Some(result) => Ok(read(&result)?),
        None => Ok(Vec::new()),
    }
}

/// A row of a statement that counts.
#[derive(Deserialize)]
pub(super) struct Counted {
    pub(super) n: u64,
}

/// The count of the next statement of a batch.
pub(super) fn count(results: &mut impl Iterator<Item = D1Result>) -> Outcome<u64> {
    Ok(rows::<Counted>(results)?.pop().map_or(0, |counted| counted.n))
}

/// The rows of a result. A sum beyond [`LARGEST`] is read as that: each event has its limits, and what one client adds up to must not
/// take the figures of all others along.
pub(crate) fn read<T: DeserializeOwned>(result: &D1Result) -> worker::Result<Vec<T>> {
    if let Ok(rows) = result.results() {
        return Ok(rows);
    }
    let rows: Vec<Value> = result.results()?;
    rows.into_iter()
        .map(|row| Ok(serde_json::from_value(bounded(row))?))
        .collect()
}

/// A row without numbers beyond [`LARGEST`].
fn bounded(mut row: Value) -> Value {
    if let Value::Object(fields) = &mut row {
        for field in fields.values_mut() {
            if field.as_f64().is_some_and(|number| number > float(LARGEST)) {
                *field = LARGEST.into();
            }
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sum_that_is_too_large_to_be_read_exactly_is_read_as_the_largest_that_is_not() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Row {
            model: String,
            input: u64,
            calls: u64,
            cost_usd: f64,
        }
        let row = json!({ "model": "a/b", "input": 1e16, "calls": 7, "cost_usd": 2 });
        assert!(serde_json::from_value::<Row>(row.clone()).is_err());
        let expected = Row {
            model: "a/b".to_owned(),
            input: 9_007_199_254_740_991,
            calls: 7,
            cost_usd: 2.0,
        };
        assert_eq!(serde_json::from_value::<Row>(bounded(row)).ok(), Some(expected));
    }
}
