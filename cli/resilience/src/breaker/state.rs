//! One circuit.

use std::{
    fmt,
    time::{Duration, Instant},
};

use super::{
    BreakerSettings,
    window::{Cause, Window},
};

/// The state of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Circuit {
    /// It lets them through.
    Closed,
    /// It refuses them.
    Open,
    /// It lets one through, to see.
    HalfOpen,
}

/// The end of a call, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The model answered.
    Success,
    /// The provider failed.
    Fault,
    /// It says nothing about the provider: the caller gave up, or the request was at fault.
    Neutral,
}

/// The right to one call. Results of calls that began before the circuit last changed do not count: what a model did
/// minutes ago neither opens a circuit that has just closed nor closes one that has just opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    generation: u64,
    probe: bool,
}

impl Ticket {
    /// Returns whether this call decides about the circuit.
    pub const fn is_probe(self) -> bool {
        self.probe
    }
}

/// The answer to a request for a call: a ticket, or the time of the next probe; none while another call is the probe.
pub type Admission = Result<Ticket, Option<Instant>>;

/// The circuit changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It opened, until then.
    Opened {
        /// The cause.
        cause: Cause,
        /// For how long.
        time: Duration,
    },
    /// It lets a probe through.
    Probing,
    /// It closed.
    Closed,
}

impl Change {
    /// The state of the circuit now.
    pub const fn circuit(self) -> Circuit {
        match self {
            Self::Opened { .. } => Circuit::Open,
            Self::Probing => Circuit::HalfOpen,
            Self::Closed => Circuit::Closed,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened { cause, time } => write!(formatter, "circuit open for {} s ({cause})", time.as_secs()),
            Self::Probing => formatter.write_str("tried with one call"),
            Self::Closed => formatter.write_str("in use again"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Instant },
    HalfOpen { probing: bool },
}

/// The circuit of one model.
#[derive(Debug)]
pub struct Breaker {
    settings: BreakerSettings,
    state: State,
    window: Window,
    generation: u64,
}

impl Breaker {
    /// A closed circuit.
    pub fn new(settings: BreakerSettings) -> Self {
        Self {
            settings,
            state: State::Closed,
            window: Window::default(),
            generation: 0,
        }
    }

    /// Takes other settings; the state and what was counted stay.
    pub const fn set(&mut self, settings: BreakerSettings) {
        self.settings = settings;
    }

    /// The state.
    pub const fn circuit(&self) -> Circuit {
        match self.state {
            State::Closed => Circuit::Closed,
            State::Open { .. } => Circuit::Open,
            State::HalfOpen { .. } => Circuit::HalfOpen,
        }
    }

    /// Returns whether a call would be refused now. Asking takes no ticket.
    pub fn refuses(&self, now: Instant) -> bool {
        self.next_chance(now).is_none_or(|at| at > now)
    }

    /// The time when asking again may help: at once, at a time, or (`None`) once the probe has ended.
    pub fn next_chance(&self, now: Instant) -> Option<Instant> {
        match self.state {
            State::Closed | State::HalfOpen { probing: false } => Some(now),
            State::Open { until } => Some(until.max(now)),
            State::HalfOpen { probing: true } => None,
        }
    }

    /// Admits a call or refuses it. The first call after the open time is the probe.
    pub fn admit(&mut self, now: Instant) -> (Admission, Option<Change>) {
        let ticket = |generation, probe| Ok(Ticket { generation, probe });
        match self.state {
            State::Closed => (ticket(self.generation, false), None),
            State::Open { until } if now < until => (Err(Some(until)), None),
            State::HalfOpen { probing: true } => (Err(None), None),
            State::Open { .. } | State::HalfOpen { probing: false } => {
                self.enter(State::HalfOpen { probing: true });
                (ticket(self.generation, true), Some(Change::Probing))
            }
        }
    }

    /// A call ended.
    pub fn report(&mut self, ticket: Ticket, outcome: Outcome, now: Instant) -> Option<Change> {
        if ticket.generation != self.generation {
            return None;
        }
        match (self.state, outcome) {
            (State::Closed, Outcome::Success | Outcome::Fault) => {
                let cause = self.window.record(outcome == Outcome::Fault, &self.settings)?;
                Some(self.open(cause, now))
            }
            (State::HalfOpen { .. }, Outcome::Success) => {
                self.enter(State::Closed);
                Some(Change::Closed)
            }
            (State::HalfOpen { .. }, Outcome::Fault) => Some(self.open(Cause::Probe, now)),
            // A probe that was given up has said nothing: the next one may try.
            (State::HalfOpen { .. }, Outcome::Neutral) => {
                self.enter(State::HalfOpen { probing: false });
                None
            }
            (State::Closed, Outcome::Neutral) | (State::Open { .. }, _) => None,
        }
    }

    fn open(&mut self, cause: Cause, now: Instant) -> Change {
        let time = self.settings.open;
        self.enter(State::Open { until: now + time });
        Change::Opened { cause, time }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.window = Window::default();
        self.generation += 1;
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
