//! Which value is in force, and that no value can stop a review.

use serde_json::json;

use super::*;

const NOW: i64 = 1_800_000_000_000;

fn by_hand(text: &str) -> KvValue {
    KvValue {
        text: text.to_owned(),
        revision: None,
    }
}

fn stored(document: Option<&str>, switches: &[(&str, &str)]) -> Stored {
    Stored {
        document: document.map(by_hand),
        switches: switches
            .iter()
            .map(|(key, value)| ((*key).to_owned(), by_hand(value)))
            .collect(),
        ..Stored::default()
    }
}

fn merged(stored: &Stored) -> EffectiveConfig {
    merge(&Snapshot::default(), stored, NOW)
}

#[test]
fn an_empty_store_is_the_default_document_without_warnings() {
    let effective = merged(&Stored::default());
    assert_eq!(effective.config, ConfigDocument::default());
    assert_eq!(effective.warnings, Vec::<String>::new());
}

#[test]
fn a_switch_of_its_own_key_wins_over_the_document() {
    let document = r#"{"schema_version":1,"revision":7,"providers":{"anthropic":{"enabled":true}}}"#;
    let effective = merged(&stored(
        Some(document),
        &[("provider/anthropic", r#"{"enabled":false,"reason":"incident 7"}"#)],
    ));
    assert_eq!(effective.config.revision, 7);
    assert!(!effective.config.providers["anthropic"].enabled);
    assert!(effective.warnings.is_empty());
}

#[test]
fn bad_values_are_left_out_and_named_while_good_ones_count() {
    let effective = merged(&stored(
        Some(r#"{"schema_version":1,"limits":{"sessions":0},"failback":{"x":null}}"#),
        &[
            ("provider/", r#"{"enabled":false}"#),
            ("provider/anthropic", "off"),
            ("provider/openai", r#"{"enabled":false}"#),
        ],
    ));
    assert_eq!(effective.config.limits, ConfigDocument::default().limits);
    assert_eq!(effective.config.providers.len(), 1);
    assert!(!effective.config.providers["openai"].enabled);
    let begins = ["config/document: ", "provider/: ", "provider/anthropic: "];
    assert_eq!(effective.warnings.len(), begins.len());
    for (warning, begin) in effective.warnings.iter().zip(begins) {
        assert!(warning.starts_with(begin), "{warning}");
    }
    for pointer in ["/limits/sessions", "/failback/x"] {
        assert!(effective.warnings[0].contains(pointer), "{:?}", effective.warnings);
    }
}

#[test]
fn a_document_from_the_future_is_not_guessed_at() {
    let effective = merged(&stored(Some(r#"{"schema_version":2,"revision":3}"#), &[]));
    assert_eq!(effective.config, ConfigDocument::default());
    assert!(
        effective.warnings[0].contains("/schema_version"),
        "{:?}",
        effective.warnings
    );
}

#[test]
fn a_slip_of_the_hand_switches_nothing_on_that_was_put_off_through_the_api() {
    let off = ProviderSwitch {
        enabled: false,
        reason: Some("incident 7".to_owned()),
    };
    let snapshot = Snapshot {
        revision: 4,
        state: State {
            document: None,
            switches: BTreeMap::from([("anthropic".to_owned(), off.clone())]),
        },
        writes: BTreeMap::from([("provider/anthropic".to_owned(), written(KV_DELAY_MS, None, true))]),
    };
    let typed = |text: &str| merge(&snapshot, &stored(None, &[("provider/anthropic", text)]), NOW);
    let slipped = typed(r#"{"enabled":fasle}"#);
    assert_eq!(slipped.config.providers.get("anthropic"), Some(&off));
    assert!(
        slipped.warnings[0].contains("the switch is ignored"),
        "{:?}",
        slipped.warnings
    );
    assert!(typed(r#"{"enabled":true}"#).config.providers["anthropic"].enabled);
}

/// After a write through the API, `age_ms` ago, that replaced the text `replaced`.
fn written(age_ms: i64, replaced: Option<&str>, synced: bool) -> KeyWrite {
    KeyWrite {
        revision: 4,
        at_ms: NOW - age_ms,
        replaced: replaced.map(str::to_owned),
        synced,
    }
}

#[test]
fn the_later_of_two_values_is_in_force() {
    let from_api = KvValue {
        text: "old".into(),
        revision: Some(3),
    };
    let later = KvValue {
        text: "later".into(),
        revision: Some(5),
    };
    let hand = by_hand("by hand");
    let fresh = 1_000;
    let settled = KV_DELAY_MS;
    for (write, kv, expected, why) in [
        (None, Some(&hand), InForce::Kv("by hand"), "nobody used the API"),
        (None, None, InForce::Nothing, "nobody wrote anything"),
        (
            Some(written(fresh, None, true)),
            Some(&from_api),
            InForce::Api,
            "KV is behind",
        ),
        (Some(written(fresh, None, true)), None, InForce::Api, "KV is behind"),
        (
            Some(written(settled, None, true)),
            Some(&from_api),
            InForce::Api,
            "the ledger knows better",
        ),
        (
            Some(written(settled, None, true)),
            Some(&later),
            InForce::Kv("later"),
            "written through the API since the ledger could be asked last",
        ),
        (
            Some(written(fresh, None, true)),
            Some(&later),
            InForce::Api,
            "of a ledger before this one, until KV follows",
        ),
        (
            Some(written(settled, None, false)),
            None,
            InForce::Api,
            "KV could not be written",
        ),
        (
            Some(written(settled, None, true)),
            None,
            InForce::Nothing,
            "deleted by hand since then",
        ),
        (
            Some(written(fresh, Some("by hand"), true)),
            Some(&hand),
            InForce::Api,
            "KV shows what was replaced",
        ),
        (
            Some(written(settled, Some("by hand"), true)),
            Some(&hand),
            InForce::Kv("by hand"),
            "written by hand again",
        ),
        (
            Some(written(fresh, Some("other"), true)),
            Some(&hand),
            InForce::Kv("by hand"),
            "written by hand since then",
        ),
        (
            Some(written(fresh, None, true)),
            Some(&hand),
            InForce::Kv("by hand"),
            "written by hand since then",
        ),
    ] {
        assert_eq!(in_force(write.as_ref(), kv, NOW), expected, "{why}");
    }
}

#[test]
fn a_switch_that_was_flipped_through_the_api_counts_before_kv_has_it() {
    let snapshot = Snapshot {
        revision: 4,
        state: State {
            document: Some(json!({"schema_version": 1, "revision": 2, "limits": {"sessions": 3}})),
            switches: BTreeMap::from([(
                "anthropic".to_owned(),
                ProviderSwitch {
                    enabled: false,
                    reason: None,
                },
            )]),
        },
        writes: BTreeMap::from([
            (
                "provider/anthropic".to_owned(),
                written(10, Some(r#"{"enabled":true}"#), false),
            ),
            (DOCUMENT.to_owned(), written(10, None, false)),
        ]),
    };
    let behind = stored(None, &[("provider/anthropic", r#"{"enabled":true}"#)]);
    let effective = merge(&snapshot, &behind, NOW);
    assert!(!effective.config.providers["anthropic"].enabled);
    assert_eq!((effective.config.revision, effective.config.limits.sessions), (4, 3));
    assert_eq!(effective.warnings, Vec::<String>::new());
}

#[test]
fn names_that_were_typed_by_hand_are_corrected_and_said() {
    let effective = merged(&stored(
        None,
        &[
            ("provider/OpenAI", r#"{"enabled":false}"#),
            ("provider/antropic", r#"{"enabled":false}"#),
        ],
    ));
    let off: Vec<&str> = effective.config.providers.keys().map(String::as_str).collect();
    assert_eq!(off, ["openai"]);
    assert_eq!(effective.warnings.len(), 2, "{:?}", effective.warnings);
    assert!(
        effective.warnings[1].contains("did you mean `anthropic`?"),
        "{:?}",
        effective.warnings
    );
}

#[test]
fn switches_beyond_those_that_are_read_of_kv_stay_as_they_were_written() {
    let snapshot = |more: bool| {
        let off = ProviderSwitch {
            enabled: false,
            reason: None,
        };
        let snapshot = Snapshot {
            revision: 4,
            state: State {
                document: None,
                switches: BTreeMap::from([("zeta".to_owned(), off)]),
            },
            writes: BTreeMap::from([("provider/zeta".to_owned(), written(KV_DELAY_MS, None, true))]),
        };
        let stored = Stored {
            more_switches: more,
            ..Stored::default()
        };
        merge(&snapshot, &stored, NOW)
    };
    assert!(!snapshot(true).config.providers["zeta"].enabled);
    assert!(snapshot(true).warnings[0].contains("written through the API do"));
    assert!(snapshot(false).config.providers.is_empty(), "it was deleted by hand");
}

#[test]
fn a_rollback_brings_back_what_was_deleted_by_hand() {
    let off = ProviderSwitch {
        enabled: false,
        reason: None,
    };
    let key = "provider/anthropic";
    let snapshot = |age_ms: i64| Snapshot {
        revision: 4,
        state: State {
            document: Some(json!({"schema_version": 1})),
            switches: BTreeMap::from([("anthropic".to_owned(), off.clone())]),
        },
        writes: BTreeMap::from([
            (DOCUMENT.to_owned(), written(age_ms, None, true)),
            (key.to_owned(), written(age_ms, None, true)),
        ]),
    };
    let deleted = |age_ms: i64, stored: &Stored| deleted_by_hand(&snapshot(age_ms), stored, NOW);
    assert_eq!(deleted(KV_DELAY_MS, &Stored::default()), [DOCUMENT, key]);
    assert_eq!(deleted(1_000, &Stored::default()), [""; 0], "KV may be behind");
    let document = stored(Some(r#"{"schema_version":1}"#), &[]);
    assert_eq!(deleted(KV_DELAY_MS, &document), [key]);
    let many = Stored {
        more_switches: true,
        ..document
    };
    assert_eq!(
        deleted(KV_DELAY_MS, &many),
        [""; 0],
        "it may be among those that were not read"
    );
}
