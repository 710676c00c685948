//! `failback`: another model took over.

use conclave_shared::telemetry::{Failback, FailbackReason};

use super::{
    Checked, Families, Kind, Meaning, Writer,
    limits::{MAX_REVIEWER, text},
    rows::{name, word},
};

const FAILBACKS: &str = "INSERT OR IGNORE INTO failbacks
  (event_id, run_id, project, at_ms, reviewer, from_model, to_model, reason)
  SELECT value->>'id', value->>'run_id', value->>'project', value->>'at_ms', value->>'$.of.reviewer',
  value->>'$.of.from', value->>'$.of.to', value->>'$.of.reason' FROM json_each(?1)";

pub(super) const KIND: Kind = Kind {
    statements: &[FAILBACKS],
    families,
    ..Kind::PLAIN
};

impl Meaning for Failback {
    fn check(&self) -> Checked {
        text("reviewer", self.reviewer.as_str(), MAX_REVIEWER)
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        to.row(FAILBACKS, self);
        let reason = match self.reason {
            FailbackReason::Failed => "failed",
            FailbackReason::CircuitOpen => "circuit_open",
            FailbackReason::Reprompted => "reprompted",
        };
        let [from, to_model] = [self.from.as_str(), self.to.as_str()].map(|model| name("model", model));
        to.count("failback", &[from, to_model, word(reason)], 1);
    }
}

fn families(to: &mut Families<'_>) {
    to.counts(
        "conclave_failbacks",
        "Times that another model took over, by the model that was replaced.",
        "failback",
        ["model", "reason"],
        |names, [from, _, reason]| [names.model(from), reason],
    );
}
