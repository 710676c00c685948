//! Answers as models write them.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::findings::tags::FIELDS;

/// Reads an answer about a change of this file.
fn scan(answer: &str) -> ScanOutcome {
    super::scan(answer, &["src/db.py"])
}

const GOOD: &str = "I looked at it.\n```xml\n<findings>\n<finding>\n<severity>critical</severity>\n<file>src/db.py</file>\n\
<line>4</line>\n<claim>a < b && c is read as text.</claim>\n<evidence>\n    if a < b && c:\n</evidence>\n\
</finding>\n</findings>\n```\nDone.";

#[test]
fn prose_and_fences_around_and_unescaped_code_inside() {
    let outcome = scan(GOOD);
    assert_eq!(outcome.faults, Vec::<String>::new());
    assert_eq!(outcome.findings.len(), 1);
    let finding = &outcome.findings[0];
    assert_eq!(finding.get("severity"), Some("critical"));
    assert_eq!(finding.get("claim"), Some("a < b && c is read as text."));
    assert_eq!(finding.code("evidence"), Some("    if a < b && c:"));
    assert_eq!(finding.get("fix"), None);
}

#[test]
fn no_finding_is_an_answer_and_silence_is_not() {
    for text in [
        "<findings></findings>",
        "<findings/>",
        "ok\n<findings>\n</findings>",
        "<findings />",
    ] {
        assert_eq!(scan(text), ScanOutcome::default(), "{text}");
    }
    for text in ["", "  \n", "LGTM!", "<findingsx>"] {
        let outcome = scan(text);
        assert_eq!((outcome.findings.len(), outcome.faults.len()), (0, 1), "{text}");
    }
}

#[test]
fn the_last_block_counts() {
    let text = format!("First I thought <findings></findings> but then:\n{GOOD}");
    assert_eq!(scan(&text).findings.len(), 1);
}

#[test]
fn what_is_cut_off_is_a_fault_and_what_came_before_is_kept() {
    let one = "<finding><file>a</file><line>1</line></finding>";
    let cut = scan(&format!("<findings>{one}<finding><file>b</file><claim>unfin"));
    assert_eq!(cut.findings.len(), 1);
    assert_eq!(
        cut.faults,
        [
            "a <finding> is cut off (its last tag is <claim>, in line 1 of the answer)",
            "the <findings> block is cut off (it begins in line 1 of the answer)"
        ]
    );
    let open = scan(&format!("<findings><finding><file>z</file>{one}</findings>"));
    assert_eq!(
        open.findings.len(),
        2,
        "a finding that was not closed ends where the next one begins"
    );
}

#[test]
fn code_that_holds_closing_tags_stays_whole() {
    let text = "<findings><finding><file>x.xml</file><evidence><a></finding></a></evidence><line>3</line></finding></findings>";
    let outcome = scan(text);
    assert_eq!(outcome.findings[0].code("evidence"), Some("<a></finding></a>"));
    assert_eq!(outcome.findings[0].get("line"), Some("3"));
}

#[test]
fn code_that_holds_a_whole_block_is_still_code() {
    let inner = "text.find(\"<findings></findings>\")";
    let text = format!("<findings><finding><evidence>{inner}</evidence><line>7</line></finding></findings>");
    let outcome = scan(&text);
    assert_eq!(outcome.faults, Vec::<String>::new());
    assert_eq!(outcome.findings[0].get("evidence"), Some(inner));
    assert_eq!(outcome.findings[0].get("line"), Some("7"));
}

const QUOTED_END: &str = "x = 1  # </evidence></finding></findings><findings></findings>";

#[test]
fn a_quote_that_ends_its_own_finding_is_read_whole() {
    for evidence in [
        format!("\n{QUOTED_END}\n"),
        QUOTED_END.to_owned(),
        format!("<![CDATA[{QUOTED_END}]]>"),
        format!("\n```py\n{QUOTED_END}\n```\n"),
        format!("\n{}\n", QUOTED_END.replace("><", ">\n<")),
    ] {
        let text = format!(
            "<findings>\n<finding>\n<severity>critical</severity>\n<claim>c</claim>\n<evidence>{evidence}</evidence>\n\
             <confidence>0.9</confidence>\n</finding>\n</findings>"
        );
        let outcome = scan(&text);
        assert_eq!(outcome.faults, Vec::<String>::new(), "{text}");
        assert_eq!(outcome.findings.len(), 1, "{text}");
        let read = outcome.findings[0].code("evidence").expect("it has one");
        assert_eq!(read.replace('\n', ""), QUOTED_END, "{text}");
        assert_eq!(outcome.findings[0].get("confidence"), Some("0.9"));
    }
}

#[test]
fn json_that_quotes_a_block_is_json() {
    let finding =
        serde_json::json!({"severity": "critical", "file": "a", "line": 1, "claim": "c", "evidence": QUOTED_END});
    let list = serde_json::json!([finding]);
    for text in [
        list.to_string(),
        format!("My findings:\n```json\n{list:#}\n```\n"),
        serde_json::json!({"findings": [finding]}).to_string(),
        format!("<findings>\n{list}\n</findings>"),
    ] {
        let outcome = scan(&text);
        assert_eq!(outcome.faults, Vec::<String>::new(), "{text}");
        assert_eq!(outcome.findings.len(), 1, "{text}");
        assert_eq!(outcome.findings[0].get("evidence"), Some(QUOTED_END));
    }
}

#[test]
fn what_may_hide_a_finding_is_a_fault() {
    let one = "<finding><severity>critical</severity><file>a</file><line>1</line><claim>c</claim><evidence>x = 1</evidence></finding>";
    let two = one.replace("x = 1", "y = 2");
    let lower = one.replace("critical", "suggestion");
    let json = r#"{"severity": "critical", "file": "a", "line": 1, "claim": "c", "evidence": "x = 1"}"#;
    for (text, findings, fault) in [
        (
            format!("<findings>{one}</findings><findings></findings>"),
            1,
            "leaves out",
        ),
        (
            format!("<findings>{one}</findings>\nFinally:\n<findings>{two}</findings>"),
            2,
            "leaves out",
        ),
        (
            format!("<findings>{one}</findings>\n<findings>{lower}</findings>"),
            2,
            "leaves out",
        ),
        (
            format!("<findings>{one}</findings></evidence></finding>"),
            1,
            "belongs to no finding",
        ),
        (format!("<findings></findings>{one}"), 0, "belongs to no finding"),
        (
            "<findings></findings><severity>critical</severity>".to_owned(),
            0,
            "belongs to no finding",
        ),
        (
            format!("<findings></findings>\n{}", one.replace('<', "&lt;")),
            0,
            "outside of the <findings> block",
        ),
        (
            format!("{json}\n<findings></findings>"),
            0,
            "outside of the <findings> block",
        ),
        (
            format!("[{json}]\n\n[{}]", json.replace("x = 1", "y = 2")),
            2,
            "leaves out",
        ),
        (format!("{{\"findings\": [{json}], \"findings\": []}}"), 0, "twice"),
        (
            one.replace("</file>", "</file><severity>suggestion</severity>"),
            1,
            "no <findings> block around",
        ),
        (
            format!(
                "<findings>{}</findings>",
                one.replace("</file>", "</file><severity>suggestion</severity>")
            ),
            1,
            "<severity> twice",
        ),
        (
            format!(
                "<findings>{}</findings>",
                one.replace("x = 1", "x = 1</evidence><fix>y</fix><evidence>x = 1")
            ),
            1,
            "several places",
        ),
    ] {
        let outcome = scan(&text);
        assert!(
            outcome.faults.iter().any(|found| found.contains(fault)),
            "{fault}: {text}\n{outcome:#?}"
        );
        assert_eq!(outcome.findings.len(), findings, "{text}\n{outcome:#?}");
    }
    let nested = format!(
        "{{\"critical\": [{json}], \"other\": [{}]}}",
        json.replace("x = 1", "y = 2")
    );
    assert_eq!(scan(&nested).findings.len(), 2, "{:#?}", scan(&nested));
}

#[test]
fn a_fault_names_what_is_wrong_and_its_line() {
    let among = |what: &str| format!("the empty {what} in line 2 {}", super::AMONG_WORDS);
    let (block, list) = (among("<findings>"), among("list"));
    for (answer, fault) in [
        (
            "<findings>\n<finding>\n<severity>warning</severity>\n<claim>unfin",
            "a <finding> is cut off (its last tag is <claim>, in line 4 of the answer)",
        ),
        (
            "<think>\nIs it one?\n</think>\n<findings>\n<finding>\n<claim>unfin",
            "a <finding> is cut off (its last tag is <claim>, in line 6 of the answer)",
        ),
        (
            "I read it.\n<findings>\n<finding>\n<claim>c</claim>\n</finding>\n",
            "the <findings> block is cut off (it begins in line 2 of the answer)",
        ),
        (
            "<findings></findings>\nAgain:\n<findings>\n",
            "the <findings> block is cut off (it begins in line 3 of the answer)",
        ),
        (
            "I read it.\n<finding>\n<file>a</file>\n</finding>",
            "the findings have no <findings> block around them (the first <finding> is in line 2 of the answer)",
        ),
        (
            "I read it.\n<findings>\nThe query is concatenated.\n</findings>",
            "the <findings> block in line 2 of the answer holds text that is not a finding",
        ),
        (
            "<findings>\n</findings>\n\n\"severity\": \"critical\", \"claim\": \"c\"",
            "what looks like a finding stands outside of the <findings> block (line 4 of the answer)",
        ),
        (
            "<findings>\n<finding>\n<severity>critical</severity>\n<severity>warning</severity>\n<claim>c</claim>\n\
             </finding>\n</findings>",
            "finding 1 has <severity> twice, with different texts (<severity> in lines 3 and 4 of the answer)",
        ),
        (
            "<findings>\n<finding><claim>c</claim></finding>\n</findings>\n\n<findings></findings>",
            "the answer has 2 <findings> blocks, and the last one (line 5 of the answer) leaves out what those before it hold",
        ),
        (
            "<findings>\n<finding><claim>c</claim></finding>\n</findings>\n</claim>",
            "</claim> in line 4 of the answer belongs to no finding that could be read",
        ),
        (
            "\n{\n\"findings\": [{\"claim\": \"c\", \"file\": \"a\"}],\n\"findings\": []}",
            "the JSON of the findings has the name `findings` twice in one object (line 4 of the answer)",
        ),
        (
            "It is:\n{\"findings\": [\n{\"claim\": \"c\", \"file\": \"a\"},\n{\"severity\": \"crit",
            "the JSON of the findings is broken or cut off (line 4 of the answer)",
        ),
        (
            "<findings>\n[{\"claim\": \"c\", \"file\": \"a\"},\n\"and a remark\"]\n</findings>",
            "entry 2 of the JSON list is not a finding (in the JSON that begins in line 2 of the answer)",
        ),
        (
            "<think>\n<findings></findings>",
            "<think> in line 1 of the answer begins thinking that nothing ends; the findings have to stand behind its end",
        ),
        (
            "It would be\n<findings></findings>\nBut the key is written into the log.",
            block.as_str(),
        ),
        (
            "It would be\n{\"findings\": []}\nBut the key is written into the log.",
            list.as_str(),
        ),
    ] {
        let outcome = scan(answer);
        assert!(
            outcome.faults.iter().any(|found| found == fault),
            "{fault}: {answer}\n{:#?}",
            outcome.faults
        );
    }
}

#[test]
fn an_entry_of_json_that_says_how_bad_something_is_and_is_no_finding_is_owed() {
    let good = r#"{"severity": "suggestion", "file": "a", "line": 1, "claim": "c", "evidence": "x = 1"}"#;
    let half = r#"{"severity": "critical", "message": "It runs a command.", "spot": "a.py:5"}"#;
    let other = r#"{"severity": "critical", "summary": "It runs a command.", "location": "a.py:5"}"#;
    for (text, lost) in [
        (format!("[{good}, {half}]"), 1),
        (format!("{{\"findings\": [{good}, {other}, {half}]}}"), 2),
        (format!("{{\"critical\": [{half}], \"other\": [{good}]}}"), 1),
        (format!("{{\"worst\": {half}, \"other\": [{good}]}}"), 1),
        (format!("<findings>[{good}, {half}]</findings>"), 1),
        (format!("[{good}, \"and a remark\"]"), 0),
        (
            format!("{{\"findings\": [{good}], \"counts\": [{{\"severity\": \"critical\", \"count\": 0}}]}}"),
            0,
        ),
    ] {
        let outcome = scan(&text);
        let read = (outcome.findings.len(), outcome.lost);
        assert_eq!(read, (1, lost), "{text}\n{outcome:#?}");
        assert!(!outcome.faults.is_empty(), "{text}");
    }
}

#[test]
fn a_fence_inside_evidence_is_taken_off() {
    let text = "<findings><finding><evidence>\n```py\n  x = 1\n```\n</evidence></finding></findings>";
    assert_eq!(scan(text).findings[0].code("evidence"), Some("  x = 1"));
}

#[test]
fn the_reviewers_are_told_of_exactly_these_fields() {
    let shared = crate::prompt::PromptLibrary::default();
    let text = shared.shared().expect("the rules of every reviewer");
    let output = text.split("## Output").nth(1).expect("the section");
    let example = output.split("```").nth(1).expect("the block");
    let told: std::collections::BTreeSet<&str> = example
        .split('<')
        .filter_map(|rest| rest.split_once('>'))
        .map(|(tag, _)| tag)
        .filter(|tag| !tag.starts_with('/') && !tag.starts_with("finding"))
        .collect();
    assert_eq!(told, FIELDS.into_iter().collect());
    for field in FIELDS {
        let (_, rest) = example.split_once(&format!("<{field}>")).expect("its tag");
        let (said, _) = rest.split_once(&format!("</{field}>")).expect("its end");
        assert!(!said.trim().is_empty(), "`{field}` is not explained");
    }
    // The examples of the roles leave the form out: this one has to be read as what it says.
    let read = scan(example);
    let [finding] = &read.findings[..] else {
        panic!("the form of one finding")
    };
    for field in FIELDS {
        assert!(finding.get(field).is_some_and(|text| !text.is_empty()), "{field}");
    }
}

macro_rules! case {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../tests/fixtures/reviewer-answers/", $name, ".txt")),
            include_str!(concat!(
                "../../../../tests/fixtures/reviewer-answers/",
                $name,
                ".expected.json"
            )),
        )
    };
}

/// Answers as models write them, with what has to be read from them.
const CORPUS: [(&str, &str, &str); 20] = [
    case!("closing-tags-in-code"),
    case!("cut-off-in-a-field"),
    case!("escaped-whole"),
    case!("fenced-with-preamble"),
    case!("json-array"),
    case!("json-broken-inside"),
    case!("json-cut-off"),
    case!("json-in-the-block"),
    case!("json-none"),
    case!("json-object-in-prose"),
    case!("json-with-something-else"),
    case!("no-block-around"),
    case!("no-finding-around"),
    case!("prose-in-the-block"),
    case!("prose-only"),
    case!("says-none"),
    case!("spelled-as-models-do"),
    case!("thinking-aloud"),
    case!("unclosed-tags"),
    case!("unescaped-operators"),
];

#[test]
fn every_answer_of_the_corpus_is_read_as_expected() {
    let mut wrong = Vec::new();
    for (name, answer, expected) in CORPUS {
        let outcome = scan(answer);
        let findings: Vec<serde_json::Map<String, serde_json::Value>> = outcome
            .findings
            .iter()
            .map(|finding| {
                let fields = finding
                    .fields
                    .iter()
                    .map(|(field, text)| ((*field).to_owned(), text.trim().into()));
                fields.collect()
            })
            .collect();
        let read = serde_json::json!({"findings": findings, "faults": outcome.faults});
        let expected: serde_json::Value = serde_json::from_str(expected).expect("JSON");
        if read != expected {
            wrong.push(format!("@@{name}\n{read:#}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// Wherever an answer ends too early, what was whole by then is kept, and that something is missing is told.
#[test]
fn an_answer_that_is_cut_anywhere_is_never_taken_for_a_whole_one() {
    for (name, answer, _) in CORPUS {
        let whole = scan(answer);
        if !whole.faults.is_empty() || whole.findings.is_empty() {
            continue;
        }
        let end = answer
            .rfind("findings")
            .map_or(answer.len(), |end| end.saturating_sub(2));
        for (cut, _) in answer.char_indices().filter(|(cut, _)| *cut < end) {
            let outcome = scan(&answer[..cut]);
            assert!(
                !outcome.faults.is_empty() || outcome.findings.len() == whole.findings.len(),
                "{name} cut at {cut}: {outcome:?}"
            );
            assert!(outcome.findings.len() <= whole.findings.len(), "{name} cut at {cut}");
        }
    }
}

proptest! {
    #[test]
    fn never_panics(text in "(<findings>|</findings>|<finding>|</finding>|<file>|</file>|<evidence>|</evidence>|```|a|<|é|\n){0,60}") {
        let _ = scan(&text);
    }

    #[test]
    fn json_never_panics(text in "(\\{|\\}|\\[|\\]|\"findings\"|\"claim\"|:|,|\"a\"|1|null|é| |```|\n){0,60}") {
        let _ = scan(&text);
    }

    #[test]
    fn text_between_known_tags_is_never_lost(
        values in proptest::collection::vec((0..FIELDS.len(), "([a-z<>&=/;(){}\"' \n]|</finding>|<finding>|</findings>|<findings>|&lt;|\\]\\]>){0,24}"), 1..12),
        breaks in proptest::bool::ANY,
    ) {
        let gap = if breaks { "\n" } else { "" };
        let mut answer = String::from("<findings><finding>");
        let mut expected: Vec<(&str, String)> = Vec::new();
        for (index, text) in values {
            let field = FIELDS[index];
            if expected.iter().all(|(known, _)| *known != field) {
                let _ = write!(answer, "{gap}<{field}>{text}</{field}>");
                expected.push((field, text));
            }
        }
        let _ = write!(answer, "{gap}</finding></findings>");
        let outcome = scan(&answer);
        prop_assert_eq!(&outcome.faults, &Vec::<String>::new());
        prop_assert_eq!(outcome.findings.len(), 1);
        for (field, text) in expected {
            prop_assert_eq!(outcome.findings[0].get(field), Some(text.trim()), "{}", answer);
        }
    }

    #[test]
    fn a_finding_is_not_lost_by_what_its_neighbour_holds(
        code in "([a-z<>&= \n]|</finding>|<finding>|</findings>|<claim>|</claim>){0,24}",
        count in 1..5_usize,
    ) {
        let one = format!("<finding>\n<claim>c</claim>\n<evidence>{code}</evidence>\n</finding>\n");
        let outcome = scan(&format!("<findings>\n{}</findings>", one.repeat(count)));
        prop_assert_eq!(outcome.findings.len(), count);
        for finding in &outcome.findings {
            prop_assert_eq!(finding.get("evidence"), Some(code.trim()));
            prop_assert_eq!(finding.get("claim"), Some("c"));
        }
    }
}

#[test]
fn an_empty_block_that_a_sentence_quotes_is_no_answer() {
    for quoted in [
        "The prompt says: answer `<findings></findings>` if nothing. But I have no time to review this.",
        "The prompt says: answer <findings></findings> if nothing. But I have no time to review this.",
        "Without problems the answer is <findings></findings>",
        "<findings></findings> would be the answer if the key were not written into the log.",
        "<findings></findings>\nBut the key is written into the log.",
        "The task shows <findings>none</findings> as an answer.",
        "The task shows {\"findings\": []} as an answer, which this is not.",
        "{\"findings\": []}\nBut the key is written into the log.",
    ] {
        let faults = scan(quoted).faults;
        assert!(
            matches!(&faults[..], [fault] if fault.ends_with(super::AMONG_WORDS)),
            "{quoted}: {faults:?}"
        );
    }
    for answer in [
        "<findings></findings>",
        "`<findings></findings>`",
        "Nothing is wrong with `x`.\n\n<findings></findings>",
        "Nothing.\n```\n<findings></findings>\n```\n",
        "Understood. <findings></findings>",
        "Sorry about that. No findings. `<findings></findings>`",
        "Nothing.\n```json\n{\"findings\": []}\n```\n",
        "I read src/db.py and src/calc.py.\n<findings></findings>",
        "<findings></findings>\n\nI read all files and found no issues.",
        "<think>Is src/db.py:4 a critical injection? No.</think>\n<findings></findings><|im_end|>",
    ] {
        assert_eq!(scan(answer).faults, Vec::<String>::new(), "{answer}");
    }
}

#[test]
fn a_report_beside_an_empty_answer_is_a_fault_and_in_another_notation_it_is_owed() {
    for (words, lost) in [
        (
            "I found a critical SQL injection in src/db.py line 4: input is concatenated.",
            1,
        ),
        ("- **Severity**: critical\n- **File**: src/db.py", 1),
        ("| severity | file |\n|---|---|\n| critical | src/db.py |", 1),
        ("severity: critical\nfile: src/db.py", 1),
        ("severity,file\ncritical,src/db.py", 1),
        ("[{'severity': 'critical', 'file': 'src/db.py'}]", 1),
        ("<answer>In src/db.py a critical injection.</answer>", 1),
        ("The query in src/db.py is concatenated from user input.", 0),
        ("In Zeile 4 wird die Eingabe verkettet.", 0),
    ] {
        let answer = format!("{words}\n\n<findings></findings>");
        let outcome = scan(&answer);
        assert!(is_question(&outcome), "{words}: {outcome:?}");
        assert_eq!(outcome.lost, lost, "{words}");
        let alone = scan(words);
        assert!(!alone.faults.is_empty(), "{words}");
    }
    let json = scan("{\"findings\": [], \"summary\": \"A critical injection in src/db.py:4\"}");
    assert!(is_question(&json) && json.lost == 1, "{json:?}");
    let denied = scan("<findings count=\"3\" critical=\"1\"></findings>");
    assert!(
        is_question(&denied) && denied.words.as_deref() == Some("count: 3"),
        "{denied:?}"
    );
    let clean = scan("I have reviewed all files and found no issues.\n\n<findings></findings>");
    assert_eq!(clean, ScanOutcome::default());
}

fn is_question(outcome: &ScanOutcome) -> bool {
    matches!(&outcome.faults[..], [fault] if fault.starts_with(super::TOLD_BESIDE))
}

#[test]
fn words_beside_an_empty_list_are_harmless_or_a_fault_with_the_words() {
    for words in [
        "The query in src/db.py is built from its parameters.",
        "CRITICAL: the query in src/db.py is concatenated.",
        "src/db.py:4 concatenates its input.",
        "Do not merge.",
        "NACK",
        "I'm sorry, I can't assist with that.",
        "マージしないでください。",
    ] {
        let outcome = scan(&format!("{words}\n<findings></findings>"));
        assert!(is_question(&outcome), "{words}: {outcome:?}");
        assert!(outcome.words.is_some() && outcome.faults[0].contains(outcome.words.as_deref().expect("words")));
    }
    for words in [
        "I reviewed all patches and found no security issues.",
        "The change looks good and follows existing conventions.",
        "Ich habe alle Änderungen geprüft und keine Probleme gefunden.",
    ] {
        assert_eq!(
            scan(&format!("{words}\n<findings></findings>")),
            ScanOutcome::default(),
            "{words}"
        );
    }
    let alone = scan("CRITICAL: src/db.py:10 runs a command.");
    assert_eq!(alone.words.as_deref(), Some("CRITICAL: src/db.py:10 runs a command."));
    for instead in [
        "The token is written to the log in every request.",
        "<findings></findings>\nThe token is logged.",
    ] {
        assert!(scan(instead).words.is_some(), "{instead}");
    }
    assert_eq!(
        scan("I cannot help with that.").words,
        None,
        "it tells no problem, and is no answer"
    );
}

#[test]
fn findings_in_thinking_are_asked_about_and_an_answer_within_it_is_no_answer() {
    let thought = "<findings><finding><severity>critical</severity><claim>c</claim></finding></findings>";
    let dropped = scan(&format!("<think>{thought}</think>\n<findings></findings>"));
    assert_eq!(dropped.findings.len(), 1);
    assert!(dropped.faults[0].contains("leaves out"), "{dropped:?}");
    let alone = scan(&format!("<think>{thought}</think>"));
    assert_eq!((alone.findings.len(), alone.faults.len()), (1, 0), "{alone:?}");
    let repeated = scan(&format!("<think>A draft: {thought}</think>\n{thought}"));
    assert_eq!((repeated.findings.len(), repeated.faults.len()), (1, 0), "{repeated:?}");
    for (before, behind) in [
        ("The constant is `<think>`.\n", "\nThe other is `</think>`."),
        ("`<think>`", "`</think>`\n<findings></findings>"),
        (
            "The `<thought>` tag is new.\n",
            "\nThe `</thought>` tag too.\n<findings></findings>",
        ),
    ] {
        assert_eq!(
            scan(&format!("{before}{thought}{behind}")).findings.len(),
            1,
            "{before}"
        );
    }
    let mentioned = scan("`<think>` The token is logged in every request. `</think>`\n<findings></findings>");
    assert!(is_question(&mentioned), "{mentioned:?}");
    for answer in [
        "<think>\n<findings></findings>",
        "<think><findings></findings></think>",
        "<|channel|>analysis<|message|>fine\n<findings></findings>",
    ] {
        assert_eq!(scan(answer).faults.len(), 1, "{answer}");
    }
    let told = "<think>fine</think>A critical injection in src/db.py.\n<findings></findings>";
    assert!(is_question(&scan(told)) && scan(told).lost == 1);
}
