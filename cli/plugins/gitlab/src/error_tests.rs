//! GitLab's errors in all of their shapes.

use super::*;

/// Every body of an error that GitLab is known to send: the status it comes with, and what is said of it.
#[test]
fn every_error_says_what_is_missing() {
    let scope = r#"{"error":"insufficient_scope","error_description":"more","scope":"api"}"#;
    for (status, body, part) in [
        (
            404,
            r#"{"message":"404 Not found"}"#,
            "A private project that the token cannot see",
        ),
        (
            404,
            r#"{"message":"404 Discussion Not Found"}"#,
            "404 Discussion Not Found",
        ),
        (403, r#"{"message":"403 Forbidden"}"#, "Give it the role Developer"),
        (403, scope, "Make one with the scope `api`"),
        (
            401,
            r#"{"message":"401 Unauthorized"}"#,
            "GitLab refused the token (x: 401 Unauthorized)",
        ),
        (
            401,
            r#"{"error":"invalid_token","error_description":"Token is expired."}"#,
            "401 Token is expired.",
        ),
        (409, r#"{"message":"409 Conflict"}"#, "answered 409"),
        (400, r#"{"error":"body is missing"}"#, "body is missing"),
        (
            400,
            r#"{"message":{"note":["is too long"]}}"#,
            r#"{"note":["is too long"]}"#,
        ),
        (
            400,
            r#"{"message":"400 Bad request - Note {:line_code=\u003e[\"can't be blank\"]}"}"#,
            "line_code=>",
        ),
        (409, r#"{"message":"409 Conflict: Resource lock"}"#, "Resource lock"),
        (429, "Retry later\n", "answered 429 when asked to x: Retry later"),
        (429, r#"{"message":{"error":"too many"}}"#, r#"{"error":"too many"}"#),
        (
            500,
            r#"{"message":"500 Internal Server Error"}"#,
            "answered 500 when asked to x: Internal Server Error",
        ),
        (502, "<html><body>502</body></html>", "an HTML page"),
        (418, "", "answered 418"),
    ] {
        let status = StatusCode::from_u16(status).expect("a status");
        let text = refusal("x", status, &HeaderMap::new(), body).to_string();
        assert!(text.contains(part), "{status} {body}: {text}");
    }
}

#[test]
fn gitlabs_words_are_found_in_every_shape() {
    for (body, expected) in [
        (r#"{"message":"404 Not found"}"#, "404 Not found"),
        (r#"{"error":"body is missing"}"#, "body is missing"),
        (r#"{"message":{"note":["is too long"]}}"#, r#"{"note":["is too long"]}"#),
        (r#"{"error":"insufficient_scope","error_description":"more"}"#, "more"),
        ("Retry later", "Retry later"),
        ("<html>502</html>", "an HTML page"),
        ("", ""),
    ] {
        assert_eq!(message(body), expected, "{body}");
    }
}

#[test]
fn long_words_are_cut_between_characters() {
    assert_eq!(message(&"ä".repeat(1000)), "ä".repeat(300));
}
