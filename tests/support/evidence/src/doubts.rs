//! How much oftener rejected comments are doubted than accepted ones.

use conclave_engine::findings::{Doubt, doubts_of_text};
use serde_json::{Value, json};

use crate::data::{Comment, percent, repositories};

/// A doubt comes at least so many times as often with rejected comments.
const AT_LEAST: f64 = 2.0;

pub(crate) fn measure(comments: &[Comment]) -> Value {
    let doubted: Vec<Doubted<'_>> = comments.iter().map(Doubted::new).collect();
    let all: Vec<&Doubted<'_>> = doubted.iter().collect();
    let kinds = Doubt::ALL.into_iter().filter_map(|kind| {
        let has = |doubted: &Doubted<'_>| doubted.doubts.contains(&kind);
        let row = Row::of(&all, has);
        (row.doubted() > 0).then(|| (kind.as_str().to_owned(), with_repositories(&doubted, has)))
    });
    let kinds: serde_json::Map<String, Value> = kinds.collect();
    json!({
        "what": "comments with a doubt; `times` is how much oftener rejected ones are doubted than accepted ones",
        "asked_for_second_quote": with_repositories(&doubted, |doubted| {
            doubted.doubts.iter().any(|doubt| doubt.asks_for_second_quote())
        }),
        "kinds": kinds,
    })
}

struct Doubted<'a> {
    comment: &'a Comment,
    doubts: Vec<Doubt>,
}

impl<'a> Doubted<'a> {
    fn new(comment: &'a Comment) -> Self {
        Self {
            comment,
            doubts: doubts_of_text(&comment.text),
        }
    }
}

/// Counts of accepted and of rejected comments: those doubted, and all.
#[derive(Default, Clone, Copy)]
struct Row {
    accepted: (usize, usize),
    rejected: (usize, usize),
}

impl Row {
    fn of(comments: &[&Doubted<'_>], has: impl Fn(&Doubted<'_>) -> bool) -> Self {
        let mut row = Self::default();
        for one in comments {
            let side = if one.comment.is_accepted() {
                &mut row.accepted
            } else {
                &mut row.rejected
            };
            side.0 += usize::from(has(one));
            side.1 += 1;
        }
        row
    }

    fn doubted(&self) -> usize {
        self.accepted.0 + self.rejected.0
    }

    /// The share of the rejected as a multiple of that of the accepted; as if one accepted comment were doubted, if none is.
    #[expect(clippy::cast_precision_loss, reason = "counts of comments")]
    fn times(&self) -> f64 {
        let share = |(part, all): (usize, usize), least: usize| part.max(least) as f64 / all.max(1) as f64;
        let times = share(self.rejected, 0) / share(self.accepted, 1);
        (times * 10.0).round() / 10.0
    }

    fn show(&self) -> Value {
        json!({
            "rejected": self.rejected.1, "rejected_doubted": self.rejected.0,
            "rejected_in_per_cent": percent(self.rejected.0, self.rejected.1),
            "accepted": self.accepted.1, "accepted_doubted": self.accepted.0,
            "accepted_in_per_cent": percent(self.accepted.0, self.accepted.1),
            "times": self.times(),
        })
    }
}

/// All comments; the same with the repository left out whose absence costs most; the repository where it does worst; and
/// all repositories, each counted only if the others alone would have let the doubt in.
fn with_repositories(doubted: &[Doubted<'_>], has: impl Fn(&Doubted<'_>) -> bool + Copy) -> Value {
    /// A repository with fewer doubted comments says nothing by itself.
    const LEAST: usize = 5;
    let mut weakest: Option<(&str, Row)> = None;
    let mut worst: Option<(&str, Row)> = None;
    let mut held_out = Row::default();
    for name in repositories(doubted, |one| one.comment.repository()) {
        let (own, others): (Vec<&Doubted<'_>>, Vec<&Doubted<'_>>) =
            doubted.iter().partition(|one| one.comment.repository() == name);
        let (own, others) = (Row::of(&own, has), Row::of(&others, has));
        if weakest.is_none_or(|(_, row)| others.times() < row.times()) {
            weakest = Some((name, others));
        }
        if own.doubted() >= LEAST && worst.is_none_or(|(_, row)| own.times() < row.times()) {
            worst = Some((name, own));
        }
        let is_in = others.times() >= AT_LEAST;
        for (sum, side) in [
            (&mut held_out.accepted, own.accepted),
            (&mut held_out.rejected, own.rejected),
        ] {
            sum.0 += if is_in { side.0 } else { 0 };
            sum.1 += side.1;
        }
    }
    let named = |row: Option<(&str, Row)>| row.map(|(name, row)| json!({"name": name, "row": row.show()}));
    json!({
        "all": Row::of(&doubted.iter().collect::<Vec<_>>(), has).show(),
        "held_out": held_out.show(),
        "without_the_best_repository": named(weakest),
        "worst_repository": named(worst),
    })
}
