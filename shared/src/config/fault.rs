//! A fault of a document, and its place.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::ModelId;

/// One fault of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigFault {
    /// A JSON pointer to the faulty value.
    pub pointer: String,
    /// What is wrong, and what would be right.
    pub detail: String,
}

/// The faults of a table by models: of their names, and of what stands under each, with the name of its field.
pub(super) fn of_models<T>(
    table: &str,
    entries: &BTreeMap<String, T>,
    faults_of: impl Fn(&T) -> Vec<(&'static str, String)>,
) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    for (name, entry) in entries {
        let pointer = format!("/{table}/{}", escape(name));
        if let Err(error) = name.parse::<ModelId>() {
            faults.push(ConfigFault {
                pointer: pointer.clone(),
                detail: error.to_string(),
            });
        }
        faults.extend(faults_of(entry).into_iter().map(|(field, detail)| ConfigFault {
            pointer: format!("{pointer}/{field}"),
            detail,
        }));
    }
    faults
}

/// A key as a JSON pointer's token (RFC 6901).
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
