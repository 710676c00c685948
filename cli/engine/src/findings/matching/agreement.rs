//! Which findings of a panel are one claim, and who agrees with whom.

use conclave_shared::finding::Finding;

use super::Claims;

/// Findings this near are about the same code.
const NEAR_LINES: u32 = 3;
/// Findings about the same code need a little less likeness of words, findings in different files more: the same sentence
/// about another place is another problem.
const PLACE: f64 = 0.05;

/// Findings that make the same claim, as groups of at least two positions. No finding is in two groups.
///
/// One reviewer reports a problem once: two findings of the same reviewer are two problems, whatever they look like. A
/// finding joins a group by its likeness to all of it, not to one of it, so that no chain of half-alike claims becomes
/// one problem.
pub fn same_claims(findings: &[Finding]) -> Vec<Vec<usize>> {
    let claims = Claims::new(findings.iter().map(|finding| finding.claim.as_str()));
    let border = claims.border();
    let alike = |one: usize, other: usize| {
        let words = || claims.likeness(one, other).score() - border;
        likeness(&findings[one], &findings[other], words)
    };
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for one in 0..findings.len() {
        for other in one + 1..findings.len() {
            if let Some(likeness) = alike(one, other).filter(|likeness| *likeness >= 0.0) {
                pairs.push((likeness, one, other));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut groups: Vec<Vec<usize>> = (0..findings.len()).map(|index| vec![index]).collect();
    for (_, one, other) in pairs {
        let (Some(one), Some(other)) = (group_of(&groups, one), group_of(&groups, other)) else {
            continue;
        };
        if one == other {
            continue;
        }
        let mut sum = 0.0;
        let mut count = 0.0;
        let mut may = true;
        for &left in &groups[one] {
            for &right in &groups[other] {
                match alike(left, right) {
                    Some(likeness) => sum += likeness,
                    None => may = false,
                }
                count += 1.0;
            }
        }
        if may && sum / count >= 0.0 {
            let (keep, take) = (one.min(other), one.max(other));
            let taken = groups.remove(take);
            groups[keep].extend(taken);
            groups[keep].sort_unstable();
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

fn group_of(groups: &[Vec<usize>], index: usize) -> Option<usize> {
    groups.iter().position(|group| group.contains(&index))
}

/// At least 0 if the two are one claim, the more the surer; `None` if they cannot be.
fn likeness(one: &Finding, other: &Finding, words: impl FnOnce() -> f64) -> Option<f64> {
    /// Beyond what words can give.
    const CERTAIN: f64 = 100.0;
    let same_problem = one.fingerprint == other.fingerprint;
    if one.reviewer == other.reviewer {
        return (same_problem && one.line == other.line).then_some(CERTAIN);
    }
    if same_problem {
        return Some(CERTAIN);
    }
    let place = if one.file != other.file {
        -PLACE
    } else if are_near(one, other) {
        PLACE
    } else {
        0.0
    };
    Some(words() + place)
}

fn are_near(one: &Finding, other: &Finding) -> bool {
    let end = |finding: &Finding| finding.end_line.unwrap_or(finding.line).max(finding.line);
    one.line <= end(other).saturating_add(NEAR_LINES) && other.line <= end(one).saturating_add(NEAR_LINES)
}

/// Records who agrees with whom: each finding of a group is found by everybody in it. Each keeps its own reviewer first.
pub fn record_agreement(findings: &mut [Finding]) {
    for group in same_claims(findings) {
        let mut everybody = Vec::new();
        for &index in &group {
            for reviewer in &findings[index].found_by {
                if !everybody.contains(reviewer) {
                    everybody.push(reviewer.clone());
                }
            }
        }
        for &index in &group {
            for reviewer in &everybody {
                if !findings[index].found_by.contains(reviewer) {
                    findings[index].found_by.push(reviewer.clone());
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "agreement_tests.rs"]
mod tests;
