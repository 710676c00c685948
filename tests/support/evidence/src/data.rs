//! The labelled data, and how it is divided.

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

/// The repositories that something may be tuned on. The pairs have few: these are the ones with the most of them. For the
/// comments it is every other one.
pub(crate) const TUNED_ON: [&str; 2] = ["keycloak", "cal"];

/// The comments' repositories to tune on: every other one, in the order of their names.
pub(crate) fn tuning_repositories(comments: &[Comment]) -> BTreeSet<&str> {
    let all: BTreeSet<&str> = comments.iter().map(Comment::repository).collect();
    all.into_iter().step_by(2).collect()
}

/// The table of how common words are.
pub(crate) fn background(comments: &[Comment]) -> String {
    conclave_engine::findings::background_table(comments.iter().map(|comment| comment.text.as_str()))
}
