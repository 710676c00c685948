//! Lock files of Nix flakes.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::{
    entry::{Entry, Hash, Source, repository},
    json::{self, place},
};

#[derive(Deserialize)]
struct FlakeFile {
    nodes: BTreeMap<String, FlakeNode>,
    /// The node of the flake itself.
    #[serde(default)]
    root: String,
}

#[derive(Deserialize)]
struct FlakeNode {
    /// The node of each input, or the path of inputs from the root that leads to it.
    #[serde(default)]
    inputs: BTreeMap<String, Value>,
    locked: Option<FlakeLocked>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlakeLocked {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    owner: String,
    #[serde(default)]
    repo: String,
    host: Option<String>,
    #[serde(default)]
    url: String,
    #[serde(default)]
    rev: String,
    nar_hash: Option<String>,
}

impl FlakeLocked {
    /// Its origin, and the text that names it.
    fn source(&self) -> (Source, String) {
        let forge = |usual: &str| {
            let host = self.host.as_deref().unwrap_or(usual);
            let url = format!("https://{host}/{}/{}", self.owner, self.repo);
            (Source::Git(url), format!("\"repo\": \"{}\"", self.repo))
        };
        match self.kind.as_str() {
            "github" => forge("github.com"),
            "gitlab" => forge("gitlab.com"),
            "sourcehut" => forge("git.sr.ht"),
            "path" => (Source::Local, String::new()),
            "git" | "hg" => (Source::Git(repository(&self.url)), self.url.clone()),
            _ => (Source::Url(repository(&self.url)), self.url.clone()),
        }
    }
}

/// The most steps of a path of inputs.
const MAX_STEPS: usize = 32;

impl FlakeFile {
    /// The node that an input is; `None` if there is none, or its path does not end.
    fn node<'a>(&'a self, input: &'a Value, steps: usize) -> Option<&'a str> {
        match input {
            Value::String(node) => Some(node),
            Value::Array(path) => path.iter().try_fold(self.root.as_str(), |node, part| {
                let input = self.nodes.get(node)?.inputs.get(part.as_str()?)?;
                self.node(input, steps.checked_sub(1)?)
            }),
            _ => None,
        }
    }

    /// Each input, as one more place that its name comes from: another node of the file takes its place by a change of one line. The
    /// node stands in the place of the version.
    fn inputs(&self) -> impl Iterator<Item = Entry> {
        let all = self.nodes.iter().flat_map(|(owner, node)| {
            let inputs = node.inputs.iter();
            inputs.map(move |(name, input)| (owner, name, input))
        });
        all.filter_map(|(owner, name, input)| {
            let node = self.node(input, MAX_STEPS)?;
            let (source, _) = self.nodes.get(node)?.locked.as_ref()?.source();
            Some(Entry {
                source,
                anchor: match input {
                    Value::String(node) => format!("\"{name}\": \"{node}\""),
                    _ => format!("\"{name}\": ["),
                },
                ..place(&format!("{owner}/{name}"), node, "")
            })
        })
    }
}

/// Leaves out the inputs that are the same node as before: where that comes from another place, it is reported itself.
pub(super) fn without_known_inputs(head: &mut Vec<Entry>, base: &[Entry]) {
    let is_input = |entry: &&Entry| entry.hash == Hash::Beside;
    let known: HashSet<(&str, &str)> = base.iter().filter(is_input).filter_map(Entry::key).collect();
    head.retain(|entry| !is_input(&entry) || !entry.key().is_some_and(|key| known.contains(&key)));
}

pub(super) fn read(text: &str) -> Result<Vec<Entry>, String> {
    let file: FlakeFile = json::read(text)?;
    let nodes = file.nodes.iter().filter_map(|(name, node)| {
        let locked = node.locked.as_ref()?;
        let (source, source_text) = locked.source();
        Some(Entry {
            name: name.clone(),
            version: locked.rev.clone(),
            source,
            hash: Hash::required(locked.nar_hash.is_some()),
            integrity: locked.nar_hash.clone().unwrap_or_default(),
            source_text,
            anchor: format!("\"{name}\": {{"),
            files: Vec::new(),
        })
    });
    Ok(nodes.chain(file.inputs()).collect())
}
