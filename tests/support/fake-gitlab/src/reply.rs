//! Answers and errors as GitLab words them.

use serde_json::{Value, json};

/// An answer before it becomes HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: ReplyBody,
}

#[derive(Debug, Clone)]
pub(crate) enum ReplyBody {
    Empty,
    Json(Value),
    /// Every row; the pipeline cuts the page.
    List(Vec<Value>),
    Raw {
        content_type: String,
        bytes: Vec<u8>,
    },
}

impl Reply {
    pub(crate) fn json(status: u16, value: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: ReplyBody::Json(value),
        }
    }

    pub(crate) fn list(rows: Vec<Value>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: ReplyBody::List(rows),
        }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: ReplyBody::Empty,
        }
    }

    pub(crate) fn raw(status: u16, content_type: &str, bytes: Vec<u8>) -> Self {
        let content_type = content_type.to_owned();
        Self {
            status,
            headers: Vec::new(),
            body: ReplyBody::Raw { content_type, bytes },
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// What a handler answers.
pub(crate) type Outcome = Result<Reply, ApiError>;

/// A refusal.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// Set when the refused request also breaks the contract.
    pub(crate) violation: Option<String>,
}

impl ApiError {
    fn message(status: u16, message: impl Into<Value>) -> Self {
        Self {
            status,
            body: json!({ "message": message.into() }),
            violation: None,
        }
    }

    /// 404 `404 <what> Not Found`.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::message(404, format!("404 {what} Not Found"))
    }

    /// 404 `404 Not found`, for rows without a name of their own.
    pub(crate) fn nothing_here() -> Self {
        Self::message(404, "404 Not found")
    }

    /// 401 `401 Unauthorized`.
    pub(crate) fn unauthorized() -> Self {
        Self::message(401, "401 Unauthorized")
    }

    /// 403 `403 Forbidden`.
    pub(crate) fn forbidden() -> Self {
        Self::message(403, "403 Forbidden")
    }

    /// 403 with a reason.
    pub(crate) fn forbidden_because(reason: &str) -> Self {
        Self::message(403, format!("403 Forbidden - {reason}"))
    }

    /// 400 with the message as it is.
    pub(crate) fn bad_request(message: impl Into<Value>) -> Self {
        Self::message(400, message)
    }

    /// 400 `400 Bad request - Note {...}`.
    pub(crate) fn invalid_note(errors: &str) -> Self {
        Self::message(400, format!("400 Bad request - Note {{{errors}}}"))
    }

    /// 400 as the parameter validation words it; counts as a break of the contract.
    pub(crate) fn invalid_parameters(text: &str) -> Self {
        Self {
            status: 400,
            body: json!({ "error": text }),
            violation: Some(text.to_owned()),
        }
    }

    /// 409 with the message as it is.
    pub(crate) fn conflict(message: impl Into<Value>) -> Self {
        Self::message(409, message)
    }

    /// 500 with a message.
    pub(crate) fn crash(message: &str) -> Self {
        Self::message(500, message)
    }

    pub(crate) fn reply(&self) -> Reply {
        Reply::json(self.status, self.body.clone())
    }
}
