//! Files of which a checkout makes something else than what is reviewed, by `.gitattributes` at head.

use std::collections::{BTreeMap, BTreeSet};

use conclave_engine::{
    diff::{Diff, FileDiff, FilterReason, FilteredDiff, FilteredFile, Unread, has_ident, peek},
    numbers::plural,
    review::ReviewSubject,
};
use conclave_git::{Blob, CheckoutAttributes, Repository, TreeFile};
use conclave_shared::path_kind::{Form, LockFormat, PathKind, file_name};

use crate::exit::Failure;

/// The file that attributes stand in.
const ATTRIBUTES_FILE: &str = ".gitattributes";
/// The beginning of the modes of plain files.
const PLAIN: &str = "100";
/// The most unchanged files that are named.
const MAX_NAMED: usize = 20;
/// How much of a file is searched for `$Id$`, in bytes.
const MAX_SEARCHED: usize = 8 << 20;

/// The files to ask about besides those that reviewers get, as the whole diff says.
#[derive(Debug)]
pub(crate) struct Scope {
    /// True if the attributes of other files change, also where the file that they stand in is noise, or gets another name.
    attributes_change: bool,
    /// Lock files, which rules check in the place of a reviewer.
    lock_files: Vec<FileDiff>,
}

impl Scope {
    /// Takes it from the diff before the noise is taken out.
    pub(crate) fn of(diff: &Diff) -> Self {
        let is_attributes = |path: &str| file_name(path).eq_ignore_ascii_case(ATTRIBUTES_FILE);
        let mut files = diff.files.iter();
        let is_checked = |file: &&FileDiff| is_checked_by_rules(&file.path) && file.unread != Some(Unread::Path);
        Self {
            attributes_change: files.any(|file| is_attributes(&file.path) || is_attributes(&file.old_path)),
            lock_files: diff.files.iter().filter(is_checked).cloned().collect(),
        }
    }
}

/// Returns whether rules check a file of this name in the place of a reviewer.
fn is_checked_by_rules(path: &str) -> bool {
    LockFormat::of(path).is_some()
}

/// The files of which a checkout is another text than the one that is reviewed, or checked by rules: those that change, and where
/// attributes change also those that do not.
pub(crate) async fn differing(
    repository: &Repository,
    subject: &ReviewSubject,
    diff: &FilteredDiff,
    scope: &Scope,
) -> Result<Vec<FilteredFile>, Failure> {
    let head = &subject.head_sha;
    let changed: Vec<&FileDiff> = diff
        .files
        .iter()
        .chain(&scope.lock_files)
        // Also in the place of a link or a submodule.
        .filter(|file| file.modes.1.starts_with(PLAIN))
        .collect();
    let paths: Vec<&str> = changed.iter().map(|file| file.path.as_str()).collect();
    let attributes = repository.checkout_attributes(head, &paths).await?;
    let objects = changed
        .iter()
        .filter_map(|file| Some((file.path.as_str(), file.head_object()?)));
    let objects: BTreeMap<&str, &str> = objects.collect();
    let mut found = changing(repository, &attributes, &objects).await?;
    if scope.attributes_change {
        found.extend(newly_differing(repository, subject).await?);
    }
    let left_out = diff.filtered.iter().map(|file| file.path.as_str());
    let left_out: BTreeSet<&str> = left_out.filter(|path| !objects.contains_key(path)).collect();
    let mut found: Vec<String> = found
        .into_iter()
        .filter(|path| !left_out.contains(path.as_str()))
        .collect();
    found.sort();
    found.dedup();
    let more = found.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        found.truncate(MAX_NAMED);
        found.push(format!("{ATTRIBUTES_FILE} ({})", plural(more, "more file")));
    }
    let file = |path| FilteredFile {
        path,
        // A changed one is listed in another place, too, with its old path.
        old_path: None,
        reason: FilterReason::CheckoutDiffers,
    };
    Ok(found.into_iter().map(file).collect())
}

/// The files of the whole tree of which a checkout differs by the attributes at head, and not by those at base.
async fn newly_differing(repository: &Repository, subject: &ReviewSubject) -> Result<Vec<String>, Failure> {
    let files: Vec<TreeFile> = repository.tree_files(&subject.head_sha).await?;
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let (before, mut after) = tokio::try_join!(
        repository.checkout_attributes(&subject.base_sha, &paths),
        repository.checkout_attributes(&subject.head_sha, &paths),
    )?;
    after.retain(|path, attributes| before.get(path) != Some(attributes));
    let objects = files.iter().map(|file| (file.path.as_str(), file.object.as_str()));
    changing(repository, &after, &objects.collect()).await
}

/// Those of the files whose content the attributes change.
async fn changing(
    repository: &Repository,
    attributes: &BTreeMap<String, CheckoutAttributes>,
    objects: &BTreeMap<&str, &str>,
) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let mut asked: Vec<(&str, &CheckoutAttributes, &str)> = Vec::new();
    for (path, attributes) in attributes {
        let Some(object) = objects.get(path.as_str()) else {
            continue;
        };
        if is_rewritten(path, attributes) {
            found.push(path.clone());
        } else if attributes.ident || is_in_lfs(attributes) {
            asked.push((path, attributes, object));
        }
    }
    let names: Vec<&str> = asked.iter().map(|(.., object)| *object).collect();
    let take = |at: usize, blob: Option<Blob>| {
        let (path, attributes, _) = asked[at];
        if blob.is_some_and(|blob| is_changed_by(path, attributes, &blob)) {
            found.push(path.to_owned());
        }
    };
    repository.read_blobs(&names, MAX_SEARCHED, take).await?;
    Ok(found)
}

/// Returns whether the attributes change this content. Git LFS puts a content that no reviewer gets in the place of a pointer;
/// other files it leaves as they are.
fn is_changed_by(path: &str, attributes: &CheckoutAttributes, blob: &Blob) -> bool {
    let holds_ident = || blob.is_cut() || has_ident(&blob.content);
    let is_replaced = || peek(&blob.content).is_pointer() && !is_shown(path);
    (attributes.ident && holds_ident()) || (is_in_lfs(attributes) && is_replaced())
}

/// Returns whether Git LFS writes the file into a checkout.
fn is_in_lfs(attributes: &CheckoutAttributes) -> bool {
    attributes.filter.as_deref() == Some("lfs")
}

/// Returns whether a file of this name is shown or unpacked, and never run.
fn is_shown(path: &str) -> bool {
    matches!(PathKind::of(path).form, Form::Inert | Form::Archive)
}

/// Returns whether a program or an encoding makes something else of a file with any content. Pictures and the like may be kept
/// by Git LFS.
fn is_rewritten(path: &str, attributes: &CheckoutAttributes) -> bool {
    let encoded = attributes.encoding.as_deref().is_some_and(|encoding| {
        let encoding = encoding.to_ascii_lowercase();
        encoding != "utf-8" && encoding != "utf8"
    });
    let filtered = match attributes.filter.as_deref() {
        None => false,
        Some("lfs") => PathKind::of(path).may_run() || is_checked_by_rules(path),
        Some(_) => true,
    };
    encoded || filtered
}
