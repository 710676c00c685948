//! `finding_outcome`: a later review, or a person, settled what an earlier review found.
//!
//! A trigger (`migrations/0006_proof.sql`) makes the repository's memory of the outcomes that are proved.

use conclave_shared::telemetry::FindingOutcome;

use super::{
    Checked, Families, Kind, Meaning, Writer,
    limits::{MAX_COUNT, MAX_REVIEWER, count, text},
    rows::{name, word},
};

const OUTCOMES: &str = "INSERT OR IGNORE INTO outcomes
  (event_id, run_id, project, at_ms, reviewer, severity, category, path, fingerprint, outcome, proven)
  SELECT value->>'id', value->>'run_id', value->>'project', value->>'at_ms', value->>'$.of.reviewer',
  value->>'$.of.severity', value->>'$.of.category', value->>'$.of.path', value->>'$.of.fingerprint',
  value->>'$.of.outcome', coalesce(value->>'proven', 0) FROM json_each(?1)";

pub(super) const KIND: Kind = Kind {
    statements: &[OUTCOMES],
    families,
    ..Kind::PLAIN
};

impl Meaning for FindingOutcome {
    fn check(&self) -> Checked {
        text("reviewer", self.reviewer.as_str(), MAX_REVIEWER)?;
        text("category", self.category.as_str(), 120)?;
        text("path", self.path.as_str(), 1024)?;
        text("fingerprint", self.fingerprint.as_str(), 128)?;
        text("claim", self.claim.as_deref(), 128)?;
        count("merge_request", self.merge_request, MAX_COUNT)
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        to.row(OUTCOMES, self);
        let [severity, outcome] = [self.severity.as_str(), self.outcome.as_str()].map(word);
        to.count("outcome", &[name("reviewer", &self.reviewer), severity, outcome], 1);
    }
}

fn families(to: &mut Families<'_>) {
    to.counts(
        "conclave_finding_outcomes",
        "Settled findings by reviewer, severity and outcome.",
        "outcome",
        ["reviewer", "severity", "outcome"],
        |names, [reviewer, severity, outcome]| [names.agent(reviewer), severity, outcome],
    );
}
