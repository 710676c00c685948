//! Sections that plugins add: to what everybody reads, or to the message of one agent.
//!
//! Wherever their text comes from (a file of the repository, an address, the diff), it is sealed here, at the only place
//! where it is rendered.

use crate::{
    plugin::{Audience, PromptSection, RuntimeConfig},
    untrusted::Nonce,
};

/// The sections that everybody reads, in the order of registration.
pub fn for_everyone(contributed: &RuntimeConfig, nonce: &Nonce) -> Vec<String> {
    rendered(contributed, &Audience::Everyone, nonce)
}

/// The sections that one agent reads, in the order of registration, and what was found out for it without a model.
pub fn for_agent(contributed: &RuntimeConfig, agent: &str, nonce: &Nonce) -> Vec<String> {
    let mut sections = rendered(contributed, &Audience::Agent(agent.to_owned()), nonce);
    let hints: Vec<String> = contributed
        .hints
        .iter()
        .filter(|hint| hint.value.agent == agent)
        .map(|hint| format!("- {}", hint.value.text.sealed_line()))
        .collect();
    if !hints.is_empty() {
        sections.push(format!(
            "What Conclave established about this merge request without a model; check it against the source:\n{}",
            nonce.section("established_facts", &hints.join("\n"))
        ));
    }
    sections
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

fn rendered(contributed: &RuntimeConfig, audience: &Audience, nonce: &Nonce) -> Vec<String> {
    contributed
        .sections
        .iter()
        .filter(|section| section.value.audience == *audience && !section.value.text.is_blank())
        .map(|section| {
            let PromptSection { name, text, .. } = &section.value;
            nonce.section(name, &text.sealed())
        })
        .collect()
}

#[cfg(test)]
#[path = "sections_tests.rs"]
mod tests;
