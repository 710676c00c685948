//! Files and comparisons, straight from git.

use serde_json::{Value, json};

use crate::call::Call;
use crate::entities::repository as entity;
use crate::reply::{ApiError, Outcome, Reply};

/// `GET /projects/:id/repository/compare`
pub(super) fn compare(call: &mut Call<'_>) -> Outcome {
    let project = call.project()?;
    let repository = &call.state.project(project).repository;
    let find = |name: &str| call.query_text(name).and_then(|revision| repository.resolve(revision));
    let (Some(from), Some(to)) = (find("from"), find("to")) else {
        return Err(ApiError::not_found("Ref"));
    };
    let base = if call.query_flag("straight") {
        from.clone()
    } else {
        repository
            .merge_base(&from, &to)
            .ok_or_else(|| ApiError::not_found("Merge Base"))?
    };
    let mut commits = repository.commits(&format!("{base}..{to}"));
    let files = repository.diff(&base, &to);
    // Oldest first here, unlike the commits of a merge request.
    commits.reverse();
    let commits: Vec<Value> = commits
        .iter()
        .map(|commit| entity::commit(call.state, project, commit))
        .collect();
    let path = &call.state.project(project).path_with_namespace;
    Ok(Reply::json(
        200,
        json!({
            "commit": commits.last(),
            "commits": commits,
            "diffs": entity::diffs(&files, &call.state.options.diff_limits, call.query_flag("unidiff")),
            "compare_timeout": false,
            "compare_same_ref": from == to,
            "web_url": format!("{}/{path}/-/compare/{from}...{to}", call.state.url),
        }),
    ))
}

/// `GET /projects/:id/repository/files/:file_path/raw`
pub(super) fn raw_file(call: &mut Call<'_>) -> Outcome {
    let project = call.state.project(call.project()?);
    let reference = call.query_text("ref").unwrap_or(&project.default_branch);
    if project.repository.resolve(reference).is_none() {
        return Err(ApiError::not_found("Commit"));
    }
    let bytes = project.repository.file(reference, call.path_text("file_path"));
    let bytes = bytes.ok_or_else(|| ApiError::not_found("File"))?;
    Ok(Reply::raw(200, "application/octet-stream", bytes))
}
