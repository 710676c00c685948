//! Events: what the gateway did on its own, for the review's account of itself.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use conclave_engine::ports::SessionId;
use conclave_resilience::{
    breaker::Change,
    budget::Line,
    classify::{Concession, FailureClass, ProviderFault},
};
use conclave_shared::{effort::Effort, model::ModelId};

use crate::{
    errors::{Refusal, Rejection},
    lock::locked,
};

/// One thing that the gateway did on its own.
#[derive(Debug, Clone, PartialEq)]
pub enum GatewayEvent {
    /// A call failed before its answer began and was repeated.
    Retried {
        /// Whose call.
        session: SessionId,
        /// The model.
        model: ModelId,
        /// The fault.
        fault: ProviderFault,
        /// Number of failures so far.
        failed: u32,
    },
    /// Another model of the same provider took over.
    FallbackUsed {
        /// Whose call.
        session: SessionId,
        /// Whose session.
        reviewer: String,
        /// The model that failed.
        from: ModelId,
        /// The model that took over.
        to: ModelId,
        /// The cause.
        reason: FallbackReason,
    },
    /// A model refused a call for a part or the form of it, and answered once that was changed: it is asked so from then on.
    /// Recorded once for each model and change.
    ConcessionMade {
        /// The model.
        model: ModelId,
        /// The change.
        concession: Concession,
        /// The effort that it was asked for, if one was set.
        effort: Option<Effort>,
        /// The provider's words.
        said: String,
    },
    /// The circuit of a model changed.
    CircuitChanged {
        /// The model.
        model: ModelId,
        /// The change.
        change: Change,
    },
    /// Calls wait until a model may be tried again, because its circuit is open and no other model is left. Recorded once
    /// for each time that the circuit opens, however many calls wait.
    Waiting {
        /// The model.
        model: ModelId,
        /// The time until then.
        wait: Duration,
    },
    /// A provider was switched off or on while the run was under way.
    ProviderSwitched {
        /// The provider.
        provider: String,
        /// True if it may be used now.
        enabled: bool,
        /// The operator's reason.
        reason: Option<String>,
    },
    /// Four fifths of a budget are used, or all of it.
    BudgetUsed {
        /// Which budget.
        line: Line,
        /// True if all of it is used.
        spent: bool,
    },
    /// An answer broke off after it had begun.
    StreamCut {
        /// Whose call.
        session: SessionId,
        /// The model.
        model: ModelId,
        /// The cause.
        reason: FailureClass,
    },
    /// An answer that broke off was handed on as one that reached its limit, because no other model is left.
    Shortened {
        /// Whose call.
        session: SessionId,
        /// The model.
        model: ModelId,
    },
    /// A model was asked whose price is not known: its calls count as free.
    Unpriced {
        /// The model.
        model: ModelId,
        /// Number of calls.
        calls: u64,
    },
    /// A provider has not said what answers use: they broke off before, or it says nothing that can be true. Those tokens are not in
    /// the account; the budget counts them by the length of request and answer.
    Uncounted {
        /// The model.
        model: ModelId,
        /// Number of answers.
        answers: u64,
    },
    /// Events came of a kind that is not known. They were passed on.
    UnknownEvents {
        /// The model.
        model: ModelId,
        /// Number of events.
        events: u64,
    },
    /// A replayed run asked for something that was not recorded.
    NotRecorded {
        /// Whose call.
        session: SessionId,
        /// The model.
        model: ModelId,
        /// The difference.
        difference: String,
    },
    /// The recording could not be written.
    RecordingFailed {
        /// The cause.
        problem: String,
    },
    /// A call was refused for good.
    Rejected {
        /// Whose call, if it said so.
        session: Option<SessionId>,
        /// The model that was asked for, if the call got that far.
        model: Option<ModelId>,
        /// The cause.
        reason: Rejection,
        /// The provider's own answer, if that was the cause.
        refusal: Option<Refusal>,
    },
}

impl fmt::Display for GatewayEvent {
    /// The event in words, for the job's log and the review's account.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retried { model, fault, .. } => write!(formatter, "{model} was asked again ({fault})"),
            Self::FallbackUsed { from, to, reason, .. } => write!(formatter, "{to} stood in for {from} ({reason})"),
            Self::ConcessionMade {
                model,
                concession,
                effort,
                said,
            } => {
                write!(formatter, "{model} refused a call")?;
                if *concession == Concession::NoParameters {
                    effort
                        .iter()
                        .try_for_each(|effort| write!(formatter, " with the effort {effort}"))?;
                }
                let (answers, next) = match concession {
                    Concession::NoParameters => ("without effort and sampling", ". Correct its `capabilities`"),
                    Concession::NoThoughts => ("without its earlier thoughts", ""),
                    Concession::UnsignedCalls => ("where calls of other models are marked as such", ""),
                    Concession::NoUsage => ("without `stream_options`", ", so that what it uses may be unknown"),
                    Concession::NewerLimit => ("with `max_completion_tokens`", ""),
                    Concession::StrictTurns => ("with a message of its own in between", ""),
                };
                write!(
                    formatter,
                    ", and said \"{said}\": it answers {answers}, and is asked so for the rest of the review{next}"
                )
            }
            Self::CircuitChanged { model, change } => write!(formatter, "{model}: {change}"),
            Self::Waiting { model, wait } => {
                write!(formatter, "{model} may be asked again in {} s", wait.as_secs().max(1))
            }
            Self::ProviderSwitched {
                provider,
                enabled,
                reason,
            } => {
                let state = if *enabled { "on" } else { "off" };
                write!(formatter, "{provider} was switched {state} during the review")?;
                reason.iter().try_for_each(|reason| write!(formatter, ": {reason}"))
            }
            Self::BudgetUsed { line, spent } => {
                let share = if *spent { "all" } else { "four fifths" };
                write!(formatter, "{share} of the budget of {line} is spent")
            }
            Self::StreamCut { model, reason, .. } => write!(formatter, "an answer of {model} broke off ({reason})"),
            Self::Shortened { model, .. } => {
                write!(
                    formatter,
                    "an answer of {model} kept breaking off and was taken as far as it came"
                )
            }
            Self::Unpriced { model, .. } => write!(
                formatter,
                "no price is known for {model}: what its calls cost is unknown, and a budget in dollars does not stop them"
            ),
            Self::Uncounted { model, answers } => write!(
                formatter,
                "{model} never said what {answers} {} used: {} tokens and cost come on top of the account, and the budget counts them by \
                 their length",
                if *answers == 1 { "answer" } else { "answers" },
                if *answers == 1 { "its" } else { "their" }
            ),
            Self::UnknownEvents { model, events } => {
                write!(
                    formatter,
                    "{model} sent {events} events of a kind that is not known; they were passed on"
                )
            }
            Self::NotRecorded { difference, .. } => write!(formatter, "not in the recording: {difference}"),
            Self::RecordingFailed { problem } => write!(formatter, "the recording is not complete: {problem}"),
            Self::Rejected {
                model: Some(model),
                reason,
                refusal: Some(refusal),
                ..
            } => formatter.write_str(&refusal.of_call(model, *reason)),
            Self::Rejected {
                model: Some(model),
                reason: Rejection::CredentialsRejected,
                ..
            } => write!(
                formatter,
                "{} refused the key for {model}: it is mistyped, expired, or without the right",
                model.provider()
            ),
            Self::Rejected { model, reason, .. } => {
                let reason = reason.marker().trim_start_matches("conclave: ");
                match model {
                    Some(model) => write!(formatter, "a call of {model} was refused: {reason}"),
                    None => write!(formatter, "a model call was refused: {reason}"),
                }
            }
        }
    }
}

/// The cause of a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallbackReason {
    /// The model was asked, and this came of it.
    Failed(FailureClass),
    /// The model was not asked: its circuit is open.
    CircuitOpen,
}

impl fmt::Display for FallbackReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(class) => class.fmt(formatter),
            Self::CircuitOpen => formatter.pad("circuit open after failures"),
        }
    }
}

/// Called with each event as it happens. It must not block.
pub type Observer = Arc<dyn Fn(&GatewayEvent) + Send + Sync>;

/// Maximum number of events that are kept. A run has dozens.
const MAX_EVENTS: usize = 10_000;

/// The events so far.
pub(crate) struct Events {
    kept: Mutex<Vec<GatewayEvent>>,
    observer: Observer,
}

impl Events {
    pub(crate) fn new(observer: Observer) -> Self {
        Self {
            kept: Mutex::default(),
            observer,
        }
    }

    pub(crate) fn record(&self, event: GatewayEvent) {
        log(&event);
        (self.observer)(&event);
        let mut kept = locked(&self.kept);
        if kept.len() < MAX_EVENTS {
            kept.push(event);
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<GatewayEvent> {
        locked(&self.kept).clone()
    }
}

fn log(event: &GatewayEvent) {
    match event {
        // A retry that helps needs no one; the others are reported as they happen, by the observer.
        GatewayEvent::Retried { .. }
        | GatewayEvent::FallbackUsed { .. }
        | GatewayEvent::ConcessionMade { .. }
        | GatewayEvent::CircuitChanged { .. }
        | GatewayEvent::Waiting { .. }
        | GatewayEvent::ProviderSwitched { .. }
        | GatewayEvent::BudgetUsed { .. } => tracing::info!("{event}"),
        event => tracing::warn!("{event}"),
    }
}
