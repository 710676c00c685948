//! The coordinator's input, in XML sections.

use conclave_shared::reviewer::ReviewerName;

use super::{
    ContextFile, Nonce,
    context::{changed_files, subject_sections},
    for_agent, for_everyone,
};

/// The coordinator's first message.
pub fn render_coordinator(file: &ContextFile<'_>, nonce: &Nonce) -> String {
    let mut sections = subject_sections(file.subject, nonce);
    sections.push(nonce.section("changed_files", &changed_files(file)));
    if let Some(instructions) = file.project_instructions.filter(|text| !text.is_blank()) {
        sections.push(nonce.section("custom_review_instructions", &instructions.sealed()));
    }
    sections.extend(for_everyone(file.contributed, nonce));
    sections.extend(for_agent(file.contributed, ReviewerName::COORDINATOR, nonce));
    let input = nonce.section("mr_input", &sections.join("\n\n"));
    format!(
        "{input}\n\nThe reviewers are already at work on this merge request. Call `spawn_reviewers` to get their \
         findings, judge them, then call `submit_review`."
    )
}
