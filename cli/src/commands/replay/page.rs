//! A run without a review, in the terminal.

use std::fmt::Write;

use camino::Utf8Path;
use conclave_engine::review::JudgedFinding;

use crate::{
    commands::replay::records::{SessionRecord, Unfinished},
    output::{
        Excerpts, Links,
        finding::finding,
        layout::{Page, clean, unbroken, wrap},
        live::{shown_name, so_far},
        numbers::{grouped, plural},
        paint::Paint,
    },
};

/// What is known of a run that ended without a review.
pub(crate) fn unfinished(run: &Unfinished, directory: &Utf8Path) -> String {
    let page = Page::terminal(Links::none());
    let width = page.width;
    let mut text = String::new();
    let rule = "─".repeat(width);
    let _ = writeln!(text, "{}", rule.dimmed());
    let _ = writeln!(text, "{}", "This run ended without a review".yellow().bold());
    let stage = run.stage.as_deref().unwrap_or("before its first stage");
    let known = format!(
        "The last that is on record is after {:.1} s, in the stage \"{}\". {} that sessions had reported by then {} below, \
         checked against the code but not judged.",
        run.seconds,
        clean(stage),
        plural(run.findings.len(), "finding"),
        if run.findings.len() == 1 { "stands" } else { "stand" }
    );
    let _ = writeln!(text, "\n{}", wrap(&known, width, ""));
    for entry in &run.findings {
        let entry = JudgedFinding::kept(entry.clone());
        let _ = writeln!(text, "\n{}", finding(&entry, &Excerpts::default(), &page));
    }
    let _ = writeln!(text, "\n{}", rule.dimmed());
    for record in &run.sessions {
        let _ = writeln!(text, "{}", session(record, width));
    }
    if run.unreadable > 0 {
        let lines = plural(run.unreadable, "line");
        let _ = writeln!(text, "  {} {lines} of the record cannot be read", "!".yellow());
    }
    let _ = write!(text, "{}", format!("  records: {directory}").dimmed());
    text
}

/// The tokens and the cost of a session, as far as they are known.
fn used(record: &SessionRecord) -> String {
    let cost = so_far(record.tokens, record.cost_usd);
    match (record.cost_incomplete, record.tokens) {
        (true, 0) => "tokens and cost unknown".to_owned(),
        (true, tokens) => format!("at least {} tokens  {cost}", grouped(tokens)),
        (false, tokens) => format!("{:>9} tokens  {cost}", grouped(tokens)),
    }
}

fn session(record: &SessionRecord, width: usize) -> String {
    let models: Vec<&str> = record
        .models
        .iter()
        .map(conclave_shared::model::ModelId::as_str)
        .collect();
    let used = format!("{}  {}", used(record), models.join(", "));
    let (mark, state) = match (record.outcome.as_deref(), record.findings) {
        (Some("ok"), Some(findings)) => ("✓".green(), plural(findings, "finding")),
        (Some("ok"), None) => ("✓".green(), "done".to_owned()),
        (Some(outcome), _) => {
            let reason = record.reason.as_deref().map(clean).unwrap_or_default();
            let mark = if outcome == "skipped" {
                "–".dimmed()
            } else {
                "✗".red()
            };
            (mark, format!("{}: {reason}", outcome.replace('_', " ")))
        }
        (None, _) => {
            let seen = record.last_seen.as_deref().map(clean);
            let seen = seen.map_or_else(|| "nothing seen of it".to_owned(), |seen| format!("last seen: {seen}"));
            ("…".yellow(), format!("{}; {seen}", unbroken("still at work")))
        }
    };
    let line = format!("{:<14} {used}  {state}", shown_name(&record.reviewer));
    format!("  {mark} {}", wrap(&line, width, "    ").trim_start())
}

#[cfg(test)]
mod tests {
    use textwrap::core::display_width;

    use super::*;

    #[test]
    fn what_a_session_used_that_had_not_ended_is_unknown_and_not_nothing() {
        let record = |tokens, cost_usd, cost_incomplete| SessionRecord {
            tokens,
            cost_usd,
            cost_incomplete,
            ..SessionRecord::default()
        };
        for (record, shown) in [
            (record(0, 0.0, true), "tokens and cost unknown"),
            (record(1200, 0.01, true), "at least 1,200 tokens  $0.0100"),
            (record(1200, 0.0, true), "at least 1,200 tokens  cost unknown"),
            (record(1200, 0.01, false), "    1,200 tokens  $0.0100"),
        ] {
            assert_eq!(used(&record), shown);
        }
    }

    #[test]
    fn the_row_of_a_session_fits_the_terminal() {
        let record = SessionRecord {
            reviewer: "coordinator".to_owned(),
            models: vec!["anthropic/claude-opus-5-5".parse().expect("a model")],
            cost_incomplete: true,
            last_seen: Some("reads the patch of src/orders.py, and what stands around it".to_owned()),
            ..SessionRecord::default()
        };
        for width in [40, 60, 80] {
            let row = session(&record, width);
            let row = anstream::adapter::strip_str(&crate::output::door::clean(&row, crate::output::door::Keep::Signs))
                .to_string();
            assert!(row.contains("still at work"), "{row}");
            assert!(row.lines().all(|line| display_width(line) <= width), "{width}: {row}");
        }
    }
}
