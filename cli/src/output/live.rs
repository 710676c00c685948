//! The table of running sessions in a terminal.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use conclave_engine::ports::ProgressEvent;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;

use super::progress::plural;

/// How often the times and the spinners move.
const TICK: Duration = Duration::from_millis(120);

/// One row a session, redrawn in place; everything else is printed above it.
#[derive(Debug)]
pub(super) struct Live {
    screen: MultiProgress,
    rows: Mutex<BTreeMap<String, Row>>,
}

#[derive(Debug)]
struct Row {
    bar: ProgressBar,
    model: String,
    state: String,
    tokens: u64,
    cost_usd: f64,
    findings: Option<usize>,
}

impl Live {
    pub(super) fn new(screen: MultiProgress) -> Self {
        Self {
            screen,
            rows: Mutex::new(BTreeMap::new()),
        }
    }

    /// Moves the table.
    pub(super) fn update(&self, event: ProgressEvent<'_>) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            ProgressEvent::SessionStarted {
                reviewer,
                model,
                attempt,
                ..
            } => {
                let row = rows.entry(reviewer.to_owned()).or_insert_with(|| self.row(reviewer));
                row.model = model.to_string();
                row.state = if attempt == 1 {
                    "at work".to_owned()
                } else {
                    format!("attempt {attempt}")
                };
                row.draw();
            }
            ProgressEvent::Thinking { reviewer, seconds } => {
                if let Some(row) = rows.get_mut(reviewer) {
                    row.state = format!("thinking, silent for {seconds} s");
                    row.draw();
                }
            }
            ProgressEvent::Usage {
                reviewer,
                tokens,
                cost_usd,
            } => {
                if let Some(row) = rows.get_mut(reviewer) {
                    row.tokens = tokens;
                    row.cost_usd = cost_usd;
                    "at work".clone_into(&mut row.state);
                    row.draw();
                }
            }
            ProgressEvent::SessionDone {
                reviewer,
                outcome,
                findings,
                ..
            } => {
                if let Some(row) = rows.get_mut(reviewer) {
                    // A session that failed did not find nothing: it was not heard.
                    row.findings = findings.map(<[_]>::len).filter(|_| outcome == "ok");
                    row.end(outcome);
                }
            }
            ProgressEvent::Stage(_) | ProgressEvent::Warning(_) => {}
        }
    }

    /// Leaves the table as it is, in the scroll-back.
    pub(super) fn close(&self) {
        for row in self.rows.lock().unwrap_or_else(PoisonError::into_inner).values() {
            if !row.bar.is_finished() {
                row.bar.abandon();
            }
        }
    }

    fn row(&self, reviewer: &str) -> Row {
        let bar = self.screen.add(ProgressBar::new_spinner());
        bar.set_style(style("{spinner:.cyan}"));
        bar.set_prefix(reviewer.to_owned());
        bar.enable_steady_tick(TICK);
        Row {
            bar,
            model: String::new(),
            state: String::new(),
            tokens: 0,
            cost_usd: 0.0,
            findings: None,
        }
    }
}

/// What a session has cost until now. Tokens that cost nothing are those of a model without a known price.
pub(super) fn so_far(tokens: u64, cost_usd: f64) -> String {
    if tokens > 0 && cost_usd <= 0.0 {
        "cost unknown".to_owned()
    } else {
        format!("${cost_usd:.4}")
    }
}

impl Row {
    fn draw(&self) {
        let mut state = self.state.clone();
        if let Some(findings) = self.findings {
            state = format!("{state}, {}", plural(findings, "finding"));
        }
        let used = if self.tokens > 0 {
            format!(
                "{:>9} tokens  {}",
                thousands(self.tokens),
                so_far(self.tokens, self.cost_usd)
            )
        } else {
            String::new()
        };
        self.bar
            .set_message(format!("{state:<20}  {used:<25}  {}", self.model.dimmed()));
    }

    fn end(&mut self, outcome: &str) {
        let (mark, state) = if outcome == "ok" {
            ("✓".green().to_string(), "done".to_owned())
        } else {
            ("✗".red().to_string(), outcome.replace('_', " "))
        };
        self.state = state;
        self.bar.set_style(style(&mark));
        self.draw();
        self.bar.abandon();
    }
}

/// A row: mark, name, time, and as much of the rest as fits the terminal.
fn style(mark: &str) -> ProgressStyle {
    ProgressStyle::with_template(&format!("        {mark} {{prefix:<14}} {{elapsed:>4}}  {{wide_msg}}"))
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// `1,234,567`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use conclave_engine::ports::SessionId;
    use indicatif::{InMemoryTerm, ProgressDrawTarget, TermLike};

    use super::*;

    #[test]
    fn the_table_has_one_row_a_session_and_fits_the_terminal() {
        let terminal = InMemoryTerm::new(10, 80);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let live = Live::new(MultiProgress::with_draw_target(target));
        let model = "anthropic/claude-sonnet-5".parse().expect("a model");
        for reviewer in ["security", "documentation"] {
            live.update(ProgressEvent::SessionStarted {
                reviewer,
                session: &SessionId("ses_1".into()),
                model: &model,
                attempt: 1,
            });
        }
        live.update(ProgressEvent::Usage {
            reviewer: "security",
            tokens: 1_234_567,
            cost_usd: 0.25,
        });
        live.update(ProgressEvent::SessionDone {
            reviewer: "documentation",
            outcome: "timed_out",
            findings: Some(&[]),
            seconds: 3.0,
            reason: Some("its time is over"),
        });
        live.close();
        let shown = terminal.contents();
        let rows: Vec<&str> = shown.lines().collect();
        assert_eq!(rows.len(), 2, "{shown}");
        assert!(
            rows[0].contains("security") && rows[0].contains("at work               1,234,567 tokens  $0.2500"),
            "{shown}"
        );
        assert!(
            rows[1].contains("✗ documentation") && rows[1].contains("timed out") && !rows[1].contains("findings"),
            "{shown}"
        );
        assert!(
            rows.iter()
                .all(|row| row.chars().count() <= usize::from(terminal.width())),
            "{shown}"
        );
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(thousands),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
