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

/// The gap where the merge itself failed.
const NOT_WORKED_OUT: &str = "what merging changes besides the diff could not be worked out";

/// Changes of a merge that no reviewer is shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// The reason to withhold an approval.
    pub(crate) hold: ApprovalHold,
    /// The gap of the review, where one is known.
    pub(crate) gap: Option<String>,
}

/// Compares what merging changes on the target branch with the diff.
pub(crate) async fn check(job: &Job, diff: &Diff, scratch: &Utf8Path) -> Option<Unseen> {
    let merged = match &job.parting {
        Parting::Once => return None,
        Parting::Several { target } => {
            let merged = job.repository.merged_files(target, &job.subject.head_sha, scratch);
            merged.await.ok()
        }
        Parting::SeveralFarBack => None,
        Parting::Unknown => {
            let reason = "The history at hand is too short to say whether this branch, which has merged others, has one merge base with \
                          the target branch: merging may change what the diff does not show. A job with the whole history can say it \
                          (`GIT_DEPTH: 0` on GitLab, `fetch-depth: 0` of actions/checkout).";
            return Some(Unseen {
                hold: hold(reason),
                gap: None,
            });
        }
    };
    let (places, gap) = match merged {
        Some(merged) => {
            let places = unseen(merged, diff);
            let gap = match &places[..] {
                [] => return None,
                [one] => format!("merging makes something else of {one} than the diff shows"),
                [first, rest @ ..] => format!(
                    "merging makes something else of {first} and {} more files than the diff shows",
                    rest.len()
                ),
            };
            (places, gap)
        }
        None => (Vec::new(), NOT_WORKED_OUT.to_owned()),
    };
    let reason = "The diff begins at one merge base of this branch and the target branch, and there are others: merging may change what \
                  no reviewer was shown.";
    Some(Unseen {
        hold: hold(reason).at(limited(&places)),
        gap: Some(gap),
    })
}

fn hold(reason: &str) -> ApprovalHold {
    ApprovalHold::new(HoldCause::TargetBranch, format!("{reason} {REMEDY}"))
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
