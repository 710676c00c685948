//! The coordinator's input, in XML sections.

use super::{
    ContextFile, Nonce,
    context::{changed_files, subject_sections},
};

/// The coordinator's first message.
pub fn render_coordinator(file: &ContextFile<'_>, nonce: &Nonce) -> String {
    let mut sections = subject_sections(file.subject, nonce);
    sections.push(nonce.section("changed_files", &changed_files(file)));
    if let Some(instructions) = file.project_instructions.filter(|text| !text.is_blank()) {
        sections.push(nonce.section("custom_review_instructions", &instructions.sealed()));
    }
    let input = nonce.section("mr_input", &sections.join("\n\n"));
    format!(
        "{input}\n\nThe reviewers are already at work on this merge request. Call `spawn_reviewers` to get their \
         findings, judge them, then call `submit_review`."
    )
}
