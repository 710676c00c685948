//! A document in a file: its text, and the JSON in it without keys that are there twice.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Read, Write},
};

use camino::Utf8Path;
use conclave_engine::json::read_strictly;
use conclave_plugin_reviewer_config::{StoredDocument, empty_document};
use conclave_shared::config::ConfigFault;
use serde_json::Value;

use crate::exit::Failure;

/// The text of a file or, for `-`, of standard input.
pub(super) fn text(file: &Utf8Path) -> Result<String, Failure> {
    let text = if file == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.map_err(Failure::io(format!("read {file}")))?;
    if text.trim().is_empty() {
        return Err(Failure::Settings(format!(
            "{file} is empty: the smallest document is {}",
            empty_document()
        )));
    }
    Ok(text)
}

/// Keeps a copy of a stored document in the current directory, and returns the file's name. Two copies of one document are one file.
pub(super) fn keep(stored: &StoredDocument) -> Result<String, Failure> {
    let plain = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    let tag: String = stored.tag.chars().filter(plain).take(80).collect();
    let name = format!("conclave-config-{tag}.replaced");
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&name)
        .and_then(|mut file| file.write_all(stored.text.as_bytes()));
    match written {
        Err(error)
            if error.kind() == ErrorKind::AlreadyExists
                && std::fs::read(&name).is_ok_and(|kept| kept == stored.text.as_bytes()) =>
        {
            Ok(name)
        }
        written => written.map(|()| name.clone()).map_err(Failure::io(format!(
            "keep a copy of the stored document in {name}, so nothing was changed"
        ))),
    }
}

/// The JSON of a text. A key that is there twice is a fault: only one of its values would count, without a word about which.
pub(super) fn parse(text: &str) -> Result<Value, ConfigFault> {
    read_strictly(text, str::to_owned).map_err(|error| ConfigFault {
        pointer: String::new(),
        detail: format!("is not JSON that can be used: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_a_fault_with_its_place() {
        let text = r#"{"schema_version":1,"limits":{"sessions":2.5,"list":[null,true,-3,"x",{}]}}"#;
        let plain: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(parse(text), Ok(plain));
        for text in ["{\"a\":1,\n\"a\":2}", "{\"b\":[{\n\"a\":{},\"a\":{}}]}"] {
            let detail = parse(text).expect_err(text).detail;
            assert!(detail.contains("`a` is there twice at line 2"), "{detail}");
        }
        let broken = parse("{").expect_err("broken").detail;
        assert!(broken.starts_with("is not JSON that can be used: EOF"), "{broken}");
    }
}
