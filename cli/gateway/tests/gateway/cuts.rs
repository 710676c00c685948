//! Streams that break after their first content.

use conclave_gateway::{GatewayEvent, Rejection};
use conclave_scripted_provider::{Fault, Position};

use crate::rig::{LLAMA, OPUS_NEW, TEXT, rig, rig_with};

type Make = fn() -> Fault;

const BREAKS: [Make; 4] = [Fault::cut, Fault::clean_end, Fault::garbage, || {
    Fault::error_frame("overloaded_error", "Overloaded")
}];

#[tokio::test]
async fn a_stream_without_its_terminal_event_never_ends_cleanly() {
    for name in [OPUS_NEW, LLAMA] {
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
            assert!(matches!(rig.gateway.events()[..], [GatewayEvent::StreamCut { .. }]));
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
    ] {
        let rig = rig().await;
        rig.provider.inject(Fault::cut());
        assert!(rig.ask(name, "x").await.broken);
        assert!(rig.ask(name, "x").await.broken);
        let last = rig.ask(name, "x").await;
        assert!(!last.broken && last.body.ends_with(frame), "{}", last.body);
        let rejected = rig.gateway.events();
        assert!(matches!(
            rejected.last(),
            Some(GatewayEvent::Rejected {
                reason: Rejection::NoHealthyModel,
                ..
            })
        ));
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
async fn an_answer_that_stalls_is_cut() {
    for name in [OPUS_NEW, LLAMA] {
        let rig = rig_with(|config| config.limits.idle = std::time::Duration::from_millis(80)).await;
        rig.provider.inject(Fault::stall().times(1));
        let outcome = rig.ask(name, "x").await;
        assert!(outcome.broken, "{name}: {outcome:?}");
        assert!(!outcome.body.contains(TEXT));
    }
}
