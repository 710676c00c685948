//! The relation of code to the finding that it is quoted against, as far as a program can see one: both use a name.

use std::collections::HashSet;

use conclave_shared::finding::Finding;

use super::{reserved::Reserved, schema};

/// Words in front of a declaration.
const MODIFIERS: &str =
    "pub crate public private protected internal export default abstract final static sealed data partial unsafe open";

/// Words that begin the declaration of something that holds others.
const HOLDERS: &str =
    "class struct enum interface trait impl module mod namespace object record protocol extension package";

/// Words of conditions, in which `=` may compare.
const CONDITIONS: &str = "and or on where having if elif elsif unless while until when case";

/// The values that are nothing.
const NOTHING: &str = "none null nil undefined \"\" '' `` [] {}";

/// The beginnings of the names of methods that give or set a field, in the styles of Java and of C.
const ACCESSORS: [(&str, &str); 4] = [("get", "get_"), ("set", "set_"), ("is", "is_"), ("has", "has_")];

/// The names by which code can have to do with a finding: those of the code that it quotes, those of fields that this reaches through
/// methods, and those that its claim writes as code.
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn of(finding: &Finding) -> Self {
        Self::in_parts(finding, |_, line| ("", line))
    }

    /// The same without the words of a configuration's schema, for code of another file.
    pub(super) fn of_values(finding: &Finding) -> Self {
        Self::in_parts(finding, schema::parts)
    }

    /// Those in the second part of each line, and in the claim as far as the first ones do not have them.
    fn in_parts(finding: &Finding, parts: impl for<'c> Fn(&str, &'c str) -> (&'c str, &'c str)) -> Self {
        let (mut known, mut schema) = (HashSet::new(), HashSet::new());
        let second = finding.second.as_ref();
        let quotes = second.map(|quote| (quote.file.as_str(), quote.code.as_str()));
        let own = (finding.file.as_str(), finding.evidence.as_str());
        for (path, code) in [own].into_iter().chain(quotes) {
            let reserved = Reserved::of(path);
            for line in code.lines() {
                let (words, line) = parts(path, line);
                schema.extend(names(words, Reserved::OF_ALL));
                // A text can be in another language: `select` of a query is not a name.
                known.extend(names(line, Reserved::OF_ALL).map(str::to_owned));
                let line = without_texts(line);
                known.extend(names(&line, reserved).map(str::to_owned));
                known.extend(names(&line, reserved).filter_map(|name| field_of(&line, name)));
            }
        }
        let reserved = Reserved::of(&finding.file);
        let words = finding.claim.split_whitespace().filter(|word| is_code(word));
        let claimed = words.flat_map(|word| names(word, reserved));
        known.extend(claimed.filter(|name| !schema.contains(name)).map(str::to_owned));
        Self(known)
    }

    /// Returns whether a line of code in this file names a type together with one of them, which may be a text of its own there, as in
    /// a table of routes.
    pub(super) fn are_with(&self, holder: &str, code: &str, path: &str) -> bool {
        let bare = without_texts(code);
        let is_there = |name: &str| {
            let is_text = ["\"", "'"]
                .iter()
                .any(|quote| code.contains(&format!("{quote}{name}{quote}")));
            name != holder && (is_text || names(&bare, Reserved::of(path)).any(|word| word == name))
        };
        let mut words = bare.split(|character: char| !(character.is_alphanumeric() || character == '_'));
        words.any(|word| word == holder) && self.0.iter().any(|name| is_there(name))
    }

    /// Returns whether a line of code uses one of them, outside of texts in quotes, and does more than to open a type or a module, to
    /// copy a value or to set one to nothing.
    pub(super) fn are_in(&self, code: &str, path: &str) -> bool {
        let reserved = Reserved::of(path);
        // A field is one however it is reached.
        let code = code.replace("->", ".").replace("?.", ".");
        let bare = without_texts(&code);
        let is_own = |name: &str| self.0.contains(name);
        let sets_to_nothing =
            assignment(&code).is_some_and(|(target, value)| target == value || is_one_of(NOTHING, value));
        if opens_holder(&bare) || sets_to_nothing {
            return false;
        }
        match assignment(&bare).filter(|(_, value)| value.chars().all(is_of_name)) {
            None => names(&bare, reserved).any(is_own),
            Some((target, value)) => {
                let mut copied = names(value, reserved).peekable();
                let is_copy = copied.peek().is_some() && copied.all(is_own);
                !is_copy
                    && target
                        .split_whitespace()
                        .flat_map(|word| names(field(word), reserved))
                        .any(is_own)
            }
        }
    }
}

fn is_one_of(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace()
        .any(|known| known.eq_ignore_ascii_case(word))
}

/// The names in a text: whole identifiers of two characters and more that are not reserved.
fn names(text: &str, reserved: Reserved) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .filter(|word| word.chars().nth(1).is_some() && !word.starts_with(|first: char| first.is_ascii_digit()))
        .filter(move |word| !reserved.has(word))
}

/// The field that a method of this name gives or sets, if a line calls it as that of a value: `sortColumn` of `dto.getSortColumn()`.
fn field_of(line: &str, name: &str) -> Option<String> {
    let is_called = [".", "->"].iter().any(|mark| line.contains(&format!("{mark}{name}(")));
    let (camel, snake) = ACCESSORS.iter().find(|(camel, _)| name.starts_with(camel))?;
    let rest = name.strip_prefix(snake).map(str::to_owned).or_else(|| {
        let rest = name
            .strip_prefix(camel)
            .filter(|rest| rest.starts_with(char::is_uppercase))?;
        let first = rest.chars().next()?;
        Some(first.to_lowercase().chain(rest.chars().skip(1)).collect())
    })?;
    // A short one may be the name of anything.
    (is_called && rest.chars().count() > 4).then_some(rest)
}

/// Returns whether a word of a sentence is written as code.
fn is_code(word: &str) -> bool {
    let inner = word.trim_matches(|character: char| !(character.is_alphanumeric() || "_`()".contains(character)));
    let has_hump = inner
        .chars()
        .zip(inner.chars().skip(1))
        .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    has_hump || inner.contains(['_', '`', '(', '.', ':'])
}

/// The target of an assignment, and its value. `None` for all other code.
fn assignment(code: &str) -> Option<(&str, &str)> {
    let (target, value) = code.split_once('=')?;
    let is_operator = |character: char| "!<>+-*/%&|^?~(".contains(character);
    let is_condition = target.split_whitespace().any(|word| is_one_of(CONDITIONS, word));
    let value = value.trim().trim_end_matches([';', ',']).trim_end();
    (!is_condition && !target.contains(is_operator)).then_some((target.trim(), value))
}

/// Returns whether a character can be one of a value that is only named.
fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || "_.$@".contains(character)
}

/// The part of a word that is set: of `order.id` it is the field, and the order is what has it.
fn field(word: &str) -> &str {
    if word.contains('[') {
        return word;
    }
    word.rsplit('.').next().unwrap_or(word)
}

/// A line of code without its texts in quotes.
pub(crate) fn without_texts(code: &str) -> String {
    let mut bare = String::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        if let Some(length) = text_length(rest) {
            bare.push(' ');
            rest = &rest[length..];
        } else {
            bare.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    bare
}

/// Returns how long a text in quotes is that begins here and ends on the same line.
pub(crate) fn text_length(rest: &str) -> Option<usize> {
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Returns whether a line only opens a type, a module or the like: that says nothing of what happens in it.
pub(crate) fn opens_holder(code: &str) -> bool {
    let mut words = code.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    let first = words.find(|word| !word.is_empty() && !is_one_of(MODIFIERS, word));
    let head = code
        .trim()
        .trim_end_matches(|character: char| "{}:;".contains(character) || character.is_whitespace());
    first.is_some_and(|word| is_one_of(HOLDERS, word)) && !head.contains(['{', '=', ';'])
}

#[cfg(test)]
mod tests {
    use conclave_shared::severity::Severity;

    use super::*;
    use crate::judge::test_support::finding;

    fn are_in(claim: &str, code: &str) -> bool {
        let finding = Finding {
            evidence: "        return db.query(f\"select {name} from users\")".to_owned(),
            claim: claim.to_owned(),
            ..finding("F1", Severity::Critical, "sql-injection", "src/a.py", 7)
        };
        Names::of(&finding).are_in(code, "src/a.py")
    }

    #[test]
    fn a_name_in_common_relates_and_nothing_else_does() {
        for related in [
            "if not NAME.fullmatch(name):",
            "name = checked(name)",
            "def query(self, text):",
            "db = Connection(readonly=True)",
            "struct Query(Checked); let db = 1;",
            "db = registry.readonly;",
            "name = 'fixed'",
            "AND owner = name",
            "if allowed != name {",
            "safe == name",
            "safe = name or fallback",
            "this.name = registry.readonly;",
            "$this->name = 'fixed';",
            "if (name === \"\") {",
            "row.total = checked(db.name)",
        ] {
            assert!(are_in("It is open.", related), "{related}");
        }
        for unrelated in [
            "\"use strict\"",
            "log(\"name\")",
            "class A:",
            "public final class db extends Base {",
            "mod users {",
            "return None",
            "}",
            "",
            "select(from)",
            "names = filename(user)",
            "x = 1",
            "total = name.length;",
            "let copy: String = name",
            "name = None",
            "name = null;",
            "name = \"\"",
            "this.name = name;",
            "$this->name = $name;",
            "self.copy = name",
            "db.name = db.name",
            "db?.name = db?.name;",
            "db->name = '';",
            "name = db.name",
            "db[\"name\"] = db[\"name\"]",
            "db.name = None",
            "db.total = total",
        ] {
            assert!(!are_in("It is open.", unrelated), "{unrelated}");
        }
    }

    #[test]
    fn a_field_is_what_its_methods_give_and_set() {
        let is_related = |evidence: &str, code: &str| {
            let finding = Finding {
                evidence: evidence.to_owned(),
                ..finding("F1", Severity::Critical, "sql-injection", "A.java", 7)
            };
            Names::of(&finding).are_in(code, "B.java")
        };
        let field = "private String sortColumn;";
        for call in ["dto.getSortColumn()", "dto->setSortColumn(x)", "dto?.getSortColumn()"] {
            assert!(is_related(call, field), "{call}");
        }
        assert!(is_related("dto.get_sort_column()", "private String sort_column;"));
        for other in [
            "getSortColumn()",
            "dto.getSort()",
            "dto.getsortColumn()",
            "dto.forSortColumn()",
        ] {
            assert!(!is_related(other, field), "{other}");
        }
        assert!(
            !is_related("dto.getName()", "log(name);"),
            "a short name may be that of anything"
        );
    }

    #[test]
    fn words_are_reserved_in_their_own_language_only() {
        let is_related = |path: &str, evidence: &str, code: &str| {
            let finding = Finding {
                evidence: evidence.to_owned(),
                ..finding("F1", Severity::Critical, "sql-injection", path, 7)
            };
            Names::of(&finding).are_in(code, path)
        };
        assert!(is_related(
            "b.py",
            "return db.run(\"SELECT \" + data)",
            "if not data.isalnum():"
        ));
        assert!(is_related(
            "b.ts",
            "db.raw(list.join())",
            "if (list.some(isBad)) throw bad;"
        ));
        assert!(is_related(
            "b.go",
            "go c.Set(k, 1)",
            "func (c *Cache) Set(k string, v int) {"
        ));
        assert!(!is_related(
            "b.py",
            "db.run(type(x), list(y))",
            "if type(a) is list(b):"
        ));
        // In a text it is a word of another language.
        assert!(!is_related("b.js", "db.run(\"select x from y\")", "select(from);"));
    }

    #[test]
    fn a_claim_names_code_only_where_it_writes_code() {
        assert!(are_in("Whoever calls `find_user` reads all.", "def find_user(key):"));
        assert!(are_in("Whoever calls findUser reads all.", "function findUser(key) {"));
        assert!(!are_in("Whoever can read this value wins.", "value = load()"));
    }
}
