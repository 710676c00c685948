//! Asking again while the review runs.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use conclave_shared::config::ConfigDocument;
use tokio::{sync::watch, task::JoinHandle};

use crate::{cache::Cache, fetch::Fetcher};

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
    pub(crate) pace: Pace,
}

/// Follows the configuration as long as it lives.
#[derive(Debug)]
pub struct Following {
    document: watch::Receiver<Option<Arc<ConfigDocument>>>,
    trouble: Arc<Mutex<Option<String>>>,
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

    /// Why the service could not be asked lately; nothing if the last question was answered.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(start: Start, sender: watch::Sender<Option<Arc<ConfigDocument>>>, trouble: Arc<Mutex<Option<String>>>) {
    let Start {
        mut fetcher,
        cache,
        mut known,
        pace,
    } = start;
    loop {
        tokio::time::sleep(pause(pace, random_fraction())).await;
        let answer = fetcher.fetch(pace.limit).await;
        let problem = answer.as_ref().err().map(ToString::to_string);
        if let Some(problem) = &problem {
            tracing::info!(
                problem,
                "the configuration could not be asked for; the last one stays in force"
            );
        }
        *trouble.lock().unwrap_or_else(PoisonError::into_inner) = problem;
        let Ok(Some(answer)) = answer else {
            continue;
        };
        let config = answer.config.clone();
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
}
