//! What a review says of what the repository remembers: every text in one place.

/// Why a finding is not part of the review.
pub(super) fn turned_down(times: usize) -> String {
    format!("people of this repository have turned it down in {times} changes")
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

/// What it says of a serious finding that stands all the same.
pub(super) fn stands_at(place: &str) -> String {
    format!(
        "people of this repository have turned down the same as the finding on {place} before. It stands: what is critical or a \
         danger to production takes a member's decision on this change"
    )
}
