//! The judge that needs no model: takes the coordinator's place when that has failed for good.

use std::collections::HashMap;

use conclave_shared::{finding::Finding, telemetry::FindingFate};

use super::{JudgedFinding, decisions};

/// Findings below this confidence do not stand without a judge who could look.
const LEAST_CONFIDENCE: f64 = 0.80;

/// Merges reports of the same fingerprint, or of the same category at the same place, and takes out what its own
/// reviewer was not sure of.
pub fn judge_without_model(findings: Vec<Finding>) -> Vec<JudgedFinding> {
    let mut judged: Vec<JudgedFinding> = Vec::with_capacity(findings.len());
    let mut known: HashMap<(String, u32, String), usize> = HashMap::new();
    let mut by_fingerprint: HashMap<String, usize> = HashMap::new();
    for finding in findings {
        let place = (finding.file.clone(), finding.line, finding.category.clone());
        let print = finding.fingerprint.to_string();
        let twin = by_fingerprint.get(&print).or_else(|| known.get(&place)).copied();
        let mut entry = JudgedFinding::kept(finding);
        if let Some(twin) = twin {
            entry.fate = FindingFate::Merged;
            entry.reason_code = Some("duplicate".into());
            let keeper = &mut judged[twin].finding;
            for reviewer in &entry.finding.found_by {
                if !keeper.found_by.contains(reviewer) {
                    keeper.found_by.push(reviewer.clone());
                }
            }
            keeper.severity = keeper.severity.max(entry.finding.severity);
            keeper.confidence = keeper.confidence.max(entry.finding.confidence);
        } else {
            known.insert(place, judged.len());
            by_fingerprint.insert(print, judged.len());
        }
        judged.push(entry);
    }
    for entry in &mut judged {
        if entry.stands() && entry.finding.confidence < LEAST_CONFIDENCE {
            entry.fate = FindingFate::Dropped;
            entry.reason_code = Some("speculative".into());
            entry.reason = Some(format!("confidence below {LEAST_CONFIDENCE:.2} and no judge to look"));
        }
    }
    decisions::sort(&mut judged);
    judged
}
