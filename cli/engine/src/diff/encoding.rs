//! Text in wide characters: UTF-16 and UTF-32 with a byte-order mark, which git shows as binary.

use serde::Serialize;

/// An encoding that a byte-order mark names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
    /// UTF-32, low byte first.
    Utf32Le,
    /// UTF-32, high byte first.
    Utf32Be,
}

impl Encoding {
    /// The encoding whose byte-order mark a content begins with.
    pub fn of(content: &[u8]) -> Option<Self> {
        // The mark of UTF-32 begins with that of UTF-16.
        match content {
            [0xFF, 0xFE, 0, 0, ..] => Some(Self::Utf32Le),
            [0, 0, 0xFE, 0xFF, ..] => Some(Self::Utf32Be),
            [0xFF, 0xFE, ..] => Some(Self::Utf16Le),
            [0xFE, 0xFF, ..] => Some(Self::Utf16Be),
            _ => None,
        }
    }

    /// The name as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Utf32Le => "UTF-32LE",
            Self::Utf32Be => "UTF-32BE",
        }
    }

    /// Returns the text without the mark; `None` if it holds an invalid character or a zero, because a program would read
    /// something else than what is shown.
    pub fn decode(self, content: &[u8]) -> Option<String> {
        let text: Option<String> = match self {
            Self::Utf16Le | Self::Utf16Be => {
                let (units, []) = content.get(2..)?.as_chunks::<2>() else {
                    return None;
                };
                let units = units.iter().map(|unit| match self {
                    Self::Utf16Le => u16::from_le_bytes(*unit),
                    _ => u16::from_be_bytes(*unit),
                });
                char::decode_utf16(units).collect::<Result<_, _>>().ok()
            }
            Self::Utf32Le | Self::Utf32Be => {
                let (units, []) = content.get(4..)?.as_chunks::<4>() else {
                    return None;
                };
                let units = units.iter().map(|unit| match self {
                    Self::Utf32Le => u32::from_le_bytes(*unit),
                    _ => u32::from_be_bytes(*unit),
                });
                units.map(char::from_u32).collect()
            }
        };
        text.filter(|text| !text.contains('\0'))
    }
}

/// Decodes a content as UTF-8, or in the encoding of its byte-order mark; `None` if it is neither.
pub fn text_of(content: &[u8]) -> Option<String> {
    match Encoding::of(content) {
        Some(encoding) => encoding.decode(content),
        None => std::str::from_utf8(content)
            .ok()
            .filter(|text| !text.contains('\0'))
            .map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str, encoding: Encoding) -> Vec<u8> {
        let text = format!("\u{feff}{text}");
        match encoding {
            Encoding::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Encoding::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Encoding::Utf32Le => text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
            Encoding::Utf32Be => text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect(),
        }
    }

    #[test]
    fn every_encoding_with_a_mark_is_read() {
        for encoding in [
            Encoding::Utf16Le,
            Encoding::Utf16Be,
            Encoding::Utf32Le,
            Encoding::Utf32Be,
        ] {
            let text = "Write-Host 'grüße 🦀'\r\n";
            let bytes = wide(text, encoding);
            assert_eq!(Encoding::of(&bytes), Some(encoding));
            assert_eq!(text_of(&bytes).as_deref(), Some(text), "{encoding:?}");
        }
    }

    #[test]
    fn what_is_no_text_stays_so() {
        for bytes in [
            &b"\xff\xfea\0\0\xd8"[..], // half a character
            b"\xff\xfea",              // half a unit
            b"\xff\xfea\0\0\0",        // a zero
            b"\0\0\xfe\xff\0\x11\0\0", // beyond the last character
            b"a\0b",
            b"\xc3",
        ] {
            assert_eq!(text_of(bytes), None, "{bytes:?}");
        }
    }
}
