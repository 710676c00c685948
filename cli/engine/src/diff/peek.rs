//! What the beginning of a file says of it, whatever it is called.

use super::{code_data, encoding::Encoding, generated, generated::Header};

/// What the beginning of a file says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the same bytes"
)]
pub struct Peek {
    /// The header of the generator that wrote it.
    pub(super) generated: Option<Header>,
    /// It is text, and not empty.
    pub text: bool,
    /// It holds nothing.
    pub(super) empty: bool,
    /// Its first line names the program that runs it.
    pub(super) shebang: bool,
    /// It stands for a content that Git LFS keeps elsewhere.
    pub(super) pointer: bool,
    /// It is in an encoding of wide characters, and says so.
    pub(super) encoding: Option<Encoding>,
    /// It holds a zero byte, and is text but for a few of them.
    pub(super) mostly_text: bool,
    /// The form that its first bytes show.
    pub(super) form: Form,
    /// The whole file is a source map: JSON with `mappings`. Set by [`Peek::of_whole`].
    pub(super) source_map: bool,
    /// It is a zip archive. Which files are in it is said at its end.
    pub(super) zip: bool,
}

/// Forms that are known by their first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Form {
    /// None that is known.
    #[default]
    Unknown,
    /// A picture, a font, sound, a document.
    Inert,
    /// A container of other files; documents of office programs are such, too.
    Archive,
    /// Something that a machine runs, or that makes objects when it is read.
    Program,
}

/// The bytes of a file that Git LFS reads to tell whether it is a pointer.
const POINTER_BYTES: usize = 1024;

/// The first line of pointers that Git LFS and its forerunners write, without the number of its version.
const POINTERS: [&str; 3] = [
    "version https://git-lfs.github.com/spec/",
    "version https://hawser.github.com/spec/",
    "version http://git-media.io/v/",
];

impl Peek {
    /// How much of a file's beginning has to be known; git, too, tells text from binary by as much.
    pub const BYTES: usize = 8000;

    /// Returns whether a generator's header is there.
    pub const fn is_generated(&self) -> bool {
        self.generated.is_some()
    }

    /// Returns whether Git LFS takes the file for a pointer.
    pub const fn is_pointer(&self) -> bool {
        self.pointer
    }

    /// Returns whether it is a zip archive: the whole content is needed to say whether that is a package.
    pub const fn is_zip(&self) -> bool {
        self.zip
    }

    /// What is said by the whole of a file that is called like a source map, or is a zip archive.
    pub fn of_whole(content: &[u8]) -> Self {
        let seen = peek(content);
        Self {
            source_map: is_source_map(content),
            form: if seen.zip && code_data::is_package(content) {
                Form::Program
            } else {
                seen.form
            },
            ..seen
        }
    }
}

/// Looks at the first [`Peek::BYTES`] of a file.
pub fn peek(beginning: &[u8]) -> Peek {
    let beginning = &beginning[..beginning.len().min(Peek::BYTES)];
    let zero = memchr::memchr(0, beginning).is_some();
    Peek {
        generated: generated::header(beginning),
        text: !beginning.is_empty() && !zero,
        empty: beginning.is_empty(),
        shebang: beginning.starts_with(b"#!"),
        pointer: !zero && is_pointer(beginning),
        encoding: Encoding::of(beginning),
        mostly_text: zero && is_mostly_text(beginning),
        form: form(beginning),
        source_map: false,
        zip: is_zip(beginning),
    }
}

fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// Returns whether Git LFS takes the file for a pointer: white space and lines of extensions may stand before its version.
fn is_pointer(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&beginning[..beginning.len().min(POINTER_BYTES)]);
    let mut lines = text.trim_start().lines();
    lines
        .find(|line| !line.is_empty() && !line.starts_with("ext-"))
        .is_some_and(|line| POINTERS.iter().any(|start| line.starts_with(start)))
}

/// Returns whether more than nine in ten bytes are printable.
fn is_mostly_text(bytes: &[u8]) -> bool {
    let printable = |byte: &&u8| matches!(**byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    bytes.iter().filter(printable).count() * 10 > bytes.len() * 9
}

const INERT: &[&[u8]] = &[
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"BM",
    b"\0\0\x01\0",
    b"\0\0\x02\0",
    b"RIFF",
    b"FORM",
    b"II*\0",
    b"MM\0*",
    b"8BPS",
    b"icns",
    b"\xff\x0a",
    b"\0\0\0\x0cJXL ",
    b"\0\0\0\x0cjP  ",
    b"\0\x01\0\0",
    b"true\0",
    b"ttcf",
    b"OTTO",
    b"wOFF",
    b"wOF2",
    b"%PDF-",
    b"SQLite format 3\0",
    b"OggS",
    b"fLaC",
    b"ID3",
    b"\xff\xfb",
    b"\xff\xf3",
    b"\xff\xf2",
    b"\xff\xf1",
    b"\xff\xf9",
    b"MThd",
    b"\x1a\x45\xdf\xa3",
    b"\0\0\x01\xba",
    b"\0\0\x01\xb3",
    b"\x30\x26\xb2\x75",
    b"PAR1",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
];

const ARCHIVES: &[&[u8]] = &[
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\x04\x22\x4d\x18",
    b"LZIP",
    b"\x5d\0\0",
    b"MSCF",
    b"070701",
];

const PROGRAMS: &[&[u8]] = &[
    b"\x7fELF",
    b"MZ",
    b"\0asm",
    b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"dex\n",
    b"!<arch>\n",
    b"BC\xc0\xde",
    b"\x1bLua",
    b"BLENDER",
    // An array of NumPy may hold pickles.
    b"\x93NUMPY",
    b"\xac\xed\0\x05",
];

fn form(bytes: &[u8]) -> Form {
    let is = |forms: &[&[u8]]| forms.iter().any(|start| bytes.starts_with(start));
    let at = |offset: usize, mark: &[u8]| bytes.get(offset..).is_some_and(|rest| rest.starts_with(mark));
    if is(PROGRAMS) || code_data::is_pickle(bytes) || (is_zip(bytes) && code_data::is_package(bytes)) {
        Form::Program
    } else if is(ARCHIVES) || at(257, b"ustar") {
        Form::Archive
    } else if is(INERT) || at(4, b"ftyp") || at(34, b"LP") {
        Form::Inert
    } else {
        Form::Unknown
    }
}

/// Returns whether a content is a source map for a browser: JSON with `mappings`.
fn is_source_map(content: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Map {
        version: u32,
        mappings: Option<String>,
        sections: Option<Vec<serde::de::IgnoredAny>>,
    }
    // Servers put a line in front so that no page can load it as a script.
    let content = match content.strip_prefix(b")]}'") {
        Some(rest) => memchr::memchr(b'\n', rest).map_or(&[][..], |end| &rest[end..]),
        None => content,
    };
    serde_json::from_slice::<Map>(content)
        .is_ok_and(|map| map.version >= 1 && (map.mappings.is_some() || map.sections.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_map_is_json_with_mappings() {
        for (content, expected) in [
            (
                "{\"version\":3,\"sources\":[],\"names\":[],\"mappings\":\"AAAA\"}",
                true,
            ),
            (")]}'\n{\"version\":3,\"mappings\":\"\"}", true),
            ("{\"version\":3}", false),
            ("/admin backend;\n", false),
            ("", false),
        ] {
            assert_eq!(Peek::of_whole(content.as_bytes()).source_map, expected, "{content}");
        }
    }

    #[test]
    fn first_bytes_show_the_form() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], Form::Inert),
            (b"\0\0\0\x18ftypmp42", Form::Inert),
            (b"PK\x03\x04\x14\0", Form::Archive),
            (b"\x7fELF\x02\x01", Form::Program),
            (b"BLENDER-v300", Form::Program),
            (b"\x80\x04\x95\x10\0", Form::Program),
            (b"#!/bin/sh\n\0", Form::Unknown),
            (b"", Form::Unknown),
        ] {
            assert_eq!(peek(bytes).form, expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_pointer_of_lfs_is_known() {
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        assert!(peek(pointer).pointer);
        assert!(!peek(b"# version https://git-lfs.github.com/spec/v1\n").pointer);
        let padded = [&b"\n \xc2\xa0\next-0-case sha256:4d7a\n\n"[..], pointer].concat();
        assert!(peek(&padded).pointer, "Git LFS skips what stands before it");
        assert!(!peek(&[&pointer[..], b"\0"].concat()).pointer, "no text");
    }

    #[test]
    fn text_with_a_zero_byte_is_told_from_binary_data() {
        assert!(peek(b"print('hello, world')\n\0").mostly_text);
        assert!(!peek(&[0, 200, 17, 3, 99, 0, 1, 255]).mostly_text);
        assert!(!peek(b"print('hello')\n").mostly_text, "without one it is text");
    }
}
