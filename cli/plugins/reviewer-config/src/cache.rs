//! The last good answer of the service, on disk.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use conclave_shared::config::{EffectiveConfig, validate};
use serde::{Deserialize, Serialize};

/// Longer ago, and the built-in defaults are the better guess.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// Where the last good answer is kept.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    file: PathBuf,
    /// What was asked, so that an answer for something else is never used.
    source: String,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    source: String,
    at_seconds: u64,
    answer: EffectiveConfig,
}

impl Cache {
    /// A cache in this directory for this question.
    pub(crate) fn new(directory: &Path, source: String) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = source.chars().map(plain).take(150).collect();
        Self {
            file: directory.join(format!("config-{name}.json")),
            source,
        }
    }

    /// Keeps an answer. It is a convenience for a bad day: that it could not be written is not worth a warning.
    pub(crate) fn keep(&self, answer: &EffectiveConfig) {
        let kept = Kept {
            source: self.source.clone(),
            at_seconds: seconds_now(),
            answer: answer.clone(),
        };
        if let Err(error) = self.write(&kept) {
            tracing::info!(%error, "the configuration could not be kept on disk");
        }
    }

    fn write(&self, kept: &Kept) -> std::io::Result<()> {
        if let Some(directory) = self.file.parent() {
            std::fs::create_dir_all(directory)?;
        }
        // Two jobs on one machine may do this at once: each writes its own file and puts it in place whole.
        let own = self.file.with_extension(format!("{}.tmp", std::process::id()));
        std::fs::write(&own, serde_json::to_vec(kept)?)?;
        std::fs::rename(&own, &self.file)
    }

    /// The last good answer and its age, if there is one that can still be used.
    pub(crate) fn load(&self) -> Option<(EffectiveConfig, Duration)> {
        let kept: Kept = serde_json::from_slice(&std::fs::read(&self.file).ok()?).ok()?;
        let age = Duration::from_secs(seconds_now().checked_sub(kept.at_seconds)?);
        let usable = kept.source == self.source && age <= LONGEST && validate(&kept.answer.config).is_empty();
        usable.then_some((kept.answer, age))
    }
}

fn seconds_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// An age as a person says it.
pub(crate) fn describe(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    match minutes {
        0 => "less than a minute".to_owned(),
        1..=119 => format!("{minutes} min"),
        _ if minutes < 2 * 24 * 60 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / (24 * 60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(revision: u64) -> EffectiveConfig {
        serde_json::from_str(&format!(r#"{{"config":{{"schema_version":1,"revision":{revision}}}}}"#)).expect("valid")
    }

    #[test]
    fn what_is_kept_is_found_again_by_the_same_question_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = Cache::new(&directory.path().join("below"), "https://x group/a".to_owned());
        assert!(cache.load().is_none());
        cache.keep(&answer(3));
        cache.keep(&answer(4));
        let (found, age) = cache.load().expect("kept");
        assert_eq!(
            (found.config.revision, describe(age).as_str()),
            (4, "less than a minute")
        );
        let files = std::fs::read_dir(directory.path().join("below"))
            .expect("there")
            .count();
        assert_eq!(files, 1, "nothing else is left behind");
        let mut other = Cache::new(&directory.path().join("below"), "https://x group-a".to_owned());
        assert!(other.load().is_none());
        other.source.clone_from(&cache.source);
        assert_eq!(other.file, cache.file, "the names are alike, and the question decides");
    }

    #[test]
    fn what_is_too_old_from_the_future_or_broken_is_not_used() {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = Cache::new(directory.path(), "q".to_owned());
        let write = |at_seconds, answer: &str| {
            let text = format!(r#"{{"source":"q","at_seconds":{at_seconds},"answer":{answer}}}"#);
            std::fs::write(&cache.file, text).expect("written");
        };
        let now = seconds_now();
        let good = r#"{"config":{"schema_version":1}}"#;
        for (at, answer, used) in [
            (now - 3600, good, true),
            (now - LONGEST.as_secs() - 60, good, false),
            (now + 3600, good, false),
            (now, r#"{"config":{"schema_version":1,"limits":{"sessions":0}}}"#, false),
            (now, "nonsense", false),
        ] {
            write(at, answer);
            assert_eq!(cache.load().is_some(), used, "{at} {answer}");
        }
    }

    #[test]
    fn ages_are_said_in_fitting_units() {
        for (minutes, text) in [
            (0, "less than a minute"),
            (5, "5 min"),
            (180, "3 h"),
            (3 * 24 * 60, "3 days"),
        ] {
            assert_eq!(describe(Duration::from_mins(minutes)), text);
        }
    }
}
