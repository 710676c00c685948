//! `verdict_applied`: a verdict asked something of the forge, and what the forge shows was read back.

use conclave_shared::telemetry::VerdictApplied;

use super::{
    Checked, Families, Kind, Meaning, Writer,
    limits::{MAX_COUNT, count, text},
    rows::word,
};

const VERDICTS: &str = "UPDATE runs SET wanted = j.value->>'$.of.wanted', shown = j.value->>'$.of.shown',
  mismatch = j.value->>'$.of.mismatch' FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

/// The states that can be asked of a forge, and that it can show; anything else is counted as `other`.
const STATES: [&str; 3] = ["approved", "requested_changes", "none"];

pub(super) const KIND: Kind = Kind {
    statements: &[VERDICTS],
    families,
    ..Kind::PLAIN
};

impl Meaning for VerdictApplied {
    fn check(&self) -> Checked {
        count("merge_request", self.merge_request, MAX_COUNT)?;
        text("wanted", self.wanted.as_str(), 40)?;
        text("shown", self.shown.as_deref(), 40)
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        to.row(VERDICTS, self);
        let shown = self.shown.as_deref().unwrap_or_default();
        let mismatch = if self.mismatch { "yes" } else { "no" };
        to.count(
            "verdict",
            &[word(state(&self.wanted)), word(state(shown)), word(mismatch)],
            1,
        );
    }
}

fn state(said: &str) -> &str {
    if said.is_empty() || STATES.contains(&said) {
        said
    } else {
        "other"
    }
}

fn families(to: &mut Families<'_>) {
    to.counts(
        "conclave_verdicts_applied",
        "Verdicts put on a forge: whether it shows what was asked.",
        "verdict",
        ["wanted", "result"],
        |_, [wanted, shown, mismatch]| {
            let result = match (mismatch, shown) {
                ("yes", _) => "mismatch",
                (_, "") => "unknown",
                _ => "match",
            };
            [if STATES.contains(&wanted) { wanted } else { "other" }, result]
        },
    );
}
