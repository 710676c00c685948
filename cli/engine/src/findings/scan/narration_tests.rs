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
        "I will read db.py, where the check was removed.",
        "Plan: 1) everyone is admin.",
        "Plan: 1) read the patch, 2) the check was removed.",
        "Checking the tests: none.",
        "Checking: imports, everyone is admin.",
        "Let me read `db.py, the permission check was removed`.",
        "Calling get deletes every row.",
        "Trying it crashes.",
        "The change introduces `eval` to get.",
        "The placeholders do not match.",
        "The query is built from the string.",
        "No test calls it.",
        "Der Patch entfernt die Prüfung.",
        "Le diff supprime la vérification.",
        "チェックが削除されています。",
    ] {
        assert!(!may_assert(text, &PATHS).is_empty(), "{text}");
    }
}

#[test]
fn a_plan_or_a_question_excuses_no_problem_that_it_takes_as_given() {
    for text in [
        "Let me see if the same mistake is made elsewhere.",
        "I want to look at db.py to confirm that the injection in `get` reaches the database.",
        "Let me collect more evidence for the first finding.",
        "Let me check if other functions have the same hole.",
        "Isn't that a classic Bobby Tables?",
        "Let me see how far this SQL injection reaches.",
    ] {
        assert!(!may_assert(text, &PATHS).is_empty(), "{text}");
    }
    for text in [
        "Let me check for SQL injection.",
        "Let me look at the bug that this change fixes.",
        "Now I read the injection tests.",
        "Let me check whether there is an injection.",
        "Is this a SQL injection?",
        "Isn't this checked elsewhere?",
    ] {
        assert_eq!(may_assert(text, &PATHS), Vec::<String>::new(), "{text}");
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

/// Comparing each sentence, or each word, with all others would take minutes.
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
