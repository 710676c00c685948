//! How alike two claims are.
//!
//! Likeness is the cosine of two sets of words, with each word weighed by how rare it is: a short claim and a long one
//! about the same problem are more alike by it than as parts of all that either says. Two terms correct it: whether they
//! speak of the same kinds of defect, and whether they name different numbers. More terms, weighed by a fitted model
//! (character sequences, identifiers, pairs of words, the beginning of the sentence), did better on the merge requests that
//! the model was fitted on, and worse on others. `scripts/evidence` measures this, also with borders that were chosen
//! without the merge requests that they are tried on.

use std::collections::{BTreeSet, HashMap};

use super::{background::weight, words::Claim};

/// Claims about one merge request.
///
/// They are compared in each other's light: what most of them speak of, such as the class that was changed, says little
/// about whether two of them mean the same.
#[derive(Debug, Clone, Default)]
pub struct Claims {
    claims: Vec<Claim>,
    seen: HashMap<String, u32>,
}

/// What two claims are compared by, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Likeness {
    /// The cosine of what they say.
    pub words: f64,
    /// The kinds of defect that both speak of, as a part of those that either speaks of.
    pub kinds: f64,
    /// Whether each names several numbers, and not the same ones in the same order.
    pub numbers_differ: bool,
}

impl Likeness {
    /// How much the kinds of defect count.
    const KINDS: f64 = 0.15;
    /// How much it counts against sameness that the numbers differ: a value changed from 30 to 70 and one changed from 70 to
    /// 30 are described in the same words.
    const NUMBERS: f64 = 0.15;

    /// All of it as one number.
    pub fn score(&self) -> f64 {
        let numbers = if self.numbers_differ { Self::NUMBERS } else { 0.0 };
        self.words + Self::KINDS * self.kinds - numbers
    }
}

impl Claims {
    /// The claims, ready to be compared.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let claims: Vec<Claim> = texts.into_iter().map(Claim::new).collect();
        let mut seen = HashMap::new();
        for word in claims.iter().flat_map(|claim| &claim.words) {
            *seen.entry(word.clone()).or_insert(0) += 1;
        }
        Self { claims, seen }
    }

    /// How alike two of them are, named by their positions. The order does not matter.
    pub fn likeness(&self, one: usize, other: usize) -> Likeness {
        let (Some(one), Some(other)) = (self.claims.get(one), self.claims.get(other)) else {
            return Likeness::default();
        };
        let weight = |word: &String| {
            let own = u32::from(one.words.contains(word)) + u32::from(other.words.contains(word));
            weight(word) * self.light(word, own)
        };
        let either = one.kinds.union(&other.kinds).count();
        Likeness {
            words: cosine(&one.words, &other.words, weight),
            kinds: ratio(count(one.kinds.intersection(&other.kinds).count()), count(either)),
            numbers_differ: numbers_differ(&one.numbers, &other.numbers),
        }
    }

    /// From this score on two of these claims are taken for the same.
    ///
    /// The fewer claims there are, the less is known of what all of them speak of, and the more two have to share.
    pub fn border(&self) -> f64 {
        border(self.claims.len().saturating_sub(2))
    }

    /// Returns whether two of them are taken for the same claim.
    pub fn are_same(&self, one: usize, other: usize) -> bool {
        self.likeness(one, other).score() >= self.border()
    }

    /// What is left of a word's weight when others of the claims have it as well.
    fn light(&self, word: &str, own: u32) -> f64 {
        let others = self.seen.get(word).copied().unwrap_or(0).saturating_sub(own);
        // As if there were one claim more, which has none of the words.
        1.0 - f64::from(others) / (count(self.claims.len().saturating_sub(2)) + 1.0)
    }
}

/// The border with so many claims besides the two.
///
/// Each lies above what `scripts/evidence` calls the careful border: where the tolerated part of distinct pairs lay above
/// it with any one merge request left out. What is still above are pairs that people would call the same.
fn border(others: usize) -> f64 {
    /// With many others.
    const MANY: f64 = 0.39;
    /// With none.
    const NONE: f64 = 0.52;
    /// With so many others it lies half-way.
    const HALF_WAY: f64 = 1.2;
    MANY + (NONE - MANY) / (1.0 + count(others) / HALF_WAY)
}

/// Returns whether each names several numbers, and neither names them as the other does: all of its own, in its order.
fn numbers_differ(one: &[String], other: &[String]) -> bool {
    let holds = |all: &[String], part: &[String]| {
        let mut all = all.iter();
        part.iter().all(|number| all.any(|other| other == number))
    };
    one.len() > 1 && other.len() > 1 && !holds(one, other) && !holds(other, one)
}

/// The cosine of two sets, with the weights of what is in them.
fn cosine(one: &BTreeSet<String>, other: &BTreeSet<String>, weight: impl Fn(&String) -> f64) -> f64 {
    let sum = |words: &mut dyn Iterator<Item = &String>| words.map(&weight).sum::<f64>();
    let both = sum(&mut one.intersection(other));
    ratio(both, (sum(&mut one.iter()) * sum(&mut other.iter())).sqrt())
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
#[path = "similarity_tests.rs"]
mod tests;
