//! Streams that break after their first content.

use conclave_engine::ports::UsageLedger;
use conclave_gateway::{GatewayEvent, Rejection};
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
        let rig = rig_with(|config| config.limits.idle = std::time::Duration::from_millis(80)).await;
        rig.provider.inject(Fault::stall().times(1));
        let outcome = rig.ask(name, "x").await;
        assert!(outcome.broken, "{name}: {outcome:?}");
        assert!(!outcome.body.contains(TEXT));
    }
}
