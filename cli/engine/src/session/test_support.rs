//! A runtime that plays a script, for tests of minutes in paused time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use conclave_shared::{
    config::{Limits, ModelRoute},
    effort::Effort,
    model::ModelId,
    telemetry::{EventBody, TokensByModel},
};
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
};

use super::{HeadStart, LiveRoutes, SessionContext, SessionResult, SessionTask, conversation::FollowUp};
use crate::{
    ports::{
        AgentRuntime, BudgetState, EarlierMessage, FileRead, Progress, ProgressEvent, Remedy, RuntimeError,
        SessionAnswer, SessionEvent, SessionFault, SessionId, SessionPrompt, StrayCall, TelemetrySink, UsageLedger,
        stop_channel,
    },
    review::StopCause,
};

/// What happens in a session after a prompt, each after a wait.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Event(SessionEvent),
    /// Events that are sent before anybody can have heard the first.
    Events(Vec<SessionEvent>),
    Answer(SessionAnswer),
}

pub(crate) type Play = Vec<(u64, Act)>;

/// A whole answer after this many seconds.
pub(crate) fn says(seconds: u64, text: &str) -> Play {
    ends(seconds, text, "stop")
}

/// An answer that ends for this reason.
pub(crate) fn ends(seconds: u64, text: &str, finish: &str) -> Play {
    vec![
        (
            seconds,
            Act::Answer(SessionAnswer {
                message: None,
                text: text.to_owned(),
                reasoning: String::new(),
                finish: Some(finish.to_owned()),
                complete: true,
                fault: None,
                reads: vec![FileRead {
                    path: "p".to_owned(),
                    first: 1,
                    last: None,
                    cut_lines: false,
                }],
                earlier: Vec::new(),
            }),
        ),
        (0, Act::Event(SessionEvent::StepFinished(finish.to_owned()))),
        (0, Act::Event(SessionEvent::Idle)),
    ]
}

/// A whole answer after this many seconds, with reasoning that its provider shows apart from it.
pub(crate) fn says_with_reasoning(seconds: u64, reasoning: &str, text: &str) -> Play {
    let mut play = says(seconds, text);
    if let Some((_, Act::Answer(answer))) = play.first_mut() {
        reasoning.clone_into(&mut answer.reasoning);
    }
    play
}

/// An error after this many seconds.
pub(crate) fn fails(seconds: u64, name: &str, remedy: Remedy) -> Play {
    let fault = SessionFault {
        name: name.to_owned(),
        message: String::new(),
        remedy,
    };
    let answer = SessionAnswer {
        complete: true,
        fault: Some(fault.clone()),
        ..SessionAnswer::default()
    };
    vec![
        (seconds, Act::Answer(answer)),
        (0, Act::Event(SessionEvent::Error(fault))),
        (0, Act::Event(SessionEvent::Idle)),
    ]
}

/// Signs of life, `count` of them, `seconds` apart.
pub(crate) fn lives(count: usize, seconds: u64) -> Play {
    vec![(seconds, Act::Event(SessionEvent::Alive)); count]
}

type Script = dyn Fn(&SessionPrompt, usize) -> Play + Send + Sync;

#[derive(Default)]
struct Session {
    agent: String,
    events: Option<mpsc::UnboundedSender<SessionEvent>>,
    answer: SessionAnswer,
    answers: usize,
    busy: bool,
    player: Option<AbortHandle>,
}

/// The runtime.
pub(crate) struct Stage {
    script: Box<Script>,
    sessions: Arc<Mutex<HashMap<SessionId, Session>>>,
    pub(crate) prompts: Mutex<Vec<(SessionId, SessionPrompt)>>,
    pub(crate) aborted: Mutex<Vec<SessionId>>,
    pub(crate) most_busy: Arc<Mutex<usize>>,
    /// Whether the runtime does not answer any question.
    pub(crate) hangs: Mutex<bool>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no test panics with it")
}

impl Stage {
    /// A runtime whose sessions do what the script says for each prompt; the number counts the prompts of its agent.
    pub(crate) fn new(script: impl Fn(&SessionPrompt, usize) -> Play + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            sessions: Arc::default(),
            prompts: Mutex::default(),
            aborted: Mutex::default(),
            most_busy: Arc::default(),
            hangs: Mutex::default(),
        })
    }

    /// The models that were prompted, in order.
    pub(crate) fn models(&self) -> Vec<String> {
        locked(&self.prompts)
            .iter()
            .map(|(_, prompt)| prompt.model.to_string())
            .collect()
    }

    /// How many sessions there were.
    pub(crate) fn sessions(&self) -> usize {
        locked(&self.sessions).len()
    }

    /// The sessions that are still at work.
    pub(crate) fn busy(&self) -> Vec<String> {
        let sessions = locked(&self.sessions);
        let busy = sessions.values().filter(|session| session.busy);
        busy.map(|session| session.agent.clone()).collect()
    }

    async fn question(&self) {
        if *locked(&self.hangs) {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl AgentRuntime for Stage {
    async fn create_session(
        &self,
        title: &str,
    ) -> Result<(SessionId, mpsc::UnboundedReceiver<SessionEvent>), RuntimeError> {
        let mut sessions = locked(&self.sessions);
        let id = SessionId(format!("{title} {}", sessions.len()));
        let (sender, receiver) = mpsc::unbounded_channel();
        let session = Session {
            events: Some(sender),
            ..Session::default()
        };
        sessions.insert(id.clone(), session);
        Ok((id, receiver))
    }

    async fn prompt(&self, id: &SessionId, prompt: &SessionPrompt) -> Result<(), RuntimeError> {
        let number = {
            let mut prompts = locked(&self.prompts);
            prompts.push((id.clone(), prompt.clone()));
            prompts.iter().filter(|(_, other)| other.agent == prompt.agent).count()
        };
        let play = (self.script)(prompt, number);
        let sessions = Arc::clone(&self.sessions);
        let (own, most) = (id.clone(), Arc::clone(&self.most_busy));
        let player = tokio::spawn(async move {
            for (seconds, act) in play {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                let mut sessions = locked(&sessions);
                let session = sessions.get_mut(&own).expect("it was made");
                match act {
                    Act::Answer(answer) => {
                        session.answers += 1;
                        let mut earlier = std::mem::take(&mut session.answer.earlier);
                        if let Some(id) = session.answer.message.take() {
                            let text = std::mem::take(&mut session.answer.text);
                            earlier.push(EarlierMessage { id, text });
                        }
                        session.answer = SessionAnswer {
                            message: Some(format!("message {}", session.answers)),
                            earlier,
                            ..answer
                        };
                    }
                    Act::Events(events) => {
                        let watcher = session.events.as_ref().expect("open");
                        for event in events {
                            let _ = watcher.send(event);
                        }
                    }
                    Act::Event(event) => {
                        session.busy &= event != SessionEvent::Idle;
                        // Who has ended does not listen any more.
                        let _ = session.events.as_ref().expect("open").send(event);
                    }
                }
            }
        });
        let mut sessions = locked(&self.sessions);
        let session = sessions.get_mut(id).expect("it was made");
        session.agent.clone_from(&prompt.agent);
        session.busy = true;
        session.player = Some(player.abort_handle());
        let busy = sessions.values().filter(|session| session.busy).count();
        let mut most = locked(&most);
        *most = busy.max(*most);
        Ok(())
    }

    async fn abort(&self, id: &SessionId) -> Result<(), RuntimeError> {
        self.question().await;
        locked(&self.aborted).push(id.clone());
        let mut sessions = locked(&self.sessions);
        let session = sessions.get_mut(id).expect("it was made");
        if let Some(player) = session.player.take() {
            player.abort();
        }
        session.busy = false;
        let _ = session.events.as_ref().expect("open").send(SessionEvent::Idle);
        Ok(())
    }

    async fn is_busy(&self, id: &SessionId) -> Result<bool, RuntimeError> {
        self.question().await;
        Ok(locked(&self.sessions)[id].busy)
    }

    async fn last_answer(&self, id: &SessionId) -> Result<SessionAnswer, RuntimeError> {
        self.question().await;
        Ok(locked(&self.sessions)[id].answer.clone())
    }
}

/// Everything around the runtime.
#[derive(Default)]
pub(crate) struct Around {
    /// What the gateway says of the requests that it holds.
    pub(crate) held: Mutex<Option<Duration>>,
    /// The time that a request waits for a model.
    pub(crate) waits: Mutex<Option<Duration>>,
    /// What the person was told.
    pub(crate) said: Mutex<Vec<String>>,
    /// How close the run is to the end of its budget.
    pub(crate) standing: Mutex<Option<BudgetState>>,
    /// The answers that broke off.
    pub(crate) broken: Mutex<Vec<String>>,
    /// The cause of the last failed call.
    pub(crate) failure: Mutex<Option<String>>,
    /// The word for the last answer's stop.
    pub(crate) odd_stop: Mutex<Option<String>>,
    /// The calls of tools that no reviewer has.
    pub(crate) stray: Mutex<Vec<StrayCall>>,
    /// The routes that the gateway was told of.
    pub(crate) assigned: Mutex<Vec<Vec<ModelId>>>,
    /// The efforts that were set.
    pub(crate) efforts: Mutex<Vec<Effort>>,
}

impl UsageLedger for Around {
    fn usage(&self, _session: &SessionId) -> Vec<TokensByModel> {
        Vec::new()
    }

    fn idle_for(&self, _session: &SessionId) -> Option<Duration> {
        *locked(&self.held)
    }

    fn waits_for(&self, _session: &SessionId) -> Option<Duration> {
        *locked(&self.waits)
    }

    fn cost_usd(&self) -> f64 {
        0.0
    }

    fn stray_calls(&self, _session: &SessionId) -> Vec<StrayCall> {
        locked(&self.stray).clone()
    }

    fn broken_answers(&self, _session: &SessionId) -> Vec<String> {
        locked(&self.broken).clone()
    }

    fn last_failure(&self, _session: &SessionId) -> Option<String> {
        locked(&self.failure).clone()
    }

    fn odd_stop(&self, _session: &SessionId) -> Option<String> {
        locked(&self.odd_stop).clone()
    }

    fn budget(&self) -> BudgetState {
        locked(&self.standing).clone().unwrap_or(BudgetState::Free)
    }

    fn assign(&self, _session: &SessionId, _reviewer: &str, models: &[ModelId]) {
        locked(&self.assigned).push(models.to_vec());
    }

    fn set_effort(&self, _session: &SessionId, effort: Effort) {
        locked(&self.efforts).push(effort);
    }
}

impl Progress for Around {
    fn report(&self, event: ProgressEvent<'_>) {
        match event {
            ProgressEvent::Thinking { reviewer, seconds } => {
                locked(&self.said).push(format!("{reviewer} {seconds}"));
            }
            ProgressEvent::Waiting { reviewer, seconds } => {
                locked(&self.said).push(format!("{reviewer} waits {seconds}"));
            }
            _ => {}
        }
    }
}

impl TelemetrySink for Around {
    fn record(&self, _event: EventBody) {}
}

/// A context around this runtime, with the default limits, and the place to stop everything.
pub(crate) fn context(stage: &Arc<Stage>) -> (SessionContext, Arc<Around>, watch::Sender<Option<StopCause>>) {
    let around = Arc::new(Around::default());
    let (stopper, stop) = stop_channel();
    let context = SessionContext {
        runtime: Arc::clone(stage) as _,
        ledger: Arc::clone(&around) as _,
        progress: Arc::clone(&around) as _,
        telemetry: Arc::clone(&around) as _,
        routes: LiveRoutes::fixed(),
        limits: Limits::default(),
        head_start: HeadStart::of(&[], 0),
        stop,
    };
    (context, around, stopper)
}

/// Two models of one provider, and one of another.
pub(crate) fn route() -> ModelRoute {
    ModelRoute {
        models: ["a/one", "a/two", "b/three"]
            .iter()
            .map(|name| name.parse().expect("a model"))
            .collect(),
        skipped: Vec::new(),
        effort: Effort::Medium,
    }
}

/// A reviewer's task of five minutes an attempt.
pub(crate) fn task() -> SessionTask {
    SessionTask {
        name: "security".to_owned(),
        parts: vec!["review".to_owned()],
        to_read: 0,
        smaller: None,
        route: route(),
        attempt: Duration::from_mins(5),
        deadline: None,
        done: None,
    }
}

/// Asks for nothing more.
struct Content;

#[async_trait]
impl FollowUp for Content {
    async fn hear_calls(&mut self, _calls: &[StrayCall]) {}

    async fn hear_broken(&mut self, _answers: Vec<String>) {}

    async fn next(&mut self, _answer: &SessionAnswer) -> Option<String> {
        None
    }

    async fn overhear(&mut self, _answer: &SessionAnswer) {}

    async fn ended(&mut self) {}

    fn failed(&mut self, _reason: &str) {}

    fn is_given_less(&mut self) {}
}

/// A session without any further message.
pub(crate) async fn run_session(context: &SessionContext, task: &SessionTask) -> SessionResult {
    super::conversation::run_session(context, task, &mut Content).await
}
