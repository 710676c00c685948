//! Users, members and jobs.

use serde_json::{Value, json};

use crate::state::State;
use crate::state::clock::print;
use crate::state::people::{AccessLevel, JobFacts};

/// `UserBasic`: what notes and approvals show. It does not tell whether the user is a bot.
pub(crate) fn basic(state: &State, id: u64) -> Value {
    let user = state.user(id);
    json!({
        "id": user.id,
        "username": user.username,
        "public_email": null,
        "name": user.name,
        "state": "active",
        "locked": false,
        "avatar_url": null,
        "web_url": format!("{}/{}", state.url, user.username),
    })
}

/// The author of a merge request: the only place beside `/user` that shows `bot`.
pub(crate) fn author(state: &State, id: u64) -> Value {
    let mut value = basic(state, id);
    value["bot"] = json!(state.user(id).bot);
    value
}

/// `GET /user`.
pub(crate) fn public(state: &State, id: u64) -> Value {
    let mut value = author(state, id);
    for name in [
        "bio",
        "location",
        "linkedin",
        "twitter",
        "website_url",
        "job_title",
        "organization",
    ] {
        value[name] = json!("");
    }
    for name in [
        "pronouns",
        "work_information",
        "local_time",
        "last_sign_in_at",
        "current_sign_in_at",
    ] {
        value[name] = Value::Null;
    }
    value["created_at"] = json!("2026-01-01T00:00:00.000Z");
    value["confirmed_at"] = json!("2026-01-01T00:00:00.000Z");
    value["last_activity_on"] = Value::Null;
    value["email"] = json!(format!("{}@example.com", state.user(id).username));
    value["followers"] = json!(0);
    value["following"] = json!(0);
    value["theme_id"] = json!(1);
    value["projects_limit"] = json!(0);
    value["identities"] = json!([]);
    value["can_create_group"] = json!(false);
    value["can_create_project"] = json!(false);
    value["two_factor_enabled"] = json!(false);
    value["external"] = json!(false);
    value["private_profile"] = json!(false);
    value["commit_email"] = value["email"].clone();
    value
}

/// `GET /projects/:id/members/all/:user_id`.
pub(crate) fn member(state: &State, user: u64, level: AccessLevel) -> Value {
    let mut value = basic(state, user);
    value["access_level"] = json!(level.number());
    value["created_at"] = json!("2026-01-01T00:00:00.000Z");
    value["created_by"] = Value::Null;
    value["expires_at"] = Value::Null;
    value["membership_state"] = json!("active");
    value
}

/// `GET /job`.
pub(crate) fn job(state: &State, user: u64, job: &JobFacts) -> Value {
    let project = state.project(job.project);
    let mut owner = public(state, user);
    if let Some(owner) = owner.as_object_mut() {
        const SHOWN: [&str; 19] = [
            "id",
            "username",
            "public_email",
            "name",
            "state",
            "locked",
            "avatar_url",
            "web_url",
            "created_at",
            "bio",
            "location",
            "linkedin",
            "twitter",
            "website_url",
            "job_title",
            "pronouns",
            "organization",
            "bot",
            "work_information",
        ];
        owner.retain(|name, _| SHOWN.contains(&name.as_str()));
    }
    let commit = project.repository.commit(&job.sha);
    let created_at = print(project.created_at);
    json!({
        "id": job.id,
        "status": "running",
        "stage": "test",
        "name": "review",
        "ref": job.reference,
        "tag": false,
        "coverage": null,
        "allow_failure": false,
        "created_at": created_at,
        "started_at": created_at,
        "finished_at": null,
        "erased_at": null,
        "duration": 1.5,
        "queued_duration": 0.5,
        "user": owner,
        "commit": commit.map(|commit| super::repository::commit(state, job.project, &commit)),
        "pipeline": {
            "id": job.pipeline_id,
            "iid": 1,
            "project_id": job.project,
            "sha": job.sha,
            "ref": job.reference,
            "status": "running",
            "source": "merge_request_event",
            "created_at": created_at,
            "updated_at": created_at,
            "web_url": format!("{}/{}/-/pipelines/{}", state.url, project.path_with_namespace, job.pipeline_id),
        },
        "web_url": format!("{}/{}/-/jobs/{}", state.url, project.path_with_namespace, job.id),
        "project": { "ci_job_token_scope_enabled": false },
        "artifacts": [],
        "runner": null,
        "artifacts_expire_at": null,
        "archived": false,
        "tag_list": [],
    })
}
