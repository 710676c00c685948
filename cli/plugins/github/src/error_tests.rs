//! GitHub's errors in all of their shapes.

use reqwest::header::{HeaderName, HeaderValue};

use super::*;

fn headers(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect()
}

fn refused(status: u16, with: &[(&'static str, &'static str)], body: &str) -> ApiError {
    refusal(
        "x",
        StatusCode::from_u16(status).expect("a status"),
        &headers(with),
        body,
    )
}

/// Every error that GitHub is known to send: what it comes with, what it is, and what is said of it.
#[test]
fn every_error_says_what_to_do() {
    let abuse =
        r#"{"message":"Validation Failed","errors":[{"resource":"IssueComment","code":"abuse","field":"data"}]}"#;
    let quickly = r#"{"message":"Validation Failed","errors":["was submitted too quickly"]}"#;
    let line =
        r#"{"message":"Unprocessable Entity","errors":["Pull request review thread line must be part of the diff"]}"#;
    let (missing, unseen) = (
        r#"{"message":"Resource not accessible by integration"}"#,
        r#"{"message":"Not Found"}"#,
    );
    let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
    let accepted = [("x-accepted-github-permissions", "issues=write; pull_requests=write")];
    let checks = [("x-accepted-github-permissions", "checks=write")];
    for (status, with, body, kind, part) in [
        (
            401,
            &[][..],
            r#"{"message":"Bad credentials"}"#,
            ApiErrorKind::Unauthorized,
            "GitHub refused the token",
        ),
        (
            403,
            &accepted[..],
            missing,
            ApiErrorKind::Forbidden,
            "Add `pull-requests: write` to the `permissions`",
        ),
        (403, &[], missing, ApiErrorKind::Forbidden, "the token may not x"),
        (
            403,
            &checks[..],
            missing,
            ApiErrorKind::Forbidden,
            "Add `checks: write` to the `permissions`",
        ),
        // No permission lets a person's token make check runs.
        (
            403,
            &checks[..],
            r#"{"message":"Resource not accessible by personal access token"}"#,
            ApiErrorKind::Forbidden,
            "a personal access token cannot",
        ),
        (
            403,
            &[],
            r#"{"message":"You must authenticate via a GitHub App."}"#,
            ApiErrorKind::Forbidden,
            "a personal access token cannot",
        ),
        (
            403,
            &accepted[..],
            r#"{"message":"Resource not accessible by personal access token"}"#,
            ApiErrorKind::Forbidden,
            "Add `pull-requests: write` to the `permissions`",
        ),
        (
            403,
            &[],
            r#"{"message":"Unable to create comment because issue is locked."}"#,
            ApiErrorKind::Conflict,
            "Unlock it",
        ),
        (403, &[], secondary, ApiErrorKind::RateLimited, "answered 403"),
        (
            403,
            &[("retry-after", "7")],
            "{}",
            ApiErrorKind::RateLimited,
            "answered 403",
        ),
        (
            403,
            &[("x-ratelimit-remaining", "0")],
            "{}",
            ApiErrorKind::RateLimited,
            "answered 403",
        ),
        (
            403,
            &[("x-ratelimit-remaining", "9")],
            missing,
            ApiErrorKind::Forbidden,
            "may not",
        ),
        (429, &[], "", ApiErrorKind::RateLimited, "answered 429"),
        (422, &[], abuse, ApiErrorKind::RateLimited, "abuse"),
        (422, &[], quickly, ApiErrorKind::RateLimited, "too quickly"),
        (422, &[], line, ApiErrorKind::Refused, "must be part of the diff"),
        (404, &[], unseen, ApiErrorKind::NotFound, "cannot see looks the same"),
        (409, &[], "{}", ApiErrorKind::Conflict, "answered 409"),
        (502, &[], "<html>502</html>", ApiErrorKind::Failed(502), "an HTML page"),
        (418, &[], "", ApiErrorKind::Other, "answered 418"),
    ] {
        let error = refused(status, with, body);
        assert_eq!(error.kind, kind, "{status} {body}");
        assert!(error.to_string().contains(part), "{status} {body}: {error}");
    }
}

#[test]
fn a_wait_is_as_long_as_github_says_and_a_minute_where_it_does_not() {
    let reset = [
        ("x-ratelimit-reset", "1772366412"),
        ("date", "Sun, 01 Mar 2026 12:00:00 GMT"),
    ];
    for (with, seconds) in [
        (vec![("retry-after", "7")], 7),
        (vec![], 60),
        // The end of the hour, which is not what is in the way.
        ([&reset[..], &[("x-ratelimit-remaining", "4000")]].concat(), 60),
        ([&reset[..], &[("x-ratelimit-remaining", "0")]].concat(), 12),
    ] {
        let error = refused(429, &with, "");
        assert_eq!(
            wait(&error, &headers(&with)),
            Some(Duration::from_secs(seconds)),
            "{with:?}"
        );
    }
    assert_eq!(wait(&refused(502, &reset, ""), &headers(&reset)), None);
}

#[test]
fn long_words_are_cut_between_characters() {
    assert_eq!(message(&"ä".repeat(1000)), "ä".repeat(300));
}

#[test]
fn a_limit_in_an_answer_is_one_unless_rest_answers_sooner() {
    let limited = r#"{"data":null,"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}"#;
    let told = r#"{"data":{"body":"errors: [{type: RATE_LIMITED}]"}}"#;
    let forbidden = r#"{"data":null,"errors":[{"type":"FORBIDDEN","message":"RATE_LIMIT may not be read"}]}"#;
    for (body, wait, is_limit) in [
        (limited, None, true),
        (limited, Some("30"), true),
        (limited, Some("3000"), false),
        (told, None, false),
        (forbidden, None, false),
        ("RATE_LIMITED", None, false),
    ] {
        let wait = wait.map(|wait| (HeaderName::from_static("retry-after"), HeaderValue::from_static(wait)));
        let found = hidden_limit("x", &wait.into_iter().collect(), body);
        assert_eq!(found.is_some(), is_limit, "{body}");
        assert!(found.is_none_or(|limit| limit.kind == ApiErrorKind::RateLimited));
    }
}
