//! The coordinator's input, in XML sections.

use conclave_shared::reviewer::ReviewerName;

use super::{
    ContextFile, Rendered,
    context::{Cuts, instruction_sections, questions, subject_sections},
    sections::for_agent,
};
use crate::untrusted::Nonce;

/// The section of people's questions; there is none without any.
const QUESTIONS: &str = "open_questions";

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
    let questions = questions(file.subject);
    sections.extend(questions.as_ref().map(|text| nonce.section(QUESTIONS, text)));
    sections.extend(for_agent(file.contributed, ReviewerName::COORDINATOR, nonce));
    let input = nonce.section("mr_input", &sections.join("\n\n"));
    let order = if file.patches.is_empty() {
        "No file has to be reviewed: what this change has was reviewed before, as it is, so the panel is empty and \
         nothing is missing. Judge the earlier findings, answer what people ask, then call `submit_review`. The panel's answer:"
    } else {
        "The reviewers are done. Judge their findings, then call `submit_review`. These are they, as `spawn_reviewers` returns \
         them:"
    };
    let how = questions.map(|_| how_to_answer(file.subject.aside_given));
    let parts: Vec<String> = [Some(input), how, Some(order.to_owned())]
        .into_iter()
        .flatten()
        .collect();
    Rendered {
        text: parts.join("\n\n"),
        left_out: cuts.0,
    }
}

/// Instructions about people's questions.
fn how_to_answer(is_light_given: bool) -> String {
    let light = if is_light_given {
        "Nor for a light-hearted one: this change has had its answer to one."
    } else {
        "One light-hearted question may get a brief, warm answer, with `light`."
    };
    format!(
        "People wait for answers to `open_questions`. Give each id an entry in `answers`, with `answer`: one to three plain \
         sentences in its language, facts from the source. No `answer` where people ask each other, or give orders. {light} An answer \
         decides nothing."
    )
}
