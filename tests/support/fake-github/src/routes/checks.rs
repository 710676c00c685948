//! Check runs and statuses: they hang on a commit, not on a pull request.

use serde_json::{Value, json};

use crate::call::Call;
use crate::entities::{checks, repository};
use crate::ids::{Kind, RepositoryId};
use crate::reply::{Outcome, Refusal, Reply};
use crate::rules::merge_state;
use crate::state::checks::{CheckRun, Status};

/// What a client may set.
const FIELDS: [&str; 7] = [
    "name",
    "details_url",
    "external_id",
    "status",
    "conclusion",
    "started_at",
    "completed_at",
];

/// The most statuses of one context at one commit.
const MAX_STATUSES: usize = 1_000;

pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let (at, token) = (call.repository()?, call.token()?);
    let sha = call.text("head_sha");
    let head = commit(call, at, &sha).ok_or_else(|| Refusal::new(422, format!("No commit found for SHA: {sha}")))?;
    let app = token.app.ok_or_else(Refusal::not_found)?;
    let mut check = CheckRun {
        id: call.state.next_id(Kind::CheckRun),
        app,
        head,
        fields: json!({ "status": "queued", "conclusion": null, "external_id": "", "details_url": null,
            "started_at": call.state.tick(), "completed_at": null, "output": {} }),
        annotations: Vec::new(),
    };
    apply(call, &mut check)?;
    let value = checks::check_run(call.state, at, &check);
    call.state.repository_mut(at).checks.push(check);
    Ok(Reply::json(201, value))
}

pub(super) fn get(call: &mut Call<'_>) -> Outcome {
    let (at, index) = find(call)?;
    Ok(Reply::json(
        200,
        checks::check_run(call.state, at, &call.state.repository(at).checks[index]),
    ))
}

/// Changes a check run; only the App that made it may.
pub(super) fn update(call: &mut Call<'_>) -> Outcome {
    let (at, index) = find(call)?;
    let token = call.token()?;
    let mut check = call.state.repository(at).checks[index].clone();
    if token.app != Some(check.app) {
        let message = "Invalid app_id `{}` - check run can only be modified by the GitHub App that created it.";
        let app = token.app.map_or(0, |app| app.0);
        return Err(Refusal::forbidden(&message.replace("{}", &app.to_string())));
    }
    apply(call, &mut check)?;
    let value = checks::check_run(call.state, at, &check);
    call.state.repository_mut(at).checks[index] = check;
    Ok(Reply::json(200, value))
}

pub(super) fn annotations(call: &mut Call<'_>) -> Outcome {
    let (at, index) = find(call)?;
    let rows = call.state.repository(at).checks[index].annotations.clone();
    Ok(Reply::list(rows))
}

pub(super) fn of_commit(call: &mut Call<'_>) -> Outcome {
    let at = call.repository()?;
    let head = commit(call, at, call.part("ref")).ok_or_else(Refusal::not_found)?;
    let latest = merge_state::latest_checks(call.state, at, &head);
    let all = || {
        call.state
            .repository(at)
            .checks
            .iter()
            .filter(|check| check.head == head)
            .collect()
    };
    let checks = if call.query("filter") == Some("all") {
        all()
    } else {
        latest
    };
    let is_wanted = |check: &&CheckRun| {
        let is = |name: &str, field: &str| call.query(name).is_none_or(|wanted| check.text(field) == Some(wanted));
        let is_app = call
            .query("app_id")
            .is_none_or(|wanted| wanted == check.app.0.to_string());
        is("check_name", "name") && is("status", "status") && is_app
    };
    let wanted = checks.into_iter().filter(is_wanted);
    let mut rows: Vec<Value> = wanted.map(|check| checks::check_run(call.state, at, check)).collect();
    rows.reverse();
    Ok(Reply::framed("check_runs", rows, json!({})))
}

pub(super) fn create_status(call: &mut Call<'_>) -> Outcome {
    let (at, token) = (call.repository()?, call.token()?);
    let sha = call.text("sha");
    let sha = if sha.is_empty() {
        call.part("sha").to_owned()
    } else {
        sha
    };
    let sha = commit(call, at, &sha).ok_or_else(|| Refusal::new(422, format!("No commit found for SHA: {sha}")))?;
    let description = call.body["description"].clone();
    if description.as_str().is_some_and(|text| text.chars().count() > 140) {
        let message = "description is too long (maximum is 140 characters)";
        return Err(Refusal::invalid("Status", "description", "custom", Some(message)));
    }
    let context = call.body["context"].as_str().unwrap_or("default").to_owned();
    let same = call
        .state
        .repository(at)
        .statuses
        .iter()
        .filter(|status| status.sha == sha && status.context == context);
    if same.count() >= MAX_STATUSES {
        let message = "This SHA and context has reached the maximum number of statuses.";
        return Err(Refusal::invalid("Status", "base", "custom", Some(message)));
    }
    let status = Status {
        id: call.state.next_id(Kind::Status),
        sha,
        state: call.text("state"),
        context,
        description,
        target_url: call.body["target_url"].clone(),
        creator: token.user,
        created_at: call.state.tick(),
    };
    let value = checks::status(call.state, at, &status, "status");
    call.state.repository_mut(at).statuses.push(status);
    Ok(Reply::json(201, value))
}

pub(super) fn statuses(call: &mut Call<'_>) -> Outcome {
    let at = call.repository()?;
    let sha = commit(call, at, call.part("ref")).ok_or_else(Refusal::not_found)?;
    let latest = merge_state::latest_statuses(call.state, at, &sha);
    let has = |states: &[&str]| latest.iter().any(|status| states.contains(&status.state.as_str()));
    let state = match () {
        () if has(&["error", "failure"]) => "failure",
        () if has(&["pending"]) || latest.is_empty() => "pending",
        () => "success",
    };
    let url = format!(
        "{}/repos/{}/commits/{sha}",
        call.state.api_url,
        call.state.full_name(at)
    );
    let frame = json!({
        "state": state,
        "sha": sha,
        "repository": repository::repository(call.state, at, "minimal-repository"),
        "commit_url": url,
        "url": format!("{url}/status"),
    });
    let rows = latest
        .iter()
        .map(|status| checks::status(call.state, at, status, "simple-commit-status"));
    Ok(Reply::framed("statuses", rows.collect(), frame))
}

/// Puts what the client sent into a check run.
fn apply(call: &mut Call<'_>, check: &mut CheckRun) -> Result<(), Refusal> {
    let invalid = |field: &str, message: &str| Refusal::invalid("CheckRun", field, "invalid", Some(message));
    let body = call.body.clone();
    if body["conclusion"] == "stale" {
        return Err(invalid("conclusion", "only GitHub can mark check runs as stale"));
    }
    if body["status"] == "completed" && body["conclusion"].is_null() {
        return Err(invalid("conclusion", "a completed check run needs a conclusion"));
    }
    let stays = call.state.options.ended_checks_stay && check.fields["status"] == "completed";
    for field in FIELDS {
        if stays && field == "status" {
            continue;
        }
        if let Some(value) = body.get(field) {
            check.fields[field] = value.clone();
        }
    }
    if body["conclusion"].is_string() {
        check.fields["status"] = json!("completed");
    }
    if check.fields["status"] != "completed" {
        check.fields["conclusion"] = Value::Null;
        check.fields["completed_at"] = Value::Null;
    } else if check.fields["completed_at"].is_null() {
        check.fields["completed_at"] = json!(call.state.tick());
    }
    for (name, value) in body["output"].as_object().into_iter().flatten() {
        if name != "annotations" {
            check.fields["output"][name] = value.clone();
        }
    }
    for annotation in body["output"]["annotations"].as_array().into_iter().flatten() {
        let is_line = annotation["start_line"] == annotation["end_line"];
        if !is_line && (annotation.get("start_column").is_some() || annotation.get("end_column").is_some()) {
            return Err(invalid("annotations", "columns are for annotations of one line"));
        }
        if annotation["path"]
            .as_str()
            .is_some_and(|path| path.starts_with('/') || path.starts_with("./"))
        {
            return Err(invalid("annotations", "the path is not relative to the repository"));
        }
        if annotation["message"]
            .as_str()
            .is_some_and(|message| message.len() > 64 * 1024)
        {
            return Err(invalid("annotations", "the message is longer than 64 KB"));
        }
        let mut full = json!({ "blob_href": format!("{}/blob/{}", call.state.url, check.head), "title": null,
            "raw_details": null, "start_column": null, "end_column": null });
        for (name, value) in annotation.as_object().into_iter().flatten() {
            full[name] = value.clone();
        }
        check.annotations.push(full);
    }
    Ok(())
}

fn find(call: &Call<'_>) -> Result<(RepositoryId, usize), Refusal> {
    let (at, id) = (call.repository()?, call.number("check_run_id"));
    let index = call.state.repository(at).checks.iter().position(|check| check.id == id);
    index.map(|index| (at, index)).ok_or_else(Refusal::not_found)
}

fn commit(call: &Call<'_>, at: RepositoryId, revision: &str) -> Option<String> {
    let git = &call.state.repository(at).git;
    git.branch_head(revision.strip_prefix("heads/").unwrap_or(revision))
        .or_else(|| git.resolve(revision))
}
