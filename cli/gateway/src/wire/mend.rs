//! Characters of which only a half came.
//!
//! Runtimes read the same bytes in different ways: one takes half of a surrogate pair for a character, another one drops the whole
//! event. What has one clear meaning is written out here, so that all of them read the same.

use memchr::memchr_iter;

/// The escape of the replacement character, as long as the one whose place it takes.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// An event's data with a replacement character for each half; nothing if all of its characters are whole.
pub(crate) fn mended(data: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(data);
    let halves = halves(text.as_bytes());
    if halves.is_empty() && matches!(text, std::borrow::Cow::Borrowed(_)) {
        return None;
    }
    let mut bytes = text.into_owned().into_bytes();
    for at in halves {
        if let Some(place) = bytes.get_mut(at..at + REPLACEMENT.len()) {
            place.copy_from_slice(REPLACEMENT);
        }
    }
    Some(bytes)
}

/// The places of escapes that are one half of a surrogate pair without the other.
fn halves(text: &[u8]) -> Vec<usize> {
    let mut halves = Vec::new();
    let mut next = 0;
    for at in memchr_iter(b'\\', text) {
        // The second character of an escape, or the second half of a pair.
        if at < next {
            continue;
        }
        next = at + 2;
        match code_unit(text, at) {
            Some(0xD800..=0xDBFF) if matches!(code_unit(text, at + 6), Some(0xDC00..=0xDFFF)) => next = at + 12,
            Some(0xD800..=0xDFFF) => {
                halves.push(at);
                next = at + 6;
            }
            _ => {}
        }
    }
    halves
}

/// The number of the `\u` escape at this place, if there is one.
fn code_unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_of_a_character_becomes_a_replacement() {
        for (data, expected) in [
            (&b"{\"text\":\"plain \\u00e9 \\ud83d\\ude00 \\\\ud800\"}"[..], None),
            (b"\xf0\x9f\x98\x80 \\\\\\\\ud800", None),
            (b"\"a\\ud800b\"", Some("\"a\\ufffdb\"")),
            (b"\"\\uDC00\\ud800\"", Some("\"\\ufffd\\ufffd\"")),
            (b"\"\\ud83d\\ud83d\\ude00\"", Some("\"\\ufffd\\ud83d\\ude00\"")),
            (b"\"\\\\\\ud800\"", Some("\"\\\\\\ufffd\"")),
            (b"\"a\xffb\xe2\x82\"", Some("\"a\u{fffd}b\u{fffd}\"")),
            (b"\"\\ud8\"", None),
        ] {
            let mended = mended(data).map(|mended| String::from_utf8(mended).expect("text"));
            assert_eq!(mended.as_deref(), expected, "{data:?}");
        }
    }
}
