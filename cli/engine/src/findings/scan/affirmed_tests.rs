//! Sentences of real reviews beside an empty list. The honest ones hold up no review, though they have words for something severe.

use super::*;

const PATHS: [&str; 2] = ["src/db.py", "src/auth.rs"];

/// Sentences of honest reviewers with words for something severe.
const HONEST: [&str; 115] = [
    "No critical issues.",
    "No critical issues found.",
    "Nothing critical.",
    "I found nothing critical in this change.",
    "There are no critical, severe or blocking problems.",
    "No bugs, leaks or critical problems.",
    "No style issues, critical bugs or leaks were found.",
    "It would be critical if the id came from outside.",
    "That would be a critical vulnerability if the id were a text.",
    "I looked for critical problems.",
    "I looked for critical problems in src/db.py and found none.",
    "I checked src/db.py for critical vulnerabilities.",
    "I searched src/auth.rs for SQL injection.",
    "I scanned the patches for critical vulnerabilities and severe bugs.",
    "The critical path is unchanged.",
    "The critical section in src/db.py is short.",
    "The lock guards the critical section.",
    "This is a critical part of the login.",
    "The change touches critical code in src/auth.rs.",
    "The login is critical for the shop.",
    "It is critical to keep this order.",
    "The change fixes a critical vulnerability.",
    "This fixes a critical SQL injection in src/db.py line 4.",
    "The change closes the critical hole in the login.",
    "The new check prevents SQL injection in src/db.py.",
    "The placeholders protect against SQL injection.",
    "The tests cover the critical path of src/db.py.",
    "The dependency injection in src/auth.rs is unchanged.",
    "Is this a critical vulnerability?",
    "Whether this is a critical vulnerability depends on the caller.",
    "I read the patch for signs of a critical problem.",
    "Critical: none",
    "Critical: 0",
    "Critical issues: none",
    "**Critical:** none found",
    "## Critical\n\nNone.",
    "Critical:\nNone\nWarnings:\nNone",
    "Severity: none",
    "Severity levels: critical, warning, suggestion",
    "Critical vulnerabilities were not found.",
    "Critical vulnerabilities: 0",
    "I did not find any critical vulnerability.",
    "I found nothing that qualifies as a critical vulnerability.",
    "The workflow fails on critical vulnerabilities.",
    "The audit runs for critical vulnerabilities every day.",
    "The handler logs a critical error.",
    "An attacker cannot reach this code.",
    "An attacker can no longer delete rows.",
    "I checked what an attacker can do here.",
    "The input that an attacker can send is escaped.",
    "`db.run(sql, [order.id])` is safe from SQL injection.",
    "`escape(order.id)` prevents SQL injection.",
    "`db.run(sql, ids)` is not an SQL injection.",
    "This could be a critical vulnerability, so I read the callers.",
    "Let me check whether there is a critical vulnerability.",
    "Keine kritischen Probleme.",
    "Ich habe nach kritischen Schwachstellen gesucht.",
    "Die Änderung behebt eine kritische Schwachstelle.",
    "Aucune vulnérabilité critique.",
    "Ninguna vulnerabilidad crítica.",
    "Nenhuma vulnerabilidade crítica.",
    "Nessuna vulnerabilità critica.",
    "Geen kritieke kwetsbaarheden.",
    "Brak krytycznych podatności.",
    "Критических уязвимостей не обнаружено.",
    "Критичних вразливостей не виявлено.",
    "没有严重问题。",
    "未发现严重漏洞。",
    "我检查了是否存在严重漏洞。",
    "严重问题：无",
    "重大な脆弱性は見つかりませんでした。",
    "심각한 취약점은 없습니다.",
    "لا توجد ثغرات حرجة.",
    "I looked for bugs, critical vulnerabilities and leaks.",
    "I checked all queries for injection. None is critical.",
    "The critical changes are covered by tests.",
    "No critical or blocking issues.",
    "No issues of critical or warning severity.",
    "None of the findings is critical.",
    "I see no critical finding here.",
    "There is nothing critical, nothing severe.",
    "Reviewed with a focus on critical bugs.",
    "I would flag a critical bug here if the check were missing.",
    "The severity of such a bug would be critical.",
    "This is not a critical issue.",
    "It isn't a critical problem.",
    "The retry logic is critical to the service.",
    "I verified that no critical injection is left.",
    "The blocker list is unchanged.",
    "The test blocks until the lock is free.",
    "The blocking call is moved to a thread.",
    "The query blocks for a second.",
    "No blockers.",
    "Blockers: none",
    "Non-critical: naming.",
    "I reviewed all patches for critical, severe and blocking problems, and found none.",
    "I treat a finding as critical only with evidence.",
    "The mission-critical queue is unchanged.",
    "Critical CSS is inlined.",
    "Grave accents are escaped.",
    "The enum gets a value CRITICAL.",
    "The log level is raised to critical.",
    "`Severity.CRITICAL` is used for alerts.",
    "The severity field is optional.",
    "The finding is not critical.",
    "No vulnerability, critical or not, was introduced.",
    "severe weather alerts are added",
    "The function handles critical errors.",
    "Alerts: critical alerts page a person.",
    "A critical alert pages a person.",
    "The change renames critical to severe.",
    "The issue template has a severity field.",
    "The bug report form asks whether it is critical.",
    "The change adds issue severity: critical or warning.",
    "Handles issue priorities (critical, high).",
];

fn is_remembered(text: &str) -> bool {
    affirms_at_place(text, &PATHS) || affirmed(text, &PATHS).is_some()
}

#[test]
fn what_names_a_severity_of_a_problem_affirms_it_without_a_place() {
    for text in [
        "**Critical** – `db.run(\"DELETE FROM a WHERE id = \" + order.id)` is an SQL injection",
        "Severity: critical. The id is concatenated into the DELETE.",
        "**Severity:** critical",
        "severity = high",
        "Severity is critical.",
        "This is a critical vulnerability.",
        "### Finding 1 (critical)\nThe order id is concatenated into the DELETE.",
        "1. Unescaped id (critical)",
        "[critical] The id is concatenated.",
        "## Critical\n\nThe id is concatenated.",
        "Critical:\n- The id is concatenated.",
        "Blocker: do not merge this. The id is injected.",
        "1. **Blocker**: the id is injected.",
        "Critical: no validation of the id.",
        "Critical: 1",
        "An attacker can delete all rows via order.id.",
        "The query allows an attacker to read all rows.",
        "`db.run(\"DELETE\" + order.id)` is an SQL injection.",
        "The call `db.run(sql + order.id)` allows SQL injection.",
        "There is one critical issue.",
        "I found a critical SQL injection in the search endpoint.",
        "The change has critical vulnerabilities.",
        "The SQL injection is critical.",
        "A critical remote code execution vulnerability was introduced.",
        "No issues except a critical injection: critical vulnerability.",
        "This must be fixed, a critical bug.",
        "Kritisch: die Nummer wird verkettet.",
        "Das ist eine kritische Schwachstelle.",
        "Schweregrad: kritisch",
        "C'est une vulnérabilité critique.",
        "Es una vulnerabilidad crítica.",
        "Há uma injeção SQL crítica.",
        "È una vulnerabilità critica.",
        "Dit is een kritieke kwetsbaarheid.",
        "To jest krytyczna podatność.",
        "Критическая уязвимость: инъекция.",
        "Обнаружена критическая уязвимость.",
        "Це критична вразливість.",
        "存在严重漏洞。",
        "严重：订单号被直接拼接。",
        "重大な脆弱性があります。",
        "심각한 취약점이 있습니다.",
        "ثغرة حرجة.",
    ] {
        assert!(affirmed(text, &PATHS).is_some(), "{text}");
        let answer = format!("{text}\n<findings>\n</findings>");
        assert!(affirmed(&answer, &PATHS).is_some(), "{answer}");
    }
}

#[test]
fn a_word_for_something_severe_affirms_it_at_a_place() {
    for text in [
        "There is a critical SQL injection in line 4 (order.id).",
        "src/db.py:4 allows for SQL injection.",
        "CRITICAL: src/db.py:10 crashes if the list is empty.",
        "The removed check in src/db.py allows SQL injection.",
        "src/db.py:4 was changed to allow SQL injection.",
        "{\"findings\": [], \"summary\": \"A critical injection in src/db.py:4\"}",
    ] {
        assert!(affirms_at_place(text, &PATHS), "{text}");
    }
}

#[test]
fn honest_sentences_with_the_same_words_are_not_remembered() {
    let remembered: Vec<&str> = HONEST.into_iter().filter(|text| is_remembered(text)).collect();
    assert_eq!(remembered, Vec::<&str>::new());
    let fixtures = [
        include_str!("../../../../../tests/fixtures/remarks/harmless.txt"),
        include_str!("../../../../../tests/fixtures/remarks/narration.txt"),
    ];
    let remembered: Vec<&str> = fixtures
        .into_iter()
        .flat_map(str::lines)
        .filter(|text| is_remembered(text))
        .collect();
    assert_eq!(remembered, Vec::<&str>::new());
}

#[test]
fn words_deny_a_problem_and_an_empty_list_does_not() {
    for text in [
        "I have no findings.\n<findings></findings>",
        "None of the quoted sentences is a problem.\n<findings></findings>",
        "Those sentences only describe the code.\n<findings></findings>",
        "Das sind keine Probleme.\n<findings></findings>",
        "これらは問題ではありません。\n<findings></findings>",
        "这不是问题，没有发现。\n<findings></findings>",
    ] {
        assert!(denies_in_words(text), "{text}");
    }
    for text in [
        "<findings></findings>",
        "{\"findings\": []}",
        "The change looks good.\n<findings></findings>",
        "Understood.\n<findings></findings>",
        "<think>It is not a problem.</think>\n<findings></findings>",
    ] {
        assert!(!denies_in_words(text), "{text}");
    }
}

/// Each of them would take minutes if a word were compared with all that stand in front of it or behind it.
#[test]
fn a_text_made_to_cost_time_is_read_at_once() {
    for text in [
        "no critical problem ".repeat(12_000),
        "no critical problems, ".repeat(12_000),
        "(".repeat(250_000),
        "(critical) ".repeat(20_000),
        "no attacker can ".repeat(15_000),
        "没有严重问题，".repeat(10_000),
    ] {
        is_remembered(&text);
    }
}
