//! Remarks as models write them beside an empty list. The grammar is written against every other line of the two tables; the lines
//! between are kept back to measure it.

use super::*;

const HARMLESS: &str = include_str!("../../../../tests/fixtures/remarks/harmless.txt");
const ALARMING: &str = include_str!("../../../../tests/fixtures/remarks/alarming.txt");
const PATHS: [&str; 3] = ["src/db.py", "src/calc.py", "Makefile"];
/// Percent of the harmless remarks that cost no turn: those that the grammar is written against, and those that were kept back.
const MIN_WRITTEN_AGAINST: usize = 95;
const MIN_KEPT_BACK: usize = 90;

/// The lines that the grammar is written against, and those that were kept back.
fn halves(table: &str) -> [Vec<&str>; 2] {
    let half = |rest| {
        let lines = table.lines().enumerate().filter(move |(at, _)| at % 2 == rest);
        lines.map(|(_, line)| line).collect()
    };
    [half(0), half(1)]
}

fn is_harmless_remark(text: &str) -> bool {
    not_harmless(text, &PATHS).is_none()
}

#[test]
fn every_rule_that_is_used_stands_in_its_grammar() {
    assert_eq!(GRAMMARS.len(), 14);
    for grammar in GRAMMARS.iter().chain([&*NARRATION]) {
        assert_eq!(grammar.unknown, Vec::<String>::new());
    }
}

#[test]
fn no_alarming_remark_is_harmless_and_nearly_every_honest_one_is() {
    let [written_against, kept_back] = halves(HARMLESS);
    assert!(written_against.len() >= 60 && ALARMING.lines().count() >= 120);
    for (lines, at_least) in [(written_against, MIN_WRITTEN_AGAINST), (kept_back, MIN_KEPT_BACK)] {
        let odd: Vec<&&str> = lines.iter().filter(|text| !is_harmless_remark(text)).collect();
        assert!((lines.len() - odd.len()) * 100 >= lines.len() * at_least, "{odd:#?}");
    }
    let missed: Vec<&str> = ALARMING.lines().filter(|text| is_harmless_remark(text)).collect();
    assert_eq!(missed, Vec::<&str>::new());
}

#[test]
fn what_a_model_says_of_its_own_answer_is_harmless() {
    for text in [
        "Understood.",
        "Sorry about that.",
        "Sorry for that. No findings.",
        "I'm sorry about the confusion.",
        "Apologies for the confusion. Here is the corrected output:",
        "Here is the corrected answer:",
        "Here is the revised list:",
        "You're right, here is just the block:",
        "Confirmed: no findings.",
        "Confirmed, there is nothing to report.",
        "I confirm that there is nothing to report.",
        "Those words describe no problem.",
        "My earlier words do not describe a problem.",
        "Nothing in those words is a problem.",
        "My earlier text described the change, not a problem. There are no findings.",
        "To clarify: the sentences above only summarize the change.",
        "No, that was only a description of the change; there is no problem to report.",
        "All good here!",
        "Everything checks out.",
        "The patch checks out.",
        "The patch is clean.",
        "No finding passes both gates.",
        "No candidate passed both gates.",
        "确认过补丁，没有发现问题。",
        "我已经仔细检查过所有更改，没有发现任何问题。",
    ] {
        assert!(is_harmless_remark(text), "{text}");
    }
}

/// Remarks on a clean change, and others in nearly the same words on a flawed one.
#[test]
fn what_a_clean_change_is_costs_no_turn() {
    for text in [
        "I reviewed the patch for security problems and did not find any.",
        "Nothing here meets the bar for a finding.",
        "The tests cover the new branch. I have no findings.",
        "Only comments and docs changed. Nothing to flag.",
        "This is a pure formatting change (prettier). No functional change.",
        "This is a clean dependency bump with a matching lock file; nothing to report.",
        "Summary: bumps `express` from 4.18.2 to 4.19.2 (a security release). No issues.",
        "The change upgrades `express` to 4.19.2.",
        "1. `src/calc.py` adds a helper.\n2. `src/db.py` calls it.\n\nBoth look correct.",
        "There were 3 changed files; all of them are covered by tests.",
        "There is nothing that would break production.",
        "Since this only deletes dead code, there's no behaviour change.",
        "SQL injection: the query is parameterized.",
        "The change fixes a memory leak.",
        "Confirmed: these sentences describe why the code is correct; I have nothing to report.",
        "He revisado el cambio y no encuentro problemas.",
    ] {
        assert!(is_harmless_remark(text), "{text}");
    }
    for text in [
        "I reviewed the patch for tests and did not find any.",
        "Nothing here meets the requirements.",
        "No tests cover the new branch.",
        "Only the tests changed.",
        "This is a pure guess.",
        "No functional change is tested.",
        "The change upgrades `express` to 4.19.2 without its lock file.",
        "`src/calc.py` adds a backdoor.",
        "`src/db.py` calls `eval`.",
        "There were 3 changed files, of which I read two.",
        "There is nothing that would break the endless loop.",
        "Since this only deletes the checks, there's no behaviour change.",
        "SQL injection: the query is concatenated.",
        "The change fixes a memory leak badly.",
        "Confirmed: these sentences describe why the code is wrong.",
    ] {
        assert!(!is_harmless_remark(text), "{text}");
    }
}

/// The question about words of an answer may be answered in words.
#[test]
fn a_denial_of_what_was_asked_is_harmless() {
    for text in [
        "None of the quoted sentences is a problem: they describe what I read.",
        "These were observations, not findings.",
        "Those sentences only describe the code.",
        "That was narration; there is nothing to report.",
        "The quoted sentence describes what the function does and is not a problem.",
        "None of them is a problem.",
        "They are none.",
        "It is none.",
        "Neither is a problem.",
        "Neither of those sentences reports a problem.",
        "Those remarks were just narration of my reading, not problems.",
        "That was just me narrating my steps.",
        "I was only describing what I read.",
        "I was only describing the change, not reporting a problem.",
        "The sentence describes existing behavior, not a problem.",
        "These statements are neutral descriptions of the code and do not indicate any issue.",
        "The quoted words are neither a problem nor a finding.",
        "This was a neutral observation about the code.",
        "No problem was intended by those words.",
        "These notes were part of my reading and are not findings.",
        "My notes beside the tool calls were only working notes, not findings.",
        "What I wrote beside the tool calls was narration, not a finding.",
        "What I wrote describes the change and is no problem.",
        "It is not a problem; it only says where I was reading.",
        "Those words were just a plan of what to read.",
        "They are plain descriptions of what the patch does.",
        "The quoted sentences are status updates, not problems.",
        "None of these is a finding.",
        "All of those sentences are observations, none of them is a problem.",
        "Die zitierten Sätze beschreiben nur, was ich gelesen habe, und sind keine Befunde.",
        "Das war nur eine Beschreibung, kein Problem.",
        "Das sind keine Probleme.",
        "Keiner der Sätze ist ein Problem.",
        "Ces phrases décrivent seulement ce que j'ai lu ; ce ne sont pas des problèmes.",
        "Ce n'est pas un problème.",
        "Aucune de ces phrases n'est un problème.",
        "Esas frases solo describen el código, no son problemas.",
        "Eran observaciones, no hallazgos.",
        "No es un problema.",
        "Essas frases apenas descrevem o código e não são problemas.",
        "Eram observações, não problemas.",
        "Quelle frasi descrivono solo il codice, non sono problemi.",
        "Non è un problema.",
        "Die zinnen beschrijven alleen de code en zijn geen bevindingen.",
        "Dat is geen probleem.",
        "To nie są problemy.",
        "Te zdania tylko opisują kod.",
        "これらは問題ではありません。",
        "それはコードの説明であり、問題ではありません。",
        "这些句子只是描述代码，不是问题。",
        "这不是问题。",
    ] {
        assert!(is_harmless_remark(text), "{text}");
    }
    for text in [
        "Those sentences describe a problem.",
        "None of the quoted sentences is harmless.",
        "They describe how an attacker gets in.",
        "These were findings, not observations.",
        "The quoted sentence describes what the function does wrong.",
        "It is not a problem but a disaster.",
        "That is not only a problem.",
        "They only describe the injection.",
        "None of the tests is a finding.",
        "Not all of them are findings.",
        "None of them is a minor problem.",
        "It describes what I found.",
        "It is not a small problem.",
        "It describes the missing check.",
        "That was not narration.",
        "They are not observations.",
        "No problem was reported by the tests.",
        "It does not describe the whole problem.",
        "The problem is not a problem of the code.",
        "The sentences are not wrong.",
        "I was only describing a problem.",
        "It is a problem, not a finding.",
        "What I wrote is a problem.",
        "Das sind Probleme.",
        "Das ist nicht nur ein Problem.",
        "Ce sont des problèmes.",
        "Es un problema.",
        "Eram problemas, não observações.",
        "これらは問題です。",
        "这是问题，不是描述。",
    ] {
        assert!(!is_harmless_remark(text), "{text}");
    }
}

#[test]
fn what_alarms_does_so_among_harmless_words() {
    let harmless = "I reviewed all patches and found no issues.";
    for text in ALARMING.lines().filter(|text| !text.starts_with('{')) {
        for among in [
            format!("{harmless} {text}"),
            format!("{text}\n{harmless}"),
            format!("{harmless}\n\n- {text}\n- No findings."),
            format!("{text}\n\n<findings></findings>"),
            format!("**{text}**"),
        ] {
            assert!(!is_harmless_remark(&among), "{among}");
        }
    }
}

#[test]
fn a_harmless_remark_without_its_negation_or_with_a_word_more_is_not_harmless() {
    let is_negation = |word: &str| ["no", "not", "none", "nothing", "without"].contains(&word.to_lowercase().as_str());
    let mut changed = 0;
    for text in HARMLESS.lines().filter(|text| text.is_ascii()) {
        let words: Vec<&str> = text.split(' ').collect();
        for at in 0..words.len() {
            let mut more = words.clone();
            more.insert(at, "exploit");
            assert!(!is_harmless_remark(&more.join(" ")), "{}", more.join(" "));
            let before = words.get(at.saturating_sub(1)).copied().unwrap_or_default();
            if !is_negation(words[at]) || (at > 0 && is_negation(before)) {
                continue;
            }
            let mut fewer = words.clone();
            fewer.remove(at);
            let fewer = fewer.join(" ");
            // "Findings" alone, or behind a colon, is a heading.
            let is_heading =
                ["findings", "findings."].contains(&words[at + 1..].join(" ").as_str()) && !words.contains(&"have");
            let is_sentence = words.len() > 1 && !is_heading;
            if is_sentence && !words[at].eq_ignore_ascii_case("without") {
                assert!(!is_harmless_remark(&fewer), "{fewer}");
                changed += 1;
            }
        }
    }
    assert!(changed > 40, "{changed}");
}

#[test]
fn what_was_not_read_and_what_is_not_so_is_never_harmless() {
    for subject in ["files", "patches", "tests", "changes"] {
        for text in [
            format!("I reviewed no {subject}."),
            format!("No {subject} were reviewed."),
            format!("I did not review the {subject}."),
            format!("I only reviewed the {subject}."),
            format!("I reviewed most of the {subject}."),
            format!("None of the {subject} were read."),
            format!("The {subject} are not correct."),
            format!("The {subject} are missing."),
            format!("No {subject} are correct."),
            format!("Reviewed {subject}: none"),
            format!("Not all {subject} look good."),
        ] {
            assert!(!is_harmless_remark(&text), "{text}");
        }
    }
}

#[test]
fn json_says_what_its_names_and_texts_say() {
    for text in [
        "{\"findings\": []}",
        "[]",
        "{\"findings\": [], \"summary\": \"No issues found.\"}",
        "{\"findings\": [], \"count\": 0}",
        "Here is my answer:\n```json\n{\"findings\": []}\n```\n",
    ] {
        assert!(is_harmless_remark(text), "{text}");
    }
    for text in [
        "{\"findings\": [], \"summary\": \"Do not merge.\"}",
        "{\"findings\": [], \"rce\": []}",
        "{\"findings\": [], \"count\": 3}",
    ] {
        assert!(!is_harmless_remark(text), "{text}");
    }
}

#[test]
fn a_path_is_one_and_a_sentence_in_its_form_is_none() {
    for text in [
        "I read src/db.py:4-9, Makefile and `find()`.",
        "I read lines 1-20 of src/db.py.",
        "I read src.",
    ] {
        assert!(is_harmless_remark(text), "{text}");
    }
    for text in [
        "I read everything.RCE",
        "I read `do_not_merge`.",
        "I read `the key leaks`.",
        "I read do_not_merge/rce.py.",
        "I read the files.RCE in line 4",
    ] {
        assert!(!is_harmless_remark(text), "{text}");
    }
    let long = "No issues found. ".repeat(1_000);
    assert!(!is_harmless_remark(&long), "nobody says so much of nothing");
}

#[test]
fn a_name_that_the_author_chose_switches_no_word_off() {
    let paths = ["NACK", "backdoors/x.py", "regressions/a.rs", "secrets/b.rs", "src/c.rs"];
    for text in [
        "NACK",
        "`NACK`",
        "I read NACK.",
        "It introduces backdoors.",
        "It introduces ./backdoors.",
        "It introduces `backdoors`.",
        "It introduces regressions.",
        "The change adds secrets.",
    ] {
        assert!(not_harmless(text, &paths).is_some(), "{text}");
    }
    for text in [
        "I read src.",
        "I read backdoors/x.py and `secrets`.",
        "I read src/c.rs.",
    ] {
        assert_eq!(not_harmless(text, &paths), None, "{text}");
    }
}

/// Each of them would take minutes if a word were compared with all that stand in front of it or behind it.
#[test]
fn a_text_made_to_cost_time_is_not_harmless_at_once() {
    for text in [
        "ok\n".repeat(3_999),
        format!("{}a.rs", "a-".repeat(5_990)),
        format!("{}a.rs", "@".repeat(11_990)),
        "no critical ".repeat(999),
    ] {
        assert!(text.len() <= MAX_WORDS);
        assert!(!is_harmless_remark(&text), "{}", &text[..20]);
    }
    assert!(is_harmless_remark(&"ok\n".repeat(MAX_JOINED)));
    assert!(!is_harmless_remark(&"ok\n".repeat(MAX_JOINED + 1)));
}

#[test]
fn an_attribute_of_an_empty_block_says_nothing_or_is_asked_about() {
    for attributes in [
        "count='0'",
        "total=\"0\" critical=\"0\"",
        "version=\"1.0\" lang=\"en\"",
        "language=\"pt-BR\"",
        "status=\"complete\"",
        "empty=\"true\"",
        "reviewer=\"security\"",
    ] {
        let answer = format!("<findings {attributes}></findings>");
        assert_eq!(not_harmless(&answer, &PATHS), None, "{attributes}");
    }
    for attributes in [
        "count=\"3\"",
        "count=\"0\" critical=\"1\"",
        "status=\"truncated\"",
        "incomplete=\"true\"",
        "complete=\"false\"",
        "empty=\"false\"",
        "omitted=\"3\"",
        "note=\"eval runs its input\"",
        "lang=\"eval runs its input\"",
        "reviewer=\"eval runs its input\"",
    ] {
        for answer in [
            format!("<findings {attributes}></findings>"),
            format!("<findings></findings {attributes}>"),
            format!("<findings {attributes}/>"),
            format!("I found no issues.\n<findings {attributes}>none</findings>"),
        ] {
            assert!(not_harmless(&answer, &PATHS).is_some(), "{answer}");
        }
    }
}
