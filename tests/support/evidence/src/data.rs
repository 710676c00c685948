//! The labelled data.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use serde::{Deserialize, de::DeserializeOwned};

/// Two claims about one merge request.
#[derive(Debug, Deserialize)]
pub(crate) struct Pair {
    pub(crate) label: String,
    pub(crate) pr: String,
    pub(crate) a: String,
    pub(crate) b: String,
}

impl Pair {
    pub(crate) fn is_duplicate(&self) -> bool {
        self.label == "duplicate"
    }

    /// The repository: forks of one project that differ in the tool that was run on them are one.
    pub(crate) fn repository(&self) -> &str {
        let name = self.pr.split('/').nth(4).unwrap_or(&self.pr);
        name.split(['-', '.']).next().unwrap_or(name)
    }
}

/// A review comment that people accepted or turned down.
#[derive(Debug, Deserialize)]
pub(crate) struct Comment {
    pub(crate) label: String,
    pub(crate) pr: String,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) side: Option<String>,
    #[serde(default)]
    pub(crate) from_line: Option<u32>,
    #[serde(default)]
    pub(crate) to_line: Option<u32>,
    #[serde(rename = "comment")]
    pub(crate) text: String,
}

impl Comment {
    pub(crate) fn is_accepted(&self) -> bool {
        self.label == "accepted"
    }

    pub(crate) fn repository(&self) -> &str {
        self.pr.split('#').next().unwrap_or(&self.pr)
    }

    /// The first and the last line that it is about.
    pub(crate) fn lines(&self) -> Option<(u32, u32)> {
        let from = self.from_line?;
        let to = self.to_line.unwrap_or(from);
        Some((from.min(to), from.max(to)))
    }
}

/// Reads a file of one JSON object a line.
pub(crate) fn read<T: DeserializeOwned>(folder: &str, name: &str) -> Vec<T> {
    let path = Path::new(folder).join(name);
    let file = File::open(&path).expect("the folder holds the data that `scripts/evidence --help` names");
    BufReader::new(file)
        .lines()
        .map(|line| serde_json::from_str(&line.expect("text")).expect("one object a line, as the data's README says"))
        .collect()
}

/// The names of the repositories.
pub(crate) fn repositories<T>(all: &[T], repository: impl Fn(&T) -> &str) -> BTreeSet<&str> {
    all.iter().map(repository).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of pairs and comments")]
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    (share * 10.0).round() / 10.0
}
