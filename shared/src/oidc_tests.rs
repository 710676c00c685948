//! What is refused, and why; the signatures are tested in the runtime that has them.

use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_800_000_000;

fn policy() -> OidcPolicy {
    OidcPolicy::new(
        "https://gitlab.example.com/",
        "https://config.example.com",
        "platform/**, tools",
    )
    .expect("good")
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn token(header: &Value, claims: &Value) -> String {
    format!(
        "{}.{}.{}",
        part(header),
        part(claims),
        URL_SAFE_NO_PAD.encode("signature")
    )
}

fn header() -> Value {
    json!({"alg": "RS256", "kid": "one", "typ": "JWT"})
}

/// What GitLab puts into a token, as far as it matters.
fn claims() -> Value {
    json!({"iss": "https://gitlab.example.com", "aud": "https://config.example.com", "exp": NOW + 300, "nbf": NOW - 5,
        "iat": NOW, "sub": "project_path:platform/build:ref_type:branch:ref:main", "project_path": "platform/build",
        "namespace_path": "platform", "pipeline_source": "merge_request_event", "jti": "x"})
}

fn checked(change: impl FnOnce(&mut Value)) -> Result<JobIdentity, OidcError> {
    let mut claims = claims();
    change(&mut claims);
    UnverifiedToken::parse(&token(&header(), &claims))?.check(&policy(), NOW)
}

#[test]
fn a_good_token_tells_its_project_and_key() {
    let parsed = UnverifiedToken::parse(&token(&header(), &claims())).expect("a token");
    assert_eq!(
        (parsed.key_id.as_deref(), parsed.signature.as_slice()),
        (Some("one"), &b"signature"[..])
    );
    assert_eq!(parsed.signed, format!("{}.{}", part(&header()), part(&claims())));
    assert!(!format!("{parsed:?}").contains("platform"), "{parsed:?}");
    assert_eq!(
        parsed.check(&policy(), NOW).expect("good").project_path,
        "platform/build"
    );
}

#[test]
fn audiences_may_be_several_and_ours_has_to_be_one() {
    let with = |audience: Value| checked(move |claims| claims["aud"] = audience);
    assert!(with(json!(["https://other", "https://config.example.com"])).is_ok());
    for audience in [
        json!("https://other"),
        json!([]),
        json!(["https://config.example.com/"]),
        json!(""),
    ] {
        assert_eq!(
            with(audience),
            Err(OidcError::Audience("https://config.example.com".into()))
        );
    }
    for audience in [json!(7), json!(null), json!([7])] {
        assert_eq!(with(audience), Err(OidcError::Malformed));
    }
}

#[test]
fn the_issuer_is_ours_to_the_letter() {
    for issuer in [
        "https://gitlab.example.com.evil.example",
        "http://gitlab.example.com",
        "",
        "gitlab.example.com",
    ] {
        let error = checked(|claims| claims["iss"] = json!(issuer)).expect_err(issuer);
        assert_eq!(error, OidcError::Issuer("https://gitlab.example.com".into()));
    }
    assert!(checked(|claims| claims["iss"] = json!("https://gitlab.example.com/")).is_ok());
}

#[test]
fn clocks_may_disagree_by_a_minute() {
    for (field, at, good) in [
        ("exp", NOW - 59, true),
        ("exp", NOW - 60, false),
        ("exp", i64::MIN, false),
        ("nbf", NOW + 60, true),
        ("nbf", NOW + 61, false),
        ("iat", NOW + 61, false),
        ("iat", i64::MAX, false),
    ] {
        let result = checked(|claims| claims[field] = json!(at));
        assert_eq!(result.is_ok(), good, "{field} {at}: {result:?}");
    }
    assert_eq!(
        checked(|claims| claims["exp"] = json!(NOW - 100)),
        Err(OidcError::Expired(100))
    );
    assert_eq!(
        checked(|claims| claims["nbf"] = json!(NOW + 100)),
        Err(OidcError::NotYet(100))
    );
    for missing in ["exp", "iss", "aud", "project_path"] {
        let result = checked(|claims| {
            claims.as_object_mut().expect("claims").remove(missing);
        });
        assert_eq!(result, Err(OidcError::Malformed), "{missing}");
    }
    assert!(
        checked(|claims| {
            claims.as_object_mut().expect("claims").remove("nbf");
        })
        .is_ok()
    );
}

#[test]
fn only_listed_projects_may_read() {
    for (project, good) in [
        ("platform/build", true),
        ("PLATFORM/Build", true),
        ("platform/a/b/c", true),
        ("tools", true),
        ("website/tools", false),
        ("platform", false),
        ("evil/platform/build", false),
        ("platform-x/build", false),
        ("", false),
    ] {
        let result = checked(|claims| claims["project_path"] = json!(project));
        assert_eq!(result.is_ok(), good, "{project}");
        assert!(result.is_ok() || result.expect_err("refused").is_forbidden());
    }
    let nobody = OidcPolicy::new("https://gitlab.example.com", "https://config.example.com", " , ").expect("empty");
    let parsed = UnverifiedToken::parse(&token(&header(), &claims())).expect("a token");
    assert!(parsed.check(&nobody, NOW).is_err(), "an empty list lets nobody in");
    assert_eq!(OidcPolicy::new("i", "a", "ok,a[").expect_err("bad").len(), 1);
}

#[test]
fn another_algorithm_is_refused_before_anything_else() {
    for algorithm in ["none", "None", "HS256", "RS512", "ES256", "PS256", "rs256", ""] {
        let mut header = header();
        header["alg"] = json!(algorithm);
        let error = UnverifiedToken::parse(&token(&header, &claims())).expect_err(algorithm);
        assert_eq!(error, OidcError::Algorithm(algorithm.into()));
    }
    let mut critical = header();
    critical["crit"] = json!(["exp"]);
    assert_eq!(
        UnverifiedToken::parse(&token(&critical, &claims())).expect_err("critical"),
        OidcError::Critical
    );
}

#[test]
fn what_is_no_token_is_refused() {
    let good = token(&header(), &claims());
    let long = format!("{good}{}", "A".repeat(MAX_TOKEN));
    for text in [
        "",
        ".",
        "..",
        "a.b.c",
        "ey.ey.ey",
        &good.replace('.', "x"),
        &format!("{good}.x"),
        &format!("{good}="),
        &long,
    ] {
        assert_eq!(UnverifiedToken::parse(text).expect_err(text), OidcError::Malformed);
    }
    assert!(looks_like_a_token(&good));
    for text in ["reader-token", "a.b.c", "ey.b", &long] {
        assert!(!looks_like_a_token(text), "{text}");
    }
}

#[test]
fn of_published_keys_only_fitting_ones_count() {
    let modulus = URL_SAFE_NO_PAD.encode([0xc1; 256]);
    let short = URL_SAFE_NO_PAD.encode([0xc1; 128]);
    let set = json!({"keys": [
        {"kty": "RSA", "kid": "one", "use": "sig", "alg": "RS256", "n": modulus, "e": "AQAB"},
        {"kty": "RSA", "kid": "bare", "n": modulus, "e": "AQAB"},
        {"kty": "RSA", "kid": "short", "n": short, "e": "AQAB"},
        {"kty": "RSA", "kid": "encrypts", "use": "enc", "n": modulus, "e": "AQAB"},
        {"kty": "RSA", "kid": "other", "alg": "RS512", "n": modulus, "e": "AQAB"},
        {"kty": "EC", "kid": "curve", "crv": "P-256", "x": "x", "y": "y"},
        {"kty": "oct", "kid": "secret", "k": "x"},
        "nonsense",
    ]});
    let keys = KeySet::read(set.to_string().as_bytes()).expect("a set");
    for (id, found) in [
        ("one", true),
        ("bare", true),
        ("short", false),
        ("encrypts", false),
        ("other", false),
        ("curve", false),
        ("secret", false),
    ] {
        assert_eq!(keys.find(Some(id)).is_some(), found, "{id}");
    }
    assert_eq!(keys.find(None), None, "of two it cannot be told");
    let one = json!({"keys": [{"kty": "RSA", "n": modulus, "e": "AQAB"}]});
    let one = KeySet::read(one.to_string().as_bytes()).expect("a set");
    assert!(one.find(None).is_some() && one.find(Some("one")).is_none());
    for body in ["", "[]", "{}", "<html>"] {
        assert_eq!(KeySet::read(body.as_bytes()), None, "{body}");
    }
}
