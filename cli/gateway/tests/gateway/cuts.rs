//! Streams that break after their first content.

use conclave_engine::ports::UsageLedger;
use conclave_gateway::{GatewayEvent, Rejection};
use conclave_resilience::classify::{FailureClass, ProviderFault};
use conclave_scripted_provider::{Answer, Fault, Position};
use serde_json::json;

use crate::rig::{FORMATS, LLAMA, OPUS_NEW, SOL, TEXT, model, rig, rig_with, session};

type Make = fn() -> Fault;

const BREAKS: [Make; 4] = [Fault::cut, Fault::clean_end, Fault::garbage, || {
    Fault::error_frame("overloaded_error", "Overloaded")
}];

#[tokio::test]
async fn a_stream_without_its_terminal_event_never_ends_cleanly() {
    for name in FORMATS {
        for (number, fault) in BREAKS.iter().enumerate() {
            let rig = rig().await;
            rig.provider.inject(fault().at(Position::MidContent).times(1));
            let outcome = rig.ask(name, "x").await;
            assert!(outcome.status == 200 && outcome.broken, "{name} {number}: {outcome:?}");
            for theirs in ["Overloaded", "<html>", "\"error\""] {
                assert!(!outcome.body.contains(theirs), "{name} {number}: {}", outcome.body);
            }
            assert_eq!(
                rig.provider.requests().len(),
                1,
                "asking again is the runtime's business now"
            );
            assert!(matches!(rig.gateway.events()[..], [GatewayEvent::StreamCut { .. }, ..]));
            assert!(rig.ask(name, "x").await.is_whole(), "it goes on when the provider does");
        }
    }
}

#[tokio::test]
async fn after_two_cuts_in_a_row_the_third_is_final() {
    for (name, frame) in [
        (
            OPUS_NEW,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\
             \"message\":\"conclave: no healthy model\"}}\n\n",
        ),
        (
            LLAMA,
            "data: {\"error\":{\"message\":\"conclave: no healthy model\",\"type\":\"invalid_request_error\",\
             \"code\":\"invalid_prompt\"}}\n\n",
        ),
        (
            SOL,
            "event: error\ndata: {\"type\":\"error\",\"sequence_number\":0,\"error\":{\"type\":\"invalid_request_error\",\
             \"code\":\"invalid_prompt\",\"message\":\"conclave: no healthy model\",\"param\":null}}\n\n",
        ),
    ] {
        let rig = rig().await;
        rig.provider.inject(Fault::cut());
        assert!(rig.ask(name, "x").await.broken);
        assert!(rig.ask(name, "x").await.broken);
        let last = rig.ask(name, "x").await;
        assert!(!last.broken && last.body.ends_with(frame), "{}", last.body);
        let rejected = |event: &GatewayEvent| {
            matches!(
                event,
                GatewayEvent::Rejected {
                    reason: Rejection::NoHealthyModel,
                    ..
                }
            )
        };
        assert!(rig.gateway.events().iter().any(rejected));
    }
}

#[tokio::test]
async fn a_whole_answer_in_between_makes_good() {
    let rig = rig().await;
    for text in ["one", "two", "three", "four"] {
        rig.provider.inject(Fault::cut().times(1));
        assert!(rig.ask(OPUS_NEW, text).await.broken);
        assert!(rig.ask(OPUS_NEW, text).await.is_whole());
    }
}

#[tokio::test]
async fn an_answer_that_lacks_only_its_last_event_is_completed() {
    for name in [OPUS_NEW, LLAMA] {
        for fault in [Fault::cut(), Fault::clean_end()] {
            let rig = rig().await;
            rig.provider.inject(fault.at(Position::BeforeTerminal));
            let outcome = rig.ask(name, "x").await;
            assert!(outcome.is_whole(), "{name}: {outcome:?}");
            assert_eq!(rig.provider.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn in_responses_only_the_last_event_says_why_a_text_stopped() {
    let rig = rig().await;
    rig.provider
        .inject(Fault::clean_end().at(Position::BeforeTerminal).times(1));
    assert!(rig.ask(SOL, "x").await.broken, "a call might have followed the text");
    rig.provider
        .set("unknown", 1, Answer::call("read", json!({"filePath": "main.rs"})));
    rig.provider
        .inject(Fault::clean_end().at(Position::BeforeTerminal).times(1));
    assert!(rig.ask(SOL, "y").await.is_whole(), "a whole call can be run");
}

#[tokio::test]
async fn a_cut_after_whole_tool_calls_ends_as_calls_and_nothing_runs_twice() {
    for name in FORMATS {
        for (number, fault) in BREAKS.iter().enumerate() {
            let rig = rig().await;
            let call = Answer::call("read", json!({"filePath": "main.rs"})).with_text("I will read it.");
            rig.provider.set("unknown", 1, call);
            rig.provider.inject(fault().at(Position::AfterToolCall));
            let outcome = rig.ask(name, "x").await;
            assert!(outcome.is_whole(), "{name} {number}: {outcome:?}");
            let reasons = [
                "\"tool_use\",\"stop_sequence\"",
                "\"finish_reason\":\"tool_calls\"",
                "\"response.completed\"",
            ];
            assert!(
                reasons.iter().any(|reason| outcome.body.contains(reason)),
                "{}",
                outcome.body
            );
            assert!(
                !outcome.body.contains("<html>") && !outcome.body.contains("Overloaded"),
                "{}",
                outcome.body
            );
            assert_eq!(rig.provider.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn half_a_tool_call_is_dropped() {
    for name in FORMATS {
        let rig = rig().await;
        rig.provider.set(
            "unknown",
            1,
            Answer::call("read", json!({"filePath": "src/a/long/path/main.rs"})),
        );
        rig.provider.inject(Fault::clean_end().at(Position::MidContent));
        assert!(rig.ask(name, "x").await.broken, "{name}");
    }
}

#[tokio::test]
async fn with_nobody_left_to_ask_a_text_that_keeps_breaking_ends_as_a_short_one() {
    for name in FORMATS {
        let rig = rig().await;
        rig.gateway.assign(&session("ses_a"), "security", &[model(name)]);
        rig.provider.set("unknown", 1, Answer::text(TEXT));
        rig.provider.inject(Fault::cut());
        assert!(rig.ask(name, "x").await.broken);
        assert!(rig.ask(name, "x").await.broken);
        let last = rig.ask(name, "x").await;
        assert!(last.status == 200 && !last.broken, "{last:?}");
        let reasons = ["\"max_tokens\"", "\"length\"", "\"max_output_tokens\""];
        assert!(reasons.iter().any(|reason| last.body.contains(reason)), "{}", last.body);
        let told = GatewayEvent::Shortened {
            session: session("ses_a"),
            model: model(name),
        };
        assert!(rig.gateway.events().contains(&told));
    }
}

#[tokio::test]
async fn an_answer_that_stalls_is_cut() {
    for name in FORMATS {
        let rig = rig_with(|config| config.limits.idle = std::time::Duration::from_millis(300)).await;
        rig.provider.inject(Fault::stall().times(1));
        let outcome = rig.ask(name, "x").await;
        assert!(outcome.broken, "{name}: {outcome:?}");
        assert!(!outcome.body.contains(TEXT));
    }
}

#[tokio::test]
async fn the_text_of_an_answer_that_breaks_off_is_kept_beside_its_session() {
    for name in FORMATS {
        for (number, fault) in BREAKS.iter().enumerate() {
            let rig = rig().await;
            rig.provider.set("unknown", 1, Answer::text(TEXT));
            assert!(rig.ask(name, "x").await.is_whole());
            assert_eq!(
                rig.gateway.broken_answers(&session("ses_a")),
                [""; 0],
                "{name} {number}"
            );
            for _ in 0..2 {
                rig.provider.inject(fault().at(Position::MidContent).times(1));
                assert!(rig.ask(name, "x").await.broken, "{name} {number}");
            }
            let kept = rig.gateway.broken_answers(&session("ses_a"));
            assert_eq!(kept.len(), 1, "{name} {number}: {kept:?}, each once");
            assert!(
                !kept[0].is_empty() && TEXT.starts_with(&kept[0]),
                "{name} {number}: {kept:?}"
            );
        }
    }
}

#[tokio::test]
async fn signs_of_life_are_no_progress() {
    for name in FORMATS {
        let rig = rig_with(|config| config.limits.idle = std::time::Duration::from_millis(300)).await;
        rig.provider.inject(Fault::pings().times(1));
        let outcome = rig.ask(name, "x").await;
        assert!(outcome.broken, "{name}: {outcome:?}");
        let stalled = |event: &GatewayEvent| {
            let reason = FailureClass::from(ProviderFault::Stalled);
            matches!(event, GatewayEvent::StreamCut { reason: told, .. } if *told == reason)
        };
        assert!(
            rig.gateway.events().iter().any(stalled),
            "{name}: {:?}",
            rig.gateway.events()
        );

        // Before its first content the gateway asks again by itself.
        rig.provider.inject(Fault::pings().at(Position::AfterStart).times(1));
        assert!(rig.ask(name, "y").await.is_whole(), "{name}");
        let asked_again = |event: &GatewayEvent| {
            matches!(
                event,
                GatewayEvent::Retried {
                    fault: ProviderFault::Stalled,
                    ..
                }
            )
        };
        assert!(
            rig.gateway.events().iter().any(asked_again),
            "{name}: {:?}",
            rig.gateway.events()
        );
    }
}

#[tokio::test]
async fn half_characters_are_replaced_and_every_runtime_reads_the_same() {
    for name in FORMATS {
        for (put, expected) in [
            (&b"\xff"[..], "\u{fffd}"),
            (b"\xe2\x82", "\u{fffd}"),
            (b"\\ud800", "\\ufffd"),
            (b"\\ude00", "\\ufffd"),
            (b"\\ud83d\\ude00", "\\ud83d\\ude00"),
        ] {
            let rig = rig().await;
            rig.provider.set("unknown", 1, Answer::text("@"));
            rig.provider.inject(Fault::bytes("@", put));
            let outcome = rig.ask(name, "x").await;
            assert!(outcome.is_whole(), "{name} {put:?}: {outcome:?}");
            assert!(outcome.body.contains(expected), "{name} {put:?}: {}", outcome.body);
        }
    }
}

#[tokio::test]
async fn a_text_in_a_form_that_nobody_knows_is_asked_for_again() {
    for (name, field) in [(OPUS_NEW, "delta"), (LLAMA, "content"), (SOL, "delta")] {
        let rig = rig().await;
        rig.provider.set("unknown", 1, Answer::text(TEXT));
        let odd = json!({"type": "rich_text_delta", "spans": [{"words": "a critical finding"}]});
        rig.provider.inject(Fault::field(field, Some(odd)).times(1));
        let outcome = rig.ask(name, "x").await;
        // Whether the gateway or the runtime asks again depends on what came before.
        assert!(
            outcome.broken || outcome.body.contains("The first"),
            "{name}: {outcome:?}"
        );
        let told = |event: &GatewayEvent| match event {
            GatewayEvent::Retried { fault, .. } => *fault == ProviderFault::Garbage,
            GatewayEvent::StreamCut { reason, .. } => *reason == ProviderFault::Garbage.into(),
            _ => false,
        };
        assert!(
            rig.gateway.events().iter().any(told),
            "{name}: {:?}",
            rig.gateway.events()
        );
    }
}
