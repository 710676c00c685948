//! Sentences beside an empty list that affirm a severe problem: a second list that is only empty takes none of them back.
//!
//! A word for something severe alone affirms nothing: "no critical issues", "I looked for critical problems", "it would be critical
//! if". It does beside a place, as a label ("Severity: critical", "**Critical**", "Finding 1 (critical)"), with a noun ("a critical
//! vulnerability"), or where quoted code is called a problem. An attacker who can do something affirms one, too.

use conclave_shared::severity::Severity;

use super::{
    asserting::{WEIGHING, before_plan, without_names},
    traces::{is_clean, names_line, names_path, sentences},
    visible,
};
use crate::findings::{
    remarks::{not_harmless, texts},
    severe::{CLOSE_NEGATIONS, REACH, begins_word, clause_end, is_in, is_negation, last_words, severe_places, words},
};

/// Beginnings of words that grade a problem, in the languages that reviews are written in.
const GRADES: &str = "critical blocker blocking severe showstopper kritisch schwerwieg blockierend critique bloquant \
    crític critico critica critici critiche bloque bloccant kritiek ernstig blokkerend krytyczn критич критичн серьёзн \
    серьезн серйозн 致命 严重 嚴重 重大 심각 치명 حرج خطير";
/// Names under which a severity is given, in the same languages.
const KEYS: &str = "severity criticality schweregrad gravité sévérité criticité gravedad severidad \
    criticidad gravidade severidade gravità severità ernst серьёзность серьезность критичность серйозність 严重性 \
    严重程度 嚴重性 重大度 深刻度 심각도 الخطورة";
/// Beginnings of nouns for problems, in the same languages. "Error" is none: code reports critical ones.
const PROBLEMS: &str = "vulnerab injection exploit flaw hole bug issue problem defect weakness leak backdoor breach \
    finding schwachstelle sicherheitsl lücke fehler injektion befund vulnérab faille défaut problème brèche fallo falla \
    inyecci agujero brecha hallazgo falha injeç defeito achado iniezion difetto kwetsba lek fout probleem bevinding \
    podatno błąd luka wstrzyk уязвим инъекц ошибк проблем дыр вразлив ін'єкц помилк 漏洞 注入 缺陷 问题 問題 脆弱性 \
    インジェクション バグ 欠陥 취약 인젝션 버그 문제 결함 ثغر حقن خلل مشكل";
/// Beginnings of nouns for problems of code that is quoted.
const KINDS: &str = "injection vulnerab exploit backdoor injektion schwachstelle vulnérab inyecci injeç iniezion уязвим \
    инъекц";
/// Words behind a grade that make it one of something else than a problem.
const OTHERS: &str = "path paths section sections code part parts region regions area areas component components \
    system systems service services infrastructure data operation operations functionality feature features step for \
    to in of css log logs logging level levels look review thinking value values alert alerts on and or so but";
/// Words in front of a noun that only name a topic: "dependency injection".
const NEUTRAL: &str = "dependency constructor setter property";
/// Words behind which a problem is one that the change mends, or that was looked for.
const EXCUSES: &str = "fixes fixed fixing patched mends prevents prevented preventing mitigates mitigated mitigating avoids \
    avoided resolves resolved closes closed hardens hardened protects protected previously formerly behebt behoben \
    schließt verhindert gesucht corrige corrigé empêche évite cherché corregido evita busqué impede procurei corretto \
    cercato verhelpt voorkomt gezocht naprawia szukałem исправляет устраняет искал виправляє усуває шукав يصلح";
/// The same in scripts that part no words, and in Korean.
const CLOSE_EXCUSES: &[&str] = &[
    "检查", "檢查", "查找", "寻找", "尋找", "修复", "修復", "修正", "防止", "避免", "是否", "如果", "可能", "수정",
    "방지",
];
/// Words behind which an excuse does not reach what follows.
const STOPS: &str = "and but so found find finds see sees shows because still remains is are has have contains contain allows \
    allow enables opens introduces creates causes leaves makes leads permits exposes und aber et mais y pero e ma en \
    maar i и но";
/// Words of conditions: what follows is not said to be so.
const CONDITIONS: &str =
    "whether if would unless ob wäre würde serait sería seria sarebbe zou jeśli czy если ли бы якщо чи";
/// Words right behind a problem that make it a condition.
const CONDITIONS_BEHIND: &str =
    "if unless would could might may wäre würde könnte serait sería seria sarebbe zou jeśli если бы якщо";
/// Words in front of a noun without an article that only name a topic: "audit for critical vulnerabilities".
const TOPICS: &str =
    "for on against about any nach gegen auf über sur pour contre para sobre contra per su naar voor tegen на про عن";
/// Words in front of such a word with which it affirms: "allows for an injection".
const ALLOWING: &str = "allow allows allowing open opens vulnerable";
/// Words between such a word and the noun.
const ARTICLES: &str = "a an the same sign signs of ein eine einen einer eines un une una uno um uma een sql code command shell script html security";
/// Words between a noun and the grade behind it.
const LINKS: &str = "is are sql ist sind est sont es son é são è sono jest są de la xss html";
/// Words that say of quoted code what it is.
const COPULAS: &str = "is are allows allow enables opens has contains causes ist erlaubt est permet es permite é \
    consente è jest это";
/// Words of "none", "0 found", "were not identified": of what a grade has nothing below it.
const OF_NONE: &str = "found finding findings issue issues problem problems bug bugs vulnerability vulnerabilities \
    identified detected reported noted seen present here at all so far were was are is have has been be to report could \
    in the this change changes diff patch code none n a critical severity gefunden habe ich wurden sind befunde probleme \
    trouvé trouvée trouvés trouvées été problème problèmes encontrado encontrada encontrados encontradas problemas \
    trovato trovata trovati trovate problemi gevonden problemen znaleziono problemów найдено обнаружено выявлено \
    проблем знайдено виявлено";
/// Texts that say the same in scripts that part no words.
const CLOSE_NONE: &[&str] = &[
    "无",
    "無",
    "没有",
    "沒有",
    "没有问题",
    "未发现",
    "未发现问题",
    "未發現",
    "なし",
    "ありません",
    "없음",
    "없습니다",
];
/// The same behind a noun, in languages in which the verb is the last word.
const ENDS_OF_NONE: &[&str] = &[
    "ません",
    "ない",
    "なし",
    "没有",
    "沒有",
    "未发现",
    "未發現",
    "：无",
    "：無",
    "없",
    "않",
];
/// Number of words of a text that says that there is none, at most.
const MAX_NONE: usize = 12;
/// Number of signs of a label in brackets, at most.
const MAX_LABEL: usize = 30;
/// Number of words of a list of what there is none of, at most.
const MAX_LISTED: usize = 20;
/// Number of words between a grade and its noun, at most.
const APART: usize = 3;
/// Number of signs between both, and between them and what denies or excuses them, in scripts that part no words.
const CLOSE: usize = 8;
/// Phrases of an attacker who can do something.
const ATTACKERS: [&str; 8] = [
    "attacker can",
    "attackers can",
    "allows an attacker to",
    "allows attackers to",
    "lets an attacker",
    "lets attackers",
    "enables an attacker to",
    "enables attackers to",
];
/// Words in front of "attacker" in a sentence that does not say what one can do.
const OPENING: &str = "what how which where that when once before after whatever";

/// Returns whether a text beside an empty list affirms a severe problem at a place.
pub(super) fn affirms_at_place(answer: &str, paths: &[&str]) -> bool {
    let is_placed = names_path(answer, paths) || names_line(answer);
    is_placed && sentences(answer).any(|sentence| has_affirmed_word(sentence) && may_harm(sentence, paths))
}

/// The first sentence beside an empty list that affirms a severe problem by itself.
pub(super) fn affirmed(answer: &str, paths: &[&str]) -> Option<String> {
    texts(answer).iter().find_map(|text| {
        let told = sentences(text).filter(|sentence| sentence.contains(char::is_alphanumeric));
        let told: Vec<&str> = told.collect();
        let mut places = 0..told.len();
        let at = places.find(|at| affirms(told[*at], told.get(at + 1).copied()) && may_harm(told[*at], paths))?;
        Some(told[at].trim().to_owned())
    })
}

/// Returns whether words beside an empty list, which are known to be harmless, say that there is none of something.
pub fn denies_in_words(answer: &str) -> bool {
    let says_none = |text: &String| {
        // "Those sentences only describe the code."
        let reduces = |word: &str| is_in("only just nur seulement solo sólo apenas alleen tylko", word);
        let has_word = words(&text.to_lowercase()).any(|word| is_negation(word) && word != "any" || reduces(word));
        has_word
            || CLOSE_NEGATIONS
                .iter()
                .chain(ENDS_OF_NONE)
                .any(|none| text.contains(none))
    };
    texts(&visible::visible(answer).text).iter().any(says_none)
}

/// Returns whether a sentence is none of those that are known to be harmless.
fn may_harm(sentence: &str, paths: &[&str]) -> bool {
    !is_clean(sentence) && not_harmless(sentence, paths).is_some()
}

/// Returns whether a sentence affirms a severe problem by itself. `next` is the one behind it.
fn affirms(sentence: &str, next: Option<&str>) -> bool {
    if sentence.contains(['?', '？', '؟']) {
        return false;
    }
    let lower = without_names(sentence).to_lowercase().replace('’', "'");
    let stated = before_plan(&lower);
    is_labeled(&lower, next)
        || calls_a_problem(stated)
        || calls_a_problem_closely(stated)
        || has_attacker(stated)
        || quotes_code(sentence) && calls_it_a_problem(stated)
}

/// Returns whether a sentence has a word for something severe that is neither denied, looked for, mended nor a condition.
fn has_affirmed_word(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    severe_places(&lower).any(|(at, stem)| {
        let before: Vec<&str> = last_words(clause_end(&lower[..at])).take(REACH).collect();
        let behind = lower[at + stem.len()..].trim_start_matches(char::is_alphanumeric);
        let next = behind.strip_prefix(' ').and_then(|rest| words(rest).next());
        let is_of_other = next.is_some_and(|next| is_in(OTHERS, next)) && is_grade(stem);
        let is_named = before.first().is_some_and(|word| is_in(NEUTRAL, word));
        !(is_excused(&before) || is_topic(&before) || is_named || is_of_other)
    })
}

fn is_grade(word: &str) -> bool {
    GRADES.split_ascii_whitespace().any(|stem| word.starts_with(stem))
}

fn is_problem(word: &str) -> bool {
    PROBLEMS.split_ascii_whitespace().any(|stem| word.starts_with(stem))
}

/// Returns whether the words in front of a problem, the nearest first, say that it is looked for or mended, or only a condition.
fn is_excused(before: &[&str]) -> bool {
    let mut reaching = before.iter().take_while(|word| !is_in(STOPS, word));
    before.iter().any(|word| is_in(CONDITIONS, word)) || reaching.any(|word| is_in(EXCUSES, word))
}

/// Returns whether a text says that there is none, whatever it is about.
fn is_none(text: &str) -> bool {
    let said: Vec<&str> = words(text).take(MAX_NONE + 1).collect();
    let is_said = |word: &&str| is_negation(word) && *word != "any";
    let is_of_none = |word: &&str| is_in(OF_NONE, word) || is_said(word);
    let inner = text.trim_matches(|character: char| !character.is_alphanumeric());
    said.len() <= MAX_NONE && said.iter().any(is_said) && said.iter().all(is_of_none) || CLOSE_NONE.contains(&inner)
}

/// Returns whether the words behind a label say that there is nothing of it.
fn denies(text: &str) -> bool {
    is_none(text) || is_clean(text)
}

/// Returns whether a sentence names a severity as a label does: "Severity: critical", "**Critical**:", "Finding 1 (critical)".
fn is_labeled(lower: &str, next: Option<&str>) -> bool {
    let inner = lower.trim_start_matches(|character: char| !character.is_alphanumeric());
    let behind_number = inner.trim_start_matches(|character: char| character.is_ascii_digit());
    let item = if behind_number.starts_with(['.', ')', ':']) {
        behind_number.trim_start_matches(|character: char| !character.is_alphanumeric())
    } else {
        inner
    };
    let (label, rest) = first_word(item);
    if is_in(KEYS, label) {
        return gives_grade(rest);
    }
    let behind = rest.trim_start();
    let is_marked = rest.starts_with(['*', '_', ':', '：', ']', ')'])
        || behind.starts_with(['|', '–', '—'])
        || rest.starts_with(" - ");
    let is_heading = lower.trim_start().starts_with('#') && behind.is_empty();
    // In English it is the name of a remark.
    let is_label = is_grade(label) && label != "critique" && (is_marked || is_heading);
    if is_label && !words(rest).next().is_some_and(|word| is_in(OTHERS, word)) {
        return is_followed(rest, next, false);
    }
    let mut brackets = ['(', '['].into_iter().flat_map(|open| lower.match_indices(open));
    brackets.any(|(at, _)| {
        let Some((name, _)) = first_signs(&lower[at + 1..], MAX_LABEL).split_once([')', ']']) else {
            return false;
        };
        let rest = &lower[at + name.len() + 2..];
        let mut names = words(name).filter(|word| *word != "severity");
        let is_grade_alone = names.next().is_some_and(is_grade) && names.next().is_none();
        let before: Vec<&str> = last_words(&lower[..at]).take(REACH).collect();
        let is_of_all = |word: &&str| is_in("levels severities all every each", word) || is_negation(word);
        is_grade_alone
            && !before.is_empty()
            && !before.iter().any(is_of_all)
            && !is_excused(&before)
            && is_followed(rest, next, true)
    })
}

/// The first word of a text and what stands behind it.
fn first_word(text: &str) -> (&str, &str) {
    let length = text.find(|character: char| !character.is_alphanumeric());
    text.split_at(length.unwrap_or(text.len()))
}

/// Returns whether what stands behind the name of a severity gives the highest one.
fn gives_grade(rest: &str) -> bool {
    let marked = rest.trim_start_matches(['*', '_', '"', '\'', ' ']);
    let is_set = marked.starts_with([':', '：', '=', '|', '–', '—', '-']) || marked.starts_with("is ");
    let marked = marked.strip_prefix("is ").unwrap_or(marked);
    let (value, more) = first_word(marked.trim_start_matches(|character: char| !character.is_alphanumeric()));
    // A sentence with more of them recites the format.
    let is_recital = words(more).any(|word| ["warning", "warnings", "suggestion", "suggestions"].contains(&word));
    is_set && Severity::parse_lenient(value) == Some(Severity::Critical) && !is_recital && !denies(more)
}

/// Returns whether something stands behind a label, there or in the next sentence, that does not say that there is nothing of it.
/// `alone` says whether a label is one without anything behind it.
fn is_followed(rest: &str, next: Option<&str>, alone: bool) -> bool {
    if words(rest).next().is_some() {
        return !denies(rest);
    }
    let Some(next) = next.map(str::to_lowercase) else {
        return alone;
    };
    let is_next_label = next.trim_end().ends_with([':', '：', '*']) || next.trim_start().starts_with('#');
    if is_next_label { alone } else { !denies(&next) }
}

/// Returns whether a sentence calls something a severe problem: "a critical vulnerability", "vulnérabilité critique".
fn calls_a_problem(lower: &str) -> bool {
    let mut said: Vec<(usize, &str)> = Vec::new();
    for (at, clause) in lower.split([',', ':', '，', '：', '、', '–', '—']).enumerate() {
        said.extend(words(clause).map(|word| (at, word)));
    }
    (0..said.len()).any(|at| {
        let Some((start, end)) = named_problem(&said, at) else {
            return false;
        };
        let clause = said[at].0;
        let back = said[..start].iter().rev().take_while(|(of, _)| *of == clause);
        let before: Vec<&str> = back.take(REACH + 1).map(|(_, word)| *word).collect();
        let behind: Vec<&str> = said[end..].iter().take(MAX_NONE + 1).map(|(_, word)| *word).collect();
        let is_hedged = before.iter().any(|word| is_in(WEIGHING, word));
        let is_denied = before.iter().take(REACH).any(|word| is_negation(word));
        let is_condition = behind.first().is_some_and(|word| is_in(CONDITIONS_BEHIND, word));
        let is_absent = is_none(&behind.join(" "))
            || behind
                .iter()
                .take(REACH)
                .any(|word| ENDS_OF_NONE.iter().any(|end| word.contains(end)));
        !(is_denied
            || is_hedged
            || is_condition
            || is_absent
            || is_excused(&before)
            || is_topic(&before)
            || is_listed_none(&said[..start], clause)
            || is_measured(&before, &said[..start]))
    })
}

/// The words that name a severe problem by the grade at this place: where they begin, and where they end.
fn named_problem(said: &[(usize, &str)], at: usize) -> Option<(usize, usize)> {
    let (clause, grade) = said[at];
    if !is_grade(grade) {
        return None;
    }
    let is_here = |place: usize| said.get(place).is_some_and(|(of, _)| *of == clause);
    let behind = (at + 1..=at + 1 + APART).take_while(|place| is_here(*place));
    for place in behind {
        let word = said[place].1;
        if is_problem(word) {
            return Some((at, place + 1));
        }
        if is_in(OTHERS, word) && word != "code" {
            break;
        }
    }
    let mut before = (at.saturating_sub(APART)..at).rev().take_while(|place| is_here(*place));
    let noun = before.find(|place| !is_in(LINKS, said[*place].1))?;
    let is_of_other = is_here(at + 1) && is_in(OTHERS, said[at + 1].1);
    (is_problem(said[noun].1) && !is_of_other).then_some((noun, at + 1))
}

/// Returns whether a problem is only the topic of what stands in front of it: "a scan for critical vulnerabilities".
fn is_topic(before: &[&str]) -> bool {
    let is_joined = before.first().is_some_and(|word| is_in("and or", word));
    let is_between = |word: &&&str| {
        is_in(ARTICLES, word) || is_grade(word) || is_joined && (is_problem(word) || is_in("and or", word))
    };
    let mut words = before.iter().skip_while(is_between);
    let is_about = words.next().is_some_and(|word| is_in(TOPICS, word));
    before == ["only"] || is_about && !words.next().is_some_and(|word| is_in(ALLOWING, word))
}

/// Returns whether a problem is the last of a list of what there is none of, or what is looked for: "no bugs, leaks or critical
/// problems".
fn is_listed_none(before: &[(usize, &str)], clause: usize) -> bool {
    let near = &before[before.len().saturating_sub(MAX_LISTED)..];
    let of = |at: usize| {
        near.iter()
            .rev()
            .filter(move |(clause, _)| *clause == at)
            .map(|(_, word)| *word)
    };
    let clauses = (clause.saturating_sub(4)..clause).rev();
    let listed = clauses.map(|at| of(at).take(REACH + 1).collect::<Vec<&str>>());
    listed
        .take_while(|said| said.first().is_some_and(|last| is_problem(last) || is_grade(last)))
        .any(|said| {
            // A clause of a list is short, but for the first one.
            let is_denied = said.len() < REACH && said.iter().any(|word| is_negation(word));
            is_denied || is_topic(&said) || is_topic(&said[1..])
        })
}

/// Returns whether a problem is only what nothing is called: "I found nothing that qualifies as a critical problem".
fn is_measured(before: &[&str], all: &[(usize, &str)]) -> bool {
    const MEASURES: &str = "qualifies qualify counts count amounts amount rises rise";
    let mut further = all.iter().rev().take(3 * REACH).map(|(_, word)| *word);
    before.iter().any(|word| is_in(MEASURES, word)) && further.any(is_negation)
}

/// The same as [`calls_a_problem`] in scripts that part no words.
fn calls_a_problem_closely(lower: &str) -> bool {
    let is_unparted = |stem: &&str| stem.starts_with(|first: char| ('\u{3040}'..='\u{9fff}').contains(&first));
    let grades = GRADES.split_ascii_whitespace().filter(is_unparted);
    let mut places = grades.flat_map(|stem| lower.match_indices(stem));
    places.any(|(at, stem)| {
        let before = last_signs(clause_end(&lower[..at]), 2 * CLOSE);
        let near = last_signs(before, CLOSE);
        let behind = first_signs(&lower[at + stem.len()..], 3 * CLOSE);
        let named = first_signs(behind, CLOSE);
        let mut nouns = PROBLEMS.split_ascii_whitespace().filter(is_unparted);
        let is_denied = CLOSE_NEGATIONS.iter().any(|negation| near.contains(negation));
        let is_excused = CLOSE_EXCUSES.iter().any(|excuse| before.contains(excuse));
        let is_absent = ENDS_OF_NONE.iter().any(|end| behind.contains(end));
        nouns.any(|noun| named.contains(noun)) && !is_denied && !is_excused && !is_absent
    })
}

fn first_signs(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

fn last_signs(text: &str, count: usize) -> &str {
    let starts = text.char_indices().rev().take(count);
    starts.last().map_or("", |(start, _)| &text[start..])
}

/// Returns whether a sentence says what an attacker can do.
fn has_attacker(lower: &str) -> bool {
    ATTACKERS.iter().any(|phrase| {
        lower.match_indices(phrase).any(|(at, _)| {
            let rest = &lower[at + phrase.len()..];
            let before: Vec<&str> = last_words(clause_end(&lower[..at])).take(REACH).collect();
            let is_open = |word: &&str| is_negation(word) || is_in(OPENING, word) || is_in(WEIGHING, word);
            // What he can only reach harms nothing.
            let reaches = "only longer control influence reach send supply provide choose see";
            let is_denied = words(rest)
                .take(2)
                .any(|word| is_negation(word) || is_in(reaches, word));
            begins_word(&lower[..at], phrase)
                && rest.starts_with(' ')
                && !is_denied
                && !before.iter().any(is_open)
                && !is_excused(&before)
        })
    })
}

/// Returns whether a sentence quotes a line of code.
fn quotes_code(sentence: &str) -> bool {
    let mut quoted = sentence.split('`').skip(1).step_by(2);
    quoted.any(|code| code.len() >= 6 && code.contains(['(', '=', '+', '[', '{']))
}

/// Returns whether a sentence in lower case, of which the quoted code is taken out, says that something is a problem.
fn calls_it_a_problem(lower: &str) -> bool {
    let said: Vec<&str> = words(lower).collect();
    (0..said.len()).filter(|at| is_in(COPULAS, said[*at])).any(|at| {
        let before: Vec<&str> = said[..at].iter().rev().take(REACH).copied().collect();
        let behind = &said[at + 1..said.len().min(at + 2 + APART)];
        let is_kind = |word: &&str| KINDS.split_ascii_whitespace().any(|stem| word.starts_with(stem));
        let Some(noun) = behind.iter().position(is_kind) else {
            return false;
        };
        let turns = |word: &&str| {
            let free = "safe free immune where used secure from";
            is_negation(word)
                || is_in(EXCUSES, word)
                || is_in(CONDITIONS, word)
                || is_in(free, word)
                || is_in(NEUTRAL, word)
        };
        let is_hedged = before.iter().any(|word| is_in(WEIGHING, word) || is_negation(word));
        !behind[..noun].iter().any(turns) && !is_hedged && !is_excused(&before)
    })
}

#[cfg(test)]
#[path = "affirmed_tests.rs"]
mod tests;
