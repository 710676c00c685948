//! Answers and refusals as GitHub words them.

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
    /// Every row of a list; the pipeline cuts the page. With a frame, the list is its property of this name.
    List {
        rows: Vec<Value>,
        frame: Option<(&'static str, Value)>,
    },
    Raw {
        content_type: String,
        bytes: Vec<u8>,
    },
}

/// What a handler returns.
pub(crate) type Outcome = Result<Reply, Refusal>;

impl Reply {
    fn new(status: u16, body: ReplyBody) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
        }
    }

    pub(crate) fn json(status: u16, value: Value) -> Self {
        Self::new(status, ReplyBody::Json(value))
    }

    pub(crate) fn list(rows: Vec<Value>) -> Self {
        Self::new(200, ReplyBody::List { rows, frame: None })
    }

    /// An object that holds a list in pages, with `total_count` beside it.
    pub(crate) fn framed(name: &'static str, rows: Vec<Value>, mut frame: Value) -> Self {
        frame["total_count"] = json!(rows.len());
        let frame = Some((name, frame));
        Self::new(200, ReplyBody::List { rows, frame })
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self::new(status, ReplyBody::Empty)
    }

    pub(crate) fn raw(status: u16, content_type: &str, bytes: Vec<u8>) -> Self {
        let content_type = content_type.to_owned();
        Self::new(status, ReplyBody::Raw { content_type, bytes })
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The page of the documentation that GitHub's errors name.
const DOCUMENTATION: &str = "https://docs.github.com/rest";

/// A request that is not granted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// Objects or strings.
    pub(crate) errors: Vec<Value>,
    /// Set when the request breaks the contract, so that `violations()` has it.
    pub(crate) violation: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: Vec::new(),
            violation: None,
        }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    pub(crate) fn bad_credentials() -> Self {
        Self::new(401, "Bad credentials")
    }

    pub(crate) fn forbidden(message: &str) -> Self {
        Self::new(403, message)
    }

    /// 422 with errors as strings, as the reviews answer.
    pub(crate) fn unprocessable<T: Into<Value>>(errors: impl IntoIterator<Item = T>) -> Self {
        Self {
            errors: errors.into_iter().map(Into::into).collect(),
            ..Self::new(422, "Unprocessable Entity")
        }
    }

    /// 422 with errors as objects, as most other resources answer.
    pub(crate) fn invalid(resource: &str, field: &str, code: &str, message: Option<&str>) -> Self {
        let mut error = json!({ "resource": resource, "field": field, "code": code });
        if let Some(message) = message {
            error["message"] = json!(message);
        }
        Self {
            errors: vec![error],
            ..Self::new(422, "Validation Failed")
        }
    }

    /// Marks the refusal as a break of the contract.
    pub(crate) fn violating(mut self, reason: impl Into<String>) -> Self {
        self.violation = Some(reason.into());
        self
    }

    pub(crate) fn reply(&self) -> Reply {
        let mut body = json!({ "message": self.message, "documentation_url": DOCUMENTATION });
        if !self.errors.is_empty() {
            body["errors"] = json!(self.errors);
        }
        body["status"] = json!(self.status.to_string());
        Reply::json(self.status, body)
    }
}
