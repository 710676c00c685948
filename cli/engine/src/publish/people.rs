//! People that have to look at a change.

use crate::review::Review;

/// Users that a rule wants as reviewers, each once. A group cannot be a reviewer; the review names it.
pub fn reviewers_to_add(review: &Review) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let manual = review.manual_reviews.iter().filter(|manual| manual.add_as_reviewers);
    for name in manual.flat_map(|manual| &manual.who) {
        let name = name.trim_start_matches('@');
        if !name.contains('/') && !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            names.push(name);
        }
    }
    names
}
