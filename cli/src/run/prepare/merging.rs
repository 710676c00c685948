//! Changes of a merge that the diff does not show.

use std::collections::BTreeMap;

use camino::Utf8Path;
use conclave_engine::{
    diff::{ChangeKind, Diff},
    review::{ApprovalHold, HoldCause},
};
use conclave_git::{MergedFile, Parting};

use super::{change::Job, holds::limited};

/// The way back to a single merge base.
const REMEDY: &str = "Merge the target branch into this branch once more, or rebase this branch onto it; the review after that sees all of it.";

/// The reason to withhold an approval where merging may change on the target branch what no reviewer is shown.
pub(crate) async fn hold(job: &Job, diff: &Diff, scratch: &Utf8Path) -> Option<ApprovalHold> {
    let hold = |reason: &str| ApprovalHold::new(HoldCause::TargetBranch, format!("{reason} {REMEDY}"));
    let merged = match &job.parting {
        Parting::Once => return None,
        Parting::Several { target } => {
            let merged = job.repository.merged_files(target, &job.subject.head_sha, scratch);
            merged.await.ok()
        }
        Parting::SeveralFarBack => None,
        Parting::Unknown => {
            return Some(hold(
                "The history at hand is too short to say whether this branch, which has merged others, has one merge base with the target \
                 branch: merging may change what the diff does not show. A job with the whole history (`GIT_DEPTH: 0` on GitLab, \
                 `fetch-depth: 0` of actions/checkout) can say it.",
            ));
        }
    };
    let Some(merged) = merged else {
        return Some(hold(
            "The diff begins at one merge base of this branch and the target branch, and there are others: what merging changes besides \
             could not be worked out.",
        ));
    };
    let unseen = unseen(merged, diff);
    let reason = match unseen.len() {
        0 => return None,
        1 => {
            "The diff begins at one merge base of this branch and the target branch, and there are others: merging makes something else \
             of a file than the diff shows, which no reviewer was shown."
        }
        _ => {
            "The diff begins at one merge base of this branch and the target branch, and there are others: merging makes something else \
             of some files than the diff shows, which no reviewer was shown."
        }
    };
    Some(hold(reason).at(limited(&unseen)))
}

/// The files that a merge makes other than they are on the target branch, and other than the diff shows them.
fn unseen(merged: Vec<MergedFile>, diff: &Diff) -> Vec<String> {
    let mut shown: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for file in &diff.files {
        if file.kind == ChangeKind::Renamed {
            shown.insert(&file.old_path, (GONE, ""));
        }
    }
    for file in &diff.files {
        shown.insert(&file.path, (file.modes.1.as_str(), file.objects.1.as_str()));
    }
    let is_shown = |file: &MergedFile| {
        let as_shown = shown.get(file.path.as_str());
        as_shown.is_some_and(|(mode, object)| *mode == file.mode && (*mode == GONE || *object == file.object))
    };
    let unseen = merged.into_iter().filter(|file| !is_shown(file));
    unseen.map(|file| file.path).collect()
}

/// The mode of a file that is not there.
const GONE: &str = "000000";

#[cfg(test)]
#[path = "merging_tests.rs"]
mod tests;
