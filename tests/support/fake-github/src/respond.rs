//! The answer to a request that no fault and no limit has stopped: headers, token, route, permission, contract, handler,
//! page, contract again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::call::Call;
use crate::graphql;
use crate::ids::RepositoryId;
use crate::incoming::Incoming;
use crate::log::{Log, ViolationKind};
use crate::paging;
use crate::reply::{Refusal, Reply, ReplyBody};
use crate::routes;
use crate::rules::{permission, synchronize};
use crate::spec::{Operation, Spec};
use crate::state::State;
use crate::state::people::Token;

/// The versions of the REST API that GitHub knows.
const API_VERSIONS: [&str; 2] = ["2022-11-28", "2026-03-10"];

/// What an answer needs and changes.
pub(crate) struct Responder<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) log: &'a mut Log,
    /// Called on every answer of a handler before it is checked; for tests of the check itself.
    pub(crate) tamper: Option<fn(&mut Value)>,
}

impl Responder<'_> {
    /// Answers a request.
    pub(crate) fn answer(
        &mut self,
        incoming: &Incoming,
        path: &str,
        token: Option<&Token>,
        query: &[(String, String)],
    ) -> Reply {
        let method = incoming.method.as_str();
        if let Err(refusal) = check_headers(incoming) {
            return self.refuse(method, path, &refusal);
        }
        let has_credentials = !incoming.header("authorization").is_empty();
        if let Some(id) = path.strip_prefix("/_artifacts/") {
            return self.artifact(path, id, has_credentials);
        }
        if has_credentials && token.is_none_or(|token| token.expired) {
            return Refusal::bad_credentials().reply();
        }
        // Anybody may have pushed straight into a bare repository.
        synchronize::all(self.state);
        match (method, path, token) {
            ("POST", "/graphql", Some(token)) => self.graphql(incoming, token),
            ("POST", "/graphql", None) => Refusal::new(401, "This endpoint requires you to be authenticated.").reply(),
            ("GET", "/meta", _) => {
                let version = &self.state.options.enterprise;
                let mut meta = json!({ "verifiable_password_authentication": false });
                if let Some(version) = version {
                    meta["installed_version"] = json!(version);
                }
                Reply::json(200, meta)
            }
            _ => self.rest(incoming, path, token, query),
        }
    }

    fn graphql(&mut self, incoming: &Incoming, token: &Token) -> Reply {
        let Ok(request) = serde_json::from_slice(&incoming.body) else {
            let refusal = Refusal::new(400, "Problems parsing JSON").violating("the body is not JSON");
            return self.refuse("POST", "/graphql", &refusal);
        };
        let mut answer = graphql::execute(self.state, token, &request);
        for (kind, reason) in answer.violations {
            self.log.violate(kind, "POST", "/graphql", reason);
        }
        if let Some(tamper) = self.tamper {
            tamper(&mut answer.body);
        }
        Reply::json(200, answer.body)
    }

    fn rest(&mut self, incoming: &Incoming, path: &str, token: Option<&Token>, query: &[(String, String)]) -> Reply {
        let method = incoming.method.as_str();
        let Some((operation, parameters)) = Spec::shared().find(method, path) else {
            self.log
                .violate(ViolationKind::UnknownRoute, method, path, "there is no such route");
            return Refusal::not_found().reply();
        };
        if self.state.options.missing_operations.contains(&operation.name()) {
            return Refusal::not_found().reply();
        }
        let mut repository = None;
        if let (Some(owner), Some(name)) = (parameters.get("owner"), parameters.get("repo")) {
            let found = self.state.find_repository(owner, name);
            let visible = found.filter(|(id, _)| permission::can_see(self.state, token, *id));
            let Some((id, is_former)) = visible else {
                return Refusal::not_found().reply();
            };
            if is_former {
                return self.moved(path, id, &incoming.query);
            }
            repository = Some(id);
        }
        let accepted = permission::accepted(method, &operation.path);
        let mut reply = match self.handle(operation, incoming, token, (repository, parameters), query) {
            Ok(reply) => reply,
            Err(refusal) => self.refuse(method, path, &refusal),
        };
        // Pages are linked by the repository's id.
        let below = path.splitn(5, '/').nth(4).unwrap_or_default();
        let address = match repository {
            Some(id) => format!("{}/repositories/{}/{below}", self.state.api_url, id.0),
            None => format!("{}{path}", self.state.api_url),
        };
        reply = paging::cut(reply, query, &address, self.state.options.short_middle_page);
        if let (ReplyBody::Json(body), Some(tamper)) = (&mut reply.body, self.tamper) {
            tamper(body);
        }
        self.check(operation, path, &reply);
        reply.header("x-accepted-github-permissions", &accepted)
    }

    fn handle(
        &mut self,
        operation: &Operation,
        incoming: &Incoming,
        token: Option<&Token>,
        (repository, parameters): (Option<RepositoryId>, BTreeMap<String, String>),
        query: &[(String, String)],
    ) -> Result<Reply, Refusal> {
        if let Some(id) = repository {
            permission::admit(self.state, token, (&operation.method, &operation.path), id)?;
        }
        let problems = operation.check_parameters(parameters.iter(), query);
        if !problems.is_empty() {
            let problems = problems.join("\n");
            return Err(Refusal::new(422, format!("Invalid request.\n\n{problems}")).violating(problems));
        }
        let body = operation.check_body(&incoming.body)?;
        let mut call = Call {
            state: self.state,
            token: token.cloned(),
            repository,
            path: parameters,
            query: query.to_vec(),
            body,
            accept: incoming.header("accept").to_owned(),
        };
        routes::dispatch(&operation.method, &operation.path, &mut call)
    }

    /// Sends to the address by id, which outlives every rename.
    fn moved(&self, path: &str, id: RepositoryId, query: &str) -> Reply {
        let below = path
            .splitn(5, '/')
            .nth(4)
            .map(|rest| format!("/{rest}"))
            .unwrap_or_default();
        let query = if query.is_empty() {
            String::new()
        } else {
            format!("?{query}")
        };
        let url = format!("{}/repositories/{}{below}{query}", self.state.api_url, id.0);
        let body =
            json!({ "message": "Moved Permanently", "url": url, "documentation_url": "https://docs.github.com/rest" });
        Reply::json(301, body).header("location", &url)
    }

    /// An artifact lies on another server, where a token has no business.
    fn artifact(&mut self, path: &str, id: &str, has_credentials: bool) -> Reply {
        if has_credentials {
            self.log
                .violate(ViolationKind::Request, "GET", path, "the token followed a redirect");
        }
        let runs = self.state.repositories.values().flat_map(|repository| &repository.runs);
        let mut artifacts = runs.flat_map(|run| &run.artifacts);
        match artifacts.find(|(own, ..)| own.to_string() == id) {
            Some((.., bytes)) => Reply::raw(200, "application/zip", bytes.clone()),
            None => Refusal::not_found().reply(),
        }
    }

    fn refuse(&mut self, method: &str, path: &str, refusal: &Refusal) -> Reply {
        if let Some(reason) = &refusal.violation {
            self.log.violate(ViolationKind::Request, method, path, reason);
        }
        refusal.reply()
    }

    /// Holds the stand-in to the contract, too.
    fn check(&mut self, operation: &Operation, path: &str, reply: &Reply) {
        let (body, is_raw) = match &reply.body {
            ReplyBody::Json(value) => (Some(value), false),
            ReplyBody::Raw { .. } => (None, true),
            _ => (None, false),
        };
        for reason in operation.check_response(reply.status, body, is_raw) {
            self.log
                .violate(ViolationKind::Response, &operation.method, path, reason);
        }
    }
}

/// Refuses what GitHub's front end refuses.
fn check_headers(incoming: &Incoming) -> Result<(), Refusal> {
    let refuse = |status: u16, text: String| Err(Refusal::new(status, text.clone()).violating(text));
    if incoming.header("user-agent").is_empty() {
        let text = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header";
        return refuse(403, text.to_owned());
    }
    let version = incoming.header("x-github-api-version");
    if !version.is_empty() && !API_VERSIONS.contains(&version) {
        return refuse(400, format!("The API version {version:?} is not supported"));
    }
    let accept = incoming.header("accept");
    let is_known = |kind: &str| {
        ["*/*", "application/*", "application/json"].contains(&kind) || kind.starts_with("application/vnd.github")
    };
    let types = accept
        .split(',')
        .map(|kind| kind.split(';').next().unwrap_or_default().trim());
    if !accept.is_empty() && !types.into_iter().any(is_known) {
        return refuse(
            415,
            format!("Unsupported 'Accept' header: {accept}. Must accept 'application/json'."),
        );
    }
    Ok(())
}
