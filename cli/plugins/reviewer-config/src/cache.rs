//! The last good answer of the service, on disk.
//!
//! It decides which models review and what they may cost, and its directory can be one that others write to: a CI job's cache
//! lies in the checkout. So it carries a keyed mark; without the installation's secret none is kept and none is used.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use conclave_fetch::own_copies;
use conclave_shared::config::{EffectiveConfig, validate};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Longer ago, and the built-in defaults are the better guess.
const MAX_AGE: Duration = Duration::from_hours(7 * 24);

/// Where the last good answer is kept.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    file: PathBuf,
    /// What was asked, so that an answer for something else is never used.
    source: String,
    secret: Option<SecretString>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    source: String,
    at_seconds: u64,
    /// The answer as JSON: what is marked is these bytes.
    answer: String,
    mark: String,
}

/// What is found on disk.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing that can be used.
    Nothing,
    /// Something, and without a secret nothing proves whose it is.
    Unproven,
    /// The last good answer and its age.
    Answer(Box<EffectiveConfig>, Duration),
}

impl Cache {
    /// A cache in this directory for this question.
    pub(crate) fn new(directory: &Path, source: String, secret: Option<SecretString>) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = source.chars().map(plain).take(150).collect();
        Self {
            file: directory.join(format!("config-{name}.json")),
            source,
            secret,
        }
    }

    /// Keeps an answer. It is a convenience for a bad day: that it could not be written is not worth a warning. One without its document
    /// takes no good one's place.
    pub(crate) fn keep(&self, answer: &EffectiveConfig) {
        if self.secret.is_some()
            && answer.document_fault.is_none()
            && let Err(error) = self.write(answer, seconds_now())
        {
            tracing::info!(%error, "the configuration could not be kept on disk");
        }
    }

    fn write(&self, answer: &EffectiveConfig, at_seconds: u64) -> std::io::Result<()> {
        let answer = serde_json::to_string(answer)?;
        let mark = self.mac(at_seconds, &answer).map(|mac| mac.finalize().into_bytes());
        let mark = mark.ok_or_else(|| std::io::Error::other("it cannot be marked"))?;
        let kept = Kept {
            source: self.source.clone(),
            at_seconds,
            mark: hex::encode(mark),
            answer,
        };
        let directory = self.file.parent().unwrap_or(Path::new("."));
        own_copies::create(directory)?;
        // Two jobs on one machine may do this at once: each writes its own file and puts it in place whole.
        let mut own = tempfile::NamedTempFile::new_in(directory)?;
        own.write_all(&serde_json::to_vec(&kept)?)?;
        own.persist(&self.file).map(drop).map_err(|error| error.error)
    }

    /// The last good answer, if there is one that can still be used.
    pub(crate) fn load(&self) -> Found {
        if self.secret.is_none() {
            return if self.file.exists() {
                Found::Unproven
            } else {
                Found::Nothing
            };
        }
        self.read()
            .map_or(Found::Nothing, |(answer, age)| Found::Answer(Box::new(answer), age))
    }

    fn read(&self) -> Option<(EffectiveConfig, Duration)> {
        let kept: Kept = serde_json::from_slice(&own_copies::read(&self.file).ok()?).ok()?;
        let mark = hex::decode(&kept.mark).ok()?;
        self.mac(kept.at_seconds, &kept.answer)?.verify_slice(&mark).ok()?;
        let answer: EffectiveConfig = serde_json::from_str(&kept.answer).ok()?;
        let age = Duration::from_secs(seconds_now().checked_sub(kept.at_seconds)?);
        let usable = kept.source == self.source && age <= MAX_AGE && validate(&answer.config).is_empty();
        usable.then_some((answer, age))
    }

    fn mac(&self, at_seconds: u64, answer: &str) -> Option<Hmac<Sha256>> {
        let key = self.secret.as_ref()?.expose_secret().as_bytes();
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        for part in [
            "conclave kept configuration",
            &self.source,
            &at_seconds.to_string(),
            answer,
        ] {
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
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

    fn cache(directory: &Path, source: &str, secret: Option<&str>) -> Cache {
        Cache::new(directory, source.to_owned(), secret.map(SecretString::from))
    }

    fn revision(found: &Found) -> Option<u64> {
        match found {
            Found::Answer(answer, _) => Some(answer.config.revision),
            Found::Nothing | Found::Unproven => None,
        }
    }

    #[test]
    fn what_is_kept_is_found_again_by_the_same_question_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let below = directory.path().join("below");
        let kept = cache(&below, "https://x group/a", Some("s"));
        assert!(matches!(kept.load(), Found::Nothing));
        kept.keep(&answer(3));
        kept.keep(&answer(4));
        assert_eq!(revision(&kept.load()), Some(4));
        assert_eq!(
            std::fs::read_dir(&below).expect("there").count(),
            1,
            "nothing else is left behind"
        );
        let mut other = cache(&below, "https://x group-a", Some("s"));
        assert!(matches!(other.load(), Found::Nothing));
        other.source.clone_from(&kept.source);
        assert_eq!(other.file, kept.file, "the names are alike, and the question decides");
    }

    #[test]
    fn what_somebody_else_wrote_is_not_used_and_without_a_secret_nothing_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let kept = cache(directory.path(), "q", Some("s"));
        kept.keep(&answer(3));
        let text = std::fs::read_to_string(&kept.file).expect("written");
        assert_eq!(revision(&cache(directory.path(), "q", Some("another")).load()), None);
        let without = cache(directory.path(), "q", None);
        assert!(matches!(without.load(), Found::Unproven));
        without.keep(&answer(5));
        assert_eq!(revision(&kept.load()), Some(3));
        let old_form = r#"{"source":"q","at_seconds":1,"answer":{"config":{"schema_version":1}}}"#;
        for forged in [
            text.replace(":3", ":4"),
            text.replace("at_seconds\":", "at_seconds\":1"),
            old_form.to_owned(),
        ] {
            assert_ne!(forged, text);
            std::fs::write(&kept.file, forged).expect("written");
            assert_eq!(revision(&kept.load()), None);
        }
    }

    #[test]
    fn what_is_too_old_from_the_future_or_broken_is_not_used() {
        let directory = tempfile::tempdir().expect("a directory");
        let kept = cache(directory.path(), "q", Some("s"));
        let now = seconds_now();
        let broken = r#"{"config":{"schema_version":1,"limits":{"sessions":0}}}"#;
        for (at, answer, used) in [
            (now - 3600, answer(1), true),
            (now - MAX_AGE.as_secs() - 60, answer(1), false),
            (now + 3600, answer(1), false),
            (now, serde_json::from_str(broken).expect("an answer"), false),
        ] {
            kept.write(&answer, at).expect("written");
            assert_eq!(revision(&kept.load()).is_some(), used, "{at}");
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
