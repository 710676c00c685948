//! Commits and changed files.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::fill;
use crate::git::diff::FileDiff;
use crate::git::{Commit, Signature};
use crate::ids::RepositoryId;
use crate::state::State;

fn signature(signature: &Signature) -> Value {
    json!({ "name": signature.name, "email": signature.email, "date": signature.date })
}

/// A commit, with its files where it is asked for on its own.
pub(crate) fn commit(state: &State, repository: RepositoryId, commit: &Commit, files: Option<&[FileDiff]>) -> Value {
    let name = state.full_name(repository);
    let (api, html) = (
        format!("{}/repos/{name}", state.api_url),
        format!("{}/{name}", state.url),
    );
    let parent = |sha: &String| json!({ "sha": sha, "url": format!("{api}/commits/{sha}"), "html_url": format!("{html}/commit/{sha}") });
    let mut known = json!({
        "url": format!("{api}/commits/{}", commit.sha),
        "sha": commit.sha,
        "node_id": format!("C_{}", commit.sha),
        "html_url": format!("{html}/commit/{}", commit.sha),
        "comments_url": format!("{api}/commits/{}/comments", commit.sha),
        "author": null,
        "committer": null,
        "parents": commit.parents.iter().map(parent).collect::<Vec<_>>(),
        "commit": {
            "url": format!("{api}/git/commits/{}", commit.sha),
            "author": signature(&commit.author),
            "committer": signature(&commit.committer),
            "message": commit.message,
            "comment_count": 0,
            "tree": { "sha": commit.tree, "url": format!("{api}/git/trees/{}", commit.tree) },
        },
    });
    if let Some(files) = files {
        let counts: Vec<_> = files.iter().map(FileDiff::counts).collect();
        let (added, removed) = counts
            .iter()
            .fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        known["stats"] = json!({ "additions": added, "deletions": removed, "total": added + removed });
        let files = files
            .iter()
            .map(|file| self::file(state, repository, &commit.sha, file));
        known["files"] = files.collect();
    }
    fill("commit", known)
}

/// A changed file; binary and large ones have no `patch`.
pub(crate) fn file(state: &State, repository: RepositoryId, sha: &str, file: &FileDiff) -> Value {
    let name = state.full_name(repository);
    let path: Vec<_> = file
        .path
        .split('/')
        .map(|part| utf8_percent_encode(part, NON_ALPHANUMERIC).to_string())
        .collect();
    let path = path.join("/");
    let (additions, deletions) = file.counts();
    let mut known = json!({
        "sha": file.object,
        "filename": file.path,
        "status": file.status,
        "additions": additions,
        "deletions": deletions,
        "changes": additions + deletions,
        "blob_url": format!("{}/{name}/blob/{sha}/{path}", state.url),
        "raw_url": format!("{}/{name}/raw/{sha}/{path}", state.url),
        "contents_url": format!("{}/repos/{name}/contents/{path}?ref={sha}", state.api_url),
    });
    if file.old_path != file.path {
        known["previous_filename"] = json!(file.old_path);
    }
    if !file.patch.is_empty() && file.patch.len() <= state.options.patch_bytes {
        known["patch"] = json!(file.patch);
    }
    fill("diff-entry", known)
}
