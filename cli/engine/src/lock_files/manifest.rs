//! The packages that a project itself asks for in its `package.json`.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{entry::split_name, plain::without_mark};

/// Parts of the file that say which package is installed under a name.
const PARTS: [&str; 5] = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "overrides",
    "resolutions",
];

/// The packages that a project asks for.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// For each name the other packages that are asked for under it.
    others: HashMap<String, HashSet<String>>,
}

impl Manifest {
    /// Reads it. A text that cannot be read asks for nothing.
    pub(super) fn read(text: &str) -> Self {
        let mut manifest = Self::default();
        let Ok(fields) = serde_json::from_str::<Value>(without_mark(text)) else {
            return manifest;
        };
        let parts = PARTS.iter().filter_map(|part| fields.get(*part)?.as_object());
        for (name, asked) in parts.flatten() {
            let others = manifest.others.entry(name.clone()).or_default();
            let other = asked.as_str().and_then(|asked| asked.strip_prefix("npm:"));
            others.extend(other.map(|other| split_name(other).0.to_owned()));
        }
        manifest
    }

    /// Returns whether a package is asked for under another name; `None` if nothing is asked for under that name.
    pub(super) fn asks_for(&self, package: &str, name: &str) -> Option<bool> {
        self.others.get(name).map(|others| others.contains(package))
    }
}
