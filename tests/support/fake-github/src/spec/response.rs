//! Checks of the answers that the stand-in itself gives.

use serde_json::Value;

use super::Operation;

/// Status codes that any operation may answer; most are not declared.
const GENERAL_STATUSES: [u16; 19] = [
    301, 302, 304, 307, 400, 401, 403, 404, 406, 410, 413, 415, 422, 429, 500, 502, 503, 504, 451,
];

impl Operation {
    /// Returns what is wrong with an answer. `body` is its JSON, or nothing for an empty or a raw one.
    pub(crate) fn check_response(&self, status: u16, body: Option<&Value>, is_raw: bool) -> Vec<String> {
        if status >= 400 {
            return check_error(status, body);
        }
        match self.responses.get(&status) {
            None if GENERAL_STATUSES.contains(&status) => Vec::new(),
            None => vec![format!("status {status} is not declared")],
            Some(_) if is_raw || status >= 300 => Vec::new(),
            Some(None) if body.is_none() => Vec::new(),
            Some(None) => vec![format!("{status} declares no JSON, but there is some")],
            Some(Some(schema)) => match body {
                None => vec![format!("{status} declares JSON, but there is none")],
                Some(body) => {
                    let errors = schema.validator().iter_errors(body);
                    errors
                        .map(|error| format!("{}: {}", error.instance_path(), error.masked()))
                        .collect()
                }
            },
        }
    }
}

/// Errors have one shape for all operations, because the document hardly declares any; `errors` holds objects or strings.
fn check_error(status: u16, body: Option<&Value>) -> Vec<String> {
    let mut problems = Vec::new();
    if !GENERAL_STATUSES.contains(&status) {
        problems.push(format!("status {status} is not one that GitHub answers"));
    }
    let body = body.unwrap_or(&Value::Null);
    for name in ["message", "documentation_url"] {
        if !body[name].is_string() {
            problems.push(format!("an answer of status {status} has no `{name}`"));
        }
    }
    for error in body["errors"].as_array().into_iter().flatten() {
        if !error.is_string() && !error["code"].is_string() {
            problems.push(format!("{error} is neither a text nor an object with a `code`"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::spec::Spec;

    const COMMENTS: &str = "/repos/o/r/issues/1/comments";
    const REVIEW_COMMENTS: &str = "/repos/o/r/pulls/1/comments";

    fn problems(method: &str, path: &str, status: u16, body: &Value) -> Vec<String> {
        let (operation, _) = Spec::shared().find(method, path).unwrap();
        operation.check_response(status, Some(body), false)
    }

    fn comment(component: &str, known: Value) -> Value {
        let filled = Spec::shared().fill(component, known);
        json!([filled])
    }

    #[test]
    fn a_filled_entity_passes_and_each_kind_of_mistake_is_found() {
        let right = comment("issue-comment", json!({ "id": 1, "url": "http://localhost/1" }));
        assert_eq!(problems("GET", COMMENTS, 200, &right), Vec::<String>::new());
        for (name, wrong) in [
            ("id", json!("one")),
            ("created_at", json!("yesterday")),
            ("is_robot", json!(true)),
            ("url", Value::Null),
        ] {
            let mut spoiled = right.clone();
            spoiled[0][name] = wrong;
            assert_eq!(problems("GET", COMMENTS, 200, &spoiled).len(), 1, "{name}");
        }
        let mut missing = right.clone();
        missing[0].as_object_mut().unwrap().shift_remove("node_id");
        assert_eq!(problems("GET", COMMENTS, 200, &missing).len(), 1);
        assert_eq!(problems("GET", COMMENTS, 201, &right).len(), 1);
    }

    #[test]
    fn an_error_has_the_shape_of_githubs_errors() {
        assert_eq!(problems("GET", COMMENTS, 404, &json!({ "oops": 1 })).len(), 2);
        let right = json!({ "message": "Not Found", "documentation_url": "https://docs.github.com/rest" });
        assert_eq!(problems("GET", COMMENTS, 404, &right), Vec::<String>::new());
        assert_eq!(problems("GET", COMMENTS, 418, &right).len(), 1);
    }

    #[test]
    fn the_exceptions_hold() {
        let outdated = json!({ "id": 1, "line": null, "position": null, "subject_type": "file" });
        let outdated = comment("pull-request-review-comment", outdated);
        assert_eq!(problems("GET", REVIEW_COMMENTS, 200, &outdated), Vec::<String>::new());
        let wrong = comment("pull-request-review-comment", json!({ "id": 1, "line": "seven" }));
        assert_eq!(problems("GET", REVIEW_COMMENTS, 200, &wrong).len(), 1);
    }
}
