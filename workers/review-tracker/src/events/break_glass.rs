//! `break_glass`: a person skipped the review.

use conclave_shared::telemetry::{BreakGlass, EventBody, is_keyed_hash};

use super::{Checked, Families, Kind, Meaning, Writer, known_runs, limits::text};

/// Stands for a person whose hash was not sent.
const UNKNOWN_PERSON: &str = "unknown";

const SKIPPED: &str = "UPDATE runs SET skipped = 1, merge_request = j.value->>'$.of.merge_request'
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

const GLASSES: &str = "INSERT OR IGNORE INTO glasses (event_id, run_id, project, at_ms, merge_request, who)
  SELECT value->>'id', value->>'run_id', value->>'project', value->>'at_ms', value->>'$.of.merge_request',
  value->>'$.of.user' FROM json_each(?1)";

pub(super) const KIND: Kind = Kind {
    statements: &[SKIPPED, GLASSES],
    families,
    ..Kind::PLAIN
};

impl Meaning for BreakGlass {
    fn check(&self) -> Checked {
        text("user", self.user.as_str(), 256)?;
        text("head_sha", self.head_sha.as_str(), 64)
    }

    fn tier(&self) -> Option<&'static str> {
        Some(known_runs::SKIPPED)
    }

    fn merge_request(&self) -> Option<u64> {
        Some(self.merge_request)
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        to.row(SKIPPED, self);
        to.row(GLASSES, self);
        to.count("break_glass", &[], 1);
    }
}

/// Takes out what may be a person's name: clients before there was a keyed hash sent one.
pub(super) fn hide_name(event: &mut EventBody) {
    if let EventBody::BreakGlass(glass) = event
        && !is_keyed_hash(&glass.user)
    {
        UNKNOWN_PERSON.clone_into(&mut glass.user);
    }
}

fn families(to: &mut Families<'_>) {
    to.count("conclave_break_glass", "Reviews that a person skipped.", "break_glass");
}
