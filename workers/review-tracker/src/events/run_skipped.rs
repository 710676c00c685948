//! `run_skipped`: a review ended because there was nothing to review.

use conclave_shared::telemetry::RunSkipped;

use super::{Checked, Families, Kind, Meaning, Writer, rows::word};

/// Runs that had nothing to review. Told apart from those that a person skipped.
const UNNEEDED: &str = "UPDATE runs SET skipped = 2,
  merge_request = coalesce(j.value->>'$.of.merge_request', merge_request)
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id' AND skipped = 0";

pub(super) const KIND: Kind = Kind {
    statements: &[UNNEEDED],
    families,
    ..Kind::PLAIN
};

impl Meaning for RunSkipped {
    fn check(&self) -> Checked {
        Ok(())
    }

    fn merge_request(&self) -> Option<u64> {
        self.merge_request
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        to.row(UNNEEDED, self);
        to.count("run_skipped", &[word(self.reason.as_str())], 1);
    }
}

fn families(to: &mut Families<'_>) {
    to.count(
        "conclave_runs_unneeded",
        "Reviews that ended because there was nothing to review.",
        "run_skipped",
    );
}
