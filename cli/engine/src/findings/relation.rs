//! The relation of code to the finding that it is quoted against, as far as a program can see one: both use a name.

use std::collections::HashSet;

use conclave_shared::finding::Finding;

/// Words of programming languages, in lower case: that two lines have them in common shows nothing.
const RESERVED: &str = "abstract alias and any as assert async auto await base begin bool boolean break byte case catch chan char class \
    const constexpr continue data debugger declare def default defer del delete do done double dynamic elif else elsif end endif \
    ensure enum esac eval except explicit export extends extension extern false fi final finally float fn for foreach friend from \
    func function global go goto guard if impl implements import in include inline instanceof int interface internal into is lambda \
    let list local long loop match mod module mut mutable namespace new next nil none nonlocal not null object of open operator or \
    out override package partial pass print private protected protocol pub public raise range readonly record ref register require \
    rescue return sealed select self set short signed sizeof static str strict string struct super switch template then this throw \
    throws trait transient true try type typedef typeof undefined union unless unsafe unsigned until use using val var virtual void \
    volatile when where while with yield";

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

/// The names by which code can have to do with a finding: those of the code that it quotes, and those that its claim writes as
/// code.
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn of(finding: &Finding) -> Self {
        let second = finding.second.as_ref().map(|quote| quote.code.as_str());
        let code = [finding.evidence.as_str()].into_iter().chain(second);
        let mut names: HashSet<String> = code.flat_map(names).map(str::to_owned).collect();
        let words = finding.claim.split_whitespace();
        names.extend(
            words
                .filter(|word| is_code(word))
                .flat_map(self::names)
                .map(str::to_owned),
        );
        Self(names)
    }

    /// Returns whether a line of code uses one of them, outside of texts in quotes, and does more than to open a type or a module, to
    /// copy a value or to set one to nothing.
    pub(super) fn are_in(&self, code: &str) -> bool {
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
            None => names(&bare).any(is_own),
            Some((target, value)) => {
                let mut copied = names(value).peekable();
                let is_copy = copied.peek().is_some() && copied.all(is_own);
                !is_copy
                    && target
                        .split_whitespace()
                        .flat_map(|word| names(field(word)))
                        .any(is_own)
            }
        }
    }
}

fn is_one_of(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace()
        .any(|known| known.eq_ignore_ascii_case(word))
}

/// The names in a text: whole identifiers of two characters and more that no language reserves.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .filter(|word| word.chars().nth(1).is_some() && !word.starts_with(|first: char| first.is_ascii_digit()))
        .filter(|word| !is_one_of(RESERVED, word))
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
        Names::of(&finding).are_in(code)
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
    fn a_claim_names_code_only_where_it_writes_code() {
        assert!(are_in("Whoever calls `find_user` reads all.", "def find_user(key):"));
        assert!(are_in("Whoever calls findUser reads all.", "function findUser(key) {"));
        assert!(!are_in("Whoever can read this value wins.", "value = load()"));
    }
}
