//! Sections that plugins add: to what everybody reads, or to the message of one agent.
//!
//! Wherever their text comes from (a file of the repository, an address, the diff), it is sanitized here, at the only place
//! where it is rendered.

use crate::{
    plugin::{Audience, PromptSection, RuntimeConfig},
    untrusted::Nonce,
};

/// The sections that one agent reads, in the order of registration.
pub(super) fn for_agent(contributed: &RuntimeConfig, agent: &str, nonce: &Nonce) -> Vec<String> {
    let audience = Audience::Agent(agent.to_owned());
    contributed
        .sections
        .iter()
        .filter(|section| section.value.audience == audience && !section.value.text.is_blank())
        .map(|section| {
            let PromptSection { name, text, .. } = &section.value;
            nonce.section(name, &text.sanitized())
        })
        .collect()
}

/// Puts a reviewer's own sections behind its role: what differs between reviewers comes last, or caches would not hold.
pub fn add_to_reviewer(parts: &mut [String], contributed: &RuntimeConfig, reviewer: &str, nonce: &Nonce) {
    let Some(role) = parts.last_mut() else { return };
    for section in for_agent(contributed, reviewer, nonce) {
        role.truncate(role.trim_end().len());
        role.push_str("\n\n");
        role.push_str(&section);
    }
}

#[cfg(test)]
#[path = "sections_tests.rs"]
mod tests;
