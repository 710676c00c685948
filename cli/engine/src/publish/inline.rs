//! Findings beside their lines: which get a thread of their own, and where that is tried.

use std::collections::{HashMap, HashSet};

use conclave_shared::{finding::Fingerprint, severity::Severity, telemetry::FindingPlacement};

use super::{BotIdentity, Conversation, Note, OwnThread, length::limit};
use crate::{
    diff::{ChangeKind, FileDiff, RowKind},
    ports::Publication,
    report::{InlinePlace, Suggestion, SuggestionSyntax, committable, render_inline},
    review::{FindingRecord, JudgedFinding},
};

/// The form that a forge gives to notes. Lengths are in bytes, below the forge's own: a longer note is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoteForm {
    /// Maximum length of the summary's text, which its markers follow.
    pub max_summary: usize,
    /// Maximum length of a note beside its lines.
    pub max_inline: usize,
    /// Maximum length of what the summary remembers of the findings, as a marker.
    pub max_carry_over: usize,
    /// The header of a suggestion.
    pub suggestion: SuggestionSyntax,
}

/// A place on the diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Several lines, the first and the last.
    Lines(u32, u32),
    /// One line.
    Line(u32),
    /// The file as a whole.
    File,
}

impl Place {
    /// The word for it in events.
    pub const fn placement(self) -> FindingPlacement {
        match self {
            Self::Lines(..) | Self::Line(_) => FindingPlacement::Line,
            Self::File => FindingPlacement::File,
        }
    }
}

/// A thread that is to be opened.
#[derive(Debug, Clone)]
pub struct ThreadDraft<'a> {
    /// The finding that it shows.
    pub fingerprint: Fingerprint,
    /// Its file.
    pub file: &'a FileDiff,
    /// Where on the file, best first: what a forge refuses at one place goes to the next.
    pub places: Vec<Place>,
    /// The last line that the finding is about.
    last: u32,
    on_lines: String,
    on_last_line: String,
    on_other_line: String,
    on_file: String,
}

impl ThreadDraft<'_> {
    /// The text of its first note at this place.
    pub fn body(&self, place: Place) -> &str {
        match place {
            Place::File => &self.on_file,
            Place::Line(line) if line == self.last => &self.on_last_line,
            Place::Line(_) => &self.on_other_line,
            Place::Lines(..) => &self.on_lines,
        }
    }
}

/// The note that shows a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Its number.
    pub note: u64,
    /// Its place.
    pub placement: FindingPlacement,
    /// Whether this run has posted it.
    pub is_new: bool,
}

impl Shown {
    /// A note that is on the merge request.
    pub const fn in_note(note: &Note, is_new: bool) -> Self {
        Self {
            note: note.id,
            placement: note.placement,
            is_new,
        }
    }
}

/// Which findings have a thread, and which get one.
#[derive(Debug, Default)]
pub struct Openings<'a> {
    /// The findings that a note shows already.
    pub shown: HashMap<Fingerprint, Shown>,
    /// The threads to open.
    pub drafts: Vec<ThreadDraft<'a>>,
}

/// Chooses what stands, is more than a suggestion, and is not there yet. What is there counts towards the maximum.
pub fn plan_openings<'a>(
    bot: &BotIdentity,
    publication: &Publication<'a>,
    conversation: &Conversation,
    form: NoteForm,
) -> Openings<'a> {
    let threads = bot.threads(conversation);
    let files: HashMap<&str, &FileDiff> = publication
        .files
        .iter()
        .map(|file| (file.path.as_str(), file))
        .collect();
    let mut shown = HashMap::new();
    let mut new = Vec::new();
    let mut chosen = HashSet::new();
    for entry in publication.review.surviving() {
        let print = &entry.finding.fingerprint;
        if let Some(own) = threads.iter().rev().find(|own| shows(own, entry, bot)) {
            shown.insert(print.clone(), Shown::in_note(own.note, false));
        } else if entry.thread.is_none() && entry.finding.severity > Severity::Suggestion && chosen.insert(print) {
            new.push(entry);
        }
    }
    let room = publication.settings.max_inline.saturating_sub(shown.len());
    let drafts = new
        .into_iter()
        .filter_map(|entry| {
            Some(draft(
                bot,
                publication,
                entry,
                files.get(entry.finding.file.as_str())?,
                form,
            ))
        })
        .take(room)
        .collect();
    Openings { shown, drafts }
}

/// Returns whether the thread shows this finding, so that it is not posted again.
///
/// What we resolved ourselves was gone, and is back, and so is what a program may have resolved. What a person resolved
/// stays so, unless it has become worse.
fn shows(own: &OwnThread<'_>, entry: &JudgedFinding, bot: &BotIdentity) -> bool {
    if entry.thread.as_deref() == Some(own.thread.id.as_str()) {
        return true;
    }
    let (finding, record) = (&entry.finding, &own.record);
    record.fingerprint == finding.fingerprint
        && (!own.thread.resolved
            || (own.thread.resolved_by.is_some()
                && !own.thread.is_resolved_by(bot.account)
                && finding.severity <= record.severity))
}

fn draft<'a>(
    bot: &BotIdentity,
    publication: &Publication<'a>,
    entry: &JudgedFinding,
    file: &'a FileDiff,
    form: NoteForm,
) -> ThreadDraft<'a> {
    let finding = &entry.finding;
    let source = publication.sources.get(&finding.file);
    let suggestion = source
        .and_then(|source| committable(finding, source))
        .filter(|suggestion| is_on_new_side(file, suggestion.last));
    let (first, last) = match &suggestion {
        Some(suggestion) => (suggestion.first, suggestion.last),
        None => (finding.line, finding.end_line.unwrap_or(finding.line)),
    };
    let marker = bot
        .signer
        .sign(&FindingRecord::new(entry, &publication.review.head_sha));
    let body = |place, suggestion: Option<&Suggestion>| {
        let suggestion = suggestion.map(|suggestion| (suggestion, form.suggestion));
        let text = limit(&render_inline(entry, place, suggestion), form.max_inline);
        format!("{}\n\n{marker}", text.trim_end())
    };
    let is_on_diff = |line| file.row(line).is_some();
    let mut places = Vec::new();
    if first < last && is_on_diff(first) && is_on_diff(last) {
        places.push(Place::Lines(first, last));
    }
    if is_on_diff(last) {
        places.push(Place::Line(last));
    }
    // A quote may go on behind what a forge takes notes on; what was changed in it is there.
    let is_changed = |line: &u32| file.row(*line).is_some_and(|row| row.kind != RowKind::Context);
    places.extend(
        (first..=last)
            .rev()
            .find(is_changed)
            .filter(|line| *line < last)
            .map(Place::Line),
    );
    places.push(Place::File);
    // Where the header does not say which lines are replaced, a note on the last of several cannot offer to replace them all.
    let fits_last =
        |suggestion: &&Suggestion| form.suggestion == SuggestionSyntax::Offsets || suggestion.first == suggestion.last;
    ThreadDraft {
        fingerprint: finding.fingerprint.clone(),
        file,
        places,
        last,
        on_lines: body(InlinePlace::Lines, suggestion.as_ref()),
        on_last_line: body(InlinePlace::Lines, suggestion.as_ref().filter(fits_last)),
        // A suggestion replaces the lines that its note stands on.
        on_other_line: body(InlinePlace::Lines, None),
        on_file: body(InlinePlace::File, None),
    }
}

/// Returns whether the line exists at head, so that a suggestion can replace it. To a forge a copy is a new file.
fn is_on_new_side(file: &FileDiff, line: u32) -> bool {
    let is_copy = file.kind == ChangeKind::Copied;
    file.row(line)
        .is_some_and(|row| is_copy || row.kind != RowKind::Removed)
}
