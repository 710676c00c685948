//! `telemetry_dropped`: a run dropped events before they could be sent. It is only counted.

use conclave_shared::telemetry::TelemetryDropped;

use super::{
    Checked, Families, Kind, Meaning, Writer,
    limits::{MAX_COUNT, count},
};

pub(super) const KIND: Kind = Kind {
    families,
    ..Kind::PLAIN
};

impl Meaning for TelemetryDropped {
    fn check(&self) -> Checked {
        count("events", self.events, MAX_COUNT)
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        to.count("dropped", &[], self.events);
    }
}

fn families(to: &mut Families<'_>) {
    to.count(
        "conclave_telemetry_dropped",
        "Events that reviews could not send and dropped.",
        "dropped",
    );
}
