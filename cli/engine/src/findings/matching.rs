//! Which findings of a panel are reports of one problem.
//!
//! The place alone says little, for four of ten real findings lie within three lines of another, and so do the words alone:
//! the same sentence about another place is another problem. Two findings are compared only where the code that they
//! quote overlaps, and then by the plain overlap of their claims' words. Measured with whole repositories left out
//! (`scripts/evidence`), weights, stems and groups of synonyms found no more than that. No model is asked: the same
//! findings give the same groups on every machine.

use std::{collections::BTreeSet, ops::RangeInclusive};

use conclave_shared::{finding::Finding, reviewer::ReviewerName};

/// Two reports of one place whose claims share this part of their words are shown to the judge as one claim.
const ALIKE: f64 = 0.25;
/// From here on they are one problem without a judge. No pair of distinct claims that was measured comes this far.
const SURE: f64 = 0.40;
/// Fewer words in common prove nothing: in a language that is written without spaces, a name and a particle are a part of two
/// claims that is large enough.
const MIN_SHARED: usize = 4;

/// Findings that make the same claim, as groups of at least two positions, for a reader: an agreement of
/// reviewers, a hint for the judge. No finding is in two groups.
pub fn same_claims(findings: &[Finding]) -> Vec<Vec<usize>> {
    groups(findings, ALIKE, |one, other| {
        let mut pairs = quoted(one).flat_map(|place| quoted(other).map(move |another| (place.clone(), another)));
        pairs.any(|(place, another)| overlap(&place, &another))
    })
}

/// Findings that a program may take for one without a judge, as groups of at least two positions: those that quote the same
/// lines of one file, and say nearly the same.
pub fn repeats(findings: &[Finding]) -> Vec<Vec<usize>> {
    groups(findings, SURE, |one, other| overlap(&anchor(one), &anchor(other)))
}

/// The part of the words of either claim that both have, from 0 to 1.
pub fn claim_overlap(one: &str, other: &str) -> f64 {
    share(&words(one), &words(other))
}

/// Returns whether two reports of one place say nearly the same, so that a program may take them for one.
pub fn claims_agree(one: &str, other: &str) -> bool {
    one == other || claim_overlap(one, other) >= SURE
}

/// A finding joins a group by its likeness to all of it, so that no chain of half-alike claims becomes one problem.
fn groups(findings: &[Finding], border: f64, one_place: impl Fn(&Finding, &Finding) -> bool) -> Vec<Vec<usize>> {
    let claims: Vec<BTreeSet<String>> = findings.iter().map(|finding| words(&finding.claim)).collect();
    let alike = |at: usize, other_at: usize| {
        let (one, other) = (&findings[at], &findings[other_at]);
        // Words that steer the review are never hidden behind another problem.
        if one.is_prompt_injection() != other.is_prompt_injection() || !one_place(one, other) {
            return None;
        }
        // Of one kind on one line are also two problems of that line: what they say has to agree.
        if one.claim == other.claim && one.fingerprint == other.fingerprint && one.line == other.line {
            return Some(1.0);
        }
        // One reviewer reports a problem once: two of its findings are two problems, whatever they look like.
        let share = (one.reviewer != other.reviewer).then(|| share(&claims[at], &claims[other_at]));
        share.filter(|share| *share >= border)
    };
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for (one, other) in on_common_lines(findings) {
        pairs.extend(alike(one, other).map(|share| (share, one, other)));
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut group_of: Vec<usize> = (0..findings.len()).collect();
    let mut groups: Vec<Vec<usize>> = group_of.iter().map(|index| vec![*index]).collect();
    for (_, one, other) in pairs {
        let (keep, take) = (group_of[one].min(group_of[other]), group_of[one].max(group_of[other]));
        let mut across = groups[keep]
            .iter()
            .flat_map(|left| groups[take].iter().map(|right| (*left, *right)));
        if keep != take && across.all(|(left, right)| alike(left, right).is_some()) {
            let taken = std::mem::take(&mut groups[take]);
            for index in &taken {
                group_of[*index] = keep;
            }
            groups[keep].extend(taken);
            groups[keep].sort_unstable();
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// The pairs of findings that quote a common line, each with the smaller position first: of many findings, few are compared.
fn on_common_lines(findings: &[Finding]) -> BTreeSet<(usize, usize)> {
    let mut places: Vec<(Place<'_>, usize)> = Vec::new();
    for (at, finding) in findings.iter().enumerate() {
        places.extend(quoted(finding).map(|place| (place, at)));
    }
    places.sort_by(|(one, _), (other, _)| (one.0, one.1.start()).cmp(&(other.0, other.1.start())));
    let mut pairs = BTreeSet::new();
    for (first, (place, one)) in places.iter().enumerate() {
        // Those behind begin no earlier.
        let begins_inside = |(other, _): &&(Place<'_>, usize)| other.0 == place.0 && other.1.start() <= place.1.end();
        let others = places[first + 1..].iter().take_while(begins_inside);
        pairs.extend(
            others
                .filter(|(_, other)| other != one)
                .map(|(_, other)| (*one.min(other), *one.max(other))),
        );
    }
    pairs
}

/// Lines of a file.
type Place<'f> = (&'f str, RangeInclusive<u32>);

fn anchor(finding: &Finding) -> Place<'_> {
    (&finding.file, finding.lines())
}

/// The places of all code that the finding quotes.
fn quoted(finding: &Finding) -> impl Iterator<Item = Place<'_>> {
    let second = finding.second.iter().map(|quote| {
        let more = quote.code.lines().count().saturating_sub(1);
        let end = quote.line.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        (quote.file.as_str(), quote.line..=end)
    });
    std::iter::once(anchor(finding)).chain(second)
}

fn overlap(one: &Place<'_>, other: &Place<'_>) -> bool {
    one.0 == other.0 && lines_overlap(&one.1, &other.1)
}

/// Returns whether two ranges have a line in common.
pub(crate) fn lines_overlap(one: &RangeInclusive<u32>, other: &RangeInclusive<u32>) -> bool {
    one.start() <= other.end() && other.start() <= one.end()
}

fn words(claim: &str) -> BTreeSet<String> {
    let lower = claim.to_lowercase();
    let words = lower.split(|character: char| !character.is_alphanumeric() && character != '_');
    words.filter(|word| word.len() > 2).map(str::to_owned).collect()
}

fn share(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    let count = |words: usize| f64::from(u32::try_from(words).unwrap_or(u32::MAX));
    let both = one.intersection(other).count();
    if both == 0 || (both < MIN_SHARED && one != other) {
        return 0.0;
    }
    count(both) / count(one.len() + other.len() - both)
}

/// Records who agrees with whom: each finding of a group is found by everybody in it. Each keeps its own reviewer first.
pub fn record_agreement(findings: &mut [Finding]) {
    for group in same_claims(findings) {
        let found_by = group.iter().flat_map(|index| findings[*index].found_by.clone());
        let everybody: Vec<ReviewerName> = found_by.collect();
        for index in group {
            findings[index].add_found_by(&everybody);
        }
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
