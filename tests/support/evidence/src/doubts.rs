//! How many accepted and rejected comments would need a second quoted place.

use std::collections::BTreeMap;

use conclave_engine::findings::doubts_of_text;
use serde_json::{Value, json};

use crate::data::{Comment, tuning_repositories};

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
    })
}

fn part(comments: &[&Comment]) -> Value {
    let share = |accepted: bool| {
        let of: Vec<&&Comment> = comments
            .iter()
            .filter(|comment| comment.is_accepted() == accepted)
            .collect();
        let doubted = of.iter().filter(|comment| !doubts(comment).is_empty()).count();
        (of.len(), doubted, percent(doubted, of.len()))
    };
    let (accepted, accepted_doubted, accepted_share) = share(true);
    let (rejected, rejected_doubted, rejected_share) = share(false);
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
