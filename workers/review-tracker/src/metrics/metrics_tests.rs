use super::*;
use crate::{
    events::{Count, ModelUse, RunCount},
    exposition::Format,
    sketch,
};

const NOW: i64 = 1_800_000_000_000;

fn text(all: &Totals) -> String {
    exposition(all, Some(&OutboxStatus::default()), NOW).text(Format::OpenMetrics)
}

fn count(kind: &str, [a, b, c]: [&str; 3], n: u64) -> Count {
    let [kind, a, b, c] = [kind, a, b, c].map(str::to_owned);
    Count { kind, a, b, c, n }
}

fn assert_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line} is missing in\n{text}");
    }
}

#[test]
fn an_empty_tracker_still_says_what_it_measures() {
    let text = text(&Totals::default());
    assert_eq!(text.matches("# TYPE ").count(), 28);
    assert_lines(
        &text,
        &[
            "conclave_telemetry_dropped_total 0",
            "conclave_break_glass_total 0",
            "conclave_ingest_lag_seconds 0.0",
            "conclave_dead_letters 0",
        ],
    );
    assert!(text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn histograms_are_cumulative_and_end_in_everything() {
    let all = Totals {
        runs: vec![RunCount {
            tier: "full".to_owned(),
            verdict: "approved".to_owned(),
            runs: 3,
            duration_ms: 4_000_000.0,
            cost_usd: 3.5,
        }],
        distributions: [
            (
                ("duration_ms".to_owned(), "full".to_owned()),
                vec![(sketch::bin(60_000.0), 2), (sketch::bin(9_000_000.0), 1)],
            ),
            (("lag_ms".to_owned(), String::new()), vec![(sketch::bin(900.0), 4)]),
        ]
        .into(),
        ..Totals::default()
    };
    assert_lines(
        &text(&all),
        &[
            "conclave_runs_total{tier=\"full\",verdict=\"approved\"} 3",
            "conclave_run_duration_seconds_bucket{tier=\"full\",le=\"30.0\"} 0",
            "conclave_run_duration_seconds_bucket{tier=\"full\",le=\"60.0\"} 2",
            "conclave_run_duration_seconds_bucket{tier=\"full\",le=\"3600.0\"} 2",
            "conclave_run_duration_seconds_bucket{tier=\"full\",le=\"+Inf\"} 3",
            "conclave_run_duration_seconds_count{tier=\"full\"} 3",
            "conclave_run_duration_seconds_sum{tier=\"full\"} 4000.0",
            "conclave_ingest_delay_seconds_bucket{le=\"0.5\"} 0",
            "conclave_ingest_delay_seconds_bucket{le=\"1.0\"} 4",
            "conclave_ingest_delay_seconds_count 4",
        ],
    );
}

#[test]
fn counts_become_series_by_their_labels() {
    let all = Totals {
        counts: vec![
            count("failback", ["anthropic/a", "openai/b", "reprompted"], 2),
            count("failback", ["anthropic/a", "anthropic/c", "reprompted"], 3),
            count("circuit", ["anthropic/a", "open", ""], 4),
            count("verdict", ["approved", "approved", "no"], 5),
            count("verdict", ["approved", "none", "yes"], 6),
            count("verdict", ["requested_changes", "", "no"], 7),
            count("outcome", ["security", "warning", "fixed"], 8),
            count("event", ["finding", "", ""], 9),
            count("break_glass", ["", "", ""], 10),
        ],
        names: [("model".to_owned(), vec!["anthropic/a".to_owned()])].into(),
        ..Totals::default()
    };
    assert_lines(
        &text(&all),
        &[
            "conclave_failbacks_total{model=\"anthropic/a\",reason=\"reprompted\"} 5",
            "conclave_circuit_changes_total{provider=\"anthropic\",model=\"anthropic/a\",state=\"open\"} 4",
            "conclave_verdicts_applied_total{wanted=\"approved\",result=\"match\"} 5",
            "conclave_verdicts_applied_total{wanted=\"approved\",result=\"mismatch\"} 6",
            "conclave_verdicts_applied_total{wanted=\"requested_changes\",result=\"unknown\"} 7",
            "conclave_finding_outcomes_total{reviewer=\"security\",severity=\"warning\",outcome=\"fixed\"} 8",
            "conclave_events_total{kind=\"finding\"} 9",
            "conclave_break_glass_total 10",
        ],
    );
}

#[test]
fn waiting_events_are_shown_with_their_age() {
    let waiting = OutboxStatus {
        events: 40,
        oldest_ms: Some(NOW - 90_500),
        dead: 2,
        ..OutboxStatus::default()
    };
    let text = exposition(&Totals::default(), Some(&waiting), NOW).text(Format::OpenMetrics);
    assert_lines(
        &text,
        &[
            "conclave_ingest_outbox_up 1",
            "conclave_ingest_lag_seconds 90.5",
            "conclave_ingest_waiting_events 40",
            "conclave_dead_letters 2",
        ],
    );
}

#[test]
fn an_outbox_that_cannot_be_asked_is_said_to_be_down_and_not_to_be_empty() {
    let all = Totals {
        counts: vec![count("event", ["finding", "", ""], 9)],
        ..Totals::default()
    };
    let text = exposition(&all, None, NOW).text(Format::OpenMetrics);
    assert_lines(
        &text,
        &[
            "conclave_ingest_outbox_up 0",
            "conclave_events_total{kind=\"finding\"} 9",
        ],
    );
    for unknown in [
        "conclave_ingest_lag_seconds",
        "conclave_ingest_waiting_events",
        "conclave_dead_letters",
    ] {
        let sample = format!("{unknown} ");
        assert!(!text.lines().any(|line| line.starts_with(&sample)), "{text}");
    }
}

#[test]
fn made_up_names_share_one_series() {
    let names: Vec<String> = (0..200).map(|index| format!("r{index:03}")).collect();
    let models: Vec<String> = names.iter().map(|name| format!("p/{name}")).collect();
    let all = Totals {
        counts: names
            .iter()
            .map(|name| count("finding", [name, "warning", "kept"], 1))
            .collect(),
        usage: names
            .iter()
            .flat_map(|reviewer| models.iter().map(move |model| (reviewer, model)))
            .map(|(reviewer, model)| ModelUse {
                model: model.clone(),
                reviewer: reviewer.clone(),
                input: 1,
                cost_usd: 0.5,
                ..ModelUse::default()
            })
            .collect(),
        names: [("reviewer".to_owned(), names), ("model".to_owned(), models)].into(),
        ..Totals::default()
    };
    let text = text(&all);
    assert_lines(
        &text,
        &[
            "conclave_findings_total{reviewer=\"other\",severity=\"warning\",fate=\"kept\"} 185",
            "conclave_tokens_total{model=\"other\",agent=\"other\",kind=\"input\"} 31450",
            "conclave_cost_usd_total{model=\"other\",agent=\"r000\"} 85.0",
        ],
    );
    assert!(text.lines().count() < 4_000, "{} lines", text.lines().count());
}
