//! The judge that needs no model: takes the coordinator's place when that has failed for good.

use std::collections::HashMap;

use conclave_shared::{finding::Finding, risk::SecurityPaths, severity::Severity, telemetry::FindingFate};

use super::{agreement::merge, apply::sort};
use crate::{
    findings::repeats,
    review::{JudgedFinding, RemovedBy},
};

/// Findings below this confidence do not stand without a judge who could look.
const MIN_CONFIDENCE: f64 = 0.80;

/// Merges reports of one problem, takes out what its own reviewer was not sure of, and lowers what would need a second
/// quoted place and has none: a warning becomes a suggestion. What is critical stands as it is, however sure its reviewer was,
/// and so do words that try to steer the review and breaches of rules that ask for a person: without a judge they are not refuted. Whatever is taken out here, the bot
/// approves nothing then ([`super::no_judge`]).
///
/// Within a severity, files whose paths sound like security come first, then what several reviewers found, then what is
/// proved best.
pub fn judge_without_model(findings: Vec<Finding>) -> Vec<JudgedFinding> {
    let groups = repeats(&findings);
    let mut judged: Vec<JudgedFinding> = findings.into_iter().map(JudgedFinding::kept).collect();
    for group in groups {
        merge(&mut judged, &group);
    }
    for entry in judged.iter_mut().filter(|entry| entry.stands()) {
        if entry.weighs() {
            continue;
        }
        let finding = &mut entry.finding;
        if finding.confidence < MIN_CONFIDENCE {
            let reason = format!("confidence below {MIN_CONFIDENCE:.2} and no judge to look");
            entry.remove_for(FindingFate::Dropped, RemovedBy::Rules, "speculative", reason);
        } else if finding.lacks_second_quote() && finding.severity == Severity::Warning && finding.on_breach().is_none()
        {
            entry.reported = Some(finding.severity);
            finding.severity = Severity::Suggestion;
            entry.reason = Some("lowered: a claim of this kind needs a second quoted place".into());
        }
    }
    sort(&mut judged);
    let sensitive = SecurityPaths::default();
    let mut known: HashMap<String, bool> = HashMap::new();
    let mut is_sensitive = |path: &str| {
        *known
            .entry(path.to_owned())
            .or_insert_with(|| sensitive.reason(path).is_some())
    };
    // Stable: what is equal here keeps its order.
    judged.sort_by_cached_key(|entry| {
        let first = (entry.finding.severity, is_sensitive(&entry.finding.file));
        std::cmp::Reverse(first)
    });
    judged
}
