//! After a push: which threads move to the new version, and which stay behind as outdated.

use crate::git::Repository;
use crate::git::lines::{self, RowKind};
use crate::review::placement;
use crate::state::merge_request::Version;
use crate::state::position::{Position, PositionType};

/// The same place in the new version; nothing when its line changed or left the diff.
pub(crate) fn retrace(repository: &Repository, old: &Version, new: &Version, position: &Position) -> Option<Position> {
    let (old_path, new_path) = (position.old_path.as_deref()?, position.new_path.as_deref()?);
    let file = placement::find_file(new, old_path, new_path)?;
    let moved = Position {
        base_sha: new.base.clone(),
        start_sha: new.start.clone(),
        head_sha: new.head.clone(),
        line_range: None,
        ..position.clone()
    };
    if position.kind != PositionType::Text {
        return Some(moved);
    }
    let map = |from: &str, to: &str, path: &str, line: u64| {
        if from == to {
            Some(line)
        } else {
            lines::map_unchanged(&repository.changed_hunks(from, to, path), line)
        }
    };
    let old_line = match position.old_line {
        Some(line) => Some(map(&old.base, &new.base, old_path, line)?),
        None => None,
    };
    let new_line = match position.new_line {
        Some(line) => Some(map(&old.head, &new.head, new_path, line)?),
        None => None,
    };
    // An added line may be a context line of the new diff, once the target branch has it.
    let printed = new_line.and_then(|new_line| {
        file.rows()
            .into_iter()
            .find(|row| row.kind != RowKind::Removed && row.new == new_line)
    });
    let (old_line, new_line) = match printed {
        Some(row) if row.kind == RowKind::Context => (Some(row.old), Some(row.new)),
        Some(row) => (None, Some(row.new)),
        None => (old_line, new_line),
    };
    let moved = Position {
        old_line,
        new_line,
        ..moved
    };
    placement::find_row(repository, new, file, true, &moved).map(|_| moved)
}
