//! Sentences beside tool calls, and around findings, that tell no problem: plans, questions, suspicions, and what is read.
//!
//! No list of words for problems is complete, so it is the other way round, as beside an empty list: what is not known to tell none
//! may tell one. Models say much before they call a tool, so a reviewer is asked about that once, and may then answer without it.

use super::{
    MAX_ANSWER, MAX_QUOTED,
    asserting::{WEIGHING, asserts_phrase, before_plan, presupposes, without_names},
    json,
    traces::sentences,
    visible,
};
use crate::findings::{
    remarks::{narrates, not_harmless},
    severe::{is_alarming, is_in, is_severe, words},
    tags::{Kind, Name, tags},
};

/// Maximum number of sentences of a text that are looked at. The reviewer is asked about any beyond them.
const MAX_SENTENCES: usize = 400;
/// Maximum number of clauses of a sentence that is looked at.
const MAX_CLAUSES: usize = 30;
/// Words alone in front of a comma or a colon.
const OPENINGS: &str = "ok okay good great right alright sure so now next then first second finally and also hm hmm \
    thanks step interesting perfect wait";
/// Clauses in front of a plan.
const OPENING_CLAUSES: [&str; 9] = [
    "next up",
    "to be thorough",
    "to be sure",
    "to be safe",
    "to be complete",
    "for completeness",
    "before i answer",
    "before answering",
    "before i conclude",
];
/// Clauses behind which a plan follows, item by item.
const HEADINGS: &[&str] = &["plan", "my plan", "next steps", "steps", "one more check"];
/// Words with which a clause goes on with the plan in front of it, behind "and", "or" and "then".
const CONTINUING: &str = "to for whether how what including especially particularly starting before after plus along \
    check read look see search verify confirm open grep trace inspect examine review find make ensure compare ob wie \
    wer comment cómo hoe jak czy как";
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
    "voy a mirar",
    "voy a ver",
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
        (Some(start), Some(end)) if start < end && json::scan(text, 1).is_some() => around(start, end + 1),
        _ => text.to_owned(),
    }
}

/// Returns whether a sentence is known to tell no problem beside a tool call.
fn is_narration(sentence: &str, paths: &[&str]) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    // "I could not read it" weighs nothing.
    let stated = before_plan(&lower).replace("could not", "");
    let weighs = || sentence.contains(['?', '？']) || words(&stated).any(|word| is_in(WEIGHING, word));
    let is_open = || weighs() || describes(sentence.trim(), paths) || is_made_of_plans(sentence, paths);
    not_harmless(sentence, paths).is_none() || !presupposes(&lower) && is_open()
}

/// Returns whether each clause is a plan, goes on with one, or says what is read.
fn is_made_of_plans(sentence: &str, paths: &[&str]) -> bool {
    let whole = with_whole_calls(sentence);
    let clauses = clauses(&whole);
    let mut is_planning = false;
    let mut each = clauses.iter().copied();
    clauses.len() <= MAX_CLAUSES
        && each.all(|clause| {
            let lower = clause.to_lowercase().replace('’', "'");
            let stated = before_plan(&lower);
            let goes_on = is_planning && continues(&lower);
            let plans = stated.len() < lower.len() || opens_elsewhere(&lower);
            let is_heading = HEADINGS.contains(&lower.trim());
            is_planning |= plans || is_heading;
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
            // "Tests: none" denies no problem. What is planned may be a list: "checking: imports, callers".
            let is_alone = clauses.len() == 1 || said.contains([' ', '.', '/', '`']);
            let is_neutral = || is_alone && describes(said, paths) || is_planning && is_read(said, paths);
            opens_elsewhere(&lower) || goes_on || is_heading || is_opening(said) || is_neutral()
        })
}

/// The sentence with the commas in calls of code between backticks, `max(0, offset)`, not to be taken for those between clauses.
fn with_whole_calls(sentence: &str) -> String {
    let parts: Vec<&str> = sentence.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return sentence.to_owned();
    }
    let whole = parts.iter().enumerate().map(|(at, part)| {
        if at % 2 == 1 && part.contains('(') {
            part.replace(", ", ",")
        } else {
            (*part).to_owned()
        }
    });
    whole.collect::<Vec<_>>().join("`")
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
    OPENING_CLAUSES.contains(&lower.trim()) || words(&lower).all(|word| is_in(OPENINGS, word))
}

/// Returns whether a clause in lower case goes on with a plan.
fn continues(clause: &str) -> bool {
    let is_number = |word: &str| {
        word.trim_end_matches([')', '.'])
            .bytes()
            .all(|sign| sign.is_ascii_digit())
    };
    let mut behind = clause
        .split_whitespace()
        .skip_while(|word| ["and", "or", "then", "also"].contains(word) || is_number(word));
    behind.next().is_some_and(|word| is_in(CONTINUING, word))
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
    not_harmless(clause, paths).is_none() || is_read(clause, paths)
}

/// Returns whether a clause says of the code that is read what it calls, returns or holds.
fn is_read(clause: &str, paths: &[&str]) -> bool {
    let lower = clause.to_lowercase();
    let runs = || words(&lower).any(|word| RUNNING.contains(&word));
    let alarms = || is_severe(&lower) || is_alarming(&lower) || asserts_phrase(&without_names(&lower));
    narrates(clause, paths) && !runs() && !alarms()
}

#[cfg(test)]
#[path = "narration_tests.rs"]
mod tests;
