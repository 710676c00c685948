//! How many duplicates are found, and how many distinct claims are taken for one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use conclave_engine::findings::{Claims, Likeness};
use serde_json::{Value, json};

use crate::{
    data::{Pair, TUNED_ON},
    doubts::percent,
    folds::{Split, halves, leaving_one_out, summary},
};

/// False merges that are tolerated, in per mille.
const TOLERATED: usize = 25;

/// How many other claims a panel has beside two that agree; a benchmark of many tools has far more.
const FEW: usize = 4;

pub(crate) fn measure(pairs: &[Pair]) -> Value {
    let requests = Requests::new(pairs);
    json!({
        "what": "duplicates found and distinct pairs merged, in per cent, by the words of the claims alone; to beat: 33 found at 2.5 merged",
        "among_all_claims_of_a_merge_request": by_part(pairs, |pair| requests.compare(pair, usize::MAX)),
        "among_few_claims": by_part(pairs, |pair| requests.compare(pair, FEW)),
        "of_two_claims_alone": by_part(pairs, |pair| requests.compare(pair, 0)),
    })
}

fn by_part(pairs: &[Pair], compare: impl Fn(&Pair) -> Compared) -> Value {
    let scored: Vec<Scored<'_>> = pairs.iter().map(|pair| Scored::new(pair, &compare(pair))).collect();
    let is_tuned = |scored: &&Scored<'_>| TUNED_ON.contains(&scored.pair.repository());
    let (tune, rest): (Vec<&Scored<'_>>, Vec<&Scored<'_>>) = scored.iter().partition(is_tuned);
    let repositories: BTreeSet<&str> = pairs.iter().map(Pair::repository).collect();
    let by_repository: BTreeMap<&str, Value> = repositories
        .into_iter()
        .map(|name| {
            let own: Vec<&Scored<'_>> = scored
                .iter()
                .filter(|scored| scored.pair.repository() == name)
                .collect();
            (name, part(&own))
        })
        .collect();
    json!({
        "tuned_on": part(&tune),
        "measured_on": part(&rest),
        "all": part(&scored.iter().collect::<Vec<_>>()),
        "by_repository": by_repository,
        "careful_border_is_higher_by": careful_border(&scored.iter().collect::<Vec<_>>()),
        "each_repository_left_out": held_out(leaving_one_out(&scored, |scored| scored.pair.repository())),
        "halves_of_the_merge_requests": held_out(halves(&scored, |scored| scored.pair.pr.as_str())),
    })
}

/// What is found and merged in parts of the data, with the border as it is, and with one that was chosen on the other part.
fn held_out(splits: Vec<Split<'_, Scored<'_>>>) -> Value {
    /// Parts with fewer distinct pairs say nothing about a few per cent.
    const LEAST: usize = 60;
    let mut measured: [Vec<f64>; 4] = Default::default();
    for Split { tune, rest } in splits {
        let distinct = |part: &[&Scored<'_>]| part.iter().filter(|one| !one.pair.is_duplicate()).count();
        if distinct(&tune) < LEAST || distinct(&rest) < LEAST {
            continue;
        }
        for (index, border) in [0.0, careful_border(&tune)].into_iter().enumerate() {
            for (is_false, duplicate) in [true, false].into_iter().enumerate() {
                measured[2 * index + is_false].push(share_above(&rest, border, duplicate));
            }
        }
    }
    let [found, merged, found_by_other, merged_by_other] = measured;
    json!({
        "splits": found.len(),
        "found": summary(&found, f64::min), "false_merges": summary(&merged, f64::max),
        "found_with_a_border_of_the_other_part": summary(&found_by_other, f64::min),
        "false_merges_with_a_border_of_the_other_part": summary(&merged_by_other, f64::max),
    })
}

/// The border, as what it is above the matcher's own, that merges no more than is tolerated with any one merge request
/// left out.
fn careful_border(scored: &[&Scored<'_>]) -> f64 {
    let requests: BTreeSet<&str> = scored.iter().map(|one| one.pair.pr.as_str()).collect();
    let without = |request: &str| {
        let rest = scored.iter().filter(|one| one.pair.pr != request);
        tolerated_border(&rest.copied().collect::<Vec<_>>(), |one| one.above)
    };
    requests.into_iter().map(without).fold(f64::MIN, f64::max)
}

/// How many per cent of the duplicate or distinct pairs lie above a border.
fn share_above(scored: &[&Scored<'_>], border: f64, duplicate: bool) -> f64 {
    let of: Vec<f64> = scored
        .iter()
        .filter(|one| one.pair.is_duplicate() == duplicate)
        .map(|one| one.above)
        .collect();
    percent(of.iter().filter(|above| **above > border).count(), of.len())
}

/// The claims of each merge request.
struct Requests<'a>(BTreeMap<&'a str, Vec<&'a str>>);

/// What came of a comparison.
struct Compared {
    likeness: Likeness,
    border: f64,
}

impl<'a> Requests<'a> {
    fn new(pairs: &'a [Pair]) -> Self {
        let mut texts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for pair in pairs {
            texts
                .entry(&pair.pr)
                .or_default()
                .extend([pair.a.as_str(), pair.b.as_str()]);
        }
        Self(
            texts
                .into_iter()
                .map(|(request, texts)| (request, texts.into_iter().collect()))
                .collect(),
        )
    }

    /// Compares a pair among at most so many other claims of its merge request, taken evenly from all of them.
    fn compare(&self, pair: &Pair, most: usize) -> Compared {
        let others: Vec<&str> = self.0[pair.pr.as_str()]
            .iter()
            .copied()
            .filter(|text| *text != pair.a && *text != pair.b)
            .collect();
        let taken = others.len().min(most);
        let others = (0..taken).map(|index| others[index * others.len() / taken]);
        let claims = Claims::new([pair.a.as_str(), pair.b.as_str()].into_iter().chain(others));
        Compared {
            likeness: claims.likeness(0, 1),
            border: claims.border(),
        }
    }
}

struct Scored<'a> {
    pair: &'a Pair,
    score: f64,
    /// The score less the border.
    above: f64,
    overlap: f64,
}

impl<'a> Scored<'a> {
    fn new(pair: &'a Pair, compared: &Compared) -> Self {
        Self {
            pair,
            score: compared.likeness.score(),
            above: compared.likeness.score() - compared.border,
            overlap: token_overlap(&pair.a, &pair.b),
        }
    }
}

fn part(scored: &[&Scored<'_>]) -> Value {
    let merged = |duplicate: bool| {
        let of = scored.iter().filter(|scored| scored.pair.is_duplicate() == duplicate);
        let (merged, all) = of.fold((0, 0), |(merged, all), scored| {
            (merged + usize::from(scored.above >= 0.0), all + 1)
        });
        (all, percent(merged, all))
    };
    let (duplicates, found) = merged(true);
    let (distinct, false_merges) = merged(false);
    json!({
        "duplicates": duplicates, "distinct": distinct,
        "found": found, "false_merges": false_merges,
        "found_at_2.5": best(scored, |scored| scored.score),
        "found_at_2.5_by_token_overlap": best(scored, |scored| scored.overlap),
        "auc": area(scored, |scored| scored.score),
        "auc_of_token_overlap": area(scored, |scored| scored.overlap),
    })
}

/// The most duplicates that any border finds while it merges no more distinct pairs than is tolerated.
fn best(scored: &[&Scored<'_>], score: impl Fn(&Scored<'_>) -> f64) -> f64 {
    let border = tolerated_border(scored, &score);
    let duplicates: Vec<&&Scored<'_>> = scored.iter().filter(|one| one.pair.is_duplicate()).collect();
    let found = duplicates.iter().filter(|one| score(one) > border).count();
    percent(found, duplicates.len())
}

/// The lowest border above which no more distinct pairs lie than is tolerated.
fn tolerated_border(scored: &[&Scored<'_>], score: impl Fn(&Scored<'_>) -> f64) -> f64 {
    let mut distinct: Vec<f64> = scored
        .iter()
        .filter(|one| !one.pair.is_duplicate())
        .map(|one| score(one))
        .collect();
    distinct.sort_by(|a, b| b.total_cmp(a));
    distinct
        .get(distinct.len() * TOLERATED / 1000)
        .copied()
        .unwrap_or(f64::MIN)
}

/// The area below the curve: how often a duplicate scores higher than a distinct pair.
#[expect(clippy::cast_precision_loss, reason = "counts of pairs")]
fn area(scored: &[&Scored<'_>], score: impl Fn(&Scored<'_>) -> f64) -> f64 {
    let of = |duplicate: bool| {
        scored
            .iter()
            .filter(|one| one.pair.is_duplicate() == duplicate)
            .map(|one| score(one))
            .collect::<Vec<f64>>()
    };
    let (duplicates, distinct) = (of(true), of(false));
    let mut won = 0.0;
    for duplicate in &duplicates {
        for other in &distinct {
            won += match duplicate.total_cmp(other) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
        }
    }
    let area = won / (duplicates.len() * distinct.len()).max(1) as f64;
    (area * 1000.0).round() / 1000.0
}

/// What is to be beaten: the words that both have, as a part of the words that either has.
#[expect(clippy::cast_precision_loss, reason = "counts of words")]
fn token_overlap(one: &str, other: &str) -> f64 {
    let words = |text: &str| {
        text.to_lowercase()
            .split(|character: char| !character.is_alphanumeric() && character != '_')
            .filter(|word| word.len() > 2)
            .map(str::to_owned)
            .collect::<BTreeSet<String>>()
    };
    let (one, other) = (words(one), words(other));
    one.intersection(&other).count() as f64 / one.union(&other).count().max(1) as f64
}

/// The likeness of all pairs, as a table.
pub(crate) fn likeness(pairs: &[Pair]) -> String {
    let requests = Requests::new(pairs);
    let mut text = String::from("duplicate\tpr\tothers\twords\tkinds\tnumbers_differ\tscore\n");
    for pair in pairs {
        for others in [0, FEW, usize::MAX] {
            let likeness = requests.compare(pair, others).likeness;
            let _ = writeln!(
                text,
                "{}\t{}\t{}\t{:.5}\t{:.5}\t{}\t{:.5}",
                u8::from(pair.is_duplicate()),
                pair.pr,
                others.min(1000),
                likeness.words,
                likeness.kinds,
                u8::from(likeness.numbers_differ),
                likeness.score()
            );
        }
    }
    text
}
