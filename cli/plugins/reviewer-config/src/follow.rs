//! Asking again while the review runs.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use conclave_shared::config::{ConfigDocument, EffectiveConfig};
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    cache::Cache,
    fetch::{FetchError, Fetcher},
};

/// How often the service is asked, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// The shortest pause between two questions.
    pub(crate) shortest: Duration,
    /// The longest one. Hundreds of jobs that start together must not ask together for ever.
    pub(crate) longest: Duration,
    /// The time for one answer.
    pub(crate) limit: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            // With the second that the service may answer from memory, and the time in which sessions move, a flipped
            // switch has to be obeyed within five seconds.
            shortest: Duration::from_millis(1500),
            longest: Duration::from_millis(2500),
            limit: Duration::from_secs(2),
        }
    }
}

/// What following begins with.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) fetcher: Fetcher,
    pub(crate) cache: Option<Cache>,
    pub(crate) known: ConfigDocument,
    /// The fault of the document that was left out at the start, if one was.
    pub(crate) fault: Option<String>,
    pub(crate) pace: Pace,
}

/// The cause why a change of the configuration may not have been seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The service could not be asked. Completes "the configuration service …".
    Unanswered(String),
    /// The service answers without its document, which has this fault: only its switches are followed.
    WithoutDocument(String),
}

/// Follows the configuration as long as it lives.
#[derive(Debug)]
pub struct Following {
    document: watch::Receiver<Option<Arc<ConfigDocument>>>,
    trouble: Arc<Mutex<Option<Trouble>>>,
    task: JoinHandle<()>,
}

impl Following {
    pub(crate) fn start(start: Start) -> Self {
        let (sender, document) = watch::channel(None);
        let trouble = Arc::new(Mutex::new(None));
        let task = tokio::spawn(follow(start, sender, Arc::clone(&trouble)));
        Self {
            document,
            trouble,
            task,
        }
    }

    /// The document that changed since the run began; `None` as long as none has.
    pub fn document(&self) -> watch::Receiver<Option<Arc<ConfigDocument>>> {
        self.document.clone()
    }

    /// The trouble with the last question; nothing if it was answered with the document.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(
    start: Start,
    sender: watch::Sender<Option<Arc<ConfigDocument>>>,
    trouble: Arc<Mutex<Option<Trouble>>>,
) {
    let Start {
        mut fetcher,
        cache,
        mut known,
        mut fault,
        pace,
    } = start;
    // Without a document at the start there is none to keep.
    let mut good = fault.is_none().then(|| known.clone());
    loop {
        tokio::time::sleep(pause(pace, random_fraction())).await;
        let answer = fetcher.fetch(pace.limit).await;
        let problem = match &answer {
            Err(error) => {
                let problem = match error {
                    FetchError::Connection(failed) => failed.problem.clone(),
                    error => error.to_string(),
                };
                tracing::info!(
                    problem,
                    "the configuration could not be asked for; the last one stays in force"
                );
                Some(Trouble::Unanswered(problem))
            }
            Ok(answer) => {
                // An answer that is the same as last time has the same fault.
                if let Some(answer) = answer {
                    fault.clone_from(&answer.document_fault);
                }
                fault.clone().map(Trouble::WithoutDocument)
            }
        };
        *trouble.lock().unwrap_or_else(PoisonError::into_inner) = problem;
        let Ok(Some(answer)) = answer else {
            continue;
        };
        let config = in_force(&answer, good.as_ref());
        if fault.is_none() {
            good = Some(config.clone());
        }
        if config == known {
            continue;
        }
        tracing::info!(revision = config.revision, "the configuration changed");
        if let Some(cache) = &cache {
            cache.keep(&answer);
        }
        known.clone_from(&config);
        sender.send_replace(Some(Arc::new(config)));
    }
}

/// Returns what an answer puts in force. One without its document leaves the last good document in force, with the switches of now: a
/// document that breaks must not lift a budget, or a block. So a provider that was off stays off: what kept it off may be the document, or
/// its part for the project, which no switch lifts.
fn in_force(answer: &EffectiveConfig, good: Option<&ConfigDocument>) -> ConfigDocument {
    let Some(good) = good.filter(|_| answer.document_fault.is_some()) else {
        return answer.config.clone();
    };
    let mut kept = good.clone();
    for (provider, switch) in &answer.config.providers {
        let is_off = good.providers.get(provider).is_some_and(|known| !known.enabled);
        if !(is_off && switch.enabled) {
            kept.providers.insert(provider.clone(), switch.clone());
        }
    }
    kept
}

/// The pause before the next question; the dice, from 0 to 1, spread the jobs.
fn pause(pace: Pace, dice: f64) -> Duration {
    pace.shortest + pace.longest.saturating_sub(pace.shortest).mul_f64(dice.clamp(0.0, 1.0))
}

/// A number from 0 to 1. Without randomness all jobs would ask at once, which is no reason to fail.
fn random_fraction() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_about_two_seconds_apart() {
        let pace = Pace::default();
        for (dice, expected) in [(0.0, 1500), (0.5, 2000), (1.0, 2500), (7.0, 2500)] {
            assert_eq!(pause(pace, dice), Duration::from_millis(expected));
        }
    }

    #[test]
    fn an_answer_without_its_document_changes_nothing_but_switches() {
        let read = |text: &str| serde_json::from_str::<EffectiveConfig>(text).expect("an answer");
        let good = read(
            r#"{"config":{"schema_version":1,"revision":3,"limits":{"budget":{"run_usd":1.5}},
                "providers":{"openai":{"enabled":false},"google":{"enabled":true}}}}"#,
        );
        let broken = read(
            r#"{"config":{"schema_version":1,"revision":3,"providers":{"anthropic":{"enabled":false},
                "openai":{"enabled":true},"google":{"enabled":false}}},"document_fault":"cannot be read"}"#,
        );
        let kept = in_force(&broken, Some(&good.config));
        assert_eq!(kept.limits, good.config.limits, "the budget stays");
        for provider in ["anthropic", "openai", "google"] {
            assert!(!kept.providers[provider].enabled, "{provider}");
        }
        assert_eq!(in_force(&broken, None), broken.config, "there was no document to keep");
        assert_eq!(in_force(&good, Some(&broken.config)), good.config, "it is mended");
    }
}
