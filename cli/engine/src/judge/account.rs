//! What the judge took out of a review, and when that leaves the approval to a person.

use conclave_shared::{path_globs::PathGlobs, severity::Severity};

use crate::review::{ApprovalHold, HoldCause, JudgedFinding, RemovedBy};

/// Findings of one severity that the judge removed for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedFindings {
    /// The severity that they were reported with.
    pub severity: Severity,
    /// The reason code; `merged` where it is missing.
    pub reason: String,
    /// How many.
    pub count: usize,
}

/// What the judge removed, by severity and reason: the severe ones first.
pub fn removed_by_judge(findings: &[JudgedFinding]) -> Vec<RemovedFindings> {
    let mut removed: Vec<RemovedFindings> = Vec::new();
    let by_judge = findings
        .iter()
        .filter(|entry| entry.removed_by == Some(RemovedBy::Judge));
    for entry in by_judge {
        let reason = entry.reason_code.clone().unwrap_or_else(|| "no_reason".to_owned());
        let severity = entry.finding.severity;
        match removed
            .iter_mut()
            .find(|known| known.severity == severity && known.reason == reason)
        {
            Some(known) => known.count += 1,
            None => removed.push(RemovedFindings {
                severity,
                reason,
                count: 1,
            }),
        }
    }
    removed.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.reason.cmp(&b.reason)));
    removed
}

/// What the judge removed, in a sentence for the account of the note and the terminal.
pub fn describe_removed(findings: &[JudgedFinding]) -> String {
    let removed = removed_by_judge(findings);
    let total: usize = removed.iter().map(|removed| removed.count).sum();
    if total == 0 {
        return "the judge removed no findings".to_owned();
    }
    let of = |severity: Severity| {
        let alike: Vec<&RemovedFindings> = removed.iter().filter(|removed| removed.severity == severity).collect();
        let count: usize = alike.iter().map(|removed| removed.count).sum();
        let reasons: Vec<String> = alike
            .iter()
            .map(|removed| format!("{} {}", removed.count, removed.reason.replace('_', " ")))
            .collect();
        (count > 0).then(|| format!("{count} {severity} ({})", reasons.join(", ")))
    };
    let parts: Vec<String> = [Severity::Critical, Severity::Warning, Severity::Suggestion]
        .into_iter()
        .filter_map(of)
        .collect();
    let findings = if total == 1 { "finding" } else { "findings" };
    format!("the judge removed {total} {findings}: {}", parts.join(", "))
}

/// Why the bot leaves the approval to a person, by what the run found and what the judge made of it.
pub fn holds(findings: &[JudgedFinding], prompt_paths: &PathGlobs) -> Vec<ApprovalHold> {
    let mut holds = Vec::new();
    let mut places: Vec<String> = Vec::new();
    for entry in findings.iter().filter(|entry| steers(entry, prompt_paths)) {
        let place = place(entry);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if !places.is_empty() {
        let reason = "words in this change are aimed at its reviewers.";
        holds.push(ApprovalHold::new(HoldCause::PromptInjection, reason).at(places));
    }
    for entry in findings {
        let Some(refutation) = entry.refuted_by_this_change() else {
            continue;
        };
        let (whose, task) = if let Some(place) = &refutation.altered_use {
            (
                &*format!("that this change uses in another way, or no longer, at {place}"),
                "check whether it still takes effect",
            )
        } else if let Some(doubt) = &refutation.uncertain {
            (&*format!("that may not apply ({doubt})"), "check whether it does")
        } else if refutation.lost_by_target {
            (
                "that only this change still has: the target branch no longer has it, or has altered its function",
                "check whether it holds after the merge",
            )
        } else {
            (
                "that this change itself adds or alters, or whose function it or the target branch has altered",
                "compare the two",
            )
        };
        let claim = entry.finding.claim.trim();
        let reason = format!("the judge counts \"{claim}\" as refuted or fixed by code {whose}; {task}.");
        holds.push(ApprovalHold::new(HoldCause::RefutedByThisChange, reason).at([place(entry), refutation.place()]));
    }
    holds
}

/// Returns whether the finding says that the change tries to steer its reviewers. In files whose words are the product
/// a judge may find it harmless, by code.
fn steers(entry: &JudgedFinding, prompt_paths: &PathGlobs) -> bool {
    let is_harmless = entry.removed_by == Some(RemovedBy::Judge) && prompt_paths.is_match(&entry.finding.file);
    entry.finding.is_prompt_injection() && !is_harmless
}

fn place(entry: &JudgedFinding) -> String {
    format!("{}:{}", entry.finding.file, entry.finding.line)
}

/// The reason to withhold an approval where a judge was asked and did not take part: any finding, or a panel that is not
/// complete.
pub fn no_judge(findings: &[JudgedFinding], is_panel_complete: bool) -> Option<ApprovalHold> {
    let reason = if !findings.is_empty() {
        "there are findings that no judge has seen."
    } else if !is_panel_complete {
        "not every reviewer finished, and no judge has seen the result."
    } else {
        return None;
    };
    let mut places: Vec<String> = findings.iter().map(place).collect();
    places.dedup();
    Some(ApprovalHold::new(HoldCause::NoJudge, reason).at(places))
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
