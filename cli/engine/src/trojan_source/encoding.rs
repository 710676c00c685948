//! Encodings that a file declares for itself, in which its text means something else than what is shown.

use conclave_shared::finding::Finding;

use super::Fault;

/// A declaration counts in these lines, as Python and Ruby read it.
const LINES: u32 = 2;
/// Beginnings of encodings in which ASCII stands for itself.
const PLAIN: &str = "utf-8 utf8 u8 ascii us-ascii latin iso-8859 iso8859 cp125 windows-125 euc- gb2312 gbk gb18030 big5 koi8 \
    binary ascii-8bit";

/// Checks the first lines of a file that a program reads by the encoding that they declare. One that stood further below
/// at base declares nothing before this change.
pub(super) fn check<'a>(path: &str, lines: impl Iterator<Item = (u32, Option<u32>, &'a str)>) -> Option<Finding> {
    if !is_declared_in(path) {
        return None;
    }
    let mut first = lines.take_while(|(line, ..)| *line <= LINES);
    let (line, code) = first.find_map(|(line, before, code)| {
        let name = declared(code)?;
        let is_new = before.is_none_or(|before| before > LINES);
        (is_new && !PLAIN.split_ascii_whitespace().any(|plain| name.starts_with(plain))).then_some((line, code))
    })?;
    Some(super::finding(
        path,
        &Fault::Encoding,
        &[super::Place {
            line,
            code: code.to_owned(),
            what: declared(code).unwrap_or_default(),
        }],
    ))
}

/// Returns whether programs read a file of this name by the encoding that it declares.
pub(super) fn is_declared_in(path: &str) -> bool {
    let lower = path.to_lowercase();
    [".py", ".pyw", ".pyi", ".rb"]
        .iter()
        .any(|extension| lower.ends_with(extension))
}

/// The encoding that a comment declares, in lower case: `# -*- coding: utf-7 -*-`.
fn declared(line: &str) -> Option<String> {
    let comment = line.trim_start().strip_prefix('#')?.to_lowercase();
    let (_, rest) = comment.split_once("coding")?;
    let name = rest.strip_prefix([':', '='])?.trim_start();
    let end = name.find(|character: char| !character.is_ascii_alphanumeric() && !matches!(character, '-' | '_' | '.'));
    let name = name[..end.unwrap_or(name.len())].replace('_', "-");
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::declared;

    #[test]
    fn a_declaration_is_read_as_the_languages_read_it() {
        for (line, expected) in [
            ("# -*- coding: utf-7 -*-", Some("utf-7")),
            ("#vim: set fileencoding=unicode_escape :", Some("unicode-escape")),
            ("# encoding: UTF-8", Some("utf-8")),
            ("coding: utf-7", None),
            ("# coding is fun", None),
        ] {
            assert_eq!(declared(line).as_deref(), expected, "{line}");
        }
    }
}
