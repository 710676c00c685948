//! The task that sends, and its end.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use conclave_engine::ports::TelemetrySink;
use conclave_shared::{
    routes,
    telemetry::{BatchAnswer, Event, EventBody, SCHEMA_VERSION, TelemetryDropped},
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use reqwest::{Client, StatusCode};
use secrecy::ExposeSecret;
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{Instant, sleep_until, timeout},
};
use uuid::Uuid;

use crate::{
    TelemetrySettings,
    http::{self, body, describe, describe_status},
    queue::{Pending, Queue},
};

/// Time for the last flush.
const FLUSH: Duration = Duration::from_secs(2);
/// Time that an event waits for company.
const GATHER: Duration = Duration::from_millis(250);
/// How many requests are on their way at once.
const AT_ONCE: usize = 4;

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
    settings: TelemetrySettings,
    /// Why the tracker refused the first event that it refused.
    refusal: Mutex<Option<String>>,
}

impl Lost {
    /// Warnings about them, a line each.
    pub fn sentences(&self) -> Vec<String> {
        let events = |count: u64| match count {
            1 => "1 telemetry event".to_owned(),
            count => format!("{count} telemetry events"),
        };
        let mut sentences = Vec::new();
        if self.unsent > 0 {
            sentences.push(format!("{} did not reach the tracker", events(self.unsent)));
        }
        if self.refused > 0 {
            let reason = self.reason.as_deref().unwrap_or("it gave no reason");
            let are = if self.refused == 1 { "is" } else { "are" };
            sentences.push(format!(
                "the tracker refused {}, which {are} lost: {reason}",
                events(self.refused)
            ));
        }
        sentences
    }
}

/// Events of a run that are not at the tracker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lost {
    /// Those that did not arrive.
    pub unsent: u64,
    /// Those that the tracker refused.
    pub refused: u64,
    /// Why it refused the first one.
    pub reason: Option<String>,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // A queue is never left half-changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The event as it is sent. Nothing where it cannot be written, which no event of ours is.
    fn written(&self, event: EventBody) -> Option<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut event = Event {
            id: Uuid::now_v7(),
            schema: SCHEMA_VERSION,
            at_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
            run_id: self.settings.run_id,
            project: self.settings.project.clone(),
            event,
        };
        if let Some(secret) = &self.settings.secret {
            event.sign(secret.expose_secret().as_bytes());
        }
        serde_json::to_string(&event).ok()
    }

    /// Closes the request that is being filled, with a report of what was lost before.
    fn seal(&self) {
        let mut queue = self.queue();
        if let Some(lost) = queue.unreported()
            && let Some(event) = self.written(EventBody::TelemetryDropped(TelemetryDropped { events: lost }))
        {
            queue.report(event, lost);
        }
        queue.seal();
    }
}

/// The sending end, and the task behind it.
#[derive(Debug)]
pub struct Telemetry {
    shared: Arc<Shared>,
    sender: Mutex<Option<JoinHandle<()>>>,
}

impl Telemetry {
    /// Starts the task that sends.
    pub fn start(settings: TelemetrySettings) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Notify::new(),
            settings,
            refusal: Mutex::default(),
        });
        let sender = tokio::spawn(send_all(Arc::clone(&shared)));
        Self {
            shared,
            sender: Mutex::new(Some(sender)),
        }
    }

    /// Sends what is left, for at most two seconds. Returns the events that were lost in the whole run; none the second time,
    /// when nothing is left and everything was said.
    pub async fn flush(&self) -> Lost {
        self.shared.queue().close();
        self.shared.changed.notify_one();
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut sender) = sender else {
            return Lost::default();
        };
        if timeout(FLUSH, &mut sender).await.is_err() {
            sender.abort();
        }
        let reason = self
            .shared
            .refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let queue = self.shared.queue();
        Lost {
            unsent: queue.lost(),
            refused: queue.refused(),
            reason,
        }
    }
}

impl TelemetrySink for Telemetry {
    fn record(&self, event: EventBody) {
        if let Some(event) = self.shared.written(event) {
            self.shared.queue().push(event, Instant::now());
            self.shared.changed.notify_one();
        }
    }
}

/// What there is to do.
enum Step {
    /// Send this.
    Send(Pending),
    /// Nothing will come any more.
    End,
    /// Wait: until then events gather, if any do.
    Wait(Option<Instant>),
}

fn next(shared: &Shared, sending: usize) -> Step {
    if shared.queue().is_closed() {
        shared.seal();
    }
    let mut queue = shared.queue();
    if sending < AT_ONCE
        && let Some(request) = queue.take()
    {
        return Step::Send(request);
    }
    if queue.is_closed() && queue.is_idle() {
        return Step::End;
    }
    Step::Wait(queue.since().map(|since| since + GATHER))
}

async fn send_all(shared: Arc<Shared>) {
    let client = match http::client(&shared.settings.url, http::REQUEST, &shared.settings.certificates) {
        Ok(client) => client,
        Err(error) => {
            tracing::warn!(%error, "no telemetry can be sent");
            return;
        }
    };
    let mut sending = FuturesUnordered::new();
    let mut reported = Reported::default();
    loop {
        let gathered = match next(&shared, sending.len()) {
            Step::End => return,
            Step::Send(request) => {
                sending.push(send(&client, &shared.settings, request));
                continue;
            }
            Step::Wait(gathered) => gathered,
        };
        tokio::select! {
            Some((request, result)) = sending.next() => {
                let rejected = result.as_ref().ok().map(|answer| &answer.rejected);
                shared.queue().done(&request, rejected.map(|events| u64::try_from(events.len()).unwrap_or(u64::MAX)));
                if let Some(event) = rejected.and_then(|events| events.first()) {
                    let mut refusal = shared.refusal.lock().unwrap_or_else(PoisonError::into_inner);
                    refusal.get_or_insert_with(|| event.detail.clone());
                }
                reported.report(result);
            }
            () = shared.changed.notified() => {}
            () = gathering(gathered) => shared.seal(),
            // So that the last events, which have two seconds, need not wait for it.
            () = shared.settings.access.keep_fresh() => {}
        }
    }
}

/// Ends when events have gathered for long enough; never if none do.
async fn gathering(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// A line in the log about the tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Failure,
    Unproven,
    JobRefused,
    TokenRefused,
}

/// The lines that the log has, each once a run: what a tracker says of one request it says of all.
#[derive(Debug, Default)]
struct Reported(BTreeSet<Line>);

impl Reported {
    fn report(&mut self, result: Result<BatchAnswer, String>) {
        let mut first = |line| self.0.insert(line);
        let answer = match result {
            Ok(answer) => answer,
            Err(trouble) if first(Line::Failure) => {
                return tracing::warn!("the tracker {trouble}; events of this run are lost");
            }
            Err(trouble) => return tracing::debug!("the tracker {trouble}"),
        };
        if let Some(reason) = answer.job_refused
            && first(Line::JobRefused)
        {
            tracing::warn!(
                "the tracker takes events with CONCLAVE_TRACKER_TOKEN, and refused the job's token: {reason}"
            );
        }
        if let Some(reason) = answer.token_refused
            && first(Line::TokenRefused)
        {
            tracing::warn!(
                "the tracker takes events with the job's token, and refused CONCLAVE_TRACKER_TOKEN: {reason}"
            );
        }
        if answer.unproven > 0 && first(Line::Unproven) {
            tracing::warn!(
                outcomes = answer.unproven,
                "the tracker cannot tell that outcomes come from this project, so the repository's memory learns nothing from them: \
                 give the job CONCLAVE_TRACKER_OIDC_TOKEN, or both sides the same CONCLAVE_SECRET"
            );
        }
        // The end of the run says how many, and why.
        if let Some(event) = answer.rejected.first() {
            tracing::debug!(detail = event.detail, "the tracker refused events");
        }
    }
}

/// Sends one request. The ids make an event that arrives twice count once, but nothing is repeated here: the tracker takes
/// the events in two seconds, or they are gone.
async fn send(
    client: &Client,
    settings: &TelemetrySettings,
    request: Pending,
) -> (Pending, Result<BatchAnswer, String>) {
    let url = http::route(&settings.url, routes::EVENTS);
    let result = async {
        let post = settings.access.on(client.post(url)).await?;
        let post = post.header("content-type", "application/json").body(request.body());
        let response = post.send().await.map_err(describe)?;
        if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(settings.access.refused(http::reason(response).await.as_deref()));
        }
        // With 422 it has read the batch, taken none of it, and names each event: that is an answer, too.
        if !response.status().is_success() && response.status() != StatusCode::UNPROCESSABLE_ENTITY {
            let status = describe_status(&response);
            let reason = http::reason(response).await;
            return Err(reason.map_or(status.clone(), |reason| format!("{status} ({reason})")));
        }
        serde_json::from_slice::<BatchAnswer>(&body(response).await?).map_err(|_| http::STRANGE.to_owned())
    };
    let result = result.await;
    (request, result)
}
