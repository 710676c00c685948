//! Copies on disk: one file each, a line of JSON with the mark and what the server said, then the text.

use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{TextUrl, own_copies};

/// Maximum age of a copy that stands in for a server that fails. Rules of long ago may have been taken back.
const MAX_AGE: chrono::Duration = chrono::Duration::days(7);

/// The key of the mark.
const MARK: &str = "mark";

/// A copy. All but its text stands in the line of JSON, beside the mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copy {
    /// The time when the server last said that this is its text.
    pub(crate) asked: DateTime<Utc>,
    /// Its `ETag`.
    pub(crate) tag: Option<String>,
    /// Its `Last-Modified`.
    pub(crate) modified: Option<String>,
    #[serde(skip)]
    pub(crate) text: String,
}

impl Copy {
    /// Returns whether it is young enough to stand in for a server that fails.
    pub(crate) fn may_stand_in(&self, now: DateTime<Utc>) -> bool {
        self.is_fresh(now, MAX_AGE)
    }

    /// A copy from the future is not fresh: a clock was wrong.
    pub(crate) fn is_fresh(&self, now: DateTime<Utc>, fresh: chrono::Duration) -> bool {
        let age = now - self.asked;
        age >= chrono::Duration::zero() && age < fresh
    }
}

/// The path of an address's copy.
pub(crate) fn path(directory: &Utf8Path, url: &TextUrl) -> Utf8PathBuf {
    let name = hex::encode(Sha256::digest(url.url().as_str().as_bytes()));
    directory.join(&name[..32])
}

#[derive(Debug, Clone)]
pub(crate) struct Cache {
    directory: Utf8PathBuf,
    secret: SecretString,
}

impl Cache {
    pub(crate) fn new(directory: &Utf8Path, secret: &SecretString) -> Self {
        Self {
            directory: directory.to_owned(),
            secret: secret.clone(),
        }
    }

    /// The copy of an address. One that cannot be read, or that another user made, does not count.
    pub(crate) fn read(&self, url: &TextUrl) -> Option<Copy> {
        let content = String::from_utf8(own_copies::read(self.path(url).as_std_path()).ok()?).ok()?;
        let (head, text) = content.split_once('\n')?;
        let head: Value = serde_json::from_str(head).ok()?;
        let mark = hex::decode(head[MARK].as_str()?).ok()?;
        let copy = Copy {
            text: text.to_owned(),
            ..serde_json::from_value(head).ok()?
        };
        self.mac(url, &copy)?.verify_slice(&mark).ok()?;
        Some(copy)
    }

    /// Writes the copy in one step, so that a run beside this one never reads half of it.
    pub(crate) fn write(&self, url: &TextUrl, copy: &Copy) -> io::Result<()> {
        let mark = self
            .mac(url, copy)
            .ok_or_else(|| io::Error::other("the copy cannot be marked"))?;
        let mut head = serde_json::to_value(copy)?;
        head[MARK] = hex::encode(mark.finalize().into_bytes()).into();
        own_copies::create(self.directory.as_std_path())?;
        // Only its owner can read it: the rules of an organization are for nobody else.
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        writeln!(file, "{head}")?;
        file.write_all(copy.text.as_bytes())?;
        file.persist(self.path(url)).map_err(|error| error.error)?;
        Ok(())
    }

    fn path(&self, url: &TextUrl) -> Utf8PathBuf {
        path(&self.directory, url)
    }

    fn mac(&self, url: &TextUrl, copy: &Copy) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.expose_secret().as_bytes()).ok()?;
        let none = String::new();
        for part in [
            "conclave fetched text",
            url.url().as_str(),
            &copy.asked.to_rfc3339(),
            copy.tag.as_ref().unwrap_or(&none),
            copy.modified.as_ref().unwrap_or(&none),
            &copy.text,
        ] {
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }
}
