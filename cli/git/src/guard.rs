//! Switching off the programs that a repository's own configuration names for its files.
//!
//! Git reads the working tree through `clean` filters, and looks into submodules with a git of their own. Which filters there are
//! only the configuration says, and it comes with the directory: somebody else's, unpacked from an archive, names whatever it
//! likes. Reading a configuration runs nothing, so it is read first, and each filter in it is then set to nothing.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    command::{self, GitError, ObjectStores},
    repository::Repository,
};

/// Maximum number of filters that can be switched off for one process.
const MAX_FILTERS: usize = 500;
/// Maximum number of submodules whose configuration is read, those inside of others included.
const MAX_SUBMODULES: usize = 500;
/// The parts of a filter, and the value that each is set to.
const PARTS: [(&str, &str); 4] = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];

/// Variables that switch off the filters of a repository and of all of its submodules, for a process that reads the working
/// tree.
pub(crate) async fn without_filters(repository: &Repository) -> Result<Vec<(OsString, OsString)>, GitError> {
    let mut names = BTreeSet::new();
    let mut waiting = vec![repository.root().to_owned()];
    let mut read = 0;
    while let Some(directory) = waiting.pop() {
        // A submodule is as much the named directory's as its files are.
        let stores = ObjectStores::trusting(&directory);
        names.extend(filters(&directory, &stores).await?);
        if names.len() > MAX_FILTERS || read > MAX_SUBMODULES {
            return Err(GitError::WorkingTree(format!(
                "the configuration of {} names more than {MAX_FILTERS} filters, or there are more than {MAX_SUBMODULES} \
                 submodules",
                repository.root()
            )));
        }
        read += 1;
        waiting.extend(submodules(&directory, &stores).await?);
    }
    Ok(variables(&names))
}

/// The names of the filters that a configuration has anything to say about.
async fn filters(directory: &Utf8Path, stores: &ObjectStores) -> Result<BTreeSet<Vec<u8>>, GitError> {
    let keys = command::run(
        directory,
        stores,
        &["config", "--list", "--name-only", "-z", "--includes"],
    )
    .await?;
    Ok(keys.split(|byte| *byte == 0).filter_map(filter_name).collect())
}

/// The name in `filter.NAME.clean`; it may hold anything, dots included.
fn filter_name(key: &[u8]) -> Option<Vec<u8>> {
    let rest = key.strip_prefix(b"filter.")?;
    let dot = rest.iter().rposition(|byte| *byte == b'.')?;
    Some(rest[..dot].to_vec())
}

/// The submodules that have a repository, whatever `.gitmodules` says.
async fn submodules(directory: &Utf8Path, stores: &ObjectStores) -> Result<Vec<Utf8PathBuf>, GitError> {
    let entries = command::run(directory, stores, &["ls-files", "--stage", "-z"]).await?;
    let found = entries
        .split(|byte| *byte == 0)
        .filter(|entry| entry.starts_with(b"160000 "))
        .filter_map(|entry| {
            let path = entry.splitn(2, |byte| *byte == b'\t').nth(1)?;
            let path = directory.join(std::str::from_utf8(path).ok()?);
            path.join(".git").exists().then_some(path)
        });
    Ok(found.collect())
}

/// As configuration of one process. In variables, because a name with `=` cannot be told from its value in an argument.
fn variables(names: &BTreeSet<Vec<u8>>) -> Vec<(OsString, OsString)> {
    let settings = names
        .iter()
        .flat_map(|name| PARTS.map(|(part, value)| (name, part, value)));
    let mut variables: Vec<(OsString, OsString)> = settings
        .enumerate()
        .flat_map(|(index, (name, part, value))| {
            let mut key = OsString::from("filter.");
            key.push(OsStr::from_bytes(name));
            key.push(format!(".{part}"));
            [
                (format!("GIT_CONFIG_KEY_{index}").into(), key),
                (format!("GIT_CONFIG_VALUE_{index}").into(), value.into()),
            ]
        })
        .collect();
    let count = (names.len() * PARTS.len()).to_string();
    variables.push(("GIT_CONFIG_COUNT".into(), count.into()));
    variables
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
