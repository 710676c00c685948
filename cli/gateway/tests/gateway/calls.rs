//! What is told of each request to a provider.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use conclave_engine::ports::{CallOutcome, ModelCall, RunTrace};
use conclave_scripted_provider::{Fault, Position};

use crate::rig::{OPUS_NEW, OPUS_OLD, rig_with, until};

#[derive(Default)]
struct Heard(Mutex<Vec<ModelCall>>);

impl RunTrace for Heard {
    fn stage_ended(&self, _stage: &str, _duration: Duration) {}

    fn call_ended(&self, call: &ModelCall) {
        self.0.lock().unwrap().push(call.clone());
    }
}

#[tokio::test]
async fn every_request_is_told_once_with_its_model_tokens_cost_and_end() {
    let heard = Arc::new(Heard::default());
    let trace: Arc<dyn RunTrace> = Arc::clone(&heard) as _;
    let rig = rig_with(|config| config.trace = Some(trace)).await;
    // Three refusals of the newest model, then its fallback model answers; then an answer breaks off.
    rig.provider
        .inject(Fault::status(529).model("claude-opus-4-7").times(3));
    assert!(rig.ask(OPUS_NEW, "one").await.is_whole());
    rig.provider.heal();
    rig.provider.inject(Fault::cut().at(Position::MidContent).times(1));
    assert!(rig.ask(OPUS_OLD, "two").await.broken);
    until("the end of the last request", || heard.0.lock().unwrap().len() == 5).await;

    let calls = heard.0.lock().unwrap();
    let seen: Vec<_> = calls.iter().map(|call| (call.model.as_str(), &call.outcome)).collect();
    let failed = |class: &str| CallOutcome::Failed(class.to_owned());
    let (overloaded, cut) = (failed("overloaded"), failed("cut stream"));
    let expected = [
        (OPUS_NEW, &overloaded),
        (OPUS_NEW, &overloaded),
        (OPUS_NEW, &overloaded),
        (OPUS_OLD, &CallOutcome::Complete),
        (OPUS_OLD, &cut),
    ];
    assert_eq!(seen, expected);
    assert!(
        calls
            .iter()
            .all(|call| call.reviewer == "security" && call.session.0 == "ses_a")
    );
    assert_eq!(calls[3].asked.as_str(), OPUS_NEW);
    let booked = rig.booked(OPUS_OLD).unwrap();
    assert_eq!(calls[3].tokens.output + calls[4].tokens.output, booked.tokens.output);
    assert!((calls[3].cost_usd + calls[4].cost_usd - booked.cost_usd).abs() < 1e-12);
    assert!(calls[3].cost_usd > 0.0 && calls[0].cost_usd.abs() < 1e-12);
}
