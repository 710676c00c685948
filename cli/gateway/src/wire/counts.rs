//! Counts of tokens, as providers write them.

use serde_json::Value;

/// Maximum count that is believed of one call, in tokens: several times the largest context window. A higher one is a mistake, which
/// would spend every budget.
const MAX_COUNT: u64 = 10_000_000;

/// A count; `None` where it is missing, or a number that cannot be one. A fraction is rounded up.
pub(super) fn count(value: &Value) -> Option<u64> {
    let count = match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| whole(text.parse().ok()?))
        }
        _ => None,
    };
    count.filter(|count| *count <= MAX_COUNT)
}

/// A count that may be missing, and is zero then; `None` where it cannot be one.
pub(super) fn part(value: &Value) -> Option<u64> {
    if value.is_null() { Some(0) } else { count(value) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it lies within the bounds"
)]
fn whole(number: f64) -> Option<u64> {
    (0.0..=1e12).contains(&number).then(|| number.ceil() as u64)
}

/// Writes a provider's counts as every runtime reads them: whole numbers, and nothing where the count is unknown; but zero for those that
/// have to be there. Returns whether anything had to be changed.
pub(super) fn write_plainly(usage: &mut Value, required: &[&str]) -> bool {
    let mut has_changed = false;
    if !usage.is_object() {
        *usage = Value::Object(serde_json::Map::new());
        has_changed = true;
    }
    let Some(fields) = usage.as_object_mut() else {
        return has_changed;
    };
    let mut odd = Vec::new();
    for (name, value) in fields.iter_mut() {
        if value.is_null() || (value.is_u64() && count(value).is_some()) {
            continue;
        }
        if name.ends_with("_tokens") {
            match count(value) {
                Some(count) => *value = count.into(),
                None => odd.push(name.clone()),
            }
            has_changed = true;
        } else if value.is_object() {
            has_changed |= write_plainly(value, &[]);
        } else if name.ends_with("_details") && !value.is_u64() {
            odd.push(name.clone());
        }
    }
    has_changed |= !odd.is_empty();
    for name in odd {
        fields.shift_remove(&name);
    }
    for name in required {
        if fields.get(*name).is_none_or(Value::is_null) {
            fields.insert((*name).to_owned(), 0.into());
            has_changed = true;
        }
    }
    has_changed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_count_has_a_clear_meaning_or_is_unknown() {
        for (value, expected) in [
            (json!(12), Some(12)),
            (json!(0), Some(0)),
            (json!(12.0), Some(12)),
            (json!(1.5), Some(2)),
            (json!("12"), Some(12)),
            (json!(" 12.5 "), Some(13)),
            (json!(-1), None),
            (json!(-0.5), None),
            (json!(10_000_000), Some(10_000_000)),
            (json!(10_000_001), None),
            (json!(u64::MAX), None),
            (json!("18446744073709551615"), None),
            (json!(2e7), None),
            (json!(1e30), None),
            (json!("1e30"), None),
            (json!("many"), None),
            (json!("NaN"), None),
            (json!(null), None),
            (json!([12]), None),
            (json!({}), None),
            (json!(true), None),
        ] {
            assert_eq!(count(&value), expected, "{value}");
        }
    }

    #[test]
    fn odd_counts_are_written_plainly() {
        for (usage, expected) in [
            (json!({"a_tokens": 1, "b_tokens": null, "x_details": null}), None),
            (json!({"a_tokens": "7", "b_tokens": -1}), Some(json!({"a_tokens": 7}))),
            (
                json!({"a_tokens": u64::MAX, "b_tokens": 1}),
                Some(json!({"b_tokens": 1})),
            ),
            (json!({"a_tokens": 1, "created": 1_790_000_000}), None),
            (json!({"a_tokens": null}), None),
            (json!({"a_tokens": {}}), Some(json!({}))),
            (
                json!({"a_tokens": 1, "x_details": {"c_tokens": 1e30}}),
                Some(json!({"a_tokens": 1, "x_details": {}})),
            ),
            (json!({"a_tokens": 1, "x_details": [1]}), Some(json!({"a_tokens": 1}))),
            (json!("a lot"), Some(json!({}))),
            (json!(null), Some(json!({}))),
        ] {
            let mut written = usage.clone();
            let has_changed = write_plainly(&mut written, &[]);
            assert_eq!(
                (has_changed, &written),
                (expected.is_some(), expected.as_ref().unwrap_or(&usage)),
                "{usage}"
            );
        }
        let mut usage = json!({"a_tokens": -3, "b_tokens": null});
        assert!(write_plainly(&mut usage, &["a_tokens", "b_tokens", "c_tokens"]));
        assert_eq!(usage, json!({"a_tokens": 0, "b_tokens": 0, "c_tokens": 0}));
    }
}
