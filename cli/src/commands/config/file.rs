//! A document in a file: its text, and the JSON in it without keys that are there twice.

use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Read, Write},
};

use camino::Utf8Path;
use conclave_engine::json::read_strictly;
use conclave_plugin_reviewer_config::{StoredDocument, empty_document};
use conclave_shared::config::{ConfigFault, MAX_DOCUMENT_BYTES};
use serde_json::Value;

use crate::exit::Failure;

/// Maximum bytes of a text that are read. It is longer than what is sent of it, which is without line breaks and indents.
const MAX_TEXT: usize = 4 * MAX_DOCUMENT_BYTES;
/// Mark that some editors put in front of a text in UTF-8.
const UTF_8_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Marks in front of a text in UTF-16, by the order of its bytes.
const UTF_16_MARKS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];

/// The document in a file or, for `-`, on standard input; or why what is there is not one.
pub(super) fn document(file: &Utf8Path) -> Result<Result<Value, ConfigFault>, Failure> {
    let bytes = if file == "-" {
        bounded(std::io::stdin())
    } else {
        File::open(file).and_then(bounded)
    };
    Ok(parse(&bytes.map_err(Failure::io(format!("read {file}")))?))
}

/// All bytes, or of a text that is too long as many as show it: a device has no end.
fn bounded(source: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_TEXT as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
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

/// The JSON of a text in UTF-8. A key that is there twice is a fault: only one of its values would count, without a word about which.
fn parse(bytes: &[u8]) -> Result<Value, ConfigFault> {
    let fault = |detail: String| ConfigFault {
        pointer: String::new(),
        detail,
    };
    let at_most = format!("the Worker takes {MAX_DOCUMENT_BYTES} at most");
    if bytes.len() > MAX_TEXT {
        return Err(fault(format!(
            "has more than {MAX_TEXT} bytes; {at_most}, without line breaks and indents"
        )));
    }
    if UTF_16_MARKS.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(fault("is UTF-16: save it as UTF-8".to_owned()));
    }
    let text = std::str::from_utf8(bytes.strip_prefix(UTF_8_MARK).unwrap_or(bytes))
        .map_err(|error| fault(format!("is not text in UTF-8, as which it has to be saved ({error})")))?;
    if text.trim().is_empty() {
        return Err(fault(format!(
            "is empty: the smallest document is {}",
            empty_document()
        )));
    }
    let document = read_strictly(text, str::to_owned);
    let document = document.map_err(|error| fault(format!("is not JSON that can be used: {error}")))?;
    let sent = document.to_string().len();
    if sent > MAX_DOCUMENT_BYTES {
        return Err(fault(format!(
            "has {sent} bytes without line breaks and indents; {at_most}"
        )));
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_a_fault_with_its_place() {
        let text = r#"{"schema_version":1,"limits":{"sessions":2.5,"list":[null,true,-3,"x",{}]}}"#;
        let plain: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(parse(text.as_bytes()), Ok(plain));
        for text in ["{\"a\":1,\n\"a\":2}", "{\"b\":[{\n\"a\":{},\"a\":{}}]}"] {
            let detail = parse(text.as_bytes()).expect_err(text).detail;
            assert!(detail.contains("`a` is there twice at line 2"), "{detail}");
        }
        let broken = parse(b"{").expect_err("broken").detail;
        assert!(broken.starts_with("is not JSON that can be used: EOF"), "{broken}");
    }

    #[test]
    fn what_is_not_text_in_utf_8_is_a_fault_of_the_document() {
        let utf_16: Vec<u8> = "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let cases: [(&[u8], &str); 6] = [
            (&utf_16, "is UTF-16: save it as UTF-8"),
            (b"\xFE\xFF\0{\0}", "is UTF-16: save it as UTF-8"),
            (b"{\"a\":\"\xFC\"}", "is not text in UTF-8"),
            (b"", "is empty: the smallest document is {"),
            (b" \n", "is empty"),
            (UTF_8_MARK, "is empty"),
        ];
        for (bytes, says) in cases {
            let fault = parse(bytes).expect_err(says);
            assert_eq!(fault.pointer, "");
            assert!(fault.detail.starts_with(says), "{}", fault.detail);
        }
        let marked = [UTF_8_MARK, b"{}".as_slice()].concat();
        assert_eq!(
            parse(&marked),
            Ok(serde_json::json!({})),
            "the mark is not a part of the text"
        );
    }

    #[test]
    fn what_the_worker_would_not_take_is_a_fault_and_is_not_read_to_its_end() {
        let endless = bounded(std::io::repeat(b' ')).expect("read");
        let fault = parse(&endless).expect_err("too long");
        assert!(
            fault
                .detail
                .starts_with("has more than 1048576 bytes; the Worker takes 262144 at most"),
            "{fault:?}"
        );
        let indented = format!("{{{}\"a\":1}}", " ".repeat(2 * MAX_DOCUMENT_BYTES));
        assert_eq!(parse(indented.as_bytes()), Ok(serde_json::json!({ "a": 1 })));
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_DOCUMENT_BYTES));
        let fault = parse(long.as_bytes()).expect_err("too large");
        assert!(fault.detail.starts_with("has 262152 bytes"), "{fault:?}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_a_faulty_document() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
        let file = path.join("document.json");
        assert!(document(&file).is_err(), "it is not there");
        std::fs::write(&file, "").expect("written");
        assert!(matches!(document(&file), Ok(Err(_))), "it has a fault");
    }
}
