//! How many accepted and rejected comments would need a second quoted place.

use std::collections::BTreeMap;

use conclave_engine::findings::doubts_of_text;
use serde_json::{Value, json};

use crate::{
    data::{Comment, tuning_repositories},
    folds::{halves, summary},
};

pub(crate) fn measure(comments: &[Comment]) -> Value {
    let tuning = tuning_repositories(comments);
    let (tune, rest): (Vec<&Comment>, Vec<&Comment>) = comments
        .iter()
        .partition(|comment| tuning.contains(comment.repository()));
    json!({
        "what": "comments that need a second quoted place, in per cent; to beat: 20.0 of the rejected at 8.0 of the accepted",
        "tuned_on": part(&tune),
        "measured_on": part(&rest),
        "all": part(&comments.iter().collect::<Vec<_>>()),
        "halves_of_the_repositories": held_out(comments),
    })
}

/// What is doubted in halves of the data: the words are not tuned anew for each, so this says how far chance goes.
fn held_out(comments: &[Comment]) -> Value {
    let shares: Vec<[f64; 2]> = halves(comments, Comment::repository)
        .into_iter()
        .map(|split| [false, true].map(|accepted| share(&split.rest, accepted).2))
        .collect();
    let of = |index: usize| shares.iter().map(|share| share[index]).collect::<Vec<f64>>();
    json!({
        "splits": shares.len(),
        "rejected_doubted": summary(&of(0), f64::min), "accepted_doubted": summary(&of(1), f64::max),
    })
}

/// How many were accepted or turned down, how many of them are doubted, and how many that is in per cent.
fn share(comments: &[&Comment], accepted: bool) -> (usize, usize, f64) {
    let of: Vec<&&Comment> = comments
        .iter()
        .filter(|comment| comment.is_accepted() == accepted)
        .collect();
    let doubted = of.iter().filter(|comment| !doubts(comment).is_empty()).count();
    (of.len(), doubted, percent(doubted, of.len()))
}

fn part(comments: &[&Comment]) -> Value {
    let (accepted, accepted_doubted, accepted_share) = share(comments, true);
    let (rejected, rejected_doubted, rejected_share) = share(comments, false);
    let precision = |accepted, rejected| percent(accepted, accepted + rejected);
    let mut kinds: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for comment in comments {
        for doubt in doubts(comment) {
            kinds.entry(doubt).or_default()[usize::from(comment.is_accepted())] += 1;
        }
    }
    let kinds: BTreeMap<&str, Value> = kinds
        .into_iter()
        .map(|(kind, [rejected, accepted])| (kind, json!({"rejected": rejected, "accepted": accepted})))
        .collect();
    json!({
        "rejected": rejected, "accepted": accepted,
        "rejected_doubted": rejected_share, "accepted_doubted": accepted_share,
        "precision_of_all": precision(accepted, rejected),
        "precision_of_the_rest": precision(accepted - accepted_doubted, rejected - rejected_doubted),
        "kinds": kinds,
    })
}

fn doubts(comment: &Comment) -> Vec<&'static str> {
    let doubts = doubts_of_text(&comment.text, &comment.path);
    doubts
        .into_iter()
        .map(conclave_engine::findings::Doubt::as_str)
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of comments")]
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    (share * 10.0).round() / 10.0
}
