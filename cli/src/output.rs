//! Everything that a person sees in the terminal: the only door to standard output and standard error.

mod annotations;
mod ask;
pub(crate) mod door;
mod excerpts;
pub(crate) mod finding;
mod gateway_lines;
pub(crate) mod layout;
mod links;
pub(crate) mod live;
pub(crate) mod logging;
pub(crate) mod numbers;
pub(crate) mod paint;
mod plain;
mod progress;
mod record;
mod screen;
mod sections;
pub(crate) mod table;
mod terminal;
mod writer;

pub(crate) use self::{
    annotations::{resume_commands, stop_commands, workflow_annotation},
    excerpts::Excerpts,
    gateway_lines::gateway_lines,
    links::Links,
    plain::set_locale,
    progress::{Display, Screen, plan_line, timed_message},
    record::{PROGRESS_FILE, RecordedEvent, RecordedLine, read as read_record},
    sections::LogMarks,
};

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
    io::{self, IsTerminal},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use camino::Utf8Path;
use conclave_engine::{
    ports::PublishOutcome,
    report::{render_markdown, render_sarif},
    review::{Review, ReviewState},
};
use conclave_shared::redact::Redactor;
use indicatif::{MultiProgress, ProgressDrawTarget};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::sync::oneshot;

use self::{
    door::Keep,
    layout::Page,
    paint::Paint,
    plain::for_prompt,
    screen::{TableScreen, essential},
    terminal::review,
    writer::{Place, writer},
};
use crate::args::ReviewFormat;

/// The table that is on the screen, if one is: everything else has to go above it.
static TABLE: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// Maximum frames of the table in a second.
const MAX_FRAMES: u8 = 20;

/// The reason why something that was printed is lost.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// What fits the place that standard error goes to: the log of a job, a terminal, or a file.
pub(crate) fn screen(quiet: bool, job: Option<LogMarks>, terminal_kind: Option<&str>) -> Screen {
    if quiet {
        Screen::Nothing
    } else if let Some(marks) = job {
        Screen::Sections(marks)
    } else if io::stderr().is_terminal() && terminal_kind.is_some_and(|kind| kind != "dumb") && !plain::is_ascii_only()
    {
        Screen::Table
    } else {
        Screen::Lines
    }
}

fn take_screen() -> MultiProgress {
    let terminal = Box::new(TableScreen::new(writer()));
    let screen = MultiProgress::with_draw_target(ProgressDrawTarget::term_like_with_hz(terminal, MAX_FRAMES));
    *TABLE.lock().unwrap_or_else(PoisonError::into_inner) = Some(screen.clone());
    screen
}

fn leave_screen() {
    *TABLE.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Writes to standard error, above the table if there is one.
fn write_above(text: &str) {
    let table = TABLE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // What draws the table may be what has panicked: it holds its lock until the panic has been reported.
    let table = table.filter(|_| !thread::panicking());
    let text = door::clean(text, Keep::Signs);
    let text = plain::for_locale(&text);
    let write = || writer().write(Place::Error, text.into_owned());
    match table {
        Some(table) => essential(|| table.suspend(write)),
        None => write(),
    }
}

/// Returns whether all that was printed so far is written; `false` if it was given up before.
pub(crate) async fn written(given_up: impl Future<Output = ()>) -> bool {
    let (tell, reached) = oneshot::channel();
    writer().when_written(move || {
        let _ = tell.send(());
    });
    tokio::select! {
        biased;
        _ = reached => true,
        () = given_up => false,
    }
}

/// Waits until all that was printed so far is written, for this time at most.
pub(crate) fn settle(limit: Duration) {
    let (tell, reached) = mpsc::channel();
    writer().when_written(move || {
        let _ = tell.send(());
    });
    let _ = reached.recv_timeout(limit);
}

/// Writes a message. What follows a line break inside of it is indented: it begins no line.
fn line(text: &str) {
    write_above(&format!("{}\n", door::message(text)));
}

/// Writes a line of the log.
pub(crate) fn log_line(text: &str) {
    line(text.trim_end());
}

/// A line with escape sequences of ours that must arrive even where there is no terminal.
fn raw_line(text: &str) {
    if !text.is_empty() {
        writer().write(Place::Raw, format!("{text}\n"));
    }
}

fn print_clean(text: &str) {
    writer().write(Place::Output, format!("{text}\n"));
}

/// Keeps the first reason why standard output could not be written. A reader that has read enough (`| head`) is none.
pub(crate) fn note_lost(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        LOST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Returns why standard output could not be written, if so, once all is [`written`].
pub(crate) fn lost() -> Option<io::Error> {
    LOST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Prints what is made of our own words only, byte for byte.
pub(crate) fn print_verbatim(text: &str) {
    print_clean(text);
}

/// Returns whether a text of several lines can be printed as it is. A line break from outside could only stand in one of its values.
pub(crate) fn is_harmless(text: &str) -> bool {
    door::clean(text, Keep::Text) == text
}

/// What a review is printed with.
pub(crate) struct Shown<'a> {
    pub(crate) format: ReviewFormat,
    /// The lines around its findings.
    pub(crate) excerpts: &'a Excerpts,
    /// Where the run's records are.
    pub(crate) directory: &'a Utf8Path,
    /// How places are opened.
    pub(crate) links: Links,
}

/// Prints without secrets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    redactor: Redactor,
    /// The sentences of warnings and remedies so far.
    said: Arc<Mutex<BTreeSet<String>>>,
    /// The change that the command has made, in the words that were printed.
    change: Arc<Mutex<Option<String>>>,
}

impl Output {
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            said: Arc::default(),
            change: Arc::default(),
        }
    }

    /// Prints a result on standard output.
    pub(crate) fn print(&self, text: &str) {
        print_clean(&door::clean(&self.redactor.redact(text), Keep::Signs));
    }

    /// Prints a result that is made for a person's terminal.
    pub(crate) fn print_for_person(&self, text: &str) {
        self.print(&plain::for_locale(text));
    }

    /// Prints a result as JSON.
    pub(crate) fn print_json(&self, result: &impl Serialize) {
        print_clean(&door::clean(self.json(result).trim_end(), Keep::Signs));
    }

    /// Prints what the command has changed: this text, or its result where JSON is asked for.
    pub(crate) fn print_change(&self, text: String, result: Option<&Value>) {
        match result {
            Some(result) => self.print_json(result),
            None => self.print(&text),
        }
        *self.change.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    /// Returns what the command has changed, if it has. It has to be said otherwise where standard output could not be written.
    pub(crate) fn change(&self) -> Option<String> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Prints a review on standard output.
    pub(crate) fn print_review(&self, result: &Review, shown: Shown<'_>) {
        let page = |page: Page| review(&in_lines_of_ours(result), shown.excerpts, shown.directory, &page);
        match shown.format {
            ReviewFormat::Human => self.print_for_person(&page(Page::terminal(shown.links))),
            ReviewFormat::Prompt => print_clean(&for_prompt(&self.redactor.redact(&page(Page::for_program())))),
            ReviewFormat::Json | ReviewFormat::Markdown | ReviewFormat::Sarif => {
                self.print_document(result, shown.format);
            }
        }
    }

    /// Prints on standard output that there is nothing to review, in this text or as the report of nothing. A person reads it on
    /// standard error.
    pub(crate) fn print_nothing(&self, result: &Review, format: ReviewFormat, text: &str) {
        match format {
            ReviewFormat::Human => {}
            ReviewFormat::Prompt => print_clean(&for_prompt(&self.redactor.redact(text))),
            ReviewFormat::Json | ReviewFormat::Markdown | ReviewFormat::Sarif => self.print_document(result, format),
        }
    }

    /// Prints a review in a format that is a document.
    fn print_document(&self, result: &Review, format: ReviewFormat) {
        match format {
            ReviewFormat::Json => self.print_json(result),
            ReviewFormat::Sarif => self.print_json(&render_sarif(result)),
            ReviewFormat::Human | ReviewFormat::Markdown | ReviewFormat::Prompt => {
                let text = self.redactor.redact(&render_markdown(result));
                print_clean(&door::clean(text.trim_end(), Keep::Joiners));
            }
        }
    }

    /// Shows text of ours that has a layout on standard error.
    pub(crate) fn layout(&self, text: &str) {
        write_above(&format!("{}\n", self.redactor.redact(text)));
    }

    /// Shows the person a message on standard error.
    pub(crate) fn note(&self, text: &str) {
        line(&self.redactor.redact(text));
    }

    /// Warns the person of what the review goes on without. What an earlier warning has advised is not said again: one cause can
    /// have several consequences.
    pub(crate) fn warn(&self, problem: impl fmt::Display) {
        self.note(&format!("Warning: {}", self.without_known_advice(&problem.to_string())));
    }

    /// Shows a remedy, once.
    pub(crate) fn remedy(&self, remedy: &str) {
        if self.is_new(remedy) {
            self.note(remedy);
        }
    }

    /// The text without the sentences behind its first one that were said before.
    fn without_known_advice(&self, text: &str) -> String {
        let mut sentences = text.split_inclusive(". ");
        let first = sentences.next().unwrap_or_default();
        let rest: String = sentences.filter(|sentence| self.is_new(sentence)).collect();
        format!("{first}{rest}").trim_end().to_owned()
    }

    /// Returns whether this was not said before. From now on it was.
    fn is_new(&self, sentence: &str) -> bool {
        let sentence = sentence.trim().trim_end_matches('.').to_owned();
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(sentence)
    }

    /// Shows the person why the command failed.
    pub(crate) fn error(&self, problem: impl fmt::Display) {
        let text = self.redactor.redact(&problem.to_string());
        line(&format!("{} {text}", "error:".red().bold()));
    }

    /// A result as JSON, without secrets in any of its texts.
    pub(crate) fn json(&self, result: &impl Serialize) -> String {
        let mut value = serde_json::to_value(result).unwrap_or(Value::Null);
        self.redactor.redact_json(&mut value);
        door::escaped_json(&format!("{value:#}\n"))
    }

    /// A copy without secrets in any of its texts.
    pub(crate) fn without_secrets<T: Serialize + DeserializeOwned>(&self, result: &T) -> serde_json::Result<T> {
        let mut value = serde_json::to_value(result)?;
        self.redactor.redact_json(&mut value);
        serde_json::from_value(value)
    }

    /// Shows what became of a review that was to be posted; `is_new` is whether anything was written.
    pub(crate) fn posted(&self, outcome: &PublishOutcome, is_new: bool) {
        let mut state = match outcome.applied_state.and_then(|applied| applied.shown) {
            Some(ReviewState::RequestedChanges) => "changes requested by the bot",
            _ if outcome.approved => "approved by the bot",
            _ => "not approved by the bot",
        }
        .to_owned();
        if outcome.posted_inline > 0 {
            let _ = write!(state, ", {} new beside the code", outcome.posted_inline);
        }
        match (&outcome.url, is_new) {
            (Some(url), true) => self.note(&format!("Posted: {url} ({state})")),
            (None, true) => self.note(&format!("Posted ({state})")),
            // A run that says what stands there already writes nothing.
            (Some(url), false) => self.note(&format!("Nothing to post, all of it stands there: {url} ({state})")),
            (None, false) => self.note(&format!("Nothing to post ({state})")),
        }
        for warning in &outcome.warnings {
            self.warn(warning);
        }
    }
}

/// Texts of a review that have lines of their own; a page indents them.
const PROSE: [&str; 6] = ["summary", "claim", "scenario", "evidence", "code", "fix"];

/// A copy of the review in which every other text is one line: a file's name cannot begin a line of the page.
fn in_lines_of_ours(review: &Review) -> Review {
    fn walk(value: &mut Value) {
        match value {
            Value::String(text) => *text = door::one_line(text),
            Value::Array(items) => items.iter_mut().for_each(walk),
            Value::Object(fields) => {
                for (name, field) in fields {
                    if !(field.is_string() && PROSE.contains(&name.as_str())) {
                        walk(field);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let copied = serde_json::to_value(review).and_then(|mut value| {
        walk(&mut value);
        serde_json::from_value(value)
    });
    copied.unwrap_or_else(|_| review.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_cause_advises_is_said_once() {
        let output = Output::default();
        let cause = "the token is refused. Set another one. `conclave doctor` says more";
        assert_eq!(output.without_known_advice(cause), cause);
        let other = output.without_known_advice(&format!("there is no check: {cause}"));
        assert_eq!(other, "there is no check: the token is refused.");
        assert!(output.is_new("Free some space.") && !output.clone().is_new("Free some space."));
    }
}
