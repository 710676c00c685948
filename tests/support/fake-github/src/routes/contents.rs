//! What is in the repository: commits, comparisons, files.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::call::Call;
use crate::entities::commit as entity;
use crate::git::GitRepository;
use crate::ids::RepositoryId;
use crate::reply::{Outcome, Refusal, Reply};

/// The largest file whose content stands in the answer's JSON.
const MAX_INLINE: usize = 1024 * 1024;
/// The largest file that the API hands out.
const MAX_FILE: usize = 100 * 1024 * 1024;
/// The most files of a comparison.
const MAX_COMPARED: usize = 300;

pub(super) fn commit(call: &mut Call<'_>) -> Outcome {
    let (at, git) = repository_of(call)?;
    let name = call.part("ref");
    let found = git
        .commit(name)
        .ok_or_else(|| Refusal::new(422, format!("No commit found for SHA: {name}")))?;
    let parent = found.parents.first();
    let files = parent.map(|parent| git.diff(parent, &found.sha)).unwrap_or_default();
    Ok(Reply::json(200, entity::commit(call.state, at, &found, Some(&files))))
}

/// Compares from the merge base, as three dots do; a head of a fork is `owner:branch`.
pub(super) fn compare(call: &mut Call<'_>) -> Outcome {
    let (at, git) = repository_of(call)?;
    let (base, head) = call.part("basehead").split_once("...").ok_or_else(Refusal::not_found)?;
    let sha = |name: &str| {
        let (owner, name) = name
            .split_once(':')
            .map_or((None, name), |(owner, name)| (Some(owner), name));
        let fork = |owner: &str| {
            let repositories = call.state.repositories.values();
            let mut own = repositories.filter(|one| call.state.user(one.owner).login == owner);
            own.find_map(|one| one.git.branch_head(name))
        };
        let branch = match owner {
            Some(owner) => fork(owner),
            None => git.branch_head(name),
        };
        git.resolve(&branch.unwrap_or_else(|| name.to_owned()))
            .ok_or_else(Refusal::not_found)
    };
    let (base, head) = (sha(base)?, sha(head)?);
    let merge_base = git
        .merge_base(&base, &head)
        .ok_or_else(|| Refusal::new(404, format!("No common ancestor between {base} and {head}.")))?;
    if call.wants("diff") {
        let diff = git.patch(&merge_base, &head).into_bytes();
        return Ok(Reply::raw(200, "application/vnd.github.diff; charset=utf-8", diff));
    }
    let (ahead, behind) = (
        git.commits(&format!("{base}..{head}")),
        git.commits(&format!("{head}..{base}")).len(),
    );
    let row = |sha: &str| git.commit(sha).map(|one| entity::commit(call.state, at, &one, None));
    let files = git.diff(&merge_base, &head);
    let files = files
        .iter()
        .take(MAX_COMPARED)
        .map(|file| entity::file(call.state, at, &head, file));
    let name = call.state.full_name(at);
    let (url, html) = (
        format!("{}/repos/{name}/compare/{base}...{head}", call.state.api_url),
        format!("{}/{name}/compare/{base}...{head}", call.state.url),
    );
    let mut value = json!({
        "url": url,
        "html_url": html,
        "permalink_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "base_commit": row(&base),
        "merge_base_commit": row(&merge_base),
        "status": match (ahead.len(), behind) {
            (0, 0) => "identical",
            (_, 0) => "ahead",
            (0, _) => "behind",
            _ => "diverged",
        },
        "ahead_by": ahead.len(),
        "behind_by": behind,
        "total_commits": ahead.len(),
    });
    // Files stand on the first page only.
    let is_first = call.query("page").is_none_or(|page| page == "1");
    value["files"] = if is_first { files.collect() } else { json!([]) };
    let rows = ahead.iter().map(|one| entity::commit(call.state, at, one, None));
    let mut reply = Reply::framed("commits", rows.collect(), value);
    if let crate::reply::ReplyBody::List {
        frame: Some((_, Value::Object(frame))),
        ..
    } = &mut reply.body
    {
        frame.shift_remove("total_count");
    }
    Ok(reply)
}

/// A file, raw or in Base64, or the entries of a directory.
pub(super) fn contents(call: &mut Call<'_>) -> Outcome {
    let (at, git) = repository_of(call)?;
    let path = call.part("path").trim_matches('/');
    let wanted = call.query("ref").map_or_else(|| git.default_branch(), str::to_owned);
    let revision = git
        .resolve(&wanted)
        .ok_or_else(|| Refusal::new(404, format!("No commit found for the ref {wanted}")))?;
    let entry = |kind: &str, object: &str, path: &str, size: usize| {
        let name = call.state.full_name(at);
        let url = format!("{}/repos/{name}/contents/{path}?ref={revision}", call.state.api_url);
        let git_url = format!("{}/repos/{name}/git/blobs/{object}", call.state.api_url);
        let html_url = format!("{}/{name}/blob/{revision}/{path}", call.state.url);
        json!({
            "type": kind, "size": size, "name": path.rsplit('/').next(), "path": path, "sha": object, "url": url,
            "git_url": git_url, "html_url": html_url, "download_url": format!("{}/{name}/raw/{revision}/{path}", call.state.url),
            "_links": { "self": url, "git": git_url, "html": html_url },
        })
    };
    if let Some(bytes) = git.file(&revision, path) {
        if bytes.len() > MAX_FILE {
            return Err(Refusal::forbidden("This API returns blobs up to 100 MB in size."));
        }
        if call.wants("raw") {
            return Ok(Reply::raw(200, "application/vnd.github.raw; charset=utf-8", bytes));
        }
        let object = git.object(&revision, path).unwrap_or_default();
        let mut file = entry("file", &object, path, bytes.len());
        let is_small = bytes.len() <= MAX_INLINE;
        file["encoding"] = json!(if is_small { "base64" } else { "none" });
        file["content"] = json!(if is_small {
            BASE64_STANDARD.encode(&bytes)
        } else {
            String::new()
        });
        return Ok(Reply::json(200, file));
    }
    let exists = path.is_empty() || git.object(&revision, path).is_some();
    let entries = git
        .directory(&revision, path)
        .filter(|_| exists)
        .ok_or_else(Refusal::not_found)?;
    let rows = entries.iter().map(|[kind, object, size, path]| {
        let kind = match kind.as_str() {
            "tree" => "dir",
            "commit" => "submodule",
            _ => "file",
        };
        entry(kind, object, path, size.parse().unwrap_or(0))
    });
    Ok(Reply::json(200, rows.collect()))
}

fn repository_of(call: &Call<'_>) -> Result<(RepositoryId, GitRepository), Refusal> {
    let at = call.repository()?;
    Ok((at, call.state.repository(at).git.clone()))
}
