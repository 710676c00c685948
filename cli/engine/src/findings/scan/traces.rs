//! What shows that a text holds findings, even where they cannot be read: a reviewer that names a problem and, asked once
//! more, has none, has lost it.

use super::unescape;
use crate::findings::{
    severe::{REACH, is_negation, is_severe, words},
    tags::{Kind, Name, tags},
};

/// Stems of what there is none of in a clean review.
pub(super) const PROBLEMS: &[&str] = &[
    "issue", "problem", "finding", "concern", "bug", "defect", "vulnerab", "critical", "blocker", "severe", "flaw",
    "wrong", "mistake", "weakness",
];
/// Other words for a clean review.
const FINE: &[&str] = &[
    "nothing to report",
    "nothing wrong",
    "looks good",
    "look good",
    "looks fine",
    "look fine",
    "lgtm",
    "is fine",
    "are fine",
    "is correct",
    "are correct",
    "looks correct",
    "look correct",
    "all good",
];
/// Words behind which a clean sentence takes itself back.
const CONTRASTS: &[&str] = &[
    "but", "except", "however", "although", "though", "apart", "besides", "other", "only", "yet", "if", "unless",
    "until",
];
/// Names under which a list, a table or another notation says what is wrong.
const SUBJECTS: &str = "severity level claim message issue problem description finding criticality priority category";
/// Names under which it says where.
const PLACES: &str = "file path filename filepath line lines location startline start_line line_number uri evidence \
    snippet";

/// Returns whether a text seems to hold findings in tags or JSON.
pub fn holds_findings(text: &str) -> bool {
    count(text) > 0
}

/// Returns how many findings a text seems to hold, by what each of them has once: its own tag, or its severity.
pub(super) fn count(text: &str) -> usize {
    let of = |text: &str, name: Name| {
        let opened = tags(text).filter(|tag| tag.name == name && tag.kind != Kind::Close);
        opened.count()
    };
    let tagged = |text: &str| of(text, Name::Finding).max(of(text, Name::Field("severity")));
    let escaped = if text.contains("&lt;") {
        tagged(&unescape(text))
    } else {
        0
    };
    let json = text.matches("\"severity\"").count();
    tagged(text).max(escaped).max(json)
}

/// Returns whether an answer that cannot be read reports a problem: in another notation, by a word for something severe, as
/// in "CRITICAL: src/a.rs:10 runs a command", or by a line of a file of the change, in whatever language.
pub(super) fn is_report(text: &str, paths: &[&str]) -> bool {
    let tells = |sentence: &str| is_severe(sentence) || (names_path(sentence, paths) && names_number(sentence));
    is_structured(text) || sentences(text).any(|sentence| tells(sentence) && !is_clean(sentence))
}

/// The sentences of a text. A full stop within a word, as in a path, ends none.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '。', '！', '；', '۔']).flat_map(|line| {
        line.split_inclusive(". ")
            .flat_map(|part| part.split_inclusive("! "))
            .filter(|part| !part.trim().is_empty())
    })
}

/// Returns true if a sentence only says, in English, that there is no problem.
pub(super) fn is_clean(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let words: Vec<&str> = words(&lower).collect();
    let none = words.iter().enumerate().any(|(at, word)| {
        let reach = words[at + 1..].iter().take(REACH);
        is_negation(word)
            && reach
                .into_iter()
                .any(|next| PROBLEMS.iter().any(|stem| next.starts_with(stem)))
    });
    // "not everything looks good", but "nothing to report".
    let denies = |phrase: &str| phrase.split(' ').next().is_some_and(is_negation);
    let is_denied = || words.iter().any(|word| is_negation(word));
    let fine = FINE
        .iter()
        .any(|phrase| lower.contains(phrase) && (denies(phrase) || !is_denied()));
    (none || fine) && !words.iter().any(|word| CONTRASTS.contains(word)) && !is_severe(sentence)
}

/// Returns whether a text names a file of the change, by its path or its name.
pub(super) fn names_path(text: &str, paths: &[&str]) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    let stands = |name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let behind = text[at + name.len()..].chars().next();
            !before.is_some_and(|before| is_part(before) && before.is_ascii() || before == '.')
                && !behind.is_some_and(|behind| is_part(behind) && behind.is_ascii() || behind == '/')
        })
    };
    paths.iter().any(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        // A name without an ending may be any word.
        let names = [
            Some(*path).filter(|path| path.contains(['.', '/']) || path.len() > 7),
            Some(name).filter(|name| name.contains('.')),
        ];
        names.into_iter().flatten().any(stands)
    })
}

/// Returns whether a sentence has a number of its own, as a line has.
pub(super) fn names_number(sentence: &str) -> bool {
    let is_end = |character: Option<char>| !character.is_some_and(|other| other.is_ascii_alphabetic() || other == '_');
    sentence
        .match_indices(|character: char| character.is_ascii_digit())
        .any(|(at, _)| {
            let before = sentence[..at].trim_end_matches(|character: char| character.is_ascii_digit());
            let behind = sentence[at..].trim_start_matches(|character: char| character.is_ascii_digit());
            is_end(before.chars().next_back()) && is_end(behind.chars().next())
        })
}

/// Returns whether a text names what is wrong and where as a notation does: as keys, as heads of a table, as other tags.
pub(super) fn is_structured(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_key = |at: usize, name: &str| {
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        if lower[..at].chars().next_back().is_some_and(is_part) {
            return false;
        }
        let behind = &lower[at + name.len()..];
        let in_row = behind.strip_prefix([',', ';', '\t']);
        in_row.is_some_and(|next| next.starts_with(is_part))
            || behind
                .trim_start_matches(['"', '\'', '*', '`', ' ', '\\'])
                .starts_with([':', '=', '|', '>', '：'])
    };
    let any = |names: &str| {
        names
            .split_ascii_whitespace()
            .any(|name| lower.match_indices(name).any(|(at, _)| is_key(at, name)))
    };
    any(SUBJECTS) && any(PLACES)
}

/// Returns whether a text names a line: `src/a.rs:10`, `line 10`, `第10行`.
pub(super) fn names_line(text: &str) -> bool {
    const WORDS: &str = "line zeile ligne línea linha riga regel linii строк рядк سطر";
    let begins_with_number = |text: &str| text.starts_with(|character: char| character.is_ascii_digit());
    let behind_path = text.match_indices(':').any(|(at, _)| {
        let path = text[..at].ends_with(|character: char| character.is_alphanumeric() || character == '_');
        path && begins_with_number(&text[at + 1..])
    });
    let lower = text.to_lowercase();
    let behind_word = WORDS.split_ascii_whitespace().any(|word| {
        lower.match_indices(word).any(|(at, _)| {
            let rest = &lower[at + word.len()..];
            begins_with_number(
                rest.strip_prefix(['s', 'n'])
                    .unwrap_or(rest)
                    .trim_start_matches([' ', ':', '*', '`', '#']),
            )
        })
    });
    let in_front = ['行', '줄'];
    let before_word = lower
        .match_indices(in_front)
        .any(|(at, _)| lower[..at].trim_end().ends_with(|c: char| c.is_ascii_digit()));
    behind_path || behind_word || before_word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_seen_in_every_form() {
        for (text, expected) in [
            ("<finding><severity>critical</severity>", 1),
            ("&lt;finding&gt;&lt;severity&gt;warning&lt;/severity&gt;", 1),
            ("[{\"severity\": \"critical\"}, {\"severity\": \"warning\"", 2),
            ("<severity>critical</severity> <severity>warning</severity>", 2),
            ("<finding severity=\"critical\" line=\"3\"/>", 1),
            ("<findings></findings>", 0),
            ("Nothing to report.", 0),
        ] {
            assert_eq!(count(text), expected, "{text}");
            assert_eq!(holds_findings(text), expected > 0, "{text}");
        }
    }

    const PATHS: [&str; 3] = ["src/db.py", "src/calc.py", "Makefile"];

    #[test]
    fn prose_is_a_report_if_it_names_a_severe_problem_or_a_line_of_the_change() {
        for text in [
            "CRITICAL: src/calc.py:10 executes a command from the caller.",
            "- **Severity**: critical\n- **File**: src/calc.py:10\n- **Claim**: executes a command",
            "There is a critical problem in line 10 of the file.",
            "A vulnerability at lines 3-5",
            "In src/db.py Zeile 4 wird die Eingabe ungeprüft verkettet.",
            "Die Abfrage ist anfällig, eine schwerwiegende Lücke.",
            "La ligne 4 de src/db.py concatène l'entrée.",
            "src/db.py 第4行直接拼接了用户输入。",
            "db.py の4行目で入力が連結されています。",
            "В src/db.py строка 4: ввод не проверяется.",
            "السطر 4 من src/db.py غير آمن",
            "Обнаружена уязвимость.",
            "存在SQL注入漏洞。",
            "- file: db.py\n  message: the input is concatenated",
            "severity,file,line,claim\nwarning,x,4,It fails",
            "| Severity | File | Line |\n|---|---|---|\n| high | x | 4 |",
            "[[issue]]\nseverity = \"warning\"\nfile = \"x\"",
            "[{'severity': 'warning', 'file': 'x'}]",
            "{issues: [{severity: 'warning', path: 'x'}]}",
            "<issue><level>high</level><path>x</path></issue>",
            "{\"level\": \"error\", \"locations\": [{\"uri\": \"x\"}]}",
        ] {
            assert!(is_report(text, &PATHS), "{text}");
        }
        for text in [
            "I read src/calc.py:10 and found no critical problems.",
            "No issues.",
            "I looked at line 10 and at line 12. All is well.",
            "I have looked at all of it. The code is easy to follow and does what it says.",
            "Keine kritischen Probleme.",
            "没有严重问题。",
            "I'm sorry, but I can't help with that.",
            "I read src/db.py and src/calc.py.",
        ] {
            assert!(!is_report(text, &PATHS), "{text}");
        }
    }
}
