//! Bounded label values: a client that makes up names must not make up time series.

use std::collections::HashSet;

use conclave_shared::reviewer::ReviewerName;

use super::Totals;

/// Stands for all names beyond the limit.
const OTHER: &str = "other";
/// Agents beyond the built-in ones, and models, that keep a series of their own. Their combinations make at most 26 × 31 × 5
/// series.
pub(crate) const MAX_OTHER_AGENTS: usize = 15;
/// See [`MAX_OTHER_AGENTS`].
pub(crate) const MAX_MODELS: usize = 30;
/// Labels that name an agent.
pub(crate) const AGENTS: [&str; 2] = ["agent", "reviewer"];

/// Agents that always have a series of their own.
pub(crate) fn built_in_agents() -> Vec<&'static str> {
    ReviewerName::STANDING
        .into_iter()
        .chain([ReviewerName::COORDINATOR])
        .collect()
}

/// The names that keep a series of their own.
///
/// They are the first ones that were ever seen, not the most frequent ones: a name that changed sides would move its
/// count from one counter to another, and counters must not fall.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    agents: HashSet<&'a str>,
    models: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    /// The built-in agents, and the first ones of the others and of the models.
    pub(super) fn of(all: &'a Totals) -> Self {
        let seen = |kind| all.names.get(kind).map_or(&[][..], Vec::as_slice);
        Self {
            agents: first(&built_in_agents(), seen("reviewer"), MAX_OTHER_AGENTS),
            models: first(&[], seen("model"), MAX_MODELS),
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
