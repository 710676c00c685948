//! The spans of a run and how they hang together: run, stage, session, model call.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use conclave_engine::ports::{CallOutcome, ModelCall};
use conclave_shared::{
    model::ModelId,
    telemetry::{ReviewerCompleted, ReviewerOutcome, RunCompleted},
};
use opentelemetry::{
    Context, KeyValue,
    propagation::TextMapPropagator,
    trace::{SpanKind, Status, TraceContextExt, Tracer},
};
use opentelemetry_sdk::{propagation::TraceContextPropagator, trace::SdkTracer};

use crate::{TracingSettings, attributes};

/// The name of a stage's span while nobody has said what it is.
const UNNAMED_STAGE: &str = "stage";

/// The open spans.
pub(crate) struct Spans {
    tracer: SdkTracer,
    run: Context,
    state: Mutex<State>,
}

struct State {
    /// Stages follow each other without a gap: one begins where the last one ended.
    stage_began: SystemTime,
    /// The current stage, as soon as something hangs below it. It is told its name at its end.
    stage: Option<Context>,
    sessions: HashMap<String, Session>,
}

struct Session {
    span: Context,
    open: bool,
}

impl Spans {
    /// Opens the run's span.
    pub(crate) fn begin(tracer: SdkTracer, settings: &TracingSettings) -> Self {
        let now = SystemTime::now();
        let parent = settings.parent.as_ref().map_or_else(Context::new, |parent| {
            let carrier = HashMap::from([("traceparent".to_owned(), parent.clone())]);
            TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier)
        });
        let span = tracer
            .span_builder("review")
            .with_kind(SpanKind::Internal)
            .with_start_time(now)
            .with_attributes([KeyValue::new("conclave.run_id", settings.run_id.to_string())])
            .start_with_context(&tracer, &parent);
        Self {
            run: parent.with_span(span),
            tracer,
            state: Mutex::new(State {
                stage_began: now,
                stage: None,
                sessions: HashMap::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(
        &self,
        parent: &Context,
        name: String,
        kind: SpanKind,
        start: SystemTime,
        attributes: Vec<KeyValue>,
    ) -> Context {
        let span = self
            .tracer
            .span_builder(name)
            .with_kind(kind)
            .with_start_time(start)
            .with_attributes(attributes)
            .start_with_context(&self.tracer, parent);
        parent.with_span(span)
    }

    /// The current stage's span, opened if it is not yet.
    fn stage(&self, open: &mut State) -> Context {
        let began = open.stage_began;
        open.stage
            .get_or_insert_with(|| self.open(&self.run, UNNAMED_STAGE.into(), SpanKind::Internal, began, Vec::new()))
            .clone()
    }

    /// Ends the current stage, of which only now is known what it was.
    pub(crate) fn stage_ended(&self, name: &str, duration: Duration) {
        let mut open = self.state();
        let stage = self.stage(&mut open);
        let end = open.stage_began + duration;
        stage.span().update_name(name.to_owned());
        stage.span().end_with_timestamp(end);
        open.stage = None;
        open.stage_began = end;
    }

    /// Opens a session's span at its first prompt; notes each later one.
    pub(crate) fn session_prompted(&self, reviewer: &str, model: &ModelId, attempt: u32) {
        let mut open = self.state();
        if let Some(session) = open.sessions.get(reviewer).filter(|session| session.open) {
            let attributes = attributes::prompt(model, attempt);
            session.span.span().add_event("prompted again", attributes);
            return;
        }
        let stage = self.stage(&mut open);
        let span = self.open(
            &stage,
            format!("invoke_agent {reviewer}"),
            SpanKind::Internal,
            SystemTime::now(),
            attributes::session(reviewer, model),
        );
        open.sessions.insert(reviewer.to_owned(), Session { span, open: true });
    }

    /// Ends a session's span.
    pub(crate) fn session_ended(&self, ended: &ReviewerCompleted) {
        let mut open = self.state();
        let Some(session) = open.sessions.get_mut(&ended.reviewer).filter(|session| session.open) else {
            return;
        };
        session.open = false;
        let span = session.span.span();
        span.set_attributes(attributes::session_ended(ended));
        span.set_status(if ended.outcome == ReviewerOutcome::Ok {
            Status::Ok
        } else {
            Status::error(ended.outcome.as_str())
        });
        span.end();
    }

    /// A request to a provider, all at once.
    pub(crate) fn call_ended(&self, call: &ModelCall) {
        let now = SystemTime::now();
        let mut open = self.state();
        // A session's last call may end after the session itself.
        let parent = match open.sessions.get(&call.reviewer) {
            Some(session) => session.span.clone(),
            None => self.stage(&mut open),
        };
        drop(open);
        let span = self.open(
            &parent,
            format!("chat {}", call.model.model()),
            SpanKind::Client,
            now.checked_sub(call.duration).unwrap_or(now),
            attributes::call(call),
        );
        let span = span.span();
        span.set_status(match &call.outcome {
            CallOutcome::Complete => Status::Ok,
            CallOutcome::Failed(class) => Status::error(class.clone()),
            CallOutcome::Cancelled => Status::Unset,
        });
        span.end_with_timestamp(now);
    }

    /// Says more about the run.
    pub(crate) fn run_attributes(&self, attributes: Vec<KeyValue>) {
        self.run.span().set_attributes(attributes);
    }

    /// Says how the run went.
    pub(crate) fn run_completed(&self, run: &RunCompleted) {
        self.run_attributes(attributes::run_completed(run));
        self.run.span().set_status(Status::Ok);
    }

    /// Ends everything that is still open. A run that was never completed has no status.
    pub(crate) fn finish(&self) {
        let mut open = self.state();
        for (_, session) in open.sessions.drain().filter(|(_, session)| session.open) {
            let span = session.span.span();
            span.set_attribute(KeyValue::new("conclave.outcome", "unfinished"));
            span.end();
        }
        if let Some(stage) = open.stage.take() {
            stage.span().end();
        }
        self.run.span().end();
    }
}
