//! One request to an operation, with everything its handler needs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ids::{PullRef, RepositoryId};
use crate::reply::Refusal;
use crate::state::State;
use crate::state::people::Token;

pub(crate) struct Call<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) token: Option<Token>,
    /// The repository of the path; operations without one have their own.
    pub(crate) repository: Option<RepositoryId>,
    /// The decoded parameters of the path.
    pub(crate) path: BTreeMap<String, String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Value,
    /// The `Accept` header.
    pub(crate) accept: String,
}

impl Call<'_> {
    /// Whose token it is; operations that need one are not reached without.
    pub(crate) fn token(&self) -> Result<Token, Refusal> {
        self.token
            .clone()
            .ok_or_else(|| Refusal::new(401, "Requires authentication"))
    }

    pub(crate) fn repository(&self) -> Result<RepositoryId, Refusal> {
        self.repository.ok_or_else(Refusal::not_found)
    }

    /// A text of the path.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// A number of the path.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.part(name).parse().unwrap_or(0)
    }

    /// The pull request of the path; every pull request is an issue of the same number.
    pub(crate) fn pull(&self) -> Result<PullRef, Refusal> {
        let repository = self.repository()?;
        let name = if self.path.contains_key("pull_number") {
            "pull_number"
        } else {
            "issue_number"
        };
        let number = self.number(name);
        let exists = self.state.repository(repository).pulls.contains_key(&number);
        exists
            .then_some(PullRef { repository, number })
            .ok_or_else(Refusal::not_found)
    }

    /// A text of the body; empty when there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_default().to_owned()
    }

    /// A parameter of the query.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether the client asks for a media type such as `raw` or `diff`.
    pub(crate) fn wants(&self, media_type: &str) -> bool {
        let types = self.accept.split(',').map(str::trim);
        let prefix = "application/vnd.github.";
        types.filter_map(|name| name.strip_prefix(prefix)).any(|name| {
            let name = name.strip_prefix("v3.").unwrap_or(name);
            name.split('+').next() == Some(media_type)
        })
    }
}
