//! Rate limits: the primary one by token and resource, the secondary one by what a token creates in a minute.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::fault::{rate_limit, secondary_limit};
use crate::options::Options;
use crate::reply::Reply;
use crate::state::people::TokenKind;

const WINDOW: u64 = 3_600;
const MINUTE: Duration = Duration::from_mins(1);

/// What was asked so far.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    used: BTreeMap<(String, &'static str), u64>,
    created: BTreeMap<String, VecDeque<Instant>>,
    last_write: Option<Instant>,
}

/// A request as the limits see it.
pub(crate) struct Counted<'a> {
    pub(crate) token: &'a str,
    pub(crate) kind: Option<TokenKind>,
    /// `core` or `graphql`.
    pub(crate) resource: &'static str,
    pub(crate) is_write: bool,
    /// Whether the request creates something that people are notified of.
    pub(crate) creates: bool,
}

impl Counted<'_> {
    fn limit(&self, options: &Options) -> u64 {
        let own = match self.kind {
            None => 60,
            Some(TokenKind::Actions) => 1_000,
            Some(_) => 5_000,
        };
        options.rate_limit.unwrap_or(own)
    }
}

impl Limits {
    /// Counts a request; an answer instead of the handler's when it comes too fast or too often.
    pub(crate) fn count(&mut self, options: &Options, request: &Counted<'_>) -> Option<Reply> {
        if options.enterprise.is_some() {
            return None;
        }
        let used = self
            .used
            .entry((request.token.to_owned(), request.resource))
            .or_default();
        if *used >= request.limit(options) {
            return Some(rate_limit(WINDOW));
        }
        *used += 1;
        let most = options.creations_per_minute.filter(|_| request.creates)?;
        let created = self.created.entry(request.token.to_owned()).or_default();
        while created.front().is_some_and(|first| first.elapsed() > MINUTE) {
            created.pop_front();
        }
        if created.len() >= most {
            return Some(secondary_limit(403, Some(MINUTE.as_secs())));
        }
        created.push_back(Instant::now());
        None
    }

    /// The time since the last write, when it is shorter than it may be.
    pub(crate) fn hasty(&mut self, options: &Options, request: &Counted<'_>) -> Option<Duration> {
        if !request.is_write {
            return None;
        }
        let gap = self.last_write.replace(Instant::now())?.elapsed();
        options.minimum_write_gap.filter(|minimum| gap < *minimum).map(|_| gap)
    }

    /// Gives back what an answer of 304 does not cost.
    pub(crate) fn refund(&mut self, request: &Counted<'_>) {
        if let Some(used) = self.used.get_mut(&(request.token.to_owned(), request.resource)) {
            *used = used.saturating_sub(1);
        }
    }

    /// Adds the headers that tell a client where it stands.
    pub(crate) fn describe(&self, options: &Options, request: &Counted<'_>, mut reply: Reply) -> Reply {
        if options.enterprise.is_some() || reply.headers.iter().any(|(name, _)| name == "x-ratelimit-remaining") {
            return reply;
        }
        let used = self
            .used
            .get(&(request.token.to_owned(), request.resource))
            .copied()
            .unwrap_or(0);
        let limit = request.limit(options);
        let reset = chrono::Utc::now().timestamp().unsigned_abs() + WINDOW;
        for (name, value) in [
            ("limit", limit),
            ("remaining", limit.saturating_sub(used)),
            ("used", used),
            ("reset", reset),
        ] {
            reply = reply.header(&format!("x-ratelimit-{name}"), &value.to_string());
        }
        reply.header("x-ratelimit-resource", request.resource)
    }
}
