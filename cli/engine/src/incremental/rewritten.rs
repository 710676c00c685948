//! Code in another writing: with other quotation marks, a comment inside, brackets around a name, the words of SQL in another case, or
//! escaped as a text of JSON or HTML.

use crate::findings::{decoded, text_length};

/// Marks around texts in code.
const QUOTES: [char; 3] = ['"', '\'', '`'];
/// Signs behind which brackets around a name only group.
const OPERATORS: [char; 9] = ['+', '-', '*', '/', '|', '&', ',', '?', ':'];
/// Words that begin a statement of SQL.
const STATEMENTS: [&str; 4] = ["select", "insert", "update", "delete"];
/// Words that such a statement goes on with, of which it has one at least.
const CLAUSES: [&str; 6] = ["from", "into", "set", "where", "values", "join"];
/// Its other words that may be written in any case.
const KEYWORDS: [&str; 18] = [
    "and", "or", "not", "in", "is", "null", "like", "between", "order", "group", "by", "having", "limit", "on", "as",
    "left", "inner", "distinct",
];

/// The writings of lines in which code is looked for: with what is escaped as it is meant, without comments inside, with either mark
/// around their texts, and, where that differs, without brackets around names and with the words of SQL in either case.
pub(super) fn writings(lines: &[String]) -> Vec<String> {
    let plain: Vec<String> = lines.iter().map(|line| plain(line)).collect();
    let ungrouped: Vec<String> = plain.iter().map(|line| ungrouped(line)).collect();
    let cased = |is_upper: bool| -> Vec<String> { ungrouped.iter().map(|line| cased(line, is_upper)).collect() };
    let (upper, lower) = (cased(true), cased(false));
    let mut styles = vec![plain];
    for style in [ungrouped, upper, lower] {
        if !styles.contains(&style) {
            styles.push(style);
        }
    }
    let texts = styles.iter().map(|lines| lines.join("\n"));
    texts
        .flat_map(|text| ["\"", "'"].map(|quote| text.replace(QUOTES, quote)))
        .collect()
}

/// A line with what is escaped as it is meant, without the comments that end in it.
fn plain(line: &str) -> String {
    let plain = decoded(line)
        .replace("\\\"", "\"")
        .replace("\\'", "'")
        .replace("\\n", " ")
        .replace("\\t", " ");
    without_comments(&plain)
}

/// A line without the comments that end in it.
fn without_comments(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("/*") {
        let Some((_, after)) = behind.split_once("*/") else {
            break;
        };
        code.push_str(before);
        code.push(' ');
        rest = after;
    }
    code + rest
}

/// A line without brackets around a name that only group: those of a call, a cast or an array of a shell are left.
fn ungrouped(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if let Some(name) = grouped_name(&code, rest) {
            code.push_str(name);
            rest = &rest[name.len() + 2..];
            continue;
        }
        let length = text_length(rest).unwrap_or(first.len_utf8());
        code.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    code
}

/// The name in the brackets that this text begins with, if they only group it.
fn grouped_name<'t>(before: &str, text: &'t str) -> Option<&'t str> {
    let inner = text.strip_prefix('(')?;
    let (name, behind) = inner.split_at(inner.find(|sign: char| !is_of_word(sign) && sign != '.')?);
    let behind = behind.strip_prefix(')')?.trim_start();
    let is_name = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let is_operand = before.trim_end().ends_with(OPERATORS) || before.ends_with("= ");
    // In front of anything else it may be a cast.
    let is_last = behind.is_empty() || behind.starts_with([')', ']', '}', ',', ';']);
    (is_name && is_operand && is_last).then_some(name)
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// A line with the words of SQL in its texts in upper or in lower case.
fn cased(line: &str, is_upper: bool) -> String {
    let mut code = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let text = text_length(rest);
        let (piece, behind) = rest.split_at(text.unwrap_or(first.len_utf8()));
        if text.is_some() && is_statement(piece) {
            for word in piece.split_inclusive(|sign: char| !is_of_word(sign)) {
                push_cased(word, is_upper, &mut code);
            }
        } else {
            code.push_str(piece);
        }
        rest = behind;
    }
    code
}

/// Adds a word and the sign behind it.
fn push_cased(piece: &str, is_upper: bool, code: &mut String) {
    let word = piece.trim_end_matches(|sign: char| !is_of_word(sign));
    let is_keyword = [&STATEMENTS[..], &CLAUSES[..], &KEYWORDS[..]]
        .iter()
        .any(|words| is_among(words, word));
    match (is_keyword, is_upper) {
        (false, _) => code.push_str(piece),
        (true, true) => code.push_str(&piece.to_ascii_uppercase()),
        (true, false) => code.push_str(&piece.to_ascii_lowercase()),
    }
}

/// Returns whether a text holds a statement of SQL. One of its words alone may be a name, or a method of HTTP.
fn is_statement(text: &str) -> bool {
    let has = |words: &[&str]| {
        text.split(|sign: char| !is_of_word(sign))
            .any(|word| is_among(words, word))
    };
    has(&STATEMENTS) && has(&CLAUSES)
}

fn is_among(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(line: &str) -> Vec<String> {
        writings(&[line.to_owned()])
    }

    #[test]
    fn another_writing_is_the_same_code() {
        let plain = "return find(\"a\" + id)";
        for line in [
            plain,
            "return find('a' + id)",
            "return find(`a` + id)",
            "return find(&quot;a&quot; + id)",
            "return find(\\\"a\\\" + id)",
            "return/* x */find(\"a\" + id)",
        ] {
            assert_eq!(written(line)[0], plain, "{line}");
        }
        let open = ["a /* b".to_owned(), "c */ d".to_owned()];
        assert_eq!(writings(&open)[0], "a /* b\nc */ d");
    }

    #[test]
    fn brackets_around_a_name_and_the_case_of_sql_are_another_writing() {
        let plain = "run(\"DELETE FROM a WHERE id = \" + order.id)".to_owned();
        for line in [
            "run(\"DELETE FROM a WHERE id = \" + (order.id))",
            "run('delete from a where id = ' + (order.id))",
            "run(\"Delete From a Where id = \" + order.id)",
        ] {
            assert!(written(line).contains(&plain), "{line}: {:?}", written(line));
        }
        let lower = "run('select * from A where id = ' + id)".to_owned();
        assert!(written("run(\"SELECT * FROM A WHERE id = \" + id)").contains(&lower));
    }

    #[test]
    fn what_may_be_a_fix_is_no_other_writing() {
        for line in [
            "x = (size_t) n * m",
            "x = a & (b | c)",
            "x = a - (b - c)",
            "x = f(y)",
            "print (x)",
            "x=(y)",
            "x = (y) => y",
            "(f)",
            "x = \"a + (b)\"",
            "if method == \"delete\":",
            "from a select b where c",
        ] {
            assert_eq!(written(line).len(), 2, "{line}: {:?}", written(line));
        }
    }
}
