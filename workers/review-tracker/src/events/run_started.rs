//! `run_started`: a review began. It comes once more with what the plan decided.

use conclave_shared::{
    risk::RiskTier,
    telemetry::{RunStarted, is_keyed_hash},
};

use super::{
    Checked, Families, Kind, Meaning, Writer,
    limits::{MAX_DURATION_MS, MAX_REVIEWER, count, text},
};

const MAX_PANEL: usize = 50;

/// The fields of a start. What is not known yet takes nothing away.
macro_rules! start {
    ($at_ms:literal) => {
        concat!(
            "UPDATE runs SET at_ms = ",
            $at_ms,
            ", tier = coalesce(j.value->>'$.of.tier', tier),
  forge = j.value->>'$.of.forge', merge_request = coalesce(j.value->>'$.of.merge_request', merge_request),
  client_version = j.value->>'$.of.client_version',
  panel = CASE json_array_length(j.value->'$.of.reviewers') WHEN 0 THEN panel ELSE j.value->'$.of.reviewers' END,
  author = coalesce(j.value->>'$.of.author', author),
  limit_ms = coalesce(j.value->>'$.of.limit_seconds' * 1000, limit_ms)
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'"
        )
    };
}

const STARTED: &str = start!("j.value->>'at_ms'");
/// The plan is known: the run began when its start said so, if that has come.
const PLANNED: &str = start!("CASE WHEN forge IS NULL THEN j.value->>'at_ms' ELSE at_ms END");

pub(super) const KIND: Kind = Kind {
    statements: &[STARTED, PLANNED],
    families,
    ..Kind::PLAIN
};

impl Meaning for RunStarted {
    fn check(&self) -> Checked {
        text("forge", self.forge.as_str(), 40)?;
        text("client_version", self.client_version.as_str(), 100)?;
        count("limit_seconds", self.limit_seconds, MAX_DURATION_MS / 1000)?;
        if self.reviewers.len() > MAX_PANEL {
            return Err(format!("`reviewers` has more than {MAX_PANEL} names"));
        }
        if self.author.as_deref().is_some_and(|author| !is_keyed_hash(author)) {
            return Err("`author` is not a keyed hash of 16 to 64 lower-case hexadecimal digits".to_owned());
        }
        let mut names = self.reviewers.iter();
        names.try_for_each(|name| text("reviewers", name.as_str(), MAX_REVIEWER))
    }

    fn tier(&self) -> Option<&'static str> {
        self.tier.map(RiskTier::as_str)
    }

    fn merge_request(&self) -> Option<u64> {
        self.merge_request
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        if self.planned {
            to.row(PLANNED, self);
        } else {
            to.row(STARTED, self);
            to.count("started", &[], 1);
        }
    }
}

fn families(to: &mut Families<'_>) {
    to.count("conclave_runs_started", "Reviews that began.", "started");
}
