//! From JSON to a document, with every problem and its place.
//!
//! A deserialiser stops at the first value that it cannot read. So what it stops at is noted, taken out of a copy, and the
//! copy is read again, until all of it can be read; what is left is then checked like any document. An operator sees
//! everything at once instead of one problem an attempt.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    ConfigDocument, ConfigFault, SCHEMA_VERSION, fault::escape, hidden, names, validate, validate::mixed_cycles,
};

/// After so many problems nobody reads on, and each one costs a pass.
const MAX_FAULTS: usize = 50;

/// Reads a document, or says everything that is wrong with it.
pub fn read(value: &Value) -> Result<ConfigDocument, Vec<ConfigFault>> {
    if !value.is_object() {
        // A list would be read as the fields in their order.
        return Err(vec![ConfigFault {
            pointer: String::new(),
            detail: "cannot be read: it is not a JSON object".to_owned(),
        }]);
    }
    let mut rest = Repaired::new(value);
    let (document, mut faults) = rest.read();
    let Some(document) = document else {
        return Err(faults);
    };
    faults.extend(validate(&document).into_iter().filter_map(|fault| {
        let place = rest.original(&split(&fault.pointer));
        // A value that stands in for another one is not the document's.
        (!rest.stand_ins.contains_key(&place)).then(|| ConfigFault {
            pointer: pointer(&place),
            ..fault
        })
    }));
    if faults.is_empty() { Ok(document) } else { Err(faults) }
}

/// Reads a document that is to be written. It must not have faults either that a stored one is used with all the same, so that no
/// update of this program takes a document out of force.
pub fn check(value: &Value) -> Result<ConfigDocument, Vec<ConfigFault>> {
    let hidden = hidden::faults(value);
    let document = read(value).map_err(|faults| hidden.iter().cloned().chain(faults).collect::<Vec<_>>())?;
    let mut faults = hidden;
    faults.extend(names::faults(&document));
    faults.extend(mixed_cycles(&document));
    if faults.is_empty() { Ok(document) } else { Err(faults) }
}

/// The fields that this version does not know, as JSON pointers. They are no fault: a later version may. They have no
/// effect either, which their author should know.
pub fn unknown_fields(value: &Value) -> Vec<String> {
    let mut rest = Repaired::new(value);
    let _ = rest.read();
    let mut unknown = Vec::new();
    // What cannot be read at all is reported as a fault.
    let _ = serde_ignored::deserialize::<_, _, ConfigDocument>(&rest.value, |path| {
        let mut tokens = Vec::new();
        ignored_tokens(&path, &mut tokens);
        unknown.push(pointer(&rest.original(&tokens)));
    });
    unknown
}

/// A copy of a document without what cannot be read.
struct Repaired {
    value: Value,
    /// What is gone from arrays, by the array's place: what came behind it has moved.
    gone: BTreeMap<Vec<String>, BTreeSet<usize>>,
    /// The places of fields that have a value in place of one that is missing or cannot be read, and the number of values that were
    /// tried: without it all of its object would have to go, with the faults of its other fields.
    stand_ins: BTreeMap<Vec<String>, usize>,
}

impl Repaired {
    fn new(value: &Value) -> Self {
        Self {
            value: value.clone(),
            gone: BTreeMap::new(),
            stand_ins: BTreeMap::new(),
        }
    }

    /// Reads the copy, and takes out of it what cannot be read. There is no document if that mends nothing.
    fn read(&mut self) -> (Option<ConfigDocument>, Vec<ConfigFault>) {
        let mut faults: Vec<ConfigFault> = Vec::new();
        loop {
            let error = match serde_path_to_error::deserialize::<_, ConfigDocument>(&self.value) {
                Ok(document) => return (Some(document), faults),
                Err(error) => error,
            };
            let place = tokens(error.path());
            if let Some((object, field)) = self.stood_in(&place) {
                // It is of another kind than the field.
                if !self.stand_in(&object, &field) && !self.take_out(&object) {
                    return (None, faults);
                }
                continue;
            }
            let fault = ConfigFault {
                pointer: pointer(&self.original(&place)),
                detail: format!("cannot be read: {}", error.inner()),
            };
            // A field that is missing because it was taken out was reported already.
            let told = |known: &ConfigFault| {
                let field = known.pointer.strip_prefix(&fault.pointer);
                let field = field.and_then(|rest| rest.strip_prefix('/'));
                field.is_some_and(|field| fault.detail.ends_with(&format!("missing field `{field}`")))
            };
            if !faults.iter().any(told) {
                faults.push(fault);
            }
            if faults.len() == MAX_FAULTS {
                return (None, faults);
            }
            let text = error.inner().to_string();
            let missing = text
                .strip_prefix("missing field `")
                .and_then(|rest| rest.strip_suffix('`'));
            let is_mended = missing.is_some_and(|field| !place.is_empty() && self.stand_in(&place, field));
            if !is_mended && !self.take_out(&place) {
                return (None, faults);
            }
        }
    }

    /// Puts the next value into a field that is missing; `false` if there is none left to try.
    fn stand_in(&mut self, object: &[String], field: &str) -> bool {
        let original = [self.original(object), vec![field.to_owned()]].concat();
        let tried = self.stand_ins.entry(original).or_default();
        let values = [json!(0), json!(""), json!(false), json!([]), json!({})];
        let Some(value) = values.into_iter().nth(*tried) else {
            return false;
        };
        *tried += 1;
        match self.value.pointer_mut(&pointer(object)) {
            Some(Value::Object(fields)) => {
                fields.insert(field.to_owned(), value);
                true
            }
            _ => false,
        }
    }

    /// The field, with the place of its object, whose value stands in at a place or around it.
    fn stood_in(&self, place: &[String]) -> Option<(Vec<String>, String)> {
        (1..=place.len()).find_map(|length| {
            let (field, object) = place.get(..length)?.split_last()?;
            let original = self.original(place.get(..length)?);
            let stands_in = self.stand_ins.contains_key(&original);
            stands_in.then(|| (object.to_vec(), field.clone()))
        })
    }

    /// Where a value of the copy stands in the original.
    fn original(&self, place: &[String]) -> Vec<String> {
        let mut found: Vec<String> = Vec::with_capacity(place.len());
        for token in place {
            let moved = match (self.gone.get(&found), token.parse::<usize>()) {
                (Some(gone), Ok(index)) => nth_left(gone, index).to_string(),
                _ => token.clone(),
            };
            found.push(moved);
        }
        found
    }

    /// Takes a value out; `false` if there is none to take.
    fn take_out(&mut self, place: &[String]) -> bool {
        // The one field that cannot be left out: what it should be is known.
        let version = ["schema_version".to_owned()];
        let bare = place.is_empty() && self.value.get("schema_version").is_none();
        if (bare || place == version)
            && let Value::Object(fields) = &mut self.value
        {
            let fixed = fields.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
            // Anything else that is wrong with the whole cannot be mended.
            return fixed != Some(SCHEMA_VERSION.into());
        }
        let Some((last, parents)) = place.split_last() else {
            return false;
        };
        let original = self.original(place);
        let Some(parent) = self.value.pointer_mut(&pointer(parents)) else {
            return false;
        };
        match parent {
            Value::Object(fields) => fields.remove(last).is_some(),
            Value::Array(items) => {
                let (Ok(index), Some((moved, array))) = (last.parse::<usize>(), original.split_last()) else {
                    return false;
                };
                if index >= items.len() {
                    return false;
                }
                items.remove(index);
                if let Ok(moved) = moved.parse() {
                    self.gone.entry(array.to_vec()).or_default().insert(moved);
                }
                true
            }
            _ => false,
        }
    }
}

/// The original index of what stands at `index` now.
fn nth_left(gone: &BTreeSet<usize>, index: usize) -> usize {
    // Ascending: each one that is gone before it has moved it by one.
    gone.iter()
        .fold(index, |at, gone| if *gone <= at { at + 1 } else { at })
}

fn tokens(path: &serde_path_to_error::Path) -> Vec<String> {
    use serde_path_to_error::Segment;
    let known = path.iter().map_while(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    known.collect()
}

fn ignored_tokens(path: &serde_ignored::Path<'_>, tokens: &mut Vec<String>) {
    use serde_ignored::Path;
    match path {
        Path::Root => {}
        Path::Seq { parent, index } => {
            ignored_tokens(parent, tokens);
            tokens.push(index.to_string());
        }
        Path::Map { parent, key } => {
            ignored_tokens(parent, tokens);
            tokens.push(key.clone());
        }
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            ignored_tokens(parent, tokens);
        }
    }
}

/// A JSON pointer (RFC 6901).
fn pointer(tokens: &[String]) -> String {
    tokens
        .iter()
        .fold(String::new(), |text, token| text + "/" + &escape(token))
}

fn split(pointer: &str) -> Vec<String> {
    let tokens = pointer.split('/').skip(1);
    tokens
        .map(|token| token.replace("~1", "/").replace("~0", "~"))
        .collect()
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
