//! Projects.

use serde_json::{Value, json};

use crate::options::Tier;
use crate::state::State;
use crate::state::clock::print;

/// `GET /projects/:id` as `user` sees it.
pub(crate) fn project(state: &State, id: u64, user: Option<u64>) -> Value {
    let project = state.project(id);
    let path = &project.path_with_namespace;
    let web_url = format!("{}/{path}", state.url);
    let level = user.and_then(|user| state.access_level(id, user));
    let created_at = print(project.created_at);
    let mut value = json!({
        "id": id,
        "description": null,
        "name": project.path(),
        "name_with_namespace": path.replace('/', " / "),
        "path": project.path(),
        "path_with_namespace": path,
        "created_at": created_at,
        "default_branch": project.default_branch,
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": format!("ssh://git@gitlab.example.com/{path}.git"),
        "http_url_to_repo": format!("{web_url}.git"),
        "web_url": web_url,
        "readme_url": null,
        "forks_count": 0,
        "avatar_url": null,
        "star_count": 0,
        "last_activity_at": created_at,
        "visibility": project.settings.visibility.name(),
        "namespace": {
            "id": 1,
            "name": project.namespace(),
            "path": project.namespace(),
            "kind": "group",
            "full_path": project.namespace(),
            "parent_id": null,
            "avatar_url": null,
            "web_url": format!("{}/groups/{}", state.url, project.namespace()),
        },
        "empty_repo": false,
        "archived": false,
        "merge_requests_enabled": true,
        "jobs_enabled": true,
        "merge_method": "merge",
        "only_allow_merge_if_pipeline_succeeds": project.settings.pipelines_must_succeed,
        "only_allow_merge_if_all_discussions_are_resolved": project.settings.all_threads_must_be_resolved,
        "permissions": {
            "project_access": level.map(|level| json!({ "access_level": level.number(), "notification_level": 3 })),
            "group_access": null,
        },
    });
    if let Some(origin) = project.forked_from {
        let origin = state.project(origin);
        value["forked_from_project"] = json!({
            "id": origin.id,
            "path_with_namespace": origin.path_with_namespace,
            "default_branch": origin.default_branch,
        });
    }
    if state.options.tier == Tier::Premium {
        value["merge_pipelines_enabled"] = json!(true);
        value["merge_trains_enabled"] = json!(false);
    }
    value
}
