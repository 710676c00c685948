//! Signs of life on standard error, a line each.

use std::{fmt::Write as _, io::Write as _, time::Instant};

use conclave_engine::{
    diff::FilteredDiff,
    pipeline::Plan,
    ports::{Progress, ProgressEvent},
};
use conclave_gateway::GatewayEvent;
use conclave_shared::redact::Redactor;
use owo_colors::OwoColorize;

/// Prints progress line by line, with the seconds since the start.
pub(crate) struct Lines {
    start: Instant,
    redactor: Redactor,
}

impl Lines {
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self {
            start: Instant::now(),
            redactor,
        }
    }
}

impl Progress for Lines {
    fn report(&self, event: ProgressEvent<'_>) {
        let seconds = self.start.elapsed().as_secs_f64();
        let line = match event {
            ProgressEvent::Stage(text) => text.to_owned(),
            ProgressEvent::SessionStarted {
                reviewer,
                model,
                attempt: 1,
            } => {
                format!("  {} {reviewer:<14} {}", "▸".dimmed(), model.dimmed())
            }
            ProgressEvent::SessionStarted {
                reviewer,
                model,
                attempt,
            } => {
                format!(
                    "  {} {reviewer:<14} {} (attempt {attempt})",
                    "▸".yellow(),
                    model.dimmed()
                )
            }
            ProgressEvent::Thinking { reviewer, seconds } => {
                format!(
                    "  {} {reviewer:<14} Model is thinking... ({seconds}s since last output)",
                    "…".dimmed()
                )
            }
            ProgressEvent::ReviewerDone {
                reviewer,
                outcome,
                findings,
                seconds,
                reason,
            } => done(reviewer, outcome, findings, seconds, reason),
            ProgressEvent::Warning(text) => format!("  {} {text}", "!".yellow().bold()),
        };
        let line = self.redactor.redact(&line);
        let _ = writeln!(anstream::stderr(), "{} {line}", format!("{seconds:>6.1}s").dimmed());
    }
}

fn done(reviewer: &str, outcome: &str, findings: usize, seconds: f64, reason: Option<&str>) -> String {
    let noun = if findings == 1 { "finding" } else { "findings" };
    if outcome == "ok" {
        return format!("  {} {reviewer:<14} {findings} {noun} in {seconds:.1} s", "✓".green());
    }
    let outcome = outcome.replace('_', " ");
    format!(
        "  {} {reviewer:<14} {outcome}: {}",
        "✗".red(),
        reason.unwrap_or("no reason given")
    )
}

/// The plan in one line.
pub(crate) fn plan_line(plan: &Plan, diff: &FilteredDiff) -> String {
    let lines: u64 = diff
        .files
        .iter()
        .map(conclave_engine::diff::FileDiff::changed_lines)
        .sum();
    let count = |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "{}, {}: tier {} ({})",
        count(u64::try_from(diff.files.len()).unwrap_or(u64::MAX), "file"),
        count(lines, "changed line"),
        plan.assessment.tier.bold(),
        plan.assessment.reasons.first().map_or("", String::as_str)
    );
    if !diff.filtered.is_empty() {
        let _ = write!(text, "; {} filtered as noise", diff.filtered.len());
    }
    text
}

/// What the gateway did on its own, in words, for the review's notes.
pub(crate) fn gateway_lines(events: &[GatewayEvent]) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for event in events {
        let line = match event {
            GatewayEvent::Retried { model, fault, .. } => format!("{model} was asked again ({fault})"),
            GatewayEvent::FailedBack { from, to, reason, .. } => format!("{to} stood in for {from} ({reason})"),
            GatewayEvent::StreamCut { model, reason, .. } => format!("an answer of {model} broke off ({reason})"),
            GatewayEvent::Shortened { model, .. } => {
                format!("an answer of {model} kept breaking off and was taken as far as it came")
            }
            GatewayEvent::Unpriced { model, .. } => format!(
                "no price is known for {model}: its calls count as free, and a budget in dollars does not stop them"
            ),
            GatewayEvent::Uncounted { model, answers } => format!(
                "{model} never said what {answers} {} used that broke off; those tokens are not in the account",
                if *answers == 1 { "answer" } else { "answers" }
            ),
            GatewayEvent::UnknownEvents { model, events } => {
                format!("{model} sent {events} events of a kind that is not known; they were passed on")
            }
            GatewayEvent::NotRecorded { difference, .. } => format!("not in the recording: {difference}"),
            GatewayEvent::RecordingFailed { problem } => format!("the recording is not complete: {problem}"),
            GatewayEvent::Rejected { .. } => continue,
        };
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => lines.push((line, 1)),
        }
    }
    let times = |(line, count)| {
        if count == 1 {
            line
        } else {
            format!("{line}, {count} times")
        }
    };
    lines.into_iter().map(times).collect()
}
