//! The plan of a range that adds nothing, for programs.

use conclave_engine::{
    panel::Counted,
    repo_config::RuntimeChoice,
    review::{ApprovalHold, HoldCause, Presence, RuntimeName},
};
use conclave_shared::{pricing::TokenUsage, reviewer::ReviewerName, risk::RiskTier};

use super::{PlanDocument, PlanRequest, PlannedEstimate, PlannedReviewer, PlannedRuntime, SCHEMA_VERSION};
use crate::{args::Format, output::Output, run::prepare::ChosenBy};

/// Prints it: data stays data, in the shape of every other plan. A person has read it by then.
pub(crate) fn show(project: String, reason: &str, request: &PlanRequest<'_>, output: &Output) {
    match (request.format, request.explain) {
        (Format::Human, _) => {}
        // No configuration is made for it.
        (Format::Json, true) => output.print_json(&[""; 0]),
        (Format::Json, false) => output.print_json(&document(project, reason, request)),
    }
}

/// The plan of a local range of which nothing else was read.
fn document(project: String, reason: &str, request: &PlanRequest<'_>) -> PlanDocument {
    let (runtime, chosen_by) = ChosenBy::choose(
        request.planning.runtime.and_then(|choice| match choice {
            RuntimeChoice::OpenCode => Some(RuntimeName::OpenCode),
            RuntimeChoice::Native => Some(RuntimeName::Native),
            RuntimeChoice::Auto => None,
        }),
        None,
        RuntimeName::Native,
    );
    let why = format!("nothing to review: {reason}");
    PlanDocument {
        schema_version: SCHEMA_VERSION,
        forge: "local".to_owned(),
        project,
        merge_request: None,
        base_sha: String::new(),
        head_sha: String::new(),
        settings_sha: String::new(),
        tier: RiskTier::Trivial,
        tier_reasons: vec![why.clone()],
        files: Vec::new(),
        filtered: Vec::new(),
        preset: None,
        remote_revision: None,
        repo_config: false,
        runtime: PlannedRuntime {
            name: runtime,
            chosen_by,
        },
        reviewers: Vec::new(),
        coordinator: PlannedReviewer {
            name: ReviewerName::coordinator(),
            presence: Presence::NotOnPanel,
            required: false,
            own: false,
            reason: why,
            effort: None,
            models: None,
            estimate: None,
        },
        rules: Vec::new(),
        estimate: PlannedEstimate {
            tokens: TokenUsage::default(),
            cost_usd: 0.0,
            counted: Counted::default(),
            unpriced: Vec::new(),
            assumptions: Vec::new(),
        },
        approval_holds: vec![ApprovalHold::new(
            HoldCause::NothingReviewed,
            format!("There was nothing to review: {reason}."),
        )],
        warnings: Vec::new(),
    }
}
