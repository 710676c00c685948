//! Runs of workflows with their artifacts, and results for code scanning.

use std::io::Read;

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::call::Call;
use crate::entities::checks;
use crate::ids::RepositoryId;
use crate::reply::{Outcome, Refusal, Reply};
use crate::spec::Spec;
use crate::state::State;
use crate::state::checks::WorkflowRun;

/// The largest upload to code scanning: 10 MB, before Base64.
const MAX_SARIF: usize = 10 * 1024 * 1024 / 3 * 4;

pub(super) fn run(call: &mut Call<'_>) -> Outcome {
    let (at, run) = find(call, "run_id")?;
    Ok(Reply::json(200, checks::workflow_run(call.state, at, run)))
}

pub(super) fn jobs(call: &mut Call<'_>) -> Outcome {
    let (at, run) = find(call, "run_id")?;
    Ok(Reply::framed("jobs", vec![job_of(call.state, at, run)], json!({})))
}

pub(super) fn job(call: &mut Call<'_>) -> Outcome {
    let (at, run) = find(call, "job_id")?;
    Ok(Reply::json(200, job_of(call.state, at, run)))
}

/// One job, whose id is its run's.
fn job_of(state: &State, at: RepositoryId, run: &WorkflowRun) -> serde_json::Value {
    let url = format!("{}/repos/{}/actions", state.api_url, state.full_name(at));
    let known = json!({
        "id": run.id,
        "run_id": run.id,
        "run_url": format!("{url}/runs/{}", run.id),
        "url": format!("{url}/jobs/{}", run.id),
        "head_sha": run.head,
        "head_branch": run.head_branch,
        "name": "review",
        "status": "in_progress",
        "conclusion": null,
    });
    Spec::shared().fill("job", known)
}

pub(super) fn artifacts(call: &mut Call<'_>) -> Outcome {
    let (at, run) = find(call, "run_id")?;
    let is_wanted = |name: &str| call.query("name").is_none_or(|wanted| wanted == name);
    let wanted = run.artifacts.iter().filter(|(_, name, _)| is_wanted(name));
    let rows = wanted.map(|artifact| checks::artifact(call.state, at, run, artifact));
    Ok(Reply::framed("artifacts", rows.collect(), json!({})))
}

/// Sends to where the artifact is, which is not the API and gets no token.
pub(super) fn download(call: &mut Call<'_>) -> Outcome {
    let id = call.number("artifact_id");
    let runs = call.state.repository(call.repository()?).runs.iter();
    let mut artifacts = runs.flat_map(|run| &run.artifacts);
    artifacts.find(|(own, ..)| *own == id).ok_or_else(Refusal::not_found)?;
    Ok(Reply::empty(302).header("location", &format!("{}/_artifacts/{id}", call.state.url)))
}

pub(super) fn upload_sarif(call: &mut Call<'_>) -> Outcome {
    let at = call.repository()?;
    if !call.state.repository(at).code_scanning {
        return Err(Refusal::forbidden(
            "Advanced Security must be enabled for this repository to use code scanning.",
        ));
    }
    let upload = [call.text("commit_sha"), call.text("ref"), call.text("sarif")];
    if upload[2].len() > MAX_SARIF {
        return Err(Refusal::new(413, "SARIF upload rejected: the file is too large"));
    }
    // What cannot be read is refused at once.
    let log = BASE64_STANDARD.decode(&upload[2]).ok().and_then(|bytes| {
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).ok()?;
        serde_json::from_str::<Value>(&text).ok()
    });
    if log.is_none_or(|log| log["version"] != "2.1.0" || !log["runs"].is_array()) {
        return Err(Refusal::new(400, "Invalid SARIF. Invalid gzip or JSON"));
    }
    let id = format!(
        "47177e22-5596-11eb-80a1-{:012}",
        call.state.repository(at).sarifs.len() + 1
    );
    let url = format!(
        "{}/repos/{}/code-scanning/sarifs/{id}",
        call.state.api_url,
        call.state.full_name(at)
    );
    call.state.repository_mut(at).sarifs.insert(id.clone(), upload);
    Ok(Reply::json(202, json!({ "id": id, "url": url })))
}

pub(super) fn sarif(call: &mut Call<'_>) -> Outcome {
    let sarifs = &call.state.repository(call.repository()?).sarifs;
    sarifs.get(call.part("sarif_id")).ok_or_else(Refusal::not_found)?;
    Ok(Reply::json(
        200,
        json!({ "processing_status": "complete", "analyses_url": null, "errors": null }),
    ))
}

fn find<'a>(call: &'a Call<'_>, parameter: &str) -> Result<(RepositoryId, &'a WorkflowRun), Refusal> {
    let (at, id) = (call.repository()?, call.number(parameter));
    let run = call.state.repository(at).runs.iter().find(|run| run.id == id);
    run.map(|run| (at, run)).ok_or_else(Refusal::not_found)
}
