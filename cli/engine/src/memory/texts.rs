//! What a review says of what the repository remembers: every text in one place.

/// Why a finding is not part of the review.
pub(super) fn turned_down(times: usize) -> String {
    format!("people of this repository have turned it down in {times} merge requests")
}

/// Why a critical finding is a warning.
pub(super) fn lowered(times: usize) -> String {
    format!("lowered from critical: people of this repository have turned it down in {times} merge requests")
}

/// What the coverage says of findings that are left out.
pub(super) fn suppressed(number: usize) -> String {
    let (findings, are) = match number {
        1 => ("1 finding".to_owned(), "is"),
        number => (format!("{number} findings"), "are"),
    };
    format!(
        "{findings} {are} left out, because people of this repository have turned the same down before; `conclave memory \
         show` lists them"
    )
}

/// What it says of a critical finding that is a warning now.
pub(super) fn lowered_at(place: &str) -> String {
    format!(
        "the finding on {place} was lowered from critical to a warning, because people of this repository have turned the same \
         down before"
    )
}
