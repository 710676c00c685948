//! `circuit_changed`: the circuit of a model opened after failures, tried a call, or closed again.

use conclave_shared::telemetry::{CircuitChanged, CircuitState};

use super::{
    Checked, Families, Kind, Meaning, Writer,
    rows::{name, word},
};

const CIRCUITS: &str = "INSERT OR IGNORE INTO circuits (event_id, run_id, project, at_ms, model, state)
  SELECT value->>'id', value->>'run_id', value->>'project', value->>'at_ms', value->>'$.of.model', value->>'$.of.state'
  FROM json_each(?1)";

pub(super) const KIND: Kind = Kind {
    statements: &[CIRCUITS],
    families,
    ..Kind::PLAIN
};

impl Meaning for CircuitChanged {
    /// Model names are checked when they are read.
    fn check(&self) -> Checked {
        Ok(())
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        to.row(CIRCUITS, self);
        let state = match self.state {
            CircuitState::Closed => "closed",
            CircuitState::Open => "open",
            CircuitState::HalfOpen => "half_open",
        };
        to.count("circuit", &[name("model", self.model.as_str()), word(state)], 1);
    }
}

fn families(to: &mut Families<'_>) {
    to.counts(
        "conclave_circuit_changes",
        "Changes of models' circuits, by the state that they changed to.",
        "circuit",
        ["provider", "model", "state"],
        |names, [model, state, _]| {
            let label = names.model(model);
            let provider = label.split_once('/').map_or(label, |(provider, _)| provider);
            [provider, label, state]
        },
    );
}
