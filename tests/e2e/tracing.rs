//! A whole review as a trace, at a strict collector; and collectors that are dead.

use std::collections::BTreeSet;

use conclave_otlp_collector::{CollectedSpan, OtlpCollector};
use conclave_scripted_provider::Fault;
use serde_json::Value;

use crate::support::{AgentRuntime, Conclave, PROVIDER_KEY, Repository, crowd, provider};

on_both_runtimes! {
    a_review_is_one_trace_with_a_span_a_stage_session_and_model_call
    a_collector_that_hangs_or_is_gone_costs_two_seconds_and_a_count
}

const KEY: &str = "collector-key-that-nobody-may-see";

fn reports(review: &Value) -> Vec<&Value> {
    let reviewers = review["reviewers"].as_array().unwrap().iter();
    reviewers.chain([&review["coordinator"]]).collect()
}

fn sum(spans: &[&CollectedSpan], name: &str) -> u64 {
    spans.iter().map(|span| span.number(name)).sum()
}

/// A span a session, with what it used, as the review has it; and below each a span a model call, which add up to it.
fn check_sessions(spans: &[CollectedSpan], review: &Value) {
    let below = |parent: &CollectedSpan| {
        let children = spans.iter().filter(|span| span.parent_span_id == parent.span_id);
        children.collect::<Vec<_>>()
    };
    let sessions = spans.iter().find(|span| span.name == "sessions").expect("the stage");
    let sessions: Vec<_> = below(sessions);
    let agents: BTreeSet<_> = sessions
        .iter()
        .map(|span| span.attribute("gen_ai.agent.name"))
        .collect();
    let expected: BTreeSet<_> = reports(review)
        .iter()
        .map(|report| report["name"].as_str().unwrap())
        .collect();
    assert_eq!(agents, expected);
    for report in reports(review) {
        let name = report["name"].as_str().unwrap();
        let session = sessions
            .iter()
            .find(|span| span.attribute("gen_ai.agent.name") == name)
            .unwrap();
        assert_eq!(session.attribute("conclave.outcome"), report["outcome"]);
        let usage = report["usage"].as_array().unwrap();
        let total = |kind: &str| {
            usage
                .iter()
                .map(|usage| usage["tokens"][kind].as_u64().unwrap())
                .sum::<u64>()
        };
        assert_eq!(
            session.number("gen_ai.usage.input_tokens"),
            total("input") + total("cache_read") + total("cache_write")
        );
        let calls = below(session);
        assert_eq!(
            calls.len() as u64,
            usage.iter().map(|usage| usage["calls"].as_u64().unwrap()).sum::<u64>(),
            "{name}"
        );
        for kind in ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"] {
            assert_eq!(sum(&calls, kind), session.number(kind), "{name}: {kind}");
        }
        assert!(
            calls
                .iter()
                .all(|call| call.name.starts_with("chat claude-") && call.kind == 3)
        );
    }
}

async fn a_review_is_one_trace_with_a_span_a_stage_session_and_model_call() {
    let collector = OtlpCollector::start(Some(("x-team", KEY))).await.expect("a collector");
    let (provider, repository) = (provider().await, Repository::flawed());
    // One call fails, so that a failed one is in the trace too.
    provider.inject(Fault::status(529).times(1));
    let outcome = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", format!("x-team={KEY}"))
        .env("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        .run()
        .await
        .expect_code(0);
    assert_eq!(collector.violations(), [""; 0]);
    let (spans, review) = (collector.spans(), outcome.review());

    // One trace, the pipeline's, with the run at its top.
    let run: Vec<_> = spans.iter().filter(|span| span.name == "review").collect();
    assert_eq!(run.len(), 1);
    assert_eq!(run[0].parent_span_id, "b7ad6b7169203331");
    assert!(
        spans
            .iter()
            .all(|span| span.trace_id == "0af7651916cd43dd8448eb211c80319c")
    );
    assert!(spans.iter().all(|span| span.service == "conclave"));
    assert_eq!(run[0].attribute("conclave.run_id"), review["run_id"]);
    assert_eq!(run[0].attribute("conclave.verdict"), review["verdict"]);

    // A span a stage.
    let below = |parent: &CollectedSpan| {
        spans
            .iter()
            .filter(|span| span.parent_span_id == parent.span_id)
            .collect::<Vec<_>>()
    };
    let stages: Vec<&str> = below(run[0]).iter().map(|span| span.name.as_str()).collect();
    let start = match AgentRuntime::current() {
        AgentRuntime::OpenCode => "OpenCode start",
        AgentRuntime::Native => "native start",
    };
    for stage in ["diff, configuration, plan", "workspace", start, "sessions", "shutdown"] {
        assert!(stages.contains(&stage), "{stage} is missing in {stages:?}");
    }

    check_sessions(&spans, &review);
    let calls: Vec<_> = spans.iter().filter(|span| span.name.starts_with("chat ")).collect();
    assert_eq!(calls.len(), provider.requests().len(), "every request is in the trace");
    let failed: Vec<_> = calls.iter().filter(|span| span.status == 2).collect();
    assert_eq!(failed.len(), 1, "{failed:#?}");
    assert_eq!(failed[0].attribute("conclave.outcome"), "overloaded");

    // Nothing of the source, the prompts, the people, and no secret.
    let received = collector.received();
    let project = repository.path().file_name().unwrap().to_string_lossy().into_owned();
    for text in [
        PROVIDER_KEY,
        KEY,
        "SELECT",
        "users.py",
        "sql-injection",
        "Reviewer:",
        "feature",
        project.as_str(),
        "HOME",
    ] {
        assert!(!received.contains(text), "{text} is in the trace");
    }
}

async fn a_collector_that_hangs_or_is_gone_costs_two_seconds_and_a_count() {
    let hangs = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hanging = format!("http://{}", hangs.local_addr().unwrap());
    for endpoint in [hanging.as_str(), "http://127.0.0.1:9"] {
        let (provider, repository) = (provider().await, Repository::flawed());
        let began = std::time::Instant::now();
        let outcome = Conclave::new(repository.path(), &["local", "main..feature"])
            .anthropic(&provider)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
            .run()
            .await
            .expect_code(0);
        let review = outcome.review();
        assert_eq!(review["verdict"], "significant_concerns");
        assert!(
            outcome
                .stderr
                .contains("spans of the trace did not reach the collector"),
            "{}",
            outcome.stderr
        );
        // What the review took, the two seconds of the flush, and room for the end of a process on a busy machine.
        let rest = began.elapsed().as_secs_f64() - review["seconds"].as_f64().unwrap();
        assert!(rest < 6.0 * crowd(), "{endpoint}: {rest} s besides the review");
    }
}
