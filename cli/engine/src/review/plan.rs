//! Who reviews and judges, and why.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use conclave_shared::{
    config::{ModelRoute, ModelTier, NoModel},
    reviewer::ReviewerName,
    risk::{RiskAssessment, RiskTier},
};
use serde::Serialize;

use crate::rules::{AppliedRules, RuleBook};

/// Who reviews and judges.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The tier and its reasons.
    pub assessment: RiskAssessment,
    /// The reviewers.
    pub members: Vec<PanelMember>,
    /// The coordinator's models.
    pub coordinator: Result<ModelRoute, NoModel>,
    /// Every reviewer, standing or the project's own: on the panel or not, and why.
    pub slots: Vec<PanelSlot>,
    /// What is missing of the review that this change would get. With anything here the review approves nothing.
    pub gaps: Vec<String>,
    /// The classes of models of the project's own reviewers.
    pub classes: BTreeMap<String, ModelTier>,
    /// The organisation's rules for these files.
    pub rules: AppliedRules,
}

impl Plan {
    /// The reason why no reviewer can run, if none can: the review must not start.
    pub fn why_no_reviewer(&self) -> Option<String> {
        if self.members.is_empty() {
            let tier = self.assessment.tier;
            let mut why: Vec<String> = self
                .disabled_seats()
                .map(|slot| format!("{} is {}", slot.reviewer, slot.reason))
                .collect();
            if why.is_empty() {
                why.clone_from(&self.gaps);
            }
            return Some(format!("the {tier} panel is empty: {}", why.join(", ")));
        }
        if self.members.iter().any(|member| member.route.is_ok()) {
            return None;
        }
        let none = self.members.iter().find_map(|member| member.route.as_ref().err());
        none.map(ToString::to_string)
    }

    /// Returns whether a required reviewer has no model because an operator switched a provider off. That is an outage and not a fault of
    /// the job's settings, so the review says that it did not happen.
    pub fn is_switched_off(&self) -> bool {
        let required = self.members.iter().filter(|member| member.required);
        let mut without = required.filter_map(|member| member.route.as_ref().err());
        without.any(|none| none.skipped.iter().any(|skip| skip.switched_off))
    }

    /// What a reader of the review has to know about the panel: required reviewers that somebody has disabled.
    pub fn warnings(&self) -> Vec<String> {
        self.disabled_seats()
            .filter(|slot| slot.required)
            .map(|slot| format!("{} does not review: {}", slot.reviewer.display_name(), slot.reason))
            .collect()
    }

    fn disabled_seats(&self) -> impl Iterator<Item = &PanelSlot> {
        self.slots.iter().filter(|slot| slot.presence == Presence::Disabled)
    }

    /// Whether the tier is the lowest one.
    pub fn is_trivial(&self) -> bool {
        self.assessment.tier == RiskTier::Trivial
    }

    /// The names of the reviewers.
    pub fn reviewers(&self) -> Vec<ReviewerName> {
        self.members.iter().map(|member| member.name.clone()).collect()
    }
}

/// A member of the panel.
#[derive(Debug, Clone)]
pub struct PanelMember {
    /// Who.
    pub name: ReviewerName,
    /// With which models; an error means that it cannot run.
    pub route: Result<ModelRoute, NoModel>,
    /// Whether the review is inconclusive without it.
    pub required: bool,
    /// Time for one attempt.
    pub attempt: Duration,
    /// Its message: with the plan its role alone, with what all reviewers share in front once that is written.
    pub parts: Vec<String>,
    /// The positions of the patches that it is given to read, in the order of the index; known with its whole message.
    pub patches: Vec<usize>,
    /// The rules that its findings have to cite, for the one that checks rules.
    pub rules: Option<Arc<RuleBook>>,
}

/// Whether a reviewer sits on a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// It reviews.
    OnPanel,
    /// It has nothing to do here.
    NotOnPanel,
    /// It would review, but somebody has disabled it.
    Disabled,
}

/// A standing reviewer's place, taken or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PanelSlot {
    /// Who.
    pub reviewer: ReviewerName,
    /// Whether it reviews.
    pub presence: Presence,
    /// Whether the review is inconclusive without it.
    pub required: bool,
    /// Whether the project has added it.
    pub own: bool,
    /// Why, in words.
    pub reason: String,
}
