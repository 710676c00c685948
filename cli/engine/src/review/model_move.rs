//! A change of a session's model.

use conclave_shared::model::ModelId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Review;

/// A change of a session's model: to the next one that its route names, or to another route. What the gateway asks within a provider
/// stands among the warnings of the review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelMove {
    /// The model that gave no answer, or may not be asked any more.
    pub from: ModelId,
    /// The model that stood in for it.
    pub to: ModelId,
    /// The cause, in words.
    pub reason: String,
}

impl Review {
    /// The changes of models in words: a line for each kind, with the sessions that it happened in. The functions make reasons and
    /// models harmless for where the lines are shown.
    pub fn model_moves(&self, text: impl Fn(&str) -> String, code: impl Fn(&str) -> String) -> Vec<String> {
        let mut moves: Vec<(&ModelMove, Vec<String>)> = Vec::new();
        for report in self.reviewers.iter().chain([&self.coordinator]) {
            let name = report.name.display_name();
            for moved in &report.moves {
                match moves.iter_mut().find(|(known, _)| *known == moved) {
                    Some((_, names)) if names.contains(&name) => {}
                    Some((_, names)) => names.push(name.clone()),
                    None => moves.push((moved, vec![name.clone()])),
                }
            }
        }
        let line = |(ModelMove { from, to, reason }, names): (&ModelMove, Vec<String>)| {
            let (to, from) = (code(to.as_str()), code(from.as_str()));
            format!("{}: {to} stood in for {from} ({})", names.join(", "), text(reason))
        };
        moves.into_iter().map(line).collect()
    }
}
