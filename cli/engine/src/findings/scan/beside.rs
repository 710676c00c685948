//! Words that are not an answer by their form: which of them may tell a problem, which assert one, and whether a finding
//! reports the same.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::LazyLock};

use conclave_shared::finding::Finding;

use super::{
    RawFinding,
    traces::{is_clean, is_report, is_structured, names_line, names_path, sentences},
    unescape, visible,
};
use crate::findings::{
    claim_words::claim_words,
    remarks::{not_harmless, texts},
    severe::{is_negation, is_severe, last_words, words},
};

/// Returns whether a text that is not an answer by its form may tell a problem all the same.
pub fn may_tell(text: &str, paths: &[&str]) -> bool {
    is_report(text, paths) || clauses(text).any(|clause| is_sentence(clause) && not_harmless(clause, paths).is_some())
}

/// Returns whether a text without an answer has a sentence of some length that is not harmless and does not refuse to answer.
pub(super) fn claims(text: &str, paths: &[&str]) -> bool {
    let refuses = |clause: &str| {
        let lower = clause.trim().to_lowercase().replace('’', "'");
        REFUSING.iter().any(|begin| lower.starts_with(begin))
    };
    clauses(text).any(|clause| is_sentence(clause) && !refuses(clause) && not_harmless(clause, paths).is_some())
}

/// Beginnings of sentences with which a model refuses to answer, in lower case.
const REFUSING: &[&str] = &[
    "i cannot",
    "i can't",
    "i can not",
    "i am unable",
    "i'm unable",
    "i am not able",
    "i'm not able",
    "i won't",
    "i am sorry",
    "i'm sorry",
    "sorry",
    "as an ai",
];

/// The clauses of a text.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let parts = sentences(text).flat_map(|sentence| sentence.split([',', '，', '、']));
    parts.filter(|part| part.contains(char::is_alphanumeric))
}

/// Number of words, or of signs that are words, from which on a clause can make a claim.
const MIN_SENTENCE: usize = 5;

fn is_sentence(clause: &str) -> bool {
    let signs = clause.chars().filter(|sign| ('\u{3040}'..='\u{9fff}').contains(sign));
    words(clause).count() + signs.count() >= MIN_SENTENCE
}

/// Words with which a sentence says that its writer does not know yet, wherever they stand in it.
const OPEN: &[&str] = &[
    "whether",
    "if",
    "could",
    "may",
    "might",
    "maybe",
    "perhaps",
    "possibly",
    "possible",
    "potential",
    "potentially",
    "would",
    "suspect",
    "unless",
    "unclear",
    "ob",
    "prüfe",
    "vielleicht",
    "könnte",
    "si",
    "peut",
    "podría",
    "quizás",
    "talvez",
    "forse",
    "misschien",
    "czy",
    "może",
    "ли",
    "возможно",
    "чи",
    "可能",
    "是否",
    "かもしれ",
    "確認します",
];
/// Phrases that open a plan: what stands behind them is what the writer is about to do.
const PLANS: &[&str] = &[
    "let me",
    "let us",
    "let's",
    "i'll",
    "we'll",
    "i will",
    "we will",
    "i shall",
    "i need to",
    "we need to",
    "i want to",
    "we want to",
    "i have to",
    "i should",
    "we should",
    "i'd like to",
    "i am going to",
    "i'm going to",
    "we are going to",
    "we're going to",
    "i plan to",
    "i am checking",
    "i'm checking",
    "i am looking",
    "i'm looking",
    "i check",
    "i look",
    "i search",
    "i grep",
    "i investigate",
];
/// Phrases that open a plan at the beginning of a sentence, behind `LEADS`. "Check", "search" and "look" alone may be nouns.
const BEGINNINGS: &[&str] = &[
    "checking",
    "reading",
    "searching",
    "looking",
    "opening",
    "grepping",
    "verifying",
    "confirming",
    "investigating",
    "inspecting",
    "examining",
    "reviewing",
    "tracing",
    "scanning",
    "continuing",
    "going to",
    "need to",
    "want to",
    "to check",
    "to verify",
    "to confirm",
    "to see",
    "to be sure",
    "verify that",
    "verify the",
    "confirm that",
    "confirm the",
    "ensure that",
    "check for",
    "check that",
    "check the",
    "look at",
    "look for",
    "look into",
    "search for",
    "search the",
    "grep",
    "investigate",
    "step",
    "the next step",
    "my next step",
];
/// Words in front of a plan at the beginning of a sentence.
const LEADS: &[&str] = &[
    "now", "next", "then", "first", "so", "ok", "okay", "and", "also", "still", "finally", "just",
];
/// Words behind the beginning of a sentence that make it a statement: "reading is broken", "now I see".
const STATING: &[&str] = &[
    "is",
    "was",
    "are",
    "were",
    "fails",
    "found",
    "find",
    "see",
    "saw",
    "know",
    "have",
    "think",
    "believe",
    "confirmed",
    "noticed",
    "understand",
    "spotted",
    "conclude",
];
/// Words of a plan to report something, which is known then.
const REPORTING: &[&str] = &["report", "flag", "raise", "note", "list", "say", "point"];
/// Words that a negation in front of them does not reach across.
const CONCLUDING: &[&str] = &["so", "thus", "therefore", "hence", "but"];
/// Phrases that assert that something is wrong.
const ASSERTING: &[&str] = &[
    "do not merge",
    "don't merge",
    "don’t merge",
    "must not be merged",
    "should not be merged",
    "cannot be merged",
    "nack",
    "is wrong",
    "is broken",
    "is vulnerable",
    "is unsafe",
    "is insecure",
    "is incorrect",
    "is exploitable",
    "are vulnerable",
    "is a bug",
    "is a problem",
    "there is a bug",
    "there's a bug",
    "there is a problem",
    "there is an issue",
    "there are bugs",
    "there are issues",
    "there are problems",
    "has a bug",
    "have a bug",
    "contains a bug",
    "found a bug",
    "found a problem",
    "found an issue",
    "found issues",
    "found problems",
    "found a defect",
    "found a flaw",
    "found a vulnerability",
    "backdoor",
    "anyone can",
    "any user can",
    "an attacker can",
    "attackers can",
    "allows an attacker",
    "lets an attacker",
    "leaks",
    "is leaked",
    "in plain text",
    "in plaintext",
    "data loss",
    "loses data",
    "deadlock",
    "race condition",
    "use after free",
    "use-after-free",
    "buffer overflow",
    "memory leak",
    "unsanitized",
    "not sanitized",
    "unescaped",
    "not escaped",
    "without validation",
    "not validated",
    "unvalidated",
    "not checked",
    "unchecked",
    "never checked",
    "is concatenated",
    "concatenates",
    "hardcoded",
    "hard-coded",
    "crashes",
    "will crash",
    "fails open",
    "rce",
    "xss",
    "ssrf",
];

/// The sentences of a text beside a tool call that assert a problem. What a model is about to look for, or suspects, is none.
pub fn asserted(text: &str, paths: &[&str]) -> Vec<String> {
    let seen = visible::visible(text).text;
    if is_structured(&seen) && (names_path(&seen, paths) || names_line(&seen)) {
        return vec![seen.trim().to_owned()];
    }
    let found = sentences(&seen).filter(|sentence| asserts(sentence, paths));
    found.map(|sentence| sentence.trim().to_owned()).collect()
}

/// The first sentence of an answer that asserts a problem which none of its findings reports.
pub(super) fn unreported(answer: &str, findings: &[RawFinding], paths: &[&str]) -> Option<String> {
    let reports: Vec<Report> = findings.iter().map(Report::from).collect();
    let unescaped = answer.contains("&lt;find").then(|| unescape(answer));
    let texts = texts(unescaped.as_deref().unwrap_or(answer));
    let mut asserted = texts
        .iter()
        .flat_map(|text| sentences(text))
        .filter(|sentence| asserts(sentence, paths));
    let unreported = asserted.find(|sentence| !reports.iter().any(|report| report.covers(sentence, paths)))?;
    Some(unreported.trim().to_owned())
}

fn asserts(sentence: &str, paths: &[&str]) -> bool {
    let lower = without_names(sentence).to_lowercase().replace('’', "'");
    let stated = before_plan(&lower);
    let is_open = sentence.contains(['?', '？'])
        || words(stated).any(|word| OPEN.contains(&word))
        || OPEN
            .iter()
            .any(|open| !open.is_ascii() && open.chars().count() > 1 && is_unparted(open) && stated.contains(open));
    !is_open
        && (is_severe(stated) || asserts_phrase(stated))
        && !is_clean(sentence)
        && not_harmless(sentence, paths).is_some()
}

/// The part of a sentence in lower case that stands in front of a plan: all of it, if none is opened.
fn before_plan(lower: &str) -> &str {
    let mut starts = Vec::new();
    let mut names = Vec::new();
    let mut position = 0;
    for word in words(lower) {
        // Only what is between words stands in front of it.
        let start = lower[position..].find(word).map_or(position, |at| position + at);
        position = start + word.len();
        starts.push(start);
        names.push(word);
    }
    let is_of = |at: usize, table: &[&str]| names.get(at).is_some_and(|word| table.contains(word));
    let opens = |at: usize, phrase: &str| {
        let length = phrase.split(' ').count();
        let is_there = phrase
            .split(' ')
            .enumerate()
            .all(|(next, word)| names.get(at + next) == Some(&word));
        is_there && !is_of(at + length, REPORTING)
    };
    let begins_at = |at: usize, phrase: &str| opens(at, phrase) && !is_of(at + phrase.split(' ').count(), STATING);
    let lead = names.iter().take_while(|word| LEADS.contains(word)).count();
    let begins =
        BEGINNINGS.iter().any(|phrase| begins_at(lead, phrase)) || is_of(0, &["now", "next"]) && begins_at(lead, "i");
    if begins {
        return "";
    }
    let plan = (0..names.len()).find(|at| PLANS.iter().any(|phrase| opens(*at, phrase)));
    plan.map_or(lower, |at| &lower[..starts[at]])
}

/// The words of a finding and its place, to compare with a sentence.
pub struct Report {
    file: String,
    text: String,
    words: BTreeSet<String>,
}

impl Report {
    /// The report of these texts about these lines of a file.
    pub(in crate::findings) fn new<'t>(
        file: &str,
        lines: RangeInclusive<u32>,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        let text = texts.into_iter().collect::<Vec<_>>().join("\n");
        let mut words = claim_words(&text);
        words.extend(claim_words(file));
        words.extend(lines.take(MAX_LINES).map(|line| format!("#{line}")));
        Self {
            file: file.to_owned(),
            text,
            words,
        }
    }

    /// Returns whether a sentence is about the same: at least half of its words are the finding's, but for those of no
    /// finding in particular, and it names neither another of these paths nor a line of its own.
    pub fn covers(&self, sentence: &str, paths: &[&str]) -> bool {
        let words: BTreeSet<String> = claim_words(sentence).difference(&OF_ANY).cloned().collect();
        let known = words.intersection(&self.words).count();
        let is_other = |path: &&&str| **path != self.file && !names_path(&self.text, &[**path]);
        let others: Vec<&str> = paths.iter().filter(is_other).copied().collect();
        let is_elsewhere = names_path(sentence, &others) && !names_path(sentence, &[&self.file])
            || names_line(sentence)
                && words
                    .iter()
                    .any(|word| word.starts_with('#') && !self.words.contains(word));
        known * 2 >= words.len() && !is_elsewhere
    }
}

/// Words of no finding in particular.
static OF_ANY: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    claim_words(
        "find found finding issue problem concern bug defect flaw vulnerability review reviewed change report reported list \
         listed see below above following detail two three four five several total file",
    )
});
/// Maximum number of lines of a finding's place.
const MAX_LINES: usize = 60;

impl From<&RawFinding> for Report {
    fn from(finding: &RawFinding) -> Self {
        let number = |name: &str| finding.get(name).and_then(|text| text.parse::<u32>().ok());
        let line = number("line").unwrap_or_default();
        let texts = finding.fields.iter().map(|(_, text)| text.as_str());
        Self::new(
            finding.get("file").unwrap_or_default(),
            line..=number("end_line").unwrap_or(line),
            texts,
        )
    }
}

impl From<&Finding> for Report {
    fn from(finding: &Finding) -> Self {
        let texts = [
            finding.severity.as_str(),
            &finding.category,
            &finding.claim,
            &finding.scenario,
            &finding.evidence,
            &finding.checked,
        ];
        let last = finding.end_line.unwrap_or(finding.line);
        Self::new(&finding.file, finding.line..=last, texts)
    }
}

/// Returns whether a word is of a script that parts no words.
fn is_unparted(word: &str) -> bool {
    word.chars().all(|sign| ('\u{3040}'..='\u{9fff}').contains(&sign))
}

/// Returns whether a sentence in lower case asserts that something is wrong, and no word in front denies it.
fn asserts_phrase(lower: &str) -> bool {
    ASSERTING.iter().any(|phrase| {
        lower.match_indices(phrase).any(|(at, _)| {
            let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
            let is_whole =
                !is_part(lower[..at].chars().next_back()) && !is_part(lower[at + phrase.len()..].chars().next());
            let mut before = last_words(&lower[..at])
                .take(4)
                .take_while(|word| !CONCLUDING.contains(word));
            is_whole && !before.any(is_negation)
        })
    })
}

/// The sentence without paths and names of code: `dependency_injection.rs` is none.
fn without_names(sentence: &str) -> String {
    let mut text = String::new();
    for (at, part) in sentence.split('`').enumerate() {
        text.push_str(if at % 2 == 0 { part } else { " " });
    }
    let is_name = |word: &&str| {
        let inner = word.trim_matches(|character: char| !character.is_alphanumeric());
        inner.contains(['/', '_', '.', '\\'])
    };
    text.split_whitespace()
        .filter(|word| !is_name(word))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 2] = ["src/db.py", "src/auth.rs"];

    #[test]
    fn an_assertion_is_told_from_a_plan_or_a_suspicion() {
        for text in [
            "I found a critical SQL injection in src/db.py:5. Let me read the callers.",
            "The query is concatenated from user input. Next I read the tests.",
            "This is a SQL injection.",
            "Do not merge this! Now the second patch.",
            "There is a bug in the loop.",
            "- **Severity**: warning\n- **File**: src/db.py",
            "Anyone can read all rows.",
            "The password is stored in plain text.",
            "Das ist eine kritische Lücke.",
            "这里存在SQL注入漏洞。",
            "Обнаружена уязвимость.",
            "The key is hard-coded, and the token leaks.",
            "I found a critical SQL injection in the search endpoint.",
            "There is no permission check, so anyone can delete accounts.",
            "Anyone can log in: the signature check is wrong.",
            "The search form is vulnerable to XSS.",
            "Reading is broken: there is a deadlock in the cache.",
            "Look-ups fail, and there is a bug in the loop.",
            "All that an attacker can need is the public key; anyone can read it.",
            "This must not be merged, and it should not be merged later.",
            "The service will crash on an empty list.",
            "I found a race condition in the cache, so I'll look at the callers next.",
            "The query is concatenated, let me check whether the callers escape it.",
            "You need to fix the SQL injection in the login.",
            "I confirm that the query is concatenated.",
            "Now I see a critical SQL injection in the login.",
            "I will report a critical SQL injection in the login.",
        ] {
            assert!(!asserted(text, &PATHS).is_empty(), "{text}");
        }
        for text in [
            "Let me look at src/auth.rs",
            "Let me check src/db.py line 40 for SQL injection.",
            "I'll look at whether the input is validated.",
            "Checking for injection flaws and race conditions next.",
            "This could be a vulnerability, so I read the callers.",
            "Is this a SQL injection?",
            "Now I read the dependency_injection.rs and `sql_injection_tests`.",
            "I have read src/db.py. No vulnerabilities so far.",
            "Reading the patches.",
            "The function takes a name and returns the rows.",
            "I need to verify that the query is not concatenated.",
            "<think>A critical injection!</think>Reading on.",
            "Keine kritischen Probleme bisher.",
            "Let’s look for a race condition in the cache.",
            "I will check the search endpoint for SQL injection.",
            "I'm going to search for hard-coded secrets.",
            "I want to see the critical path of the login.",
            "Searching for unescaped output in the templates.",
            "Next I look at the places where the query is concatenated.",
            "Now checking that no critical injection is left.",
            "So next, let me read what is not validated.",
            "Perhaps the query is concatenated.",
            "The token leaks unless the caller masks it.",
            "To verify that the input is not checked twice, I read the callers.",
            "",
        ] {
            assert_eq!(asserted(text, &PATHS), Vec::<String>::new(), "{text}");
        }
        // It would take minutes if each were compared with all words in front of it.
        assert!(!asserts_phrase(&"not unchecked ".repeat(25_000)));
        assert!(!asserts(
            &"it reads one, and it reads the other, ".repeat(10_000),
            &PATHS
        ));
    }

    #[test]
    fn a_problem_beside_a_list_is_reported_by_a_finding_or_not() {
        let answer = |words: &str| {
            format!(
                "{words}\n<findings>\n<finding>\n<severity>critical</severity>\n<category>sql-injection</category>\n\
                 <file>src/db.py</file>\n<line>5</line>\n<claim>The query is built from the caller's input.</claim>\n\
                 <evidence>query = \"SELECT \" + name</evidence>\n<scenario>An attacker can call src/auth.rs with a crafted \
                 name.</scenario>\n</finding>\n</findings>"
            )
        };
        let unreported = |words: &str| {
            let answer = answer(words);
            unreported(&answer, &super::super::scan(&answer, &[]).findings, &PATHS)
        };
        for words in [
            "",
            "I found one critical issue.",
            "I found a critical SQL injection in src/db.py:5.",
            "There is a SQL injection in the query that is built from input.",
            "The change reads the rows of a user. The query has a SQL injection.",
            "Both files were read; src/auth.rs is fine.",
            "This could also leak the token.",
            "An attacker can call src/auth.rs with a name that the query takes.",
        ] {
            assert_eq!(unreported(words), None, "{words}");
        }
        for words in [
            "The session token is logged in plain text, too.",
            "The same SQL injection is in src/db.py line 40.",
            "Anyone can delete the accounts of others.",
            "Außerdem eine kritische Lücke: Passwörter werden nie geprüft.",
            "Do not merge this: the migration loses data.",
        ] {
            assert!(unreported(words).is_some(), "{words}");
        }
    }
}
