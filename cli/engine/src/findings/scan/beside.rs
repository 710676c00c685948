//! Words that are not an answer by their form: which of them may tell a problem, which assert one, and whether a finding
//! reports the same.

use super::{
    RawFinding, Report,
    asserting::asserts,
    json, lenient,
    raw_finding::is_every_severity,
    traces::{is_report, is_structured, names_line, names_path, sentences},
    unescape, visible,
};
use crate::findings::{
    remarks::{not_harmless, texts},
    severe::{is_severe, words},
    tags::{Kind, Name, Tag, tags},
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

/// The sentences of a text beside a tool call that assert a problem. What a model is about to look for, or suspects, is none.
pub fn asserted(text: &str, paths: &[&str]) -> Vec<String> {
    let seen = visible::visible(text).text;
    if is_structured(&seen) && (names_path(&seen, paths) || names_line(&seen)) {
        return vec![seen.trim().to_owned()];
    }
    let found = sentences(&seen).filter(|sentence| asserts(sentence, paths));
    found.map(|sentence| sentence.trim().to_owned()).collect()
}

/// The problems that the thinking in front of an answer asserts: the claims of findings that it drafts, in tags or JSON, and sentences.
/// A question, a suspicion or a denial asserts nothing, and neither does the format of an answer.
pub fn thought(answer: &str, paths: &[&str]) -> Vec<String> {
    let thinking = visible::visible(answer).thinking;
    let (mut drafts, words) = drafts(&thinking);
    drafts.extend(json::scan(&words, 1).into_iter().flat_map(|outcome| outcome.findings));
    let claims = drafts.iter().filter_map(claim_of);
    let tells = |sentence: &&str| {
        // The word alone is the name of a field.
        let lower = sentence.to_lowercase();
        let plain = lower.contains("severity").then(|| lower.replace("severity", ""));
        !is_every_severity(sentence) && asserts(plain.as_deref().unwrap_or(*sentence), paths)
    };
    let told = claims.chain(sentences(&words).filter(tells));
    told.map(|text| text.trim().to_owned()).collect()
}

/// The claims of the whole findings, in tags, that the reasoning beside an answer drafts. Reasoning weighs much and rejects most of it,
/// so that nothing else of it counts.
pub fn drafted(reasoning: &str) -> Vec<String> {
    let (drafts, _) = drafts(reasoning);
    let whole = drafts.iter().filter(|draft| draft.severity().is_some());
    whole.filter_map(claim_of).map(|text| text.trim().to_owned()).collect()
}

/// The claim of a draft, unless it only recites the format.
fn claim_of(draft: &RawFinding) -> Option<&str> {
    let says = |text: &&str| text.contains(char::is_alphanumeric);
    let mut fields = ["claim", "scenario", "evidence"].into_iter();
    let claim = fields.find_map(|field| draft.get(field).filter(says));
    claim.filter(|_| !draft.is_template())
}

/// The findings in tags that a text drafts, and the text without them.
fn drafts(text: &str) -> (Vec<RawFinding>, String) {
    let is = |tag: &Tag, kind: Kind| tag.name == Name::Finding && tag.kind == kind;
    let (mut drafts, mut words) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(open) = tags(rest).find(|tag| is(tag, Kind::Open))
        && let Some(close) = tags(&rest[open.end..]).find(|tag| is(tag, Kind::Close))
    {
        let end = open.end + close.end;
        let draft = lenient::read_bare(&rest[open.start..end]);
        drafts.extend(draft.into_iter().flat_map(|outcome| outcome.findings));
        words.push_str(&rest[..open.start]);
        words.push('\n');
        rest = &rest[end..];
    }
    words.push_str(rest);
    (drafts, words)
}

/// Returns whether words report a problem in another notation: as a table or keys, or as an item that names a severity and then a
/// place. Such a report is a finding that was not given as one.
pub fn is_listed(text: &str, paths: &[&str]) -> bool {
    if is_structured(text) {
        return true;
    }
    let item = text.trim_start_matches(|character: char| !character.is_alphanumeric());
    let length = item.find(|character: char| !character.is_alphanumeric());
    let (label, rest) = item.split_at(length.unwrap_or(item.len()));
    let behind = rest.trim_start();
    let next = behind.split_whitespace().next().unwrap_or_default();
    let is_label = rest.starts_with(['*', '_', ':', '：', ']', ')'])
        || behind.starts_with(['|', '–', '—'])
        || behind.starts_with("- ")
        || names_path(next, paths)
        || names_line(next);
    is_label && is_severe(label) && (names_path(rest, paths) || names_line(rest))
}

/// The first sentence of an answer that asserts a problem which none of its findings reports.
pub(super) fn unreported(answer: &str, findings: &[RawFinding], paths: &[&str]) -> Option<String> {
    let unescaped = answer.contains("&lt;find").then(|| unescape(answer));
    let texts = texts(unescaped.as_deref().unwrap_or(answer));
    let mut asserted = texts
        .iter()
        .flat_map(|text| sentences(text))
        .filter(|sentence| asserts(sentence, paths))
        .peekable();
    asserted.peek()?;
    let reports: Vec<Report> = findings.iter().map(Report::from).collect();
    let unreported = asserted.find(|sentence| !Report::any_covers(&reports, sentence, paths))?;
    Some(unreported.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::scan::asserting::asserts_phrase;

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
            "This is remote code execution.",
            "Confirmed: attacker-controlled input reaches eval.",
            "a() now executes arbitrary code.",
            "That is dangerous.",
            "The value is whatever comes in; an attacker gets a shell.",
            "There is no check: an attacker gets a shell.",
            "src/db.py:2 runs whatever the user types.",
            "The input is executed as code.",
            "Das eval führt Eingaben aus.",
            "eval 会执行用户输入。",
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
            "Let me check whether an attacker reaches eval.",
            "Could an attacker get a shell here?",
            "I will look for data races and leaks.",
            "No crash, leak or data race so far.",
            "I need to see what eval does with its input.",
            "Next I look at how the crash handler works.",
            "Ich prüfe, ob das gefährlich ist.",
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
    fn what_thinking_asserts_is_told_from_what_it_weighs() {
        let finding = "<finding>\n<severity>high</severity>\n<file>src/db.py</file>\n<claim>The rows of others are read.</claim>\n\
                       </finding>";
        let json = r#"{"severity": "high", "file": "src/db.py", "claim": "The rows of others are read."}"#;
        for text in [
            finding,
            json,
            "| Severity | File |\n|---|---|\n| critical | src/db.py:5 |",
            "- **Severity**: critical\n- **File**: src/db.py",
            "I found a critical SQL injection in src/db.py:5. Done.",
            "This is remote code execution.",
        ] {
            for opening in ["<think>", ""] {
                let answer = format!("{opening}{text}</think>\n<findings></findings>");
                // Without the opening tag what is not a word is read as a part of the answer.
                if opening.is_empty() && text.starts_with(['<', '{']) {
                    continue;
                }
                assert!(!thought(&answer, &PATHS).is_empty(), "{answer}");
            }
        }
        for text in [
            "Is this a SQL injection? It is not a SQL injection.",
            "Let me check whether an attacker reaches eval. It could be dangerous.",
            "Each finding has a severity, a category, a file and a claim.",
            "The format: <findings><finding><severity>critical|warning|suggestion</severity><claim>One sentence.</claim></finding>",
            "`{\"severity\": \"critical|warning|suggestion\"}`",
            "<finding>...</finding>",
            "The severity is one of critical, warning and suggestion.",
            "No critical problems. Nothing to report.",
        ] {
            let answer = format!("<think>{text}</think>\n<findings></findings>");
            assert_eq!(thought(&answer, &PATHS), Vec::<String>::new(), "{text}");
        }
        assert_eq!(thought("This is remote code execution.", &PATHS), Vec::<String>::new());
        let quoted = format!("This is remote code execution. Draft:\n<findings>{finding}</findings>\nOr is it none?");
        assert_eq!(drafted(&quoted), ["The rows of others are read."]);
        for text in [
            "This is remote code execution.",
            json,
            "The format: <finding><severity>critical|warning|suggestion</severity><claim>One sentence.</claim></finding>",
            "<finding>...</finding>",
            "<finding>\n<severity>high</severity>\n<claim>It is never closed.</claim>",
        ] {
            assert_eq!(drafted(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn an_item_with_a_severity_and_a_place_is_a_report() {
        for text in [
            "- **critical** src/db.py:2 eval runs input",
            "CRITICAL src/db.py:2: eval",
            "| critical | src/db.py:2 | eval |",
            "[critical] src/db.py: eval runs input",
            "* Critical: eval runs input in line 2",
            "Kritisch – src/db.py Zeile 2",
            "- **Severity**: warning\n- **File**: src/db.py",
        ] {
            assert!(is_listed(text, &PATHS), "{text}");
        }
        for text in [
            "I found a critical SQL injection in src/db.py:5.",
            "Critical code of src/db.py:2 is unchanged.",
            "Critical: eval(input()).",
            "src/db.py:2 is dangerous.",
            "",
        ] {
            assert!(!is_listed(text, &PATHS), "{text}");
        }
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
