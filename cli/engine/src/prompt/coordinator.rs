//! The coordinator's input, in XML sections.

use conclave_shared::reviewer::ReviewerName;

use super::{
    ContextFile, Rendered,
    context::{Cuts, instruction_sections, subject_sections},
    sections::for_agent,
};
use crate::untrusted::Nonce;

/// The coordinator's first message: all sections that its prompt speaks of, also those with nothing in them.
pub fn render_coordinator(file: &ContextFile<'_>, nonce: &Nonce) -> Rendered {
    let mut cuts = Cuts::default();
    let instructions = instruction_sections(file, &mut cuts);
    let subject = subject_sections(file, &mut cuts);
    let contents = instructions
        .into_iter()
        .chain(subject.into_iter().map(|section| (section.name, section.content)));
    let mut sections: Vec<String> = contents
        .map(|(name, content)| nonce.section(name, content.as_deref().unwrap_or("(none)")))
        .collect();
    sections.extend(for_agent(file.contributed, ReviewerName::COORDINATOR, nonce));
    let input = nonce.section("mr_input", &sections.join("\n\n"));
    let order = if file.patches.is_empty() {
        "No file has to be reviewed: what this change has was reviewed before, as it is, so the panel is empty and \
         nothing is missing. Judge the earlier findings, answer what people ask, then call `submit_review`. The panel's answer:"
    } else {
        "The reviewers are done. Judge their findings, then call `submit_review`. These are they, as `spawn_reviewers` returns \
         them:"
    };
    Rendered {
        text: format!("{input}\n\n{order}"),
        left_out: cuts.0,
    }
}
