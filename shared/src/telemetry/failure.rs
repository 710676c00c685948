//! Ends of runs without a verdict.

use serde::{Deserialize, Serialize};

use crate::named_enum;

/// Defines an enum of names on the wire; a name that this version does not know reads as `other`.
macro_rules! wire_names {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $wire:literal,)* }) => {
        named_enum! {
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
            pub enum $name {
                $($(#[$value_doc])* $value = $wire,)*
                /// A name that this version does not know.
                #[serde(other)]
                Other = "other",
            }
        }
    };
}

wire_names! {
    /// The part of a run in which it failed.
    RunStage {
        /// Reading the command line and the environment.
        Arguments = "arguments",
        /// Reading settings: the project's file and the organization's document.
        Configuration = "configuration",
        /// Asking the forge about the change.
        Forge = "forge",
        /// Getting the commits and the files.
        Checkout = "checkout",
        /// Deciding the tier, the panel and the models.
        Plan = "plan",
        /// Starting the runtime of the agents.
        Runtime = "runtime",
        /// Reviewing.
        Review = "review",
        /// Posting the review.
        Publish = "publish",
        /// Ending the run after the review.
        Conclude = "conclude",
    }
}

wire_names! {
    /// Why a run failed.
    FailureKind {
        /// The job's image lacks something or does not fit the component.
        WrongImage = "wrong_image",
        /// A credential is missing or was refused.
        Unauthorized = "unauthorized",
        /// The project, merge request or commit does not exist, or the credential cannot see it.
        NotFound = "not_found",
        /// The forge does not answer, or answers with errors.
        ForgeUnreachable = "forge_unreachable",
        /// No model provider answers.
        ProviderUnreachable = "provider_unreachable",
        /// The runtime of the agents is not installed.
        RuntimeMissing = "runtime_missing",
        /// The runtime of the agents did not start, or ended on its own.
        RuntimeFailed = "runtime_failed",
        /// A git command failed.
        Git = "git",
        /// A setting is wrong.
        Settings = "settings",
        /// The run's time limit was reached.
        Timeout = "timeout",
        /// A signal stopped the run.
        Stopped = "stopped",
        /// Anything else: a fault of the program or of the machine.
        Internal = "internal",
    }
}

wire_names! {
    /// Why a verdict is inconclusive: the first of these that holds, in this order.
    InconclusiveCause {
        /// The run was stopped, or its time or its budget ended, before the review was complete.
        CutShort = "cut_short",
        /// A reviewer ran out of time.
        ReviewerTimedOut = "reviewer_timed_out",
        /// A reviewer failed.
        ReviewerFailed = "reviewer_failed",
        /// A reviewer was never started.
        ReviewerNotRun = "reviewer_not_run",
        /// The coordinator gave no judgment.
        NoJudgment = "no_judgment",
        /// Reviewers did not open all files.
        FilesNotRead = "files_not_read",
        /// Reviewers received only a part of a file.
        FilesCut = "files_cut",
        /// Something else that had to be reviewed was not.
        Gaps = "gaps",
    }
}

wire_names! {
    /// Why a run ended without a review and without a failure.
    SkipReason {
        /// The change has nothing that could be reviewed.
        NothingToReview = "nothing_to_review",
        /// A person skipped the review, which an event of its own says as well.
        BreakGlass = "break_glass",
    }
}

/// A review ended without a verdict because something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailed {
    /// Where.
    pub stage: RunStage,
    /// Why.
    pub kind: FailureKind,
    /// The merge request's number, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_request: Option<u64>,
    /// From the start of the command to the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A review ended without a verdict because there was nothing to review. Without this event such a run would count as lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSkipped {
    /// Why.
    pub reason: SkipReason,
    /// The merge request's number, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_request: Option<u64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::telemetry::{EventBody, RunStarted};

    #[test]
    fn names_of_stages_and_kinds_read_back_and_unknown_ones_are_other() {
        for stage in RunStage::ALL {
            assert_eq!(json!(stage), stage.as_str());
            assert_eq!(serde_json::from_value::<RunStage>(json!(stage)).ok(), Some(stage));
        }
        for kind in FailureKind::ALL {
            assert_eq!(json!(kind), kind.as_str());
            assert_eq!(serde_json::from_value::<FailureKind>(json!(kind)).ok(), Some(kind));
        }
        let body = json!({ "type": "run_failed", "stage": "orbit", "kind": "moon", "added_later": [1] });
        let failed = RunFailed {
            stage: RunStage::Other,
            kind: FailureKind::Other,
            merge_request: None,
            duration_ms: None,
        };
        assert_eq!(
            serde_json::from_value::<EventBody>(body).ok(),
            Some(EventBody::RunFailed(failed))
        );
        let skipped: EventBody =
            serde_json::from_value(json!({ "type": "run_skipped", "reason": "full_moon" })).expect("reads");
        assert!(matches!(
            skipped,
            EventBody::RunSkipped(RunSkipped {
                reason: SkipReason::Other,
                ..
            })
        ));
    }

    #[test]
    fn a_failure_is_small_on_the_wire() {
        let body = EventBody::RunFailed(RunFailed {
            stage: RunStage::Runtime,
            kind: FailureKind::RuntimeMissing,
            merge_request: Some(7),
            duration_ms: None,
        });
        assert_eq!(body.kind(), "run_failed");
        let wire = json!({ "type": "run_failed", "stage": "runtime", "kind": "runtime_missing", "merge_request": 7 });
        assert_eq!(json!(body), wire);
    }

    #[test]
    fn a_start_before_the_plan_and_a_start_of_an_older_client_are_both_read() {
        let early = json!({ "type": "run_started", "forge": "gitlab", "client_version": "1.0.0" });
        let Ok(EventBody::RunStarted(early)) = serde_json::from_value(early) else {
            panic!("a start without a plan is read");
        };
        assert_eq!((early.tier, early.reviewers.len(), early.planned), (None, 0, false));
        let older = json!({ "type": "run_started", "tier": "full", "forge": "gitlab", "merge_request": 7,
            "client_version": "0.1.0", "reviewers": ["security"] });
        let Ok(EventBody::RunStarted(read)) = serde_json::from_value(older.clone()) else {
            panic!("the start of an older client is read");
        };
        // What an older tracker requires is still written, and nothing else unless it is set.
        assert_eq!(json!(EventBody::RunStarted(read.clone())), older);
        let planned = json!(EventBody::RunStarted(RunStarted {
            planned: true,
            limit_seconds: Some(900),
            ..read
        }));
        assert_eq!(
            (&planned["planned"], &planned["limit_seconds"]),
            (&json!(true), &json!(900))
        );
    }
}
