//! The `telemetry` plugin: fire-and-forget events to the tracker.
//!
//! It can neither block nor fail a review. Recording an event only puts it into a queue; a task of its own sends
//! batches, each within two seconds; when the queue is full the oldest event is dropped and the drop is counted; at the
//! end the rest has two seconds, and what is left then is reported.

mod probe;

pub use probe::probe;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use conclave_engine::{plugin::ReviewPlugin, ports::TelemetrySink};
use conclave_shared::{
    routes,
    telemetry::{BatchAnswer, Event, EventBatch, EventBody, SCHEMA_VERSION, TelemetryDropped},
};
use secrecy::{ExposeSecret, SecretString};
use tokio::{sync::Notify, task::JoinHandle, time::timeout};
use url::Url;
use uuid::Uuid;

/// Time for one request, and for the last flush.
const REQUEST: Duration = Duration::from_secs(2);
/// How many events may wait.
const MOST_PENDING: usize = 400;
/// How many events are sent at once.
const BATCH: usize = 100;
/// How long an event waits for company.
const GATHER: Duration = Duration::from_millis(250);

/// Where the tracker is and what every event carries.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The Worker's address.
    pub url: Url,
    /// An ingest token.
    pub token: SecretString,
    /// The run.
    pub run_id: Uuid,
    /// The project.
    pub project: String,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    dropped: u64,
    closed: bool,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
    settings: TelemetrySettings,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // A queue is never left half-changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, event: EventBody) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let event = Event {
            id: Uuid::now_v7(),
            schema: SCHEMA_VERSION,
            at_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
            run_id: self.settings.run_id,
            project: self.settings.project.clone(),
            event,
        };
        let mut queue = self.queue();
        queue.events.push_back(event);
        if queue.events.len() > MOST_PENDING {
            queue.events.pop_front();
            queue.dropped += 1;
        }
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
        });
        let sender = tokio::spawn(send_all(Arc::clone(&shared)));
        Self {
            shared,
            sender: Mutex::new(Some(sender)),
        }
    }

    /// Sends what is left, for at most two seconds. Returns how many events were lost in the whole run.
    pub async fn flush(&self) -> u64 {
        self.shared.queue().closed = true;
        self.shared.changed.notify_one();
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut sender) = sender
            && timeout(REQUEST, &mut sender).await.is_err()
        {
            sender.abort();
        }
        let queue = self.shared.queue();
        queue.dropped + u64::try_from(queue.events.len()).unwrap_or(u64::MAX)
    }
}

impl TelemetrySink for Telemetry {
    fn record(&self, event: EventBody) {
        self.shared.push(event);
        self.shared.changed.notify_one();
    }
}

/// The plugin. Its part in a run is to listen, so it has nothing to contribute; without a tracker it is off.
#[derive(Debug)]
pub struct TelemetryPlugin {
    telemetry: Option<Arc<Telemetry>>,
}

impl TelemetryPlugin {
    /// A plugin that sends to this tracker, or to none.
    pub fn start(settings: Option<TelemetrySettings>) -> Self {
        let telemetry = settings.map(|settings| Arc::new(Telemetry::start(settings)));
        Self { telemetry }
    }

    /// Where events go, if there is a tracker.
    pub fn telemetry(&self) -> Option<Arc<Telemetry>> {
        self.telemetry.clone()
    }
}

impl ReviewPlugin for TelemetryPlugin {
    fn name(&self) -> &'static str {
        "telemetry"
    }
}

async fn send_all(shared: Arc<Shared>) {
    let Ok(client) = reqwest::Client::builder().timeout(REQUEST).build() else {
        return;
    };
    loop {
        let (empty, closed) = {
            let queue = shared.queue();
            (queue.events.is_empty(), queue.closed)
        };
        if empty && closed {
            return;
        }
        if empty {
            shared.changed.notified().await;
        }
        if !shared.queue().closed {
            // Somebody who closes meanwhile ends the wait.
            let _ = timeout(GATHER, closed_early(&shared)).await;
        }
        let batch = {
            let mut queue = shared.queue();
            let count = queue.events.len().min(BATCH);
            queue.events.drain(..count).collect::<Vec<_>>()
        };
        if !batch.is_empty() {
            let lost = send(&client, &shared.settings, batch).await;
            let was_reported = {
                let mut queue = shared.queue();
                queue.dropped += lost;
                queue.dropped
            };
            if lost > 0 && !shared.queue().closed {
                // Told with the next batch, if the tracker comes back.
                shared.push(EventBody::TelemetryDropped(TelemetryDropped { events: lost }));
                tracing::debug!(lost, was_reported, "the tracker did not take a batch");
            }
        }
    }
}

async fn closed_early(shared: &Shared) {
    while !shared.queue().closed {
        shared.changed.notified().await;
    }
}

/// Sends one batch; returns how many of its events were lost. The ids make a repeated event count once, but nothing is
/// repeated here: the tracker answers in two seconds or the events are gone.
async fn send(client: &reqwest::Client, settings: &TelemetrySettings, events: Vec<Event>) -> u64 {
    let count = u64::try_from(events.len()).unwrap_or(u64::MAX);
    let mut url = settings.url.clone();
    url.set_path(&format!("{}{}", url.path().trim_end_matches('/'), routes::EVENTS));
    let request = client
        .post(url)
        .bearer_auth(settings.token.expose_secret())
        .json(&EventBatch { events });
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) => {
            tracing::warn!(error = %error.without_url(), count, "the tracker did not take the events");
            return count;
        }
    };
    let status = response.status();
    match (status.is_success(), response.json::<BatchAnswer>().await) {
        (true, Ok(answer)) => {
            for rejected in &answer.rejected {
                tracing::warn!(
                    index = rejected.index,
                    detail = rejected.detail,
                    "the tracker refused an event"
                );
            }
            u64::try_from(answer.rejected.len()).unwrap_or(u64::MAX)
        }
        (true, Err(_)) => {
            tracing::warn!("the tracker's answer cannot be read");
            count
        }
        (false, _) => {
            tracing::warn!(%status, "the tracker refused the events");
            count
        }
    }
}

#[cfg(test)]
mod tests;
