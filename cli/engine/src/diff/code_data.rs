//! Data that runs, installs or makes objects when a tool reads it, known by its content.

use memchr::memmem;

/// Names of files that make a zip archive a package or a saved model.
const NAMES: [&str; 5] = ["androidmanifest.xml", "data.pkl", "manifest.mf", "pkg-info", "setup.py"];

/// Returns whether the content begins like a pickle of Python.
pub(super) fn is_pickle(bytes: &[u8]) -> bool {
    match bytes {
        // Since protocol 2, the first bytes are the opcode `PROTO` and its number.
        [0x80, 2..=5, ..] => true,
        // A text may begin like that, too.
        [b'c', rest @ ..] => memchr::memchr(0, rest).is_some() && is_global(rest),
        _ => false,
    }
}

/// Returns whether an opcode `GLOBAL` of the first protocols has these arguments: a module and a name, each with a line feed.
fn is_global(bytes: &[u8]) -> bool {
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let (module, name, rest) = (lines.next(), lines.next(), lines.next());
    let is_name = |line: Option<&[u8]>| {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        line.is_some_and(|line| !line.is_empty() && line.iter().all(is_part))
    };
    is_name(module) && is_name(name) && rest.is_some()
}

/// Returns whether a zip archive holds a file that makes it a package or a saved model: something is installed from it, or objects
/// are made. Of a part of an archive, the files in that part count.
pub(super) fn is_package(zip: &[u8]) -> bool {
    let tells = |mark: &[u8], length_at: usize, name_at: usize| {
        memmem::find_iter(zip, mark).any(|at| {
            let record = &zip[at..];
            let length = record.get(length_at..length_at + 2);
            let length = length.map_or(0, |bytes| usize::from(bytes[0]) | (usize::from(bytes[1]) << 8));
            let name = record.get(name_at..name_at + length);
            name.is_some_and(is_of_package)
        })
    };
    // Before each file, and in the list at the end.
    tells(b"PK\x03\x04", 26, 30) || tells(b"PK\x01\x02", 28, 46)
}

fn is_of_package(path: &[u8]) -> bool {
    let path = String::from_utf8_lossy(path).to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    NAMES.contains(&name) || path.contains(".dist-info/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pickle_is_known_by_its_first_bytes() {
        for (bytes, expected) in [
            (&b"\x80\x02}q\0."[..], true),
            (b"\x80\x05\x95\x01\0", true),
            (b"cos\nsystem\n(S'id'\ntR\0", true),
            (b"changes\n1.0\n", false),
            (b"\x80\x01\x10\0", false),
            (b"css\0\n\n", false),
            (b"\x80", false),
            (b"", false),
        ] {
            assert_eq!(is_pickle(bytes), expected, "{bytes:?}");
        }
    }

    /// A record that stands before a file, or in the list at the end.
    fn record(mark: &[u8], length_at: usize, name_at: usize, name: &str) -> Vec<u8> {
        let mut bytes = mark.to_vec();
        bytes.resize(name_at, 0);
        bytes[length_at] = u8::try_from(name.len()).expect("a short name");
        bytes.extend(name.as_bytes());
        bytes
    }

    #[test]
    fn a_package_is_known_by_the_names_in_it() {
        for (name, expected) in [
            ("archive/data.pkl", true),
            ("META-INF/MANIFEST.MF", true),
            ("p-1.0/setup.py", true),
            ("p-1.0.dist-info/METADATA", true),
            ("word/document.xml", false),
            ("META-INF/container.xml", false),
            ("data.pkl/x", false),
            ("", false),
        ] {
            let before = record(b"PK\x03\x04", 26, 30, name);
            let other = record(b"PK\x03\x04", 26, 30, "mimetype");
            let listed = [other, record(b"PK\x01\x02", 28, 46, name)].concat();
            assert_eq!(is_package(&before), expected, "{name}");
            assert_eq!(is_package(&listed), expected, "{name} in the list");
        }
        assert!(!is_package(b"PK\x03\x04"), "cut off");
    }
}
