//! The table of the panel in a terminal: who has ended, who is at work, who is still to come.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use conclave_shared::{invisible::ends_line, model::ModelId, reviewer::ReviewerName};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use textwrap::core::display_width;

use crate::output::{
    door::{self, Keep},
    layout::clip,
    numbers::{plural, rounded},
    paint::Paint,
    record::RecordedEvent,
    screen::essential,
};

/// How often the times and the spinners move.
const TICK: Duration = Duration::from_millis(120);

/// From this width on the table stands below the text of the lines above it.
const WIDE: usize = 100;

/// The mark of who is at work.
const SPINNER: &str = "{spinner}";

/// The columns before a row's message other than the name: mark, time, and the gaps.
const AROUND_NAME: usize = 1 + 1 + 1 + 4 + 2;

/// A row a session in the panel's order, redrawn in place; everything else is printed above it.
#[derive(Debug)]
pub(crate) struct Live {
    screen: MultiProgress,
    /// The terminal's width, which changes while a run goes on.
    columns: fn() -> usize,
    /// True if colours are wanted; what draws the table does not ask.
    colored: bool,
    panel: Mutex<Panel>,
}

#[derive(Debug, Default)]
struct Panel {
    rows: Vec<Row>,
    /// As wide as the longest name.
    name_width: usize,
}

#[derive(Debug)]
struct Row {
    reviewer: String,
    bar: ProgressBar,
    begun: bool,
    model: Option<ModelId>,
    state: String,
    tokens: u64,
    cost_usd: f64,
}

impl Live {
    pub(crate) fn new(screen: MultiProgress, columns: fn() -> usize, colored: bool) -> Self {
        Self {
            screen,
            columns,
            colored,
            panel: Mutex::new(Panel::default()),
        }
    }

    /// Shows who will be at work, in this order.
    pub(crate) fn expect<'a>(&self, reviewers: impl Iterator<Item = &'a str> + Clone) {
        let mut panel = self.panel.lock().unwrap_or_else(PoisonError::into_inner);
        let widths = reviewers.clone().map(|reviewer| display_width(&shown_name(reviewer)));
        panel.name_width = widths.max().unwrap_or_default();
        for reviewer in reviewers {
            let place = panel.rows.len();
            self.add(&mut panel, place, reviewer);
        }
    }

    /// Moves the table.
    pub(crate) fn update(&self, event: &RecordedEvent) {
        let mut panel = self.panel.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RecordedEvent::SessionStarted {
                reviewer,
                model,
                attempt,
                ..
            } => {
                if !panel.rows.iter().any(|row| row.reviewer == *reviewer) {
                    let place = panel.rows.len();
                    panel.name_width = panel.name_width.max(display_width(&shown_name(reviewer)));
                    self.add(&mut panel, place, reviewer);
                }
                self.change(&mut panel, reviewer, |row| {
                    row.model = Some(model.clone());
                    row.state = if *attempt == 1 {
                        "at work".to_owned()
                    } else {
                        format!("attempt {attempt}")
                    };
                });
            }
            RecordedEvent::Thinking {
                reviewer,
                silent_seconds,
            } => {
                self.change(&mut panel, reviewer, |row| {
                    row.state = format!("silent for {silent_seconds} s");
                });
            }
            RecordedEvent::Waiting { reviewer, wait_seconds } => {
                self.change(&mut panel, reviewer, |row| {
                    row.state = format!("next try in {wait_seconds} s");
                });
            }
            RecordedEvent::Usage {
                reviewer,
                tokens,
                cost_usd,
            } => self.change(&mut panel, reviewer, |row| {
                row.tokens = *tokens;
                row.cost_usd = *cost_usd;
                "at work".clone_into(&mut row.state);
            }),
            RecordedEvent::SessionDone {
                reviewer,
                outcome,
                findings,
                ..
            } => self.end(&mut panel, reviewer, outcome, findings.as_ref().map(Vec::len)),
            RecordedEvent::Stage { .. } | RecordedEvent::Warning { .. } => {}
        }
    }

    /// Leaves the table as it is, in the scroll-back, without those who never began.
    pub(crate) fn close(&self) {
        let panel = self.panel.lock().unwrap_or_else(PoisonError::into_inner);
        essential(|| {
            for row in panel.rows.iter().filter(|row| !row.bar.is_finished()) {
                if row.begun {
                    row.bar.abandon();
                } else {
                    row.bar.finish_and_clear();
                }
            }
        });
    }

    fn add(&self, panel: &mut Panel, place: usize, reviewer: &str) {
        let bar = self.screen.insert(place, ProgressBar::new_spinner());
        bar.set_prefix(self.paint(&shown_name(reviewer).dimmed()));
        bar.set_style(self.style(panel.name_width, "·", ""));
        bar.set_message(self.paint(&"waits".dimmed()));
        bar.tick();
        let row = Row {
            reviewer: reviewer.to_owned(),
            bar,
            begun: false,
            model: None,
            state: String::new(),
            tokens: 0,
            cost_usd: 0.0,
        };
        panel.rows.insert(place, row);
    }

    /// Changes the row of a session that is at work, and draws it.
    fn change(&self, panel: &mut Panel, reviewer: &str, change: impl FnOnce(&mut Row)) {
        let name_width = panel.name_width;
        let Some(row) = panel.rows.iter_mut().find(|row| row.reviewer == reviewer) else {
            return;
        };
        change(row);
        if !row.begun {
            row.begun = true;
            row.bar.reset_elapsed();
            row.bar.set_prefix(self.paint(&shown_name(reviewer)));
            row.bar
                .set_style(self.style(name_width, &SPINNER.cyan(), "{elapsed:>4}"));
            row.bar.enable_steady_tick(TICK);
        }
        row.bar.set_message(self.paint(&row.text(self.room(name_width))));
    }

    fn end(&self, panel: &mut Panel, reviewer: &str, outcome: &str, findings: Option<usize>) {
        let (mark, state) = match (outcome, findings) {
            ("ok", Some(findings)) => ("✓".green(), plural(findings, "finding")),
            ("ok", None) => ("✓".green(), "done".to_owned()),
            // It has not run, and its reason says why.
            ("skipped", _) => ("–".dimmed(), "skipped".to_owned()),
            // A session that failed did not find nothing: it was not heard.
            (outcome, _) => ("✗".red(), outcome.replace('_', " ")),
        };
        let style = self.style(panel.name_width, &mark, "{elapsed:>4}");
        self.change(panel, reviewer, |row| row.state = state);
        if let Some(row) = panel.rows.iter().find(|row| row.reviewer == reviewer) {
            row.bar.set_style(style);
            row.bar.abandon();
        }
    }

    /// A text with its colours, where they are wanted.
    fn paint(&self, text: &str) -> String {
        let text = text.replace(ends_line, " ");
        door::clean(&text, if self.colored { Keep::Signs } else { Keep::Text })
    }

    /// The columns that are left for a row's message.
    fn room(&self, name_width: usize) -> usize {
        (self.columns)().saturating_sub(self.indent() + AROUND_NAME + name_width)
    }

    fn indent(&self) -> usize {
        if (self.columns)() < WIDE { 2 } else { 8 }
    }

    /// A row: mark, name, time, and as much of the rest as fits the terminal.
    fn style(&self, name_width: usize, mark: &str, time: &str) -> ProgressStyle {
        let indent = " ".repeat(self.indent());
        let mark = self.paint(mark);
        let time = if time.is_empty() { "    " } else { time };
        ProgressStyle::with_template(&format!("{indent}{mark} {{prefix:<{name_width}}} {time}  {{wide_msg}}"))
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
    }
}

/// What a session has cost until now. Tokens that cost nothing are those of a model without a known price.
pub(crate) fn so_far(tokens: u64, cost_usd: f64) -> String {
    if tokens > 0 && cost_usd <= 0.0 {
        "cost unknown".to_owned()
    } else {
        format!("${cost_usd:.4}")
    }
}

impl Row {
    /// What comes first says more: where the terminal is narrow, the model is what goes.
    fn text(&self, room: usize) -> String {
        let used = if self.tokens > 0 {
            let tokens = format!("{} tokens", rounded(self.tokens));
            format!("{tokens:>11}  {}", so_far(self.tokens, self.cost_usd))
        } else {
            String::new()
        };
        let mut text = format!("{:<16}  {used:<20}  ", self.state);
        let room = room.saturating_sub(display_width(&text));
        let model = self.model.as_ref().and_then(|model| fitting(model, room));
        match model {
            Some(model) => text.push_str(&model.dimmed()),
            None => text.truncate(text.trim_end().len()),
        }
        text
    }
}

/// As much of a model's name as says which one it is: all of it, or its own part, or the beginning of that.
pub(crate) fn fitting(model: &ModelId, room: usize) -> Option<String> {
    /// Less says nothing.
    const LEAST: usize = 10;
    let own = model.model().rsplit('/').next().unwrap_or_default();
    match room {
        room if display_width(model.as_str()) <= room => Some(model.to_string()),
        room if room >= display_width(own).min(LEAST) => Some(clip(own, room)),
        _ => None,
    }
}

/// A reviewer as a table names it: as everywhere else, without the remark that it is the project's own.
pub(crate) fn shown_name(reviewer: &str) -> String {
    let name = ReviewerName::new(reviewer).map_or_else(|_| reviewer.to_owned(), |name| name.display_name());
    name.split(" (").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use conclave_engine::ports::{ProgressEvent, SessionId};
    use indicatif::{InMemoryTerm, ProgressDrawTarget, TermLike};

    use super::*;

    /// A table of security, documentation and the coordinator in a terminal of so many columns.
    fn table(columns: fn() -> usize) -> (InMemoryTerm, Live) {
        let terminal = InMemoryTerm::new(10, u16::try_from(columns()).expect("a width"));
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let live = Live::new(MultiProgress::with_draw_target(target), columns, true);
        live.expect(["security", "documentation", "coordinator"].into_iter());
        (terminal, live)
    }

    fn start(live: &Live, reviewer: &str) {
        live.update(
            &ProgressEvent::SessionStarted {
                reviewer,
                session: &SessionId("ses_1".into()),
                model: &"anthropic/claude-sonnet-5".parse().expect("a model"),
                attempt: 1,
            }
            .into(),
        );
    }

    /// The rows after security is at work, and documentation has failed, which began first.
    fn rows(columns: fn() -> usize) -> Vec<String> {
        let (terminal, live) = table(columns);
        start(&live, "documentation");
        start(&live, "security");
        live.update(
            &ProgressEvent::Usage {
                reviewer: "security",
                tokens: 1_234_567,
                cost_usd: 0.25,
            }
            .into(),
        );
        live.update(
            &ProgressEvent::SessionDone {
                reviewer: "documentation",
                outcome: "timed_out",
                findings: Some(&[]),
                seconds: 3.0,
                reason: Some("its time is over"),
            }
            .into(),
        );
        let shown = terminal.contents();
        let fits = |row: &str| display_width(row) <= usize::from(terminal.width());
        assert!(shown.lines().all(fits), "{shown}");
        shown.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_table_has_the_panels_order_and_as_much_of_a_model_as_fits() {
        let wide = rows(|| 120);
        let [security, documentation, coordinator] = wide.as_slice() else {
            panic!("{wide:?}");
        };
        assert!(
            security.contains("security") && security.contains("at work           1.2M tokens  $0.2500"),
            "{security}"
        );
        assert!(security.ends_with("  anthropic/claude-sonnet-5"), "{security}");
        assert!(
            documentation.contains("✗ documentation")
                && documentation.contains("timed out")
                && !documentation.contains("finding"),
            "{documentation}"
        );
        assert!(
            coordinator.contains("coordinator") && coordinator.ends_with("waits"),
            "{coordinator}"
        );

        let usual = rows(|| 80);
        assert!(usual[0].ends_with("  claude-sonnet-5"), "{usual:?}");
        let narrow = rows(|| 64);
        assert!(narrow[0].ends_with("$0.2500"), "{narrow:?}");
        let phone = rows(|| 40);
        assert!(phone[0].contains("at work"), "{phone:?}");
    }

    #[test]
    fn who_never_began_is_not_left_behind_and_who_was_not_expected_is_shown() {
        let (terminal, live) = table(|| 80);
        start(&live, "security");
        start(&live, "tests");
        live.close();
        let shown = terminal.contents();
        let rows: Vec<&str> = shown.lines().map(str::trim).filter(|row| !row.is_empty()).collect();
        assert_eq!(rows.len(), 2, "{shown}");
        assert!(rows[0].contains("security") && rows[1].contains("tests"), "{shown}");
    }
}
