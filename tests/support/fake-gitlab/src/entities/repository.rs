//! Commits, diffs and versions.

use serde_json::{Value, json};

use crate::git::Commit;
use crate::git::diff::FileDiff;
use crate::options::DiffLimits;
use crate::state::State;
use crate::state::clock::print;
use crate::state::merge_request::{MergeRequest, Version};

/// A commit.
pub(crate) fn commit(state: &State, project: u64, commit: &Commit) -> Value {
    let path = &state.project(project).path_with_namespace;
    json!({
        "id": commit.sha,
        "short_id": commit.sha.get(..8),
        "created_at": commit.committed_date,
        "parent_ids": commit.parents,
        "title": commit.title,
        "message": commit.message,
        "author_name": commit.author_name,
        "author_email": commit.author_email,
        "authored_date": commit.authored_date,
        "committer_name": commit.committer_name,
        "committer_email": commit.committer_email,
        "committed_date": commit.committed_date,
        "trailers": {},
        "extended_trailers": {},
        "web_url": format!("{}/{path}/-/commit/{}", state.url, commit.sha),
    })
}

/// The files of a diff, as far as the limits allow.
pub(crate) fn diffs(files: &[FileDiff], limits: &DiffLimits, unidiff: bool) -> Vec<Value> {
    files
        .iter()
        .take(limits.files)
        .map(|file| diff(file, limits, unidiff))
        .collect()
}

fn diff(file: &FileDiff, limits: &DiffLimits, unidiff: bool) -> Value {
    let too_large = file.patch.len() > limits.patch_bytes;
    let collapsed = !too_large && file.patch.len() > limits.patch_bytes / 10;
    let patch = if too_large || collapsed {
        ""
    } else {
        file.patch.as_str()
    };
    let header = if unidiff && !patch.is_empty() {
        unified_header(file)
    } else {
        String::new()
    };
    json!({
        "diff": format!("{header}{patch}"),
        "collapsed": collapsed,
        "too_large": too_large,
        "new_path": file.new_path,
        "old_path": file.old_path,
        "a_mode": mode(&file.old_mode),
        "b_mode": mode(&file.new_mode),
        "new_file": file.new_file,
        "renamed_file": file.renamed_file,
        "deleted_file": file.deleted_file,
        "generated_file": false,
    })
}

fn unified_header(file: &FileDiff) -> String {
    let old = if file.new_file {
        "/dev/null".to_owned()
    } else {
        format!("a/{}", file.old_path)
    };
    let new = if file.deleted_file {
        "/dev/null".to_owned()
    } else {
        format!("b/{}", file.new_path)
    };
    format!("--- {old}\n+++ {new}\n")
}

/// The side on which a file does not exist has the mode `0`.
fn mode(mode: &str) -> &str {
    if mode == "000000" { "0" } else { mode }
}

/// `git diff` within the limits: a file that is too large keeps its header only.
pub(crate) fn raw_diffs(files: &[FileDiff], limits: &DiffLimits) -> String {
    let text = |file: &FileDiff| {
        let patch = if file.patch.len() > limits.patch_bytes {
            ""
        } else {
            file.patch.as_str()
        };
        format!("{}{patch}", file.header)
    };
    files.iter().take(limits.files).map(text).collect()
}

/// An entry of `/versions`.
pub(crate) fn version(merge_request: &MergeRequest, version: &Version) -> Value {
    json!({
        "id": version.id,
        "head_commit_sha": version.head,
        "base_commit_sha": version.base,
        "start_commit_sha": version.start,
        "created_at": print(version.created_at),
        "merge_request_id": merge_request.id,
        "state": "collected",
        "real_size": version.diffs.len().to_string(),
        "patch_id_sha": version.patch_id,
    })
}
