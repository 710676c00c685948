//! A whole run's trace at a strict collector, and collectors that are not there.

use conclave_engine::ports::{CallOutcome, SessionId};
use conclave_otlp_collector::{CollectedSpan, OtlpCollector};
use conclave_shared::{
    model::ModelId,
    pricing::TokenUsage,
    risk::RiskTier,
    telemetry::{ReviewerCompleted, ReviewerOutcome, RunCompleted, RunStarted, TokensByModel},
    verdict::Verdict,
};

use super::*;

fn settings(endpoint: &str) -> TracingSettings {
    TracingSettings {
        endpoint: endpoint.parse().expect("a URL"),
        headers: vec![("x-team".to_owned(), "the-team-key".to_owned().into())],
        parent: None,
        run_id: Uuid::now_v7(),
        version: "1.2.3",
        certificates: ExtraCertificates::default(),
    }
}

fn model() -> ModelId {
    "anthropic/claude-x".parse().expect("a model")
}

fn tokens() -> TokenUsage {
    TokenUsage {
        input: 10,
        output: 5,
        cache_read: 100,
        ..TokenUsage::default()
    }
}

fn call(reviewer: &str, outcome: CallOutcome) -> ModelCall {
    ModelCall {
        session: SessionId("ses_1".to_owned()),
        reviewer: reviewer.to_owned(),
        asked: model(),
        model: "anthropic/claude-older".parse().expect("a model"),
        tokens: tokens(),
        cost_usd: 0.25,
        duration: Duration::ZERO,
        outcome,
    }
}

fn ended(reviewer: &str, outcome: ReviewerOutcome) -> EventBody {
    EventBody::ReviewerCompleted(ReviewerCompleted {
        reviewer: reviewer.to_owned(),
        outcome,
        attempts: 1,
        usage: vec![TokensByModel {
            model: model(),
            tokens: tokens(),
            cost_usd: 0.25,
            calls: 2,
            unpriced: false,
            uncounted: 0,
            estimated_usd: 0.0,
        }],
        duration_ms: 5,
        findings: 1,
        models_tried: Vec::new(),
        repair_turns: 0,
    })
}

fn started() -> EventBody {
    EventBody::RunStarted(RunStarted {
        tier: Some(RiskTier::Full),
        forge: "gitlab".to_owned(),
        merge_request: Some(7),
        client_version: "1.2.3".to_owned(),
        reviewers: vec!["security".to_owned()],
        author: None,
        limit_seconds: None,
        planned: false,
    })
}

fn completed() -> EventBody {
    EventBody::RunCompleted(RunCompleted {
        tier: RiskTier::Full,
        verdict: Verdict::Approved,
        duration_ms: 5,
        cost_usd: 0.5,
        tokens: tokens(),
        files: 1,
        lines: 2,
        filtered_files: 0,
        critical: 0,
        warning: 0,
        suggestion: 0,
        degraded: false,
        merge_request: Some(7),
        coverage: None,
        inconclusive_cause: None,
        sandbox: None,
        unpublished: None,
    })
}

fn prompted(tracer: &RunTracer, reviewer: &str, attempt: u32) {
    tracer.report(ProgressEvent::SessionStarted {
        session: &conclave_engine::ports::SessionId("ses_1".to_owned()),
        reviewer,
        model: &model(),
        attempt,
    });
}

fn the<'a>(spans: &'a [CollectedSpan], name: &str) -> &'a CollectedSpan {
    let mut found = spans.iter().filter(|span| span.name == name);
    let span = found.next().unwrap_or_else(|| panic!("no span {name} in {spans:#?}"));
    assert!(found.next().is_none(), "{name} came twice");
    span
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_one_trace_of_stages_sessions_and_calls() {
    let collector = OtlpCollector::start(Some(("x-team", "the-team-key")))
        .await
        .expect("a port");
    let tracer = RunTracer::start(&settings(&collector.url())).expect("it starts");
    tracer.stage_ended("plan", Duration::ZERO);
    tracer.record(started());
    prompted(&tracer, "security", 1);
    prompted(&tracer, "coordinator", 1);
    tracer.call_ended(&call("security", CallOutcome::Failed("overloaded".to_owned())));
    prompted(&tracer, "security", 2);
    tracer.call_ended(&call("security", CallOutcome::Complete));
    tracer.record(ended("security", ReviewerOutcome::Ok));
    tracer.record(ended("coordinator", ReviewerOutcome::TimedOut));
    // The last bytes of an answer may come when its session has ended.
    tracer.call_ended(&call("coordinator", CallOutcome::Cancelled));
    tracer.stage_ended("sessions", Duration::from_millis(1));
    tracer.record(completed());
    assert_eq!(tracer.finish().await, 0, "nothing is lost");

    assert_eq!(collector.violations(), [""; 0]);
    let spans = collector.spans();
    assert!(
        spans
            .iter()
            .all(|span| span.service == "conclave" && span.trace_id == spans[0].trace_id)
    );
    let (run, stage) = (the(&spans, "review"), the(&spans, "sessions"));
    assert_eq!(
        (run.parent_span_id.as_str(), stage.parent_span_id.as_str()),
        ("", run.span_id.as_str())
    );
    assert_eq!(the(&spans, "plan").parent_span_id, run.span_id);
    assert_eq!(
        (
            run.attribute("conclave.tier"),
            run.attribute("conclave.verdict"),
            run.status
        ),
        ("full", "approved", 1)
    );
    let security = the(&spans, "invoke_agent security");
    assert_eq!(security.parent_span_id, stage.span_id);
    assert_eq!(
        (security.status, security.events.as_slice()),
        (1, ["prompted again".to_owned()].as_slice())
    );
    assert_eq!(security.attribute("conclave.outcome"), "ok");
    assert_eq!(security.number("gen_ai.usage.input_tokens"), 110);
    assert_eq!(the(&spans, "invoke_agent coordinator").status, 2);
    let calls: Vec<_> = spans.iter().filter(|span| span.name == "chat claude-older").collect();
    let seen: Vec<_> = calls
        .iter()
        .map(|span| {
            (
                span.attribute("gen_ai.agent.name"),
                span.attribute("conclave.outcome"),
                span.status,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("security", "overloaded", 2),
            ("security", "ok", 1),
            ("coordinator", "cancelled", 0)
        ]
    );
    assert_eq!(calls[1].parent_span_id, security.span_id);
    assert_eq!(calls[1].attribute("gen_ai.request.model"), "claude-x");
    assert_eq!(calls[1].attribute("gen_ai.response.model"), "claude-older");
    assert_eq!(calls[1].attribute("conclave.cost_usd"), "0.25");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pipelines_own_trace_goes_on() {
    let collector = OtlpCollector::start(None).await.expect("a port");
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let tracer = RunTracer::start(&TracingSettings {
        parent: Some(parent.to_owned()),
        ..settings(&collector.url())
    })
    .expect("it starts");
    prompted(&tracer, "security", 1);
    assert_eq!(tracer.finish().await, 0);
    assert_eq!(collector.violations(), [""; 0]);
    let spans = collector.spans();
    let run = the(&spans, "review");
    assert_eq!(run.trace_id, "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(
        (run.parent_span_id.as_str(), run.parent_is_remote),
        ("b7ad6b7169203331", true)
    );
    assert_eq!(
        the(&spans, "invoke_agent security").attribute("conclave.outcome"),
        "unfinished"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_collector_does_not_take_is_counted() {
    let strict = OtlpCollector::start(Some(("x-team", "another-key")))
        .await
        .expect("a port");
    for endpoint in [strict.url(), "http://127.0.0.1:9".to_owned()] {
        let tracer = RunTracer::start(&settings(&endpoint)).expect("it starts");
        tracer.stage_ended("plan", Duration::ZERO);
        assert_eq!(tracer.finish().await, 2, "{endpoint}: the run and its stage");
    }
    assert!(strict.spans().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_drops_and_counts_and_nobody_waits() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    let tracer = RunTracer::start(&settings(&endpoint)).expect("it starts");
    let began = std::time::Instant::now();
    for _ in 0..20_000 {
        tracer.call_ended(&call("security", CallOutcome::Complete));
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let began = std::time::Instant::now();
    let lost = tracer.finish().await;
    // On a busy machine later, and never as late as an exporter that waits for its collector, which is ten seconds.
    let most = FLUSH + Duration::from_secs(6);
    assert!(began.elapsed() < most, "{:?}", began.elapsed());
    // Nobody ever answered on that port: every call, the stage that they hang below, and the run.
    assert_eq!(lost, 20_002);
}
