//! Bounded label values: a client that makes up names must not make up time series.

use std::collections::HashSet;

use super::{
    Totals,
    known_names::{built_in_agents, built_in_models},
};

/// Stands for all names beyond the limit.
const OTHER: &str = "other";
/// Agents and models beyond the built-in ones that keep a series of their own. Their combinations make at most 31 × 133 × 5 series,
/// of which made-up names are in 31 × 31 × 5.
pub(crate) const MAX_OTHER_AGENTS: usize = 15;
/// See [`MAX_OTHER_AGENTS`].
pub(crate) const MAX_MODELS: usize = 30;
/// The agents, and the models, of these that one project may bring.
pub(crate) const MAX_OF_A_PROJECT: usize = 5;
/// Labels that name an agent.
pub(crate) const AGENTS: [&str; 2] = ["agent", "reviewer"];

/// The names that keep a series of their own.
///
/// Beside the built-in ones, they are the first ones that were ever seen, not the most frequent ones: a name that changed sides would move its
/// count from one counter to another, and counters must not fall.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    agents: HashSet<&'a str>,
    models: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    /// The built-in ones, and the first ones of the others.
    pub(super) fn of(all: &'a Totals) -> Self {
        let seen = |kind| all.names.get(kind).map_or(&[][..], Vec::as_slice);
        Self {
            agents: first(&built_in_agents(), seen("reviewer"), MAX_OTHER_AGENTS),
            models: first(&built_in_models(), seen("model"), MAX_MODELS),
        }
    }

    /// The label value of an agent.
    pub(super) fn agent<'b>(&self, name: &'b str) -> &'b str {
        if self.agents.contains(name) { name } else { OTHER }
    }

    /// The label value of a model.
    pub(super) fn model<'b>(&self, name: &'b str) -> &'b str {
        if self.models.contains(name) { name } else { OTHER }
    }
}

/// The built-in names, and the first `limit` of the others.
fn first<'a>(built_in: &[&'a str], seen: &'a [String], limit: usize) -> HashSet<&'a str> {
    let others = seen.iter().map(String::as_str).filter(|name| !built_in.contains(name));
    built_in.iter().copied().chain(others.take(limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_names_take_no_place_and_late_names_are_other() {
        let seen: Vec<String> = ["b", "security", "a", "c"].map(str::to_owned).to_vec();
        let names = Names {
            agents: first(&["security"], &seen, 2),
            models: HashSet::new(),
        };
        assert_eq!(
            ["security", "b", "a", "c", "never"].map(|name| names.agent(name)),
            ["security", "b", "a", OTHER, OTHER]
        );
    }
}
