//! The circuits of all models.

use std::{collections::HashMap, hash::Hash, time::Instant};

use super::{Admission, Breaker, BreakerSettings, Change, Circuit, Outcome, Ticket};

/// The next chance that one of several circuits lets a call through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextProbe {
    /// At this time, if nothing happens before.
    At(Instant),
    /// Once the probe under way has ended.
    InHand,
}

/// The circuits of all models; one that was never called is closed.
#[derive(Debug)]
pub struct Breakers<K> {
    settings: BreakerSettings,
    circuits: HashMap<K, Breaker>,
}

impl<K: Eq + Hash + Clone> Breakers<K> {
    /// No circuit yet.
    pub fn new(settings: BreakerSettings) -> Self {
        Self {
            settings,
            circuits: HashMap::new(),
        }
    }

    /// Takes other settings, for all circuits.
    pub fn set(&mut self, settings: BreakerSettings) {
        self.settings = settings;
        for breaker in self.circuits.values_mut() {
            breaker.set(settings);
        }
    }

    /// The state of a model's circuit.
    pub fn circuit(&self, key: &K) -> Circuit {
        self.circuits.get(key).map_or(Circuit::Closed, Breaker::circuit)
    }

    /// Returns whether a call of this model would be refused now.
    pub fn refuses(&self, key: &K, now: Instant) -> bool {
        self.circuits.get(key).is_some_and(|breaker| breaker.refuses(now))
    }

    /// Admits a call or refuses it; see [`Breaker::admit`].
    pub fn admit(&mut self, key: &K, now: Instant) -> (Admission, Option<Change>) {
        self.circuits
            .entry(key.clone())
            .or_insert_with(|| Breaker::new(self.settings))
            .admit(now)
    }

    /// A call ended; see [`Breaker::report`].
    pub fn report(&mut self, key: &K, ticket: Ticket, outcome: Outcome, now: Instant) -> Option<Change> {
        self.circuits.get_mut(key)?.report(ticket, outcome, now)
    }

    /// The next chance that one of these circuits lets a call through; none if not one of them is open, and waiting would
    /// change nothing.
    pub fn next_probe<'k>(&self, keys: impl IntoIterator<Item = &'k K>, now: Instant) -> Option<NextProbe>
    where
        K: 'k,
    {
        let mut next = None;
        for breaker in keys.into_iter().filter_map(|key| self.circuits.get(key)) {
            match (breaker.circuit(), breaker.next_chance(now)) {
                (Circuit::Closed, _) => {}
                (_, None) => next = Some(next.unwrap_or(NextProbe::InHand)),
                (_, Some(at)) => {
                    next = Some(match next {
                        Some(NextProbe::At(sooner)) => NextProbe::At(sooner.min(at)),
                        _ => NextProbe::At(at),
                    });
                }
            }
        }
        next
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "an `Instant` cannot be made in another way")]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_model_has_a_circuit_of_its_own_and_the_first_chance_is_found() {
        let start = Instant::now();
        let mut breakers = Breakers::new(BreakerSettings {
            failures: 1,
            ..BreakerSettings::default()
        });
        let break_at = |breakers: &mut Breakers<&str>, key, now| {
            let (Ok(ticket), _) = breakers.admit(&key, now) else {
                panic!("refused")
            };
            assert!(breakers.report(&key, ticket, Outcome::Fault, now).is_some());
        };
        assert_eq!(breakers.next_probe([&"a", &"b"], start), None);
        let later = start + Duration::from_secs(10);
        break_at(&mut breakers, "a", later);
        break_at(&mut breakers, "b", start);
        let open = BreakerSettings::default().open;
        assert_eq!(
            breakers.next_probe([&"a", &"b", &"c"], later),
            Some(NextProbe::At(start + open))
        );
        assert_eq!(
            (breakers.circuit(&"a"), breakers.circuit(&"c")),
            (Circuit::Open, Circuit::Closed)
        );
        // "b" is being probed: what is certain is the time of "a".
        let (admission, _) = breakers.admit(&"b", start + open);
        assert!(matches!(admission, Ok(ticket) if ticket.is_probe()));
        assert_eq!(breakers.next_probe([&"b"], start + open), Some(NextProbe::InHand));
        assert_eq!(
            breakers.next_probe([&"b", &"a"], start + open),
            Some(NextProbe::At(later + open))
        );
    }
}
