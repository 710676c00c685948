//! Git over HTTP: which repository, and who may.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use regex::Regex;

use crate::git::serve::GitRequest;
use crate::incoming::Incoming;
use crate::pipeline::Server;
use crate::reply::Reply;
use crate::rules::permission;
use crate::state::people::{Access, Token, TokenKind};

/// Serves git; nothing when the path is not one of git's.
pub(crate) fn answer(server: &Server, incoming: &Incoming) -> Option<Reply> {
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        let text = r"^/([^/]+)/([^/]+?)(?:\.git)?(/info/refs|/git-upload-pack|/git-receive-pack)$";
        Regex::new(text).expect("the pattern is valid")
    });
    let (_, [owner, name, below]) = PATH.captures(&incoming.path)?.extract();
    let request = GitRequest {
        method: &incoming.method,
        path: below,
        query: &incoming.query,
        content_type: incoming.header("content-type"),
        content_encoding: incoming.header("content-encoding"),
        protocol: incoming.header("git-protocol"),
        body: &incoming.body,
    };
    let core = server.core();
    let token = git_token(incoming.header("authorization")).and_then(|text| core.state.tokens.get(&text).cloned());
    let token = token.filter(|token| !token.expired);
    let user = token.as_ref().map(|token| core.state.user(token.user).rest_login());
    let found = core.state.find_repository(owner, name).map(|(id, _)| id);
    let visible = found.filter(|id| permission::can_see(&core.state, token.as_ref(), *id));
    let may_read = |id| {
        let is_public = !core.state.repository(id).private;
        let granted =
            |token: &Token| token.kind == TokenKind::Classic || token.permissions.allows("contents", Access::Read);
        is_public || token.as_ref().is_some_and(granted)
    };
    let allowed = match (&token, visible) {
        (None, None) => Err(401),
        (None, Some(_)) if request.is_push() => Err(401),
        (Some(_), None) => Err(404),
        (Some(token), Some(id)) if request.is_push() && !permission::may_push(&core.state, token, id) => Err(403),
        (_, Some(id)) if !may_read(id) => Err(403),
        (_, Some(id)) => Ok(core.state.repository(id).git.path().to_owned()),
    };
    drop(core);
    let reply = match allowed {
        Ok(path) => request.serve(&path, user.as_deref().unwrap_or_default()),
        Err(status) => Reply::raw(status, "text/plain", b"Repository not found.".to_vec()),
    };
    server.note(incoming, user, reply.status);
    Some(if reply.status == 401 {
        reply.header("www-authenticate", "Basic realm=\"GitHub\"")
    } else {
        reply
    })
}

/// Git sends a token as a password; actions send it as `x-access-token`.
fn git_token(authorization: &str) -> Option<String> {
    let (scheme, value) = authorization.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(value.to_owned());
    }
    let decoded = String::from_utf8(BASE64_STANDARD.decode(value).ok()?).ok()?;
    decoded.split_once(':').map(|(_, password)| password.to_owned())
}
