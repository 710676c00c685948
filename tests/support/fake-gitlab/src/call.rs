//! One request on its way through a handler: what it asks, who asks, and the checks that many handlers share.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::MergeRequestRef;
use crate::ProjectId;
use crate::reply::ApiError;
use crate::state::State;
use crate::state::merge_request::MergeRequest;
use crate::state::people::{AccessLevel, TokenKind};
use crate::state::project::Visibility;

/// Who sent a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) user: u64,
    pub(crate) token: TokenKind,
}

pub(crate) struct Call<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) caller: Option<Caller>,
    pub(crate) path: BTreeMap<String, String>,
    pub(crate) query: Vec<(String, String)>,
    /// An object; empty when the request has no body.
    pub(crate) body: Value,
}

impl Call<'_> {
    /// The user behind the token; 401 without one.
    pub(crate) fn user(&self) -> Result<u64, ApiError> {
        self.caller
            .as_ref()
            .map(|caller| caller.user)
            .ok_or_else(ApiError::unauthorized)
    }

    /// The project of the path; 404 when the caller cannot see it.
    pub(crate) fn project(&self) -> Result<u64, ApiError> {
        let wanted = self.path.get("id").map(String::as_str).unwrap_or_default();
        let number: Option<u64> = wanted.parse().ok();
        let project = self
            .state
            .projects
            .values()
            .find(|project| Some(project.id) == number || project.path_with_namespace.eq_ignore_ascii_case(wanted))
            .ok_or_else(|| ApiError::not_found("Project"))?;
        let user = self.caller.as_ref().map(|caller| caller.user);
        let visible = match project.settings.visibility {
            Visibility::Public => true,
            Visibility::Internal => user.is_some(),
            Visibility::Private => user.is_some_and(|user| project.members.contains_key(&user)),
        };
        if visible {
            Ok(project.id)
        } else {
            Err(ApiError::not_found("Project"))
        }
    }

    /// The merge request of the path. Three parameter names stand for its iid.
    pub(crate) fn merge_request(&self) -> Result<MergeRequestRef, ApiError> {
        let project = self.project()?;
        let iid = ["merge_request_iid", "noteable_id", "eventable_id"]
            .iter()
            .find_map(|name| self.path.get(*name))
            .and_then(|text| text.parse().ok())
            .unwrap_or_default();
        if self.state.project(project).merge_requests.contains_key(&iid) {
            Ok(MergeRequestRef {
                project: ProjectId(project),
                iid,
            })
        } else {
            Err(ApiError::nothing_here())
        }
    }

    /// The merge request itself, for reading.
    pub(crate) fn merge_request_of(&self, key: MergeRequestRef) -> &MergeRequest {
        self.state.merge_request(key)
    }

    /// 403 unless the caller has the access level in the project.
    pub(crate) fn require(&self, project: u64, level: AccessLevel) -> Result<u64, ApiError> {
        let user = self.user()?;
        if self.state.has_access(project, user, level) {
            Ok(user)
        } else {
            Err(ApiError::forbidden())
        }
    }

    /// 403 unless the caller may comment: every member, and in a project that is not private every user.
    pub(crate) fn require_commenter(&self, project: u64) -> Result<u64, ApiError> {
        let user = self.user()?;
        let open = self.state.project(project).settings.visibility != Visibility::Private;
        if open || self.state.access_level(project, user).is_some() {
            Ok(user)
        } else {
            Err(ApiError::forbidden())
        }
    }

    /// Returns whether the caller may read internal notes.
    pub(crate) fn reads_internal_notes(&self, project: u64) -> bool {
        let user = self.caller.as_ref().map(|caller| caller.user);
        user.is_some_and(|user| self.state.has_access(project, user, AccessLevel::Reporter))
    }

    /// A number from the path.
    pub(crate) fn path_number(&self, name: &str) -> Option<u64> {
        self.path.get(name)?.parse().ok()
    }

    /// A text from the path.
    pub(crate) fn path_text(&self, name: &str) -> &str {
        self.path.get(name).map(String::as_str).unwrap_or_default()
    }

    /// A query parameter.
    pub(crate) fn query_text(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns whether a boolean query parameter is set.
    pub(crate) fn query_flag(&self, name: &str) -> bool {
        self.query_text(name).is_some_and(|value| matches!(value, "true" | "1"))
    }

    /// The values of a list parameter, joined by commas or repeated with `[]`.
    pub(crate) fn query_list(&self, name: &str) -> Option<Vec<&str>> {
        let repeated = format!("{name}[]");
        let values: Vec<&str> = self
            .query
            .iter()
            .filter(|(key, _)| key == name || *key == repeated)
            .flat_map(|(_, value)| value.split(','))
            .collect();
        (!values.is_empty()).then_some(values)
    }

    /// A text of the body.
    pub(crate) fn body_text(&self, name: &str) -> Option<&str> {
        self.body[name].as_str()
    }
}
