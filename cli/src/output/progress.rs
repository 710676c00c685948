//! Signs of life on standard error.

use std::{fmt::Write as _, time::Instant};

use camino::Utf8Path;
use conclave_engine::{
    diff::FilteredDiff,
    ports::{Progress, ProgressEvent},
    review::Plan,
};
use conclave_shared::{invisible::ends_line, redact::Redactor, reviewer::ReviewerName};

use super::sections::{LogMarks, Sections};
use crate::output::{
    door::{self, Keep},
    live::{Live, shown_name},
    numbers::plural,
    paint::Paint,
    record::{Record, RecordedEvent, RecordedLine},
};

/// Where the text of a line begins, behind the seconds.
const LINE_INDENT: usize = 8;

/// What becomes of the signs of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    /// A line each.
    Lines,
    /// A table that moves, for a person at a terminal.
    Table,
    /// Collapsible sections, for the log of a job.
    Sections(LogMarks),
    /// Nothing: only the record is kept.
    Nothing,
}

enum Shown {
    Lines,
    Table(Live),
    Sections(Sections),
    Nothing,
}

/// Shows how the run goes on, with the seconds since its start, and keeps a record of it.
pub(crate) struct Display {
    start: Instant,
    redactor: Redactor,
    shown: Shown,
    record: Record,
}

impl Display {
    pub(crate) fn new(screen: Screen, redactor: Redactor) -> Self {
        let shown = match screen {
            Screen::Lines => Shown::Lines,
            Screen::Table => Shown::Table(Live::new(super::take_screen(), textwrap::termwidth, colors_wanted())),
            Screen::Sections(marks) => Shown::Sections(Sections::new(marks)),
            Screen::Nothing => Shown::Nothing,
        };
        Self {
            start: Instant::now(),
            record: Record::new(redactor.clone()),
            redactor,
            shown,
        }
    }

    /// Keeps a record in the run's directory, from the run's beginning.
    pub(crate) fn record_in(&self, directory: &Utf8Path) -> std::io::Result<()> {
        self.record.open(directory)
    }

    /// Says which reviewers will be at work, in the panel's order; the coordinator comes after them.
    pub(crate) fn expect(&self, panel: &[ReviewerName]) {
        if let Shown::Table(live) = &self.shown {
            let panel = panel.iter().map(ReviewerName::as_str);
            live.expect(panel.chain([ReviewerName::COORDINATOR]));
        }
    }

    /// Ends what is open on the screen, before something else is printed.
    pub(crate) fn close(&self) {
        match &self.shown {
            Shown::Lines | Shown::Nothing => {}
            Shown::Table(live) => {
                live.close();
                super::leave_screen();
            }
            Shown::Sections(sections) => sections.print(sections.end(now()).trim_end_matches('\n')),
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.close();
    }
}

impl Progress for Display {
    fn report(&self, event: ProgressEvent<'_>) {
        let recorded = RecordedLine {
            seconds: self.start.elapsed().as_secs_f64(),
            event: event.into(),
        };
        self.record.append(&recorded);
        let mut text = timed_line(&recorded).map(|line| self.redactor.redact(&line));
        match (&self.shown, recorded.event) {
            (Shown::Sections(sections), RecordedEvent::Stage { .. }) => {
                let header = text.take().unwrap_or_default();
                // The only line with sequences for the job's log: its header is one line, and clean.
                let header = door::clean(&header.replace(ends_line, " "), Keep::Signs);
                sections.print(&sections.begin(&header, now()));
            }
            (Shown::Nothing, _) => text = None,
            (Shown::Lines | Shown::Sections(_), _) => {}
            (Shown::Table(_), RecordedEvent::Stage { text: stage }) => {
                let stage = super::layout::hang(&self.redactor.redact(&stage), LINE_INDENT);
                text = Some(timed(recorded.seconds, &stage));
            }
            (Shown::Table(live), event) => {
                live.update(&event);
                // The table says the rest.
                let is_shown = matches!(
                    event,
                    RecordedEvent::Warning { .. } | RecordedEvent::SessionDone { reason: Some(_), .. }
                );
                text = text.filter(|_| is_shown);
            }
        }
        if let Some(text) = text {
            super::line(&text);
        }
    }
}

/// Returns whether standard error takes colors, and no setting has switched them off.
fn colors_wanted() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Seconds since 1970.
fn now() -> i64 {
    chrono::Utc::now().timestamp()
}

/// The same as a message: only its first line begins where a line does.
pub(crate) fn timed_message(line: &RecordedLine) -> Option<String> {
    timed_line(line).map(|line| door::message(&line))
}

/// What a person is shown of an event, after the seconds since the start; `None` for what only moves a table.
fn timed_line(line: &RecordedLine) -> Option<String> {
    let text = match &line.event {
        RecordedEvent::Stage { text } => text.clone(),
        RecordedEvent::SessionStarted {
            reviewer,
            model,
            attempt,
            ..
        } => {
            let (reviewer, model) = (shown_name(reviewer), model.dimmed());
            match attempt {
                1 => format!("  {} {reviewer:<14} {model}", "▸".dimmed()),
                attempt => format!("  {} {reviewer:<14} {model} (attempt {attempt})", "▸".yellow()),
            }
        }
        RecordedEvent::Thinking {
            reviewer,
            silent_seconds,
        } => format!(
            "  {} {:<14} Model is thinking... ({silent_seconds}s since last output)",
            "…".dimmed(),
            shown_name(reviewer)
        ),
        RecordedEvent::Waiting { reviewer, wait_seconds } => format!(
            "  {} {:<14} waits for a model that may be asked: the next attempt is in {wait_seconds} s",
            "…".dimmed(),
            shown_name(reviewer)
        ),
        RecordedEvent::Usage { .. } => return None,
        RecordedEvent::SessionDone {
            reviewer,
            outcome,
            findings,
            session_seconds,
            reason,
        } => {
            let reviewer = shown_name(reviewer);
            if outcome == "ok" {
                let found = findings.as_ref().map(|findings| plural(findings.len(), "finding"));
                let result = found.unwrap_or_else(|| "judged".to_owned());
                format!("  {} {reviewer:<14} {result} in {session_seconds:.1} s", "✓".green())
            } else {
                let (outcome, reason) = (outcome.replace('_', " "), reason.as_deref());
                let reason = reason.unwrap_or("no reason given");
                let mark = if outcome == "skipped" {
                    "–".dimmed()
                } else {
                    "✗".red()
                };
                format!("  {mark} {reviewer:<14} {outcome}: {reason}")
            }
        }
        RecordedEvent::Warning { text } => format!("  {} {text}", "!".yellow().bold()),
    };
    Some(timed(line.seconds, &text))
}

fn timed(seconds: f64, text: &str) -> String {
    format!("{} {text}", format!("{seconds:>6.1}s").dimmed())
}

/// The plan in one line.
pub(crate) fn plan_line(plan: &Plan, diff: &FilteredDiff) -> String {
    let lines: u64 = diff
        .files
        .iter()
        .map(conclave_engine::diff::FileDiff::changed_lines)
        .sum();
    let mut text = format!(
        "{}, {}: tier {} ({})",
        plural(diff.files.len(), "file"),
        plural(usize::try_from(lines).unwrap_or(usize::MAX), "changed line"),
        plan.assessment.tier,
        plan.assessment.reasons.first().map_or("", String::as_str)
    );
    if !diff.filtered.is_empty() {
        let _ = write!(text, "; {} filtered as noise", diff.filtered.len());
    }
    text
}
