//! Finds where a change alters how code is used that is quoted against a finding.

use crate::{
    diff::{ChangeKind, Content, FileDiff},
    findings::QuotedFile,
    incremental::UsedAs,
    ports::SourceTree,
};
use conclave_shared::path_kind::PathKind;

/// The first place for each of these where the change alters how it is used, as `path:line` at head. A file that cannot be read counts as
/// one that does.
pub async fn altered_uses(
    source: &dyn SourceTree,
    files: impl Iterator<Item = &FileDiff>,
    used: &[&UsedAs],
) -> Vec<Option<String>> {
    let mut places = vec![None; used.len()];
    for file in files.filter(|file| file.content == Content::Text && !PathKind::of(&file.path).is_prose()) {
        if places.iter().all(Option::is_some) {
            break;
        }
        let base = source.text(&file.path, true).await;
        let head = source.text(&file.path, false).await;
        let lacks_a_side =
            (base.is_none() && file.kind != ChangeKind::Added) || (head.is_none() && file.kind != ChangeKind::Deleted);
        let quoted = QuotedFile {
            path: &file.path,
            head: head.as_deref().unwrap_or_default(),
            base: base.as_deref(),
            change: Some(file),
        };
        for (place, used) in places.iter_mut().zip(used).filter(|(place, _)| place.is_none()) {
            *place = if lacks_a_side {
                Some(file.path.clone())
            } else {
                used.altered_in(quoted).map(|line| format!("{}:{line}", file.path))
            };
        }
    }
    places
}

#[cfg(test)]
#[path = "altered_uses_tests.rs"]
mod tests;
