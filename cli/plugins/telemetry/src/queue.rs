//! What waits to be sent: one request that is being filled, and requests that are full or have waited long enough.

use std::collections::VecDeque;

use conclave_shared::telemetry::MAX_BATCH_BYTES;
use tokio::time::Instant;

/// How many requests may be pending, those on their way included. Beyond that the oldest that waits is dropped.
pub(crate) const MAX_PENDING: usize = 50;
/// How many events one request has.
pub(crate) const BATCH: usize = 100;
/// How many bytes of events one request has; the tracker takes a little more.
const MAX_BYTES: usize = MAX_BATCH_BYTES - 8 * 1024;

/// Events that are sent together, each as JSON.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    events: Vec<String>,
    bytes: usize,
    /// Lost events that one of its events reports.
    reports: u64,
}

impl Pending {
    /// How many events are lost with it: the report of others is none of them.
    fn count(&self) -> u64 {
        let events = u64::try_from(self.events.len()).unwrap_or(u64::MAX);
        events - u64::from(self.reports > 0)
    }

    /// The body of the request.
    pub(crate) fn body(&self) -> String {
        format!("{{\"events\":[{}]}}", self.events.join(","))
    }

    fn push(&mut self, event: String) {
        self.bytes += event.len() + 1;
        self.events.push(event);
    }
}

/// The requests of a run.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    filling: Pending,
    /// When the first event came into the one that is being filled.
    since: Option<Instant>,
    waiting: VecDeque<Pending>,
    /// Requests on their way, and their events.
    sending: usize,
    sending_events: u64,
    lost: u64,
    /// Events that arrived and were refused.
    refused: u64,
    /// Lost events that no request has reported yet.
    unreported: u64,
    closed: bool,
    /// Whether the very last request, which has nothing but a report, was made.
    last_words: bool,
}

impl Queue {
    /// Takes an event.
    pub(crate) fn push(&mut self, event: String, now: Instant) {
        if event.len() > MAX_BYTES {
            self.lose(1);
            return;
        }
        if self.filling.bytes + event.len() > MAX_BYTES {
            self.seal();
        }
        self.since.get_or_insert(now);
        self.filling.push(event);
        if self.filling.events.len() >= BATCH {
            self.seal();
        }
    }

    /// Since when events wait for company; nothing if none does.
    pub(crate) const fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Lost events that have to be reported; from now on whoever asks is responsible for that. A request that is sent anyway
    /// carries the report; at the end, one is made for it alone, once.
    pub(crate) fn unreported(&mut self) -> Option<u64> {
        if self.unreported == 0 {
            return None;
        }
        if self.since.is_none() {
            if !self.closed || !self.is_idle() || self.last_words {
                return None;
            }
            self.last_words = true;
        }
        Some(std::mem::take(&mut self.unreported))
    }

    /// Adds the report of so many lost events to the request that is being filled.
    pub(crate) fn report(&mut self, event: String, lost: u64) {
        self.filling.push(event);
        self.filling.reports += lost;
    }

    /// Closes the request that is being filled. The oldest one makes room for it.
    pub(crate) fn seal(&mut self) {
        self.since = None;
        if self.filling.events.is_empty() {
            return;
        }
        while self.waiting.len() + self.sending >= MAX_PENDING {
            let Some(oldest) = self.waiting.pop_front() else { break };
            self.drop_request(&oldest);
        }
        self.waiting.push_back(std::mem::take(&mut self.filling));
    }

    /// The next request to send.
    pub(crate) fn take(&mut self) -> Option<Pending> {
        let next = self.waiting.pop_front()?;
        self.sending += 1;
        self.sending_events += next.count();
        Some(next)
    }

    /// Notes how a request ended: `None` if it did not arrive, else how many of its events were refused.
    pub(crate) fn done(&mut self, request: &Pending, refused: Option<u64>) {
        self.sending = self.sending.saturating_sub(1);
        self.sending_events = self.sending_events.saturating_sub(request.count());
        match refused {
            None => self.drop_request(request),
            Some(refused) => self.refuse(request, refused),
        }
    }

    /// Counts events that the tracker refused: they are as lost as those that never arrived. They are not reported to it once more.
    fn refuse(&mut self, request: &Pending, refused: u64) {
        let events = refused.min(request.count());
        self.refused += events;
        if refused > events {
            // The report was among them.
            self.unreported += request.reports;
        }
    }

    /// Number of events that the tracker refused.
    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    fn drop_request(&mut self, request: &Pending) {
        self.lose(request.count());
        // What it would have reported is still to be reported.
        self.unreported += request.reports;
    }

    fn lose(&mut self, events: u64) {
        self.lost += events;
        self.unreported += events;
    }

    /// No event comes any more.
    pub(crate) const fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns whether nothing waits and nothing is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.filling.events.is_empty() && self.waiting.is_empty() && self.sending == 0
    }

    /// How many events were lost, if nothing that is still here arrives any more.
    pub(crate) fn lost(&self) -> u64 {
        let waiting = self.waiting.iter().map(Pending::count).sum::<u64>();
        self.lost + waiting + self.filling.count() + self.sending_events
    }

    /// How many requests are pending, the one that is being filled included.
    #[cfg(test)]
    pub(crate) fn pending(&self) -> usize {
        self.waiting.len() + self.sending + usize::from(!self.filling.events.is_empty())
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
