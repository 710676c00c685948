//! Checks of the answers that the fake itself gives.

use serde_json::Value;

use super::Operation;

/// Status codes that any operation may answer; most are not declared.
const GENERAL_STATUSES: [u16; 10] = [401, 403, 404, 409, 413, 414, 415, 422, 429, 500];

impl Operation {
    /// What is wrong with an answer. `body` is the JSON body, or nothing for an empty or a raw one.
    pub(crate) fn check_response(&self, status: u16, body: Option<&Value>) -> Vec<String> {
        if let Some(rule) = self.responses.get(&status).filter(|_| status < 400) {
            return match (&rule.json, body) {
                (None, None) => Vec::new(),
                (None, Some(_)) => vec![format!("{status} declares no JSON body, but there is one")],
                (Some(_), None) => vec![format!("{status} declares a JSON body, but there is none")],
                (Some(schema), Some(body)) => schema
                    .validator()
                    .iter_errors(body)
                    .map(|error| format!("{}: {}", error.instance_path(), error.masked()))
                    .collect(),
            };
        }
        if status < 400 && !(300..400).contains(&status) {
            return vec![format!("status {status} is not declared")];
        }
        if status >= 400 && !self.responses.contains_key(&status) && !GENERAL_STATUSES.contains(&status) {
            return vec![format!("status {status} is neither declared nor general")];
        }
        match body {
            Some(Value::Object(error)) if error.contains_key("message") || error.contains_key("error") => Vec::new(),
            None if (300..400).contains(&status) => Vec::new(),
            _ => vec![format!(
                "an answer of status {status} has neither `message` nor `error`"
            )],
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::spec::Spec;

    fn problems(method: &str, path: &str, status: u16, body: Option<&serde_json::Value>) -> Vec<String> {
        let (operation, _) = Spec::shared().find(method, path).unwrap();
        operation.check_response(status, body)
    }

    #[test]
    fn a_wrong_type_is_found() {
        assert_eq!(
            problems("GET", "/user", 200, Some(&json!({ "id": 1, "bot": true }))),
            Vec::<String>::new()
        );
        assert_eq!(problems("GET", "/user", 200, Some(&json!({ "id": "one" }))).len(), 1);
    }

    #[test]
    fn an_undeclared_property_is_found() {
        assert_eq!(
            problems("GET", "/user", 200, Some(&json!({ "id": 1, "is_robot": true }))).len(),
            1
        );
    }

    #[test]
    fn an_undeclared_status_is_found() {
        assert_eq!(problems("GET", "/user", 201, Some(&json!({ "id": 1 }))).len(), 1);
        assert_eq!(
            problems("GET", "/user", 418, Some(&json!({ "message": "teapot" }))).len(),
            1
        );
    }

    #[test]
    fn an_error_without_a_message_is_found() {
        assert_eq!(problems("GET", "/user", 401, Some(&json!({ "oops": 1 }))).len(), 1);
        assert!(problems("GET", "/user", 401, Some(&json!({ "message": "401 Unauthorized" }))).is_empty());
    }

    #[test]
    fn the_exceptions_hold() {
        let discussions = "/projects/1/merge_requests/1/discussions";
        let list = json!([{ "id": "a", "notes": [{ "id": 1, "author": null, "attachment": null }] }]);
        assert_eq!(problems("GET", discussions, 200, Some(&list)), Vec::<String>::new());
        assert!(!problems("GET", discussions, 200, Some(&json!({ "id": "a" }))).is_empty());
        let member = json!({ "id": 1, "access_level": 30 });
        assert!(problems("GET", "/projects/1/members/all/1", 200, Some(&member)).is_empty());
        assert!(problems("DELETE", "/projects/1/merge_requests/1/notes/1", 204, None).is_empty());
        assert!(!problems("DELETE", "/projects/1/merge_requests/1/notes/1", 200, None).is_empty());
    }
}
