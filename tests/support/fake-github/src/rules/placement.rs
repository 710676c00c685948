//! The place of a comment in GitHub's own hunks.

use serde_json::{Value, json};

use crate::git::GitRepository;
use crate::git::diff::FileDiff;
use crate::git::hunks::{self, Row};
use crate::state::pull::{Place, Side};

/// What a comment asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) path: String,
    pub(crate) is_file: bool,
    pub(crate) side: Option<Side>,
    pub(crate) line: Option<u64>,
    pub(crate) start_side: Option<Side>,
    pub(crate) start_line: Option<u64>,
    pub(crate) position: Option<u64>,
}

/// Why a comment has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misplaced {
    Path,
    Line,
    OtherHunk,
    Order,
}

impl Misplaced {
    /// The errors of the reviews.
    pub(crate) fn texts(self) -> Vec<Value> {
        let texts: &[&str] = match self {
            Self::Path => &["path is invalid", "diff hunk can't be blank"],
            Self::Line => &["line must be part of the diff", "diff hunk can't be blank"],
            Self::OtherHunk => &["start line must be part of the same hunk as the line."],
            Self::Order => &["start line must precede the end line."],
        };
        texts
            .iter()
            .map(|text| json!(format!("Pull request review thread {text}")))
            .collect()
    }

    /// The errors of single comments.
    pub(crate) fn objects(self) -> Vec<Value> {
        let fields: &[(&str, &str)] = match self {
            Self::Path => &[("path", "invalid"), ("diff_hunk", "missing_field")],
            Self::Line => &[("line", "invalid"), ("diff_hunk", "missing_field")],
            Self::OtherHunk | Self::Order => &[("start_line", "invalid")],
        };
        let object = |(field, code): &(&str, &str)| {
            let field = format!("pull_request_review_thread.{field}");
            json!({ "resource": "PullRequestReviewComment", "field": field, "code": code })
        };
        fields.iter().map(object).collect()
    }
}

/// Finds the place of a comment in the diff of a commit.
pub(crate) fn find(files: &[FileDiff], commit: &str, wanted: &Wanted) -> Result<Place, Misplaced> {
    let file = files
        .iter()
        .find(|file| file.path == wanted.path)
        .ok_or(Misplaced::Path)?;
    let mut place = Place {
        path: wanted.path.clone(),
        is_file: wanted.is_file,
        side: wanted.side.unwrap_or(Side::Right),
        start_side: None,
        line: None,
        start_line: None,
        position: None,
        commit: commit.to_owned(),
        original_line: None,
        original_start_line: None,
        original_position: None,
        original_commit: commit.to_owned(),
        diff_hunk: String::new(),
        outdated: false,
    };
    if wanted.is_file {
        return Ok(place);
    }
    let rows = hunks::rows(&file.patch);
    let row = match (wanted.line, wanted.position) {
        (Some(line), _) => rows.iter().find(|row| stands_on(row, place.side, line)),
        (None, position) => rows.iter().find(|row| Some(row.position) == position),
    };
    let row = row.ok_or(Misplaced::Line)?;
    if wanted.line.is_none() {
        place.side = if row.mark == '-' { Side::Left } else { Side::Right };
    }
    if let Some(start_line) = wanted.start_line {
        let start_side = wanted.start_side.unwrap_or(place.side);
        let start = rows.iter().find(|row| stands_on(row, start_side, start_line));
        let start = start.ok_or(Misplaced::OtherHunk)?;
        if start.position >= row.position {
            return Err(Misplaced::Order);
        }
        if start.hunk != row.hunk {
            return Err(Misplaced::OtherHunk);
        }
        place.start_side = Some(start_side);
        place.start_line = Some(start_line);
    }
    place.line = if place.side == Side::Left { row.old } else { row.new };
    place.position = Some(row.position);
    place.original_line = place.line;
    place.original_start_line = place.start_line;
    place.original_position = place.position;
    place.diff_hunk = hunks::hunk_until(&file.patch, row);
    Ok(place)
}

/// What a place is moved by: the old and the new ends of a pull request's diff.
pub(crate) struct Move<'a> {
    pub(crate) git: &'a GitRepository,
    /// The merge base and the head before.
    pub(crate) from: (&'a str, &'a str),
    /// The merge base and the head after.
    pub(crate) to: (&'a str, &'a str),
    /// The new diff.
    pub(crate) files: &'a [FileDiff],
}

impl Move<'_> {
    /// Moves a place to the new head; one whose line changed or left the diff becomes outdated.
    pub(crate) fn apply(&self, place: &mut Place) {
        if place.outdated {
            return;
        }
        if let Some(moved) = self.moved(place) {
            *place = moved;
        } else {
            place.outdated = true;
            (place.line, place.start_line, place.position) = (None, None, None);
        }
    }

    fn moved(&self, place: &Place) -> Option<Place> {
        let (_, head) = self.to;
        let wanted = Wanted {
            path: place.path.clone(),
            is_file: place.is_file,
            side: Some(place.side),
            line: self.line(place, place.side, place.line).ok()?,
            start_side: place.start_side,
            start_line: self
                .line(place, place.start_side.unwrap_or(place.side), place.start_line)
                .ok()?,
            position: None,
        };
        let found = find(self.files, head, &wanted).ok()?;
        Some(Place {
            original_line: place.original_line,
            original_start_line: place.original_start_line,
            original_position: place.original_position,
            original_commit: place.original_commit.clone(),
            diff_hunk: place.diff_hunk.clone(),
            ..found
        })
    }

    /// The new number of a line, if the place has one. Fails when the line is no more.
    fn line(&self, place: &Place, side: Side, line: Option<u64>) -> Result<Option<u64>, Misplaced> {
        let Some(line) = line else {
            return Ok(None);
        };
        let (from, to) = match side {
            Side::Left => (self.from.0, self.to.0),
            Side::Right => (self.from.1, self.to.1),
        };
        if from == to {
            return Ok(Some(line));
        }
        let patch = self.git.bare_patch(from, to, &place.path);
        hunks::map_unchanged(&patch, line).map(Some).ok_or(Misplaced::Line)
    }
}

fn stands_on(row: &Row, side: Side, line: u64) -> bool {
    match side {
        Side::Left => row.mark == '-' && row.old == Some(line),
        Side::Right => row.mark != '-' && row.new == Some(line),
    }
}
