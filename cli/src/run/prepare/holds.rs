//! Why the bot withholds its approval, as far as that is known before any model is asked.

use conclave_engine::{
    diff::FilteredDiff,
    review::{ApprovalHold, HoldCause},
};

/// The most places that one reason names; the others are counted.
const MAX_PLACES: usize = 50;

/// Reasons that the diff itself gives.
pub(crate) fn of_diff(diff: &FilteredDiff) -> impl Iterator<Item = ApprovalHold> {
    read_by_nobody(diff).into_iter().chain(nothing_reviewed(diff))
}

/// The reason to withhold an approval where engineering rules are left out: what they ask for was not checked.
pub(crate) fn of_rules(left_out: &[String]) -> Option<ApprovalHold> {
    let reason = "Engineering rules cannot be read and are left out of this review; the warnings say what to correct.";
    (!left_out.is_empty()).then(|| ApprovalHold::new(HoldCause::Settings, reason).at(limited(left_out)))
}

/// Without a file to review there is nothing to approve.
fn nothing_reviewed(diff: &FilteredDiff) -> Option<ApprovalHold> {
    if !diff.files.is_empty() {
        return None;
    }
    let reason = if diff.filtered.is_empty() {
        "The diff is empty: nothing was reviewed."
    } else {
        "No file of this change was reviewed: each is noise by rule."
    };
    Some(ApprovalHold::new(HoldCause::NothingReviewed, reason))
}

/// Noise that can run, and submodules: what is merged with them was read by nobody.
fn read_by_nobody(diff: &FilteredDiff) -> Option<ApprovalHold> {
    let places = &diff.read_by_nobody;
    let reason = match places.len() {
        0 => return None,
        1 => "A file that can run or steer something was left out of the review, so nobody read it.",
        _ => "Files that can run or steer something were left out of the review, so nobody read them.",
    };
    let reason =
        format!("{reason} `[paths] trusted` in .conclave.toml of the target branch names what needs no reader.");
    Some(ApprovalHold::new(HoldCause::ReadByNobody, reason).at(limited(places)))
}

/// The first places, and how many there are besides.
pub(crate) fn limited(places: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = places.iter().take(MAX_PLACES).cloned().collect();
    if places.len() > MAX_PLACES {
        shown.push(format!("{} more", places.len() - MAX_PLACES));
    }
    shown
}
