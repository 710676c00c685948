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
    })
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
    is_same: bool,
    overlap: f64,
}

impl<'a> Scored<'a> {
    fn new(pair: &'a Pair, compared: &Compared) -> Self {
        Self {
            pair,
            score: compared.likeness.score(),
            is_same: compared.likeness.score() >= compared.border,
            overlap: token_overlap(&pair.a, &pair.b),
        }
    }
}

fn part(scored: &[&Scored<'_>]) -> Value {
    let merged = |duplicate: bool| {
        let of = scored.iter().filter(|scored| scored.pair.is_duplicate() == duplicate);
        let (merged, all) = of.fold((0, 0), |(merged, all), scored| {
            (merged + usize::from(scored.is_same), all + 1)
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
    let mut distinct: Vec<f64> = scored
        .iter()
        .filter(|one| !one.pair.is_duplicate())
        .map(|one| score(one))
        .collect();
    distinct.sort_by(|a, b| b.total_cmp(a));
    let border = distinct
        .get(distinct.len() * TOLERATED / 1000)
        .copied()
        .unwrap_or(f64::MIN);
    let duplicates: Vec<&&Scored<'_>> = scored.iter().filter(|one| one.pair.is_duplicate()).collect();
    let found = duplicates.iter().filter(|one| score(one) > border).count();
    percent(found, duplicates.len())
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
