//! What operators see.

use serde_json::json;

use super::*;
use crate::output::door::{Keep, clean as printed};

/// Without the colours of a terminal.
fn plain(text: &str) -> String {
    printed(text, Keep::Text)
}

fn answer(document: &Value) -> EffectiveConfig {
    EffectiveConfig {
        config: serde_json::from_value(document.clone()).expect("readable"),
        warnings: vec!["provider/x: cannot be read".to_owned()],
        document_fault: None,
    }
}

#[test]
fn what_is_in_force_and_only_what_differs() {
    let shown = config(
        &answer(&json!({"schema_version": 1, "revision": 12,
            "providers": {"anthropic": {"enabled": false, "reason": "incident\u{1b}[31m 7"}},
            "reviewers": {"security": {"models": ["openai/gpt-5.4"], "timeout_seconds": 420}, "tests": {"enabled": false}},
            "limits": {"sessions": 4, "budget": {"run_usd": 2.5}}, "failback": {"a/b": null},
            "effort": {"top": "low"}, "capabilities": {"a/b": {"context": 9000}},
            "prices": {"a/b": {"as_of": "2026-11-01", "input": 1.5, "output": 3}}})),
        Some("platform/build"),
    );
    // However wide the terminal is.
    let shown = plain(&shown).split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "Configuration of platform/build, revision 12",
        "Warning: provider/x: cannot be read",
        "off incident[31m 7",
        "openai/gpt-5.4",
        "420 s; named for it",
        "taken off every",
        "sessions 4 (7 otherwise)",
        "budget.run_usd 2.5 (without a limit otherwise)",
        "a/b → no fallback model",
        "effort low",
        "a/b {\"context\":9000}",
        "as of 2026-11-01",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    let bare = plain(&config(&answer(&json!({"schema_version": 1})), None));
    assert!(bare.contains("all projects, no revision yet"), "{bare}");
    assert!(!bare.contains("Limits") && !bare.contains("Prices"), "{bare}");
}

#[test]
fn a_difference_is_one_of_content_only() {
    let before = json!({"revision": 3, "limits": {"sessions": 4, "tool_calls": 9}, "schema_version": 1});
    let same = json!({"schema_version": 1, "limits": {"tool_calls": 9, "sessions": 4}, "revision": 9});
    assert_eq!(json_diff(&before, &same), "");
    let other = json!({"schema_version": 1, "limits": {"tool_calls": 9, "sessions": 5}});
    let diff = json_diff(&before, &other);
    assert!(
        diff.contains("-    \"sessions\": 4,\n+    \"sessions\": 5,\n"),
        "{diff}"
    );
    assert!(!diff.contains("revision"), "{diff}");
    assert_eq!(plain(&colored_diff(&diff)), diff);
}

#[test]
fn chains_show_their_built_in_links_too() {
    let model: ModelId = "anthropic/claude-opus-5-5".parse().expect("a model");
    let none = BTreeMap::new();
    assert_eq!(
        config_chain(&model, &none),
        "  anthropic/claude-opus-5-5 → anthropic/claude-opus-4-8 → anthropic/claude-opus-4-7 → anthropic/claude-opus-4-6"
    );
    let ended = BTreeMap::from([(model.to_string(), None)]);
    assert_eq!(
        config_chain(&model, &ended),
        "  anthropic/claude-opus-5-5 → no fallback model"
    );
    assert!(config_failback(&none).contains("built-in"));
}

#[test]
fn history_says_who_when_and_why() {
    let entry = |revision, who: &str, why: Option<&str>| HistoryEntry {
        revision,
        at_ms: 1_795_000_000_000,
        who: who.to_owned(),
        why: why.map(str::to_owned),
        action: "switched anthropic off".to_owned(),
    };
    let shown = config_history(&[entry(2, "ada", Some("incident 7")), entry(1, "", None)], None);
    assert!(
        shown.contains("2026-11-18 11:06") && shown.contains("ada") && shown.contains("incident 7"),
        "{shown}"
    );
    assert!(shown.contains("(no name)"), "{shown}");
    assert!(shown.contains("revision"), "what `rollback` takes is named: {shown}");
    assert_eq!(config_history(&[], None), "Nothing was written yet.");
    assert_eq!(config_history(&[], Some(0)), "There is no revision before 0.");
}
