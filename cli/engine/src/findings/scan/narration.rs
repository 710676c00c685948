//! Sentences beside tool calls, and around findings, that tell no problem: plans, questions, suspicions, and what is read.
//!
//! No list of words for problems is complete, so it is the other way round, as beside an empty list: what is not known to tell none
//! may tell one. Models say much before they call a tool, so a reviewer is asked about that once, and may then answer without it.

use super::{
    MAX_ANSWER, MAX_QUOTED,
    asserting::{asserts_phrase, before_plan, without_names},
    json,
    traces::sentences,
    visible,
};
use crate::findings::{
    remarks::{narrates, not_harmless},
    severe::{is_alarming, is_severe, words},
    tags::{Kind, Name, tags},
};

/// Maximum number of sentences of a text that are looked at. The reviewer is asked about any beyond them.
const MAX_SENTENCES: usize = 400;
/// Maximum number of clauses of a sentence that is looked at.
const MAX_CLAUSES: usize = 30;
/// Words with which a sentence says that its writer does not know yet. "If" and "would" are none: "it crashes if the list is empty".
const WEIGHING: &[&str] = &[
    "whether",
    "could",
    "may",
    "might",
    "maybe",
    "perhaps",
    "possibly",
    "possible",
    "potential",
    "potentially",
    "suspect",
    "unless",
    "unclear",
    "vielleicht",
    "könnte",
    "quizás",
    "podría",
    "talvez",
    "forse",
    "misschien",
    "возможно",
];
/// Words alone in front of a comma or a colon.
const OPENINGS: &[&str] = &[
    "ok", "okay", "good", "great", "right", "alright", "sure", "so", "now", "next", "then", "first", "second",
    "finally", "and", "also", "hmm", "thanks", "step",
];
/// Clauses in front of a plan.
const OPENING_CLAUSES: [&str; 8] = [
    "to be thorough",
    "to be sure",
    "to be safe",
    "to be complete",
    "for completeness",
    "before i answer",
    "before answering",
    "before i conclude",
];
/// Words with which a clause goes on with the plan in front of it, behind "and", "or" and "then".
const CONTINUING: &[&str] = &[
    "to",
    "for",
    "whether",
    "how",
    "what",
    "including",
    "especially",
    "particularly",
    "starting",
    "before",
    "after",
    "plus",
    "along",
    "check",
    "read",
    "look",
    "see",
    "search",
    "verify",
    "confirm",
    "open",
    "grep",
    "trace",
    "inspect",
    "examine",
    "review",
    "find",
    "make",
    "ensure",
    "compare",
];
/// Words between what is read and a plan.
const JOINTS: [&str; 3] = [" so", " and", " but"];
/// Words between a plan and what its writer knows.
const REASONS: [&str; 3] = [" because ", " since ", " given that "];
/// Signs between clauses.
const BREAKS: [&str; 9] = [", ", ": ", " - ", "–", "—", "，", "、", "：", "،"];
/// Names of what runs a text: a sentence about what runs describes nothing.
const RUNNING: &[&str] = &["eval", "exec", "system", "shell", "popen", "spawn"];
/// Beginnings of plans in the other languages that a project may be in.
const PLANS_ELSEWHERE: &[&str] = &[
    "ich lese",
    "ich prüfe",
    "ich sehe mir",
    "ich schaue",
    "ich öffne",
    "ich werde",
    "jetzt lese ich",
    "jetzt prüfe ich",
    "als nächstes lese",
    "als nächstes prüfe",
    "zuerst lese ich",
    "zunächst lese",
    "zunächst schaue",
    "dann lese ich",
    "dann prüfe ich",
    "nun lese ich",
    "nun prüfe ich",
    "schauen wir",
    "sehen wir",
    "je lis",
    "je vérifie",
    "je regarde",
    "je vais",
    "je commence par",
    "commençons par",
    "voyons",
    "regardons",
    "leo",
    "reviso",
    "voy a leer",
    "voy a revisar",
    "voy a comprobar",
    "voy a verificar",
    "veamos",
    "empiezo por",
    "comienzo por",
    "vou ler",
    "vou verificar",
    "vou analisar",
    "vou ver",
    "começo por",
    "leggo",
    "controllo",
    "verifico",
    "vediamo",
    "comincio da",
    "ora leggo",
    "ik lees",
    "ik bekijk",
    "ik controleer",
    "ik kijk",
    "laten we",
    "eerst lees ik",
    "czytam",
    "sprawdzam",
    "sprawdzę",
    "przeczytam",
    "zobaczmy",
    "читаю",
    "я читаю",
    "проверяю",
    "проверю",
    "посмотрю",
    "посмотрим",
    "прочитаю",
    "перевіряю",
    "перевірю",
    "подивлюся",
    "подивимось",
    "让我",
    "我来",
    "我先看",
    "我将查看",
    "我将检查",
    "我会检查",
    "我会查看",
    "接下来我",
    "まず",
    "次に",
    "먼저",
    "다음으로",
    "سأقرأ",
    "سأتحقق",
    "دعني",
];
/// Ends of plans in languages in which the verb is the last word.
const ENDS_ELSEWHERE: &[&str] = &[
    "確認します",
    "読みます",
    "見てみます",
    "調べます",
    "확인하겠습니다",
    "살펴보겠습니다",
    "보겠습니다",
    "읽겠습니다",
];

/// The sentences of a text, but for its findings, of which it is not known that they tell no problem.
pub fn may_assert(text: &str, paths: &[&str]) -> Vec<String> {
    if text.len() > MAX_ANSWER {
        return vec![text.chars().take(MAX_QUOTED).collect()];
    }
    let seen = visible::visible(text).text;
    let words = without_findings(&seen);
    if not_harmless(&words, paths).is_none() {
        return Vec::new();
    }
    let said = sentences(&words).filter(|sentence| sentence.contains(char::is_alphanumeric));
    let told = said
        .enumerate()
        .filter(|(at, sentence)| *at >= MAX_SENTENCES || !is_narration(sentence, paths));
    told.map(|(_, sentence)| sentence.trim().to_owned()).collect()
}

/// The text in front of its findings and behind them. Where it breaks off within one, nothing stands behind them.
fn without_findings(text: &str) -> String {
    let around = |start: usize, end: usize| format!("{}\n{}", &text[..start], &text[end..]);
    if let (Some(first), Some(last)) = (tags(text).next(), tags(text).last())
        && !json::is_around(text, Some(first.start))
    {
        let is_block = tags(text).any(|tag| tag.name == Name::Findings);
        let ends = if is_block { Name::Findings } else { Name::Finding };
        let is_whole = last.name == ends && last.kind != Kind::Open;
        return around(first.start, if is_whole { last.end } else { text.len() });
    }
    match (text.find(['{', '[']), text.rfind(['}', ']'])) {
        (Some(start), _) if json::half(text).is_some() => around(start, text.len()),
        (Some(start), Some(end)) if start < end && json::scan(text).is_some() => around(start, end + 1),
        _ => text.to_owned(),
    }
}

/// Returns whether a sentence is known to tell no problem beside a tool call.
fn is_narration(sentence: &str, paths: &[&str]) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    // "I could not read it" weighs nothing.
    let stated = before_plan(&lower).replace("could not", "");
    sentence.contains(['?', '？'])
        || words(&stated).any(|word| WEIGHING.contains(&word))
        || not_harmless(sentence, paths).is_none()
        || is_made_of_plans(sentence, paths)
}

/// Returns whether each clause is a plan, goes on with one, or says what is read.
fn is_made_of_plans(sentence: &str, paths: &[&str]) -> bool {
    let clauses = clauses(sentence);
    let mut is_planning = false;
    let mut each = clauses.iter().copied();
    clauses.len() <= MAX_CLAUSES
        && each.all(|clause| {
            let lower = clause.to_lowercase().replace('’', "'");
            let stated = before_plan(&lower);
            let goes_on = is_planning && continues(&lower);
            let plans = stated.len() < lower.len() || opens_elsewhere(&lower);
            is_planning |= plans;
            // What stands in front of the plan is a part of the clause as it is written, unless a letter changes its length.
            let said = if plans {
                clause.get(..stated.len()).unwrap_or(stated)
            } else {
                clause
            };
            let said = said.trim_end();
            let said = JOINTS
                .iter()
                .find_map(|joint| said.strip_suffix(*joint))
                .unwrap_or(said);
            // "Tests: none" denies no problem.
            let is_alone = clauses.len() == 1 || said.contains([' ', '.', '/', '`']);
            opens_elsewhere(&lower) || goes_on || is_opening(said) || is_alone && describes(said, paths)
        })
}

/// The clauses of a sentence.
fn clauses(sentence: &str) -> Vec<&str> {
    let mut clauses = vec![sentence.trim().trim_end_matches(['.', '!', ':', '…', '。'])];
    for sign in BREAKS.into_iter().chain(REASONS) {
        clauses = clauses.into_iter().flat_map(|clause| clause.split(sign)).collect();
    }
    clauses.retain(|clause| clause.contains(char::is_alphanumeric));
    clauses
}

/// Returns whether nothing but words like "ok" stands there, or why its writer goes on.
fn is_opening(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    OPENING_CLAUSES.contains(&lower.trim()) || words(&lower).all(|word| OPENINGS.contains(&word))
}

/// Returns whether a clause in lower case goes on with a plan.
fn continues(clause: &str) -> bool {
    let mut behind = clause
        .split_whitespace()
        .skip_while(|word| ["and", "or", "then", "also"].contains(word));
    behind.next().is_some_and(|word| CONTINUING.contains(&word))
}

/// Returns whether a clause in lower case is a plan in another language than English.
fn opens_elsewhere(clause: &str) -> bool {
    let clause = clause.trim();
    let begins = |plan: &&str| {
        let rest = clause.strip_prefix(*plan);
        let is_whole = |rest: &str| !plan.is_ascii() || !rest.starts_with(char::is_alphabetic);
        rest.is_some_and(is_whole)
    };
    (PLANS_ELSEWHERE.iter().any(begins) || ENDS_ELSEWHERE.iter().any(|plan| clause.ends_with(*plan)))
        && !clause.contains(char::is_numeric)
}

/// Returns whether a clause is harmless, or says of the code that is read what it calls, returns or holds.
fn describes(clause: &str, paths: &[&str]) -> bool {
    let lower = clause.to_lowercase();
    let runs = || words(&lower).any(|word| RUNNING.contains(&word));
    let alarms = || is_severe(&lower) || is_alarming(&lower) || asserts_phrase(&without_names(&lower));
    not_harmless(clause, paths).is_none() || (narrates(clause, paths) && !runs() && !alarms())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSERTING: &str = include_str!("../../../../../tests/fixtures/remarks/asserting.txt");
    const NARRATION: &str = include_str!("../../../../../tests/fixtures/remarks/narration.txt");
    const ALARMING: &str = include_str!("../../../../../tests/fixtures/remarks/alarming.txt");
    const PATHS: [&str; 3] = ["app.py", "src/db.py", "src/auth.rs"];

    #[test]
    fn what_asserts_a_problem_in_any_words_is_told_from_narration() {
        assert!(ASSERTING.lines().count() >= 59 && NARRATION.lines().count() >= 50);
        let is_asked = |text: &&str| !may_assert(text, &PATHS).is_empty();
        let missed: Vec<&str> = ASSERTING.lines().filter(|text| !is_asked(text)).collect();
        assert_eq!(missed, Vec::<&str>::new());
        let asked: Vec<&str> = NARRATION.lines().filter(is_asked).collect();
        assert_eq!(asked, Vec::<&str>::new());
    }

    #[test]
    fn what_asserts_a_problem_does_so_among_narration() {
        for told in ASSERTING.lines() {
            for text in [
                format!("Let me read src/db.py. {told}"),
                format!("I'll read the callers: {told}"),
                format!("{told}\n\nNow the tests."),
            ] {
                assert!(!may_assert(&text, &PATHS).is_empty(), "{text}");
            }
        }
    }

    #[test]
    fn a_plan_excuses_no_other_clause() {
        for text in [
            "Let me read db.py, the permission check was removed.",
            "Let me read db.py because the permission check was removed.",
            "I will mention that the check was removed.",
            "Reading shows that everyone is admin.",
            "Now I can see that everyone is admin.",
            "The check was removed, so I'll look at the callers.",
            "Next: everyone is admin.",
            "get fails if the list is empty.",
            "I would block this.",
            "The change looks good and the query is injectable.",
            "No finding is minor.",
            "The handler calls `eval`.",
            "The function returns every row.",
            "It returns the password.",
        ] {
            assert!(!may_assert(text, &PATHS).is_empty(), "{text}");
        }
    }

    #[test]
    fn what_alarms_beside_an_empty_list_alarms_beside_a_call() {
        let excused = |text: &str| text.starts_with('{') || text.contains(['?', '？']);
        let lines: Vec<&str> = ALARMING.lines().filter(|text| !excused(text)).collect();
        let asked = lines.iter().filter(|text| !may_assert(text, &PATHS).is_empty()).count();
        // Some of them name a place, weigh, or are signs alone.
        assert!(asked * 100 >= lines.len() * 90, "{asked} of {}", lines.len());
    }

    #[test]
    fn the_findings_are_no_words_beside_them() {
        let finding = "<finding><severity>critical</severity><claim>Everyone is admin.</claim></finding>";
        for text in [
            format!("Here are my findings:\n<findings>{finding}</findings>\nDone."),
            format!("<findings>{finding}<finding><claim>Everyone is"),
            format!("<findings>{finding}\n<findi"),
            format!("<findings>{finding}<finding><claim>Everyone is admin.</claim>\n<evid"),
            r#"{"findings": [{"severity": "critical", "file": "a.py", "claim": "Everyone is admin."}]}"#.to_owned(),
            r#"[{"severity": "critical", "file": "a.py", "claim": "Everyone is"#.to_owned(),
        ] {
            assert_eq!(may_assert(&text, &PATHS), Vec::<String>::new(), "{text}");
        }
        let told = may_assert(&format!("Everyone is admin.\n<findings>{finding}</findings>"), &PATHS);
        assert_eq!(told, ["Everyone is admin."]);
    }

    /// It would take minutes if each sentence, or each word, were compared with all others.
    #[test]
    fn a_text_made_to_cost_time_is_read_at_once() {
        for text in [
            "the file is here. ".repeat(15_000),
            "it reads one, ".repeat(20_000),
            "let me ".repeat(40_000),
        ] {
            may_assert(&text, &PATHS);
        }
    }
}
