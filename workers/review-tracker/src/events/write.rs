//! Writes: statements, each with its rows as JSON.

use std::borrow::Cow;

use serde::Serialize;

/// Maximum bytes of one parameter. D1 takes 2 MB, earlier 1 MB; what is longer goes into several statements of the same transaction.
const MAX_PARAMETER_BYTES: usize = 900_000;

/// A statement, and the rows that it writes.
#[derive(Debug)]
pub struct Write {
    /// The statement. Its parameter is a JSON array of rows.
    pub statement: Cow<'static, str>,
    pub(super) rows: Vec<String>,
}

impl Write {
    /// JSON arrays with all rows, none of them longer than a parameter may be, unless one row alone is.
    pub fn parameters(&self) -> Vec<String> {
        let mut parameters: Vec<String> = Vec::new();
        let mut current = String::new();
        for row in &self.rows {
            if !current.is_empty() && current.len() + row.len() + 2 > MAX_PARAMETER_BYTES {
                parameters.push(format!("[{current}]"));
                current.clear();
            }
            if !current.is_empty() {
                current.push(',');
            }
            current.push_str(row);
        }
        if !current.is_empty() {
            parameters.push(format!("[{current}]"));
        }
        parameters
    }
}

/// A tuple as JSON without its end.
pub(super) fn open(tuple: &impl Serialize) -> String {
    let mut text = json(tuple);
    text.pop();
    text
}

/// A value as JSON. Tuples and events always become it.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_whole_arrays_and_never_too_long() {
        let of = |rows| Write {
            statement: "SELECT 1".into(),
            rows,
        };
        assert_eq!(of(Vec::new()).parameters(), Vec::<String>::new());
        let rows: Vec<String> = (0..2500).map(|index| format!("\"{index:0>1000}\"")).collect();
        let parameters = of(rows.clone()).parameters();
        assert_eq!(parameters.len(), 3);
        let back: Vec<String> = parameters
            .iter()
            .flat_map(|text| {
                assert!(text.len() <= MAX_PARAMETER_BYTES, "{}", text.len());
                serde_json::from_str::<Vec<String>>(text).expect("an array")
            })
            .map(|text| format!("\"{text}\""))
            .collect();
        assert_eq!(back, rows);
    }
}
