//! What a session survives, and what ends it. Time is paused: minutes pass at once.

use std::{sync::Arc, time::Duration};

use conclave_shared::{
    config::{ConfigDocument, Preset, ProviderSwitch},
    effort::Effort,
    model::ModelId,
    telemetry::ReviewerOutcome,
};
use tokio::{sync::watch, time::Instant};

use crate::{
    ports::{Remedy, SessionEvent, SessionPrompt},
    review::{ModelMove, RepairKind, StopCause},
    session::{
        LiveRoutes, RouteFacts,
        test_support::{Act, Play, Stage, context, ends, fails, lives, run_session, says, task},
    },
};

use super::*;

async fn run(stage: &Arc<Stage>, task: &SessionTask) -> SessionResult {
    let (context, _, _stop) = context(stage);
    run_session(&context, task).await
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_it() {
    let stage = Stage::new(|_, _| says(20, "<findings></findings>"));
    let result = run(&stage, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert_eq!(result.text.as_deref(), Some("<findings></findings>"));
    assert_eq!(result.reads.len(), 1);
    assert_eq!(result.duration.as_secs(), 20);
    assert!(stage.aborted.lock().expect("free").is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_end_that_nobody_reported_is_found_by_the_poll() {
    let stage = Stage::new(|_, _| {
        let mut play = says(20, "done");
        // The event is lost; the session is idle all the same.
        play.truncate(1);
        play.push((0, Act::Event(SessionEvent::Idle)));
        play.insert(0, (0, Act::Event(SessionEvent::Idle)));
        play
    });
    let result = run(&stage, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert!(result.duration.as_secs() <= 23, "{:?}", result.duration);
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_said_stands_in_the_reason_of_a_failure() {
    type Make = fn() -> Play;
    let failures: [(Make, &str); 3] = [
        (
            || ends(5, "half", "length"),
            "the answer was cut off twice (its provider stopped it with `SAFETY`)",
        ),
        (
            || fails(5, "no healthy model", Remedy::None),
            "no healthy model (last: model unavailable; 404: \"gone\")",
        ),
        (
            || fails(5, "prompt is too long", Remedy::None),
            "prompt is too long (last: model unavailable; 404: \"gone\")",
        ),
    ];
    for (make, reason) in failures {
        let stage = Stage::new(move |_, _| make());
        let (context, around, _stop) = context(&stage);
        *around.odd_stop.lock().expect("free") = Some("SAFETY".to_owned());
        *around.failure.lock().expect("free") = Some("model unavailable; 404: \"gone\"".to_owned());
        let result = run_session(&context, &task()).await;
        assert_eq!(result.reason.as_deref(), Some(reason));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_off_answer_is_asked_for_once_more_in_fewer_words() {
    let stage = Stage::new(|prompt, number| {
        if number == 1 {
            return ends(5, "half an ans", "length");
        }
        assert!(prompt.parts[0].contains("fewer words"), "{:?}", prompt.parts);
        says(5, "whole")
    });
    let result = run(&stage, &task()).await;
    assert_eq!(
        (result.outcome, result.text.as_deref()),
        (ReviewerOutcome::Ok, Some("whole"))
    );
    assert_eq!(stage.sessions(), 1, "in the same session");

    let stage = Stage::new(|_, _| ends(5, "half", "length"));
    let result = run(&stage, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Failed);
    assert_eq!(result.reason.as_deref(), Some("the answer was cut off twice"));
    assert_eq!(stage.models(), ["a/one", "a/one"]);

    // The runtime may also report it as an error, without any answer.
    let stage = Stage::new(|_, number| match number {
        1 => fails(5, "MessageOutputLengthError", Remedy::None),
        _ => says(5, "whole"),
    });
    assert_eq!(run(&stage, &task()).await.outcome, ReviewerOutcome::Ok);
}

#[tokio::test(start_paused = true)]
async fn the_second_cut_stream_in_a_row_ends_the_attempt() {
    let unknown = |_: &SessionPrompt, number: usize| -> Play {
        if number > 1 {
            return says(1, "whole");
        }
        vec![(1, Act::Event(SessionEvent::StepFinished("unknown".into()))); 700]
    };
    let stage = Stage::new(unknown);
    let result = run(&stage, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert_eq!(stage.models(), ["a/one", "b/three"], "another provider comes first");
    assert_eq!(result.duration.as_secs(), 3, "two seconds of it were the cut streams");
    assert_eq!(stage.aborted.lock().expect("free").len(), 1, "and it was told to end");
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_an_end_is_asked_for_one_and_then_ended() {
    let endless = || vec![(1, Act::Event(SessionEvent::StepFinished("tool-calls".into()))); 700];
    let stage = Stage::new(move |_, _| endless());
    let result = run(&stage, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Failed);
    assert!(
        result.reason.expect("a reason").contains("12 steps"),
        "the second time it has fewer"
    );
    assert_eq!(result.repairs, [RepairKind::Loop]);
    assert_eq!((stage.models().len(), result.duration.as_secs()), (2, 112));
    assert_eq!(stage.busy(), Vec::<String>::new());

    let stage = Stage::new(move |_, number| if number == 1 { endless() } else { says(1, "here") });
    let result = run(&stage, &task()).await;
    assert_eq!(
        (result.outcome, result.text.as_deref()),
        (ReviewerOutcome::Ok, Some("here"))
    );
    assert_eq!(result.repairs, [RepairKind::Loop]);
}

#[tokio::test(start_paused = true)]
async fn the_same_call_again_and_again_is_a_loop_and_one_that_is_reported_twice_is_none() {
    let called = |id: String, call: u64| {
        (
            1,
            Act::Event(SessionEvent::Called {
                message: String::new(),
                id,
                call,
            }),
        )
    };
    let step = || (0, Act::Event(SessionEvent::StepFinished("tool-calls".into())));
    let same = move || {
        (0..700)
            .flat_map(|number| [called(format!("call {number}"), 1), step()])
            .collect::<Play>()
    };
    let stage = Stage::new(move |_, number| if number == 1 { same() } else { says(1, "here") });
    let result = run(&stage, &task()).await;
    assert_eq!((result.outcome, result.duration.as_secs()), (ReviewerOutcome::Ok, 13));
    assert_eq!(result.repairs, [RepairKind::Loop]);

    for name in [
        "another call each time",
        "one call, reported again and again",
        "one answer that makes the same call fifty times",
    ] {
        let stage = Stage::new(move |_, _| {
            let calls = (0..50_u64).flat_map(move |number| match name {
                "another call each time" => vec![called(number.to_string(), number), step()],
                "one call, reported again and again" => vec![called("one".into(), 1), step()],
                _ => vec![called(number.to_string(), 1)],
            });
            calls.chain([step()]).chain(says(1, "here")).collect()
        });
        let result = run(&stage, &task()).await;
        assert_eq!(
            (result.outcome, result.repairs.len()),
            (ReviewerOutcome::Ok, 0),
            "{name}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn calls_without_an_end_are_asked_for_one_and_what_there_is_to_read_is_not_among_them() {
    let reading = |calls: u64| {
        let called = move |number: u64| SessionEvent::Called {
            message: String::new(),
            id: number.to_string(),
            call: number,
        };
        move |_: &SessionPrompt, number: usize| -> Play {
            let all = (0..if number == 1 { calls } else { 0 }).map(|number| (0, Act::Event(called(number))));
            all.chain(says(1, "here")).collect()
        }
    };
    // By default 200 calls; more where reading may take more than 100.
    for (calls, to_read, repairs) in [(199, 0, 0), (200, 0, 1), (200, 100, 1), (499, 400, 0), (500, 400, 1)] {
        let stage = Stage::new(reading(calls));
        let task = SessionTask { to_read, ..task() };
        let result = run(&stage, &task).await;
        assert_eq!(result.outcome, ReviewerOutcome::Ok, "{calls}");
        assert_eq!(result.repairs.len(), repairs, "{calls} calls, {to_read} to read");
    }
    // One patch in each answer is not a loop.
    let step = || (0, Act::Event(SessionEvent::StepFinished("tool-calls".into())));
    let stage = Stage::new(move |_, _| (0..150).map(|_| step()).chain(says(1, "here")).collect());
    let result = run(&stage, &SessionTask { to_read: 300, ..task() }).await;
    assert_eq!((result.outcome, result.repairs.len()), (ReviewerOutcome::Ok, 0));

    let endless = |_: &SessionPrompt, _: usize| -> Play {
        let called = |number: u64| SessionEvent::Called {
            message: String::new(),
            id: number.to_string(),
            call: number,
        };
        (0..700).map(|number| (0, Act::Event(called(number)))).collect()
    };
    let result = run(&Stage::new(endless), &task()).await;
    let reason = result.reason.expect("a reason");
    assert!(
        reason.contains("`tool_calls` is 200") && reason.contains("--limits tool_calls=400"),
        "{reason}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_batch_of_calls_is_not_the_next_turns() {
    let batch = |calls: u64| {
        let called = |number: u64| SessionEvent::Called {
            message: String::new(),
            id: number.to_string(),
            call: number,
        };
        (1, Act::Events((0..calls).map(called).collect()))
    };
    for calls in [200, 220, 256, 300, 700] {
        let stage = Stage::new(move |_, number| {
            if number == 1 {
                vec![batch(calls)]
            } else {
                says(1, "here")
            }
        });
        let result = run(&stage, &task()).await;
        assert_eq!(
            (result.outcome, result.text.as_deref()),
            (ReviewerOutcome::Ok, Some("here")),
            "{calls} calls: {:?}",
            result.reason
        );
        assert_eq!(result.repairs, [RepairKind::Loop]);
        let prompts = stage.prompts.lock().expect("free");
        assert_eq!(prompts.len(), 2);
        assert!(prompts[1].1.parts[0].contains("call no tool any more"));
    }
}

/// A runtime may tell of the calls that it has given up only when the turn is over, and the next one has begun.
#[tokio::test(start_paused = true)]
async fn calls_of_the_turn_before_that_are_told_late_are_not_the_next_turns() {
    let batch = || {
        let called = |number: u64| SessionEvent::Called {
            message: "message 1".to_owned(),
            id: number.to_string(),
            call: number,
        };
        (1, Act::Events((0..250).map(called).collect()))
    };
    let stage = Stage::new(move |_, number| {
        if number == 1 {
            vec![ends(0, "I will search.", "tool-calls").remove(0), batch()]
        } else {
            [batch()].into_iter().chain(says(1, "here")).collect()
        }
    });
    let result = run(&stage, &task()).await;
    assert_eq!(
        (result.outcome, result.text.as_deref()),
        (ReviewerOutcome::Ok, Some("here")),
        "{:?}",
        result.reason
    );
    assert_eq!(result.repairs, [RepairKind::Loop]);
}

#[tokio::test(start_paused = true)]
async fn no_first_sign_of_life_for_a_minute_is_a_failed_start() {
    let stage = Stage::new(|_, number| if number == 1 { Vec::new() } else { says(1, "here") });
    let result = run(&stage, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert_eq!(result.duration.as_secs(), 61);
    assert_eq!(stage.models(), ["a/one", "b/three"]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_is_alive_and_one_that_stalls_is_not() {
    // Four minutes of signs, then the answer.
    let stage = Stage::new(|_, _| [lives(5, 50), says(20, "thought")].concat());
    assert_eq!(run(&stage, &task()).await.outcome, ReviewerOutcome::Ok);
    // One sign, then three minutes of nothing.
    let stage = Stage::new(|_, number| if number == 1 { lives(1, 10) } else { says(1, "other") });
    let result = run(&stage, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert_eq!(result.duration.as_secs(), 10 + 180 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_gateway_holds_is_no_silence() {
    let stage = Stage::new(|_, _| says(170, "late"));
    let (context, around, _stop) = context(&stage);
    *around.held.lock().expect("free") = Some(Duration::from_secs(5));
    let result = run_session(&context, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert_eq!(stage.models(), ["a/one"]);
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_says_every_half_minute_that_it_thinks() {
    let stage = Stage::new(|_, _| [lives(1, 1), says(100, "late")].concat());
    let (context, around, _stop) = context(&stage);
    run_session(&context, &task()).await;
    let said = around.said.lock().expect("free").clone();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("security 3"), "{said:?}");
    assert!(said[2].starts_with("security 9"), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_says_how_long_the_session_waits_while_no_call_is_open() {
    let stage = Stage::new(|_, _| [lives(1, 1), says(40, "late")].concat());
    let (context, around, _stop) = context(&stage);
    *around.waits.lock().expect("free") = Some(Duration::from_secs(57));
    run_session(&context, &task()).await;
    assert_eq!(*around.said.lock().expect("free"), ["security waits 57"]);
}

#[tokio::test(start_paused = true)]
async fn the_class_of_an_error_decides_whom_to_ask_next() {
    for (remedy, models) in [
        (Remedy::None, vec!["a/one"]),
        (Remedy::OtherProvider, vec!["a/one", "b/three"]),
        (Remedy::OtherModel, vec!["a/one", "b/three"]),
    ] {
        let stage = Stage::new(move |_, _| fails(1, "APIError", remedy));
        let result = run(&stage, &task()).await;
        assert_eq!(result.outcome, ReviewerOutcome::Failed);
        assert_eq!(stage.models(), models, "{remedy:?}");
        let moved: Vec<&str> = if models.len() == 1 {
            Vec::new()
        } else {
            vec!["a/one, then b/three: APIError"]
        };
        assert_eq!(moves(&result), moved, "{remedy:?}");
    }
    // The model that takes over finds the history, and is not told everything again.
    let stage = Stage::new(|prompt, number| {
        if number == 1 {
            return fails(1, "APIError", Remedy::OtherModel);
        }
        assert!(prompt.parts[0].contains("Go on"), "{:?}", prompt.parts);
        says(1, "done")
    });
    assert_eq!(run(&stage, &task()).await.outcome, ReviewerOutcome::Ok);
    assert_eq!(stage.sessions(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_shortly_before_the_end_of_all_time() {
    let try_again = |left: u64| async move {
        let stage = Stage::new(|_, _| fails(10, "APIError", Remedy::OtherModel));
        let mut task = task();
        task.deadline = Some(Instant::now() + Duration::from_secs(10 + left));
        run(&stage, &task).await;
        stage.models().len()
    };
    assert_eq!(try_again(119).await, 1);
    assert_eq!(try_again(121).await, 2);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_and_the_whole_panel_have_their_time() {
    let stage = Stage::new(|_, _| lives(100, 30));
    let result = run(&stage, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::TimedOut);
    assert_eq!(
        (result.reason.as_deref(), result.duration.as_secs()),
        (Some("its time is over"), 300)
    );
    let mut task = task();
    task.deadline = Some(Instant::now() + Duration::from_secs(100));
    let result = run(&stage, &task).await;
    assert_eq!(
        (result.reason.as_deref(), result.duration.as_secs()),
        (Some("the time of the whole panel is over"), 100)
    );
    assert_eq!(stage.busy(), Vec::<String>::new(), "nothing goes on");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_does_not_fit_is_tried_once_more_with_less_in_a_new_session() {
    let overflow = || fails(5, "ContextOverflowError", Remedy::LessToRead);
    let mut task = task();
    task.smaller = Some(vec!["less".to_owned()]);
    let stage = Stage::new(move |prompt, number| {
        if number == 1 {
            return overflow();
        }
        assert_eq!(prompt.parts, ["less"]);
        says(5, "fits")
    });
    let result = run(&stage, &task).await;
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert!(result.smaller);
    assert_eq!(stage.sessions(), 2, "the history of the first would not fit either");
    assert_eq!(result.models.len(), 2);

    let stage = Stage::new(move |_, _| overflow());
    let result = run(&stage, &task).await;
    assert_eq!(result.outcome, ReviewerOutcome::Failed);
    assert_eq!(result.reason.as_deref(), Some("ContextOverflowError"));
    assert_eq!(
        stage.models().len(),
        2,
        "once more, not for ever, and with no other model"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_it_at_once_and_starts_nothing_more() {
    let stage = Stage::new(|_, _| lives(100, 1));
    let (context, _, stopper) = context(&stage);
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        stopper.send_replace(Some(StopCause::OutOfTime));
    };
    let task = task();
    let (result, ()) = tokio::join!(run_session(&context, &task), stopping);
    assert_eq!(result.outcome, ReviewerOutcome::Failed);
    assert_eq!(result.reason.as_deref(), Some("the run was out of time"));
    assert_eq!(result.duration.as_secs(), 10);
    assert_eq!(stage.busy(), Vec::<String>::new());

    let late = run_session(&context, &task).await;
    assert_eq!(late.outcome, ReviewerOutcome::Skipped);
    assert_eq!(stage.sessions(), 1, "no session is made after the stop");
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_does_not_answer_cannot_hold_anything_up() {
    let stage = Stage::new(|_, _| lives(1000, 1));
    let (context, _, stopper) = context(&stage);
    let mut task = task();
    task.attempt = Duration::from_secs(20);
    let hanging = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        *stage.hangs.lock().expect("free") = true;
    };
    let (result, ()) = tokio::join!(run_session(&context, &task), hanging);
    assert_eq!(result.outcome, ReviewerOutcome::TimedOut);
    assert!(result.duration.as_secs() <= 30, "{:?}", result.duration);

    let asked = Instant::now();
    stopper.send_replace(Some(StopCause::Asked));
    run_session(&context, &task).await;
    assert!(asked.elapsed() <= ABORT, "{:?}", asked.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_too_busy_to_answer_is_asked_again() {
    let stage = Stage::new(|_, _| says(10, "<findings></findings>"));
    let hanging = async {
        tokio::time::sleep(Duration::from_secs(9)).await;
        *stage.hangs.lock().expect("free") = true;
        tokio::time::sleep(Duration::from_secs(20)).await;
        *stage.hangs.lock().expect("free") = false;
    };
    let task = task();
    let (result, ()) = tokio::join!(run(&stage, &task), hanging);
    assert_eq!(result.outcome, ReviewerOutcome::Ok, "{:?}", result.reason);
    assert_eq!(stage.models(), ["a/one"]);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_gone_fails_it_and_no_other_model_is_asked() {
    let stage = Stage::new(|_, _| vec![(5, Act::Event(SessionEvent::Gone("OpenCode ended".into())))]);
    let result = run(&stage, &task()).await;
    assert_eq!(result.reason.as_deref(), Some("OpenCode ended"));
    assert_eq!(stage.models(), ["a/one"]);
}

/// A document in which this provider is switched off.
fn without(provider: &str) -> Arc<ConfigDocument> {
    let mut document = ConfigDocument::default();
    let switch = ProviderSwitch {
        enabled: false,
        reason: Some("incident".to_owned()),
    };
    document.providers.insert(provider.to_owned(), switch);
    Arc::new(document)
}

/// The changes of the session's model, each with its reason.
fn moves(result: &SessionResult) -> Vec<String> {
    let line = |moved: &ModelMove| format!("{}, then {}: {}", moved.from, moved.to, moved.reason);
    result.moves.iter().map(line).collect()
}

/// Routes that follow the channel.
fn following(sender: &watch::Sender<Option<Arc<ConfigDocument>>>) -> LiveRoutes {
    LiveRoutes::new(
        sender.subscribe(),
        RouteFacts {
            preset: Preset::default(),
            credentials: ["a".to_owned(), "b".to_owned()].into(),
            trivial: false,
            classes: std::collections::BTreeMap::new(),
        },
    )
}

#[tokio::test(start_paused = true)]
async fn a_running_session_leaves_a_provider_that_is_switched_off_at_once() {
    let stage = Stage::new(|_, number| if number == 1 { lives(5, 60) } else { says(7, "here") });
    let (mut context, around, _stop) = context(&stage);
    let sender = watch::Sender::new(None);
    context.routes = following(&sender);
    let flip = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        sender.send_replace(Some(without("a")));
    };
    let task = task();
    let (result, ()) = tokio::join!(run_session(&context, &task), flip);
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert_eq!(stage.models(), ["a/one", "b/three"]);
    assert_eq!(moves(&result), ["a/one, then b/three: a was switched off: incident"]);
    assert_eq!(result.duration.as_secs(), 27, "it did not go on for a second");
    assert_eq!(stage.aborted.lock().expect("free").len(), 1);
    let assigned = around.assigned.lock().expect("free");
    let last: Vec<&str> = assigned.last().expect("one").iter().map(ModelId::as_str).collect();
    assert_eq!(last, ["b/three"], "the gateway hears of it");
    assert_eq!(
        *around.efforts.lock().expect("free"),
        [Effort::Medium],
        "the same as before"
    );
}

#[tokio::test(start_paused = true)]
async fn the_model_that_takes_over_thinks_as_the_changed_document_says() {
    let stage = Stage::new(|_, number| if number == 1 { lives(5, 60) } else { says(7, "here") });
    let (mut context, around, _stop) = context(&stage);
    let sender = watch::Sender::new(None);
    context.routes = following(&sender);
    let swap = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        let mut changed = ConfigDocument::clone(&without("a"));
        let settings = changed.reviewers.entry("security".to_owned()).or_default();
        settings.models = vec!["b/four".parse().expect("a model")];
        settings.effort = Some(Effort::Max);
        sender.send_replace(Some(Arc::new(changed)));
    };
    let task = task();
    let (result, ()) = tokio::join!(run_session(&context, &task), swap);
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert_eq!(stage.models(), ["a/one", "b/four"]);
    assert_eq!(*around.efforts.lock().expect("free"), [Effort::Medium, Effort::Max]);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_late_of_the_turn_before_does_not_end_the_next_one() {
    let stage = Stage::new(|_, number| {
        let failure = fails(5, "APIError", Remedy::OtherProvider);
        if number == 1 {
            return failure;
        }
        // The runtime tells it once more when the next turn has begun.
        let told_again = failure.into_iter().skip(1).take(1);
        told_again.map(|(_, act)| (0, act)).chain(says(20, "here")).collect()
    });
    let result = run(&stage, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Ok, "{:?}", result.reason);
    assert_eq!(stage.models(), ["a/one", "b/three"]);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_is_refused_without_a_message_fails_at_the_next_look() {
    // So does OpenCode with an agent that it does not know.
    let stage = Stage::new(|_, _| fails(0, "UnknownError", Remedy::None).split_off(1));
    let result = run(&stage, &task()).await;
    assert_eq!(
        (result.outcome, result.reason.as_deref()),
        (ReviewerOutcome::Failed, Some("UnknownError"))
    );
    assert!(result.duration.as_secs() <= 6, "{:?}", result.duration);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_begins_after_the_flip_never_asks_the_provider() {
    let stage = Stage::new(|_, _| says(1, "here"));
    let (mut context, _around, _stop) = context(&stage);
    let sender = watch::Sender::new(Some(without("a")));
    context.routes = following(&sender);
    let result = run_session(&context, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Ok);
    assert_eq!(stage.models(), ["b/three"]);
    // The plan names another one.
    assert_eq!(moves(&result), ["a/one, then b/three: a was switched off: incident"]);

    sender.send_modify(|document| {
        let mut changed = ConfigDocument::clone(document.as_ref().expect("one"));
        let off = changed.providers["a"].clone();
        changed.providers.insert("b".to_owned(), off);
        *document = Some(Arc::new(changed));
    });
    let result = run_session(&context, &task()).await;
    assert_eq!(result.outcome, ReviewerOutcome::Skipped);
    assert!(
        result
            .reason
            .expect("a reason")
            .contains("no model is left for `security`")
    );
}
