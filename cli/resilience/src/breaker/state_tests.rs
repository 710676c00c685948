#![expect(clippy::disallowed_methods, reason = "an `Instant` cannot be made in another way")]

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn admitted(breaker: &mut Breaker, now: Instant) -> Ticket {
    match breaker.admit(now) {
        (Ok(ticket), _) => ticket,
        (refused, _) => panic!("{refused:?}"),
    }
}

/// A breaker that has just opened.
fn open(now: Instant) -> Breaker {
    let mut breaker = Breaker::new(BreakerSettings::default());
    for _ in 0..5 {
        let ticket = admitted(&mut breaker, now);
        breaker.report(ticket, Outcome::Fault, now);
    }
    assert_eq!(breaker.circuit(), Circuit::Open);
    breaker
}

#[test]
fn it_opens_refuses_probes_once_and_closes() {
    let now = Instant::now();
    let mut breaker = open(now);
    let until = now + BreakerSettings::default().open;
    for at in [now, until.checked_sub(Duration::from_millis(1)).expect("a time")] {
        assert!(breaker.refuses(at));
        assert_eq!(breaker.admit(at), (Err(Some(until)), None));
    }
    assert!(!breaker.refuses(until));
    let (Ok(probe), Some(Change::Probing)) = breaker.admit(until) else {
        panic!("no probe")
    };
    assert!(probe.is_probe() && breaker.refuses(until));
    // However long the probe takes, nobody else goes.
    assert_eq!(breaker.admit(until + 500 * SECOND), (Err(None), None));
    assert_eq!(breaker.report(probe, Outcome::Success, until), Some(Change::Closed));
    let (admission, change) = breaker.admit(until);
    assert!(matches!((admission, change), (Ok(ticket), None) if !ticket.is_probe()));
}

#[test]
fn a_failed_probe_opens_it_for_as_long_again() {
    let now = Instant::now();
    let mut breaker = open(now);
    let settings = BreakerSettings::default();
    let later = now + settings.open;
    let probe = admitted(&mut breaker, later);
    let change = breaker.report(probe, Outcome::Fault, later + SECOND);
    let time = settings.open;
    assert_eq!(
        change,
        Some(Change::Opened {
            cause: Cause::Probe,
            time
        })
    );
    assert_eq!(breaker.admit(later + time), (Err(Some(later + SECOND + time)), None));
}

#[test]
fn a_lost_probe_frees_the_slot() {
    let now = Instant::now();
    let mut breaker = open(now);
    let later = now + BreakerSettings::default().open;
    let lost = admitted(&mut breaker, later);
    assert_eq!(breaker.report(lost, Outcome::Neutral, later), None);
    assert_eq!(breaker.next_chance(later), Some(later));
    let second = admitted(&mut breaker, later);
    assert!(second.is_probe());
    // The lost one comes back from the dead: it has no say any more.
    assert_eq!(breaker.report(lost, Outcome::Success, later), None);
    assert_eq!(breaker.circuit(), Circuit::HalfOpen);
    assert_eq!(breaker.report(second, Outcome::Success, later), Some(Change::Closed));
}

#[test]
fn what_began_before_a_change_does_not_count_after_it() {
    let now = Instant::now();
    let mut breaker = Breaker::new(BreakerSettings::default());
    let old: Vec<Ticket> = (0..20).map(|_| admitted(&mut breaker, now)).collect();
    for ticket in &old[..5] {
        breaker.report(*ticket, Outcome::Fault, now);
    }
    assert_eq!(breaker.circuit(), Circuit::Open);
    assert_eq!(breaker.report(old[5], Outcome::Success, now), None, "it stays open");
    let later = now + BreakerSettings::default().open;
    let probe = admitted(&mut breaker, later);
    breaker.report(probe, Outcome::Success, later);
    for ticket in &old[6..] {
        assert_eq!(breaker.report(*ticket, Outcome::Fault, later), None, "it stays closed");
    }
    assert_eq!(breaker.circuit(), Circuit::Closed);
}

#[test]
fn what_says_nothing_about_the_provider_does_nothing() {
    let now = Instant::now();
    let mut breaker = Breaker::new(BreakerSettings::default());
    for outcome in [Outcome::Fault, Outcome::Neutral].into_iter().cycle().take(9) {
        let ticket = admitted(&mut breaker, now);
        let change = breaker.report(ticket, outcome, now);
        assert!(change.is_none() || breaker.circuit() == Circuit::Open);
    }
    assert_eq!(
        breaker.circuit(),
        Circuit::Open,
        "five faults, with aborts between them"
    );
}

#[derive(Debug, Clone)]
enum Step {
    Ask,
    End(usize, Outcome),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop_oneof![
        1 => Just(Outcome::Success),
        3 => Just(Outcome::Fault),
        1 => Just(Outcome::Neutral),
    ];
    let step = prop_oneof![
        4 => Just(Step::Ask),
        4 => (any::<usize>(), outcome).prop_map(|(which, outcome)| Step::End(which, outcome)),
        1 => (1u64..90).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..400)
}

proptest! {
    /// Whatever callers do, in whatever order: one probe at a time, nobody through an open circuit, and only a probe
    /// closes one.
    #[test]
    fn there_is_never_more_than_one_probe(steps in steps()) {
        let mut now = Instant::now();
        let settings = BreakerSettings { open: 60 * SECOND, ..BreakerSettings::default() };
        let mut breaker = Breaker::new(settings);
        let mut under_way: Vec<Ticket> = Vec::new();
        let mut probe: Option<Ticket> = None;
        let mut opened: Option<Instant> = None;
        for step in steps {
            match step {
                Step::Wait(seconds) => now += Duration::from_secs(seconds),
                Step::Ask => {
                    let before = breaker.circuit();
                    if let (Ok(ticket), _) = breaker.admit(now) {
                        prop_assert_eq!(ticket.is_probe(), before != Circuit::Closed);
                        if ticket.is_probe() {
                            prop_assert!(probe.is_none(), "a second probe");
                            prop_assert!(opened.is_some_and(|at| now >= at + settings.open), "too early");
                            probe = Some(ticket);
                        }
                        under_way.push(ticket);
                    } else {
                        prop_assert!(before != Circuit::Closed, "a closed circuit refuses nobody");
                    }
                }
                Step::End(which, outcome) if !under_way.is_empty() => {
                    let ticket = under_way.swap_remove(which % under_way.len());
                    let before = breaker.circuit();
                    let change = breaker.report(ticket, outcome, now);
                    let probed = probe == Some(ticket);
                    match change {
                        Some(Change::Closed) => prop_assert!(probed && outcome == Outcome::Success),
                        Some(Change::Opened { .. }) => {
                            prop_assert!(outcome == Outcome::Fault && (probed || before == Circuit::Closed));
                            opened = Some(now);
                        }
                        other => prop_assert_eq!(other, None),
                    }
                    if probed {
                        prop_assert!(change.is_some() || outcome == Outcome::Neutral, "a probe decides");
                        probe = None;
                    }
                }
                Step::End(..) => {}
            }
        }
        // It always comes back: the next call after the open time that is answered closes it.
        if let Some(ticket) = probe {
            breaker.report(ticket, Outcome::Neutral, now);
        }
        now += settings.open;
        let ticket = admitted(&mut breaker, now);
        breaker.report(ticket, Outcome::Success, now);
        prop_assert_eq!(breaker.circuit(), Circuit::Closed);
    }
}
