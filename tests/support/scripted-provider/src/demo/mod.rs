//! The demo model: a scripted stand-in that reviews with rules, on the real input.
//!
//! It goes by what the conversation already has, not by the number of the turn, so a session that is asked again after
//! a failure goes on where it was.

mod code;
mod coordinator;
mod finding;
mod language;
mod patch;
mod pattern;
mod reading;
mod rule;
mod rules;
mod spot;

use crate::agent::{COORDINATOR, UNKNOWN};
use crate::model::{Answer, Model, ModelRequest};
use reading::Reading;

/// What the demo model says of itself wherever it can.
pub const LABEL: &str = "demo model, a scripted stand-in: rules, no language model";

/// Reviews by rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct DemoModel;

impl DemoModel {
    /// The model; it has no settings.
    pub const fn new() -> Self {
        Self
    }
}

impl Model for DemoModel {
    fn answer(&self, request: &ModelRequest) -> Answer {
        match request.agent.as_str() {
            COORDINATOR => coordinator::answer(request),
            UNKNOWN => Answer::text(LABEL),
            // Of what a project's own reviewer looks for the demo model knows nothing: it reads, and finds nothing.
            reviewer => review(reviewer, request),
        }
    }
}

fn review(reviewer: &str, request: &ModelRequest) -> Answer {
    if !request.offers("read") {
        return Answer::text(format!(
            "The tool read is not offered, so nothing could be reviewed ({LABEL})."
        ));
    }
    match Reading::of(request, reviewer == "agents_md") {
        Reading::Missing(calls) => reading::ask(&calls),
        Reading::Failed(why) => Answer::text(format!("The change could not be read: {why} ({LABEL}).")),
        Reading::Complete(change) => Answer::text(finding::block(&rules::findings(reviewer, &change))),
    }
}
