//! What is refused, and why; the signatures are tested in the runtime that has them.

use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_800_000_000;

const AUDIENCE: &str = "https://config.example.com";
const GITHUB: &str = "https://token.actions.githubusercontent.com";

fn policy() -> OidcPolicy {
    let policies = OidcPolicy::of_issuers("https://gitlab.example.com/", AUDIENCE, "platform/**, tools");
    policies.expect("good").remove(0)
}

/// A GitLab, github.com and an Enterprise Server.
fn forges() -> Vec<OidcPolicy> {
    let issuers = format!("https://gitlab.example.com, {GITHUB}/, https://ghe.example.com/_services/token");
    let projects = "platform/**, github.com:octo, GitHub.com:acme@77/shop, ghe.example.com:**";
    OidcPolicy::of_issuers(&issuers, AUDIENCE, projects).expect("good")
}

/// The claims of GitHub's tokens, as far as they matter.
fn github_claims() -> Value {
    json!({"iss": GITHUB, "aud": AUDIENCE, "exp": NOW + 300, "nbf": NOW - 600, "iat": NOW, "sub": "repo:octo/shop:pull_request",
        "repository": "octo/shop", "repository_id": "74", "repository_owner": "octo", "repository_owner_id": "65",
        "event_name": "pull_request", "ref": "refs/pull/7/merge", "runner_environment": "github-hosted", "jti": "x"})
}

/// The project of a token, by the policy of the issuer that it names.
fn project_of(change: impl FnOnce(&mut Value)) -> Result<String, OidcError> {
    let (policies, mut claims) = (forges(), github_claims());
    change(&mut claims);
    let parsed = UnverifiedToken::parse(&token(&header(), &claims))?;
    let policy = &policies[parsed.issuer(&policies)?];
    Ok(parsed.check(policy, NOW)?.project_path)
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
        match result {
            Ok(job) => assert_eq!(
                job.project_path,
                project.to_lowercase(),
                "one name, however it is spelled"
            ),
            Err(refused) => assert!(refused.is_forbidden()),
        }
    }
    let nobody = OidcPolicy::of_issuers("https://gitlab.example.com", AUDIENCE, " , ").expect("empty");
    let parsed = UnverifiedToken::parse(&token(&header(), &claims())).expect("a token");
    assert!(parsed.check(&nobody[0], NOW).is_err(), "an empty list lets nobody in");
}

#[test]
fn a_repository_is_known_by_its_host_and_its_issuer_says_which() {
    assert_eq!(project_of(|_| ()).as_deref(), Ok("github.com:octo/shop"));
    let at_server = |claims: &mut Value| claims["iss"] = json!("https://ghe.example.com/_services/token");
    assert_eq!(project_of(at_server).as_deref(), Ok("ghe.example.com:octo/shop"));
    // The same path at GitLab is another project, and GitLab has no word on repositories of GitHub.
    for (issuer, claim, path) in [
        ("https://gitlab.example.com", "project_path", "platform/shop"),
        (GITHUB, "repository", "octo/shop"),
    ] {
        let mixed = project_of(|claims| {
            claims["repository"] = json!("octo/evil");
            claims["project_path"] = json!("platform/evil");
            claims["iss"] = json!(issuer);
            claims[claim] = json!(path);
        });
        let name = mixed.expect("good");
        assert_eq!(name.contains(':'), issuer == GITHUB, "{name}");
        assert!(name.ends_with(path), "{name}");
        let without = project_of(|claims| {
            claims["project_path"] = json!("platform/shop");
            claims["iss"] = json!(issuer);
            claims.as_object_mut().expect("claims").remove(claim);
        });
        assert_eq!(without, Err(OidcError::Malformed), "{issuer}");
    }
    let unknown =
        project_of(|claims| claims["iss"] = json!("https://token.actions.githubusercontent.com.evil.example"));
    assert!(matches!(unknown, Err(OidcError::Issuer(_))), "{unknown:?}");
}

#[test]
fn a_pattern_is_for_the_forge_that_it_names() {
    for (repository, good) in [
        ("octo/shop", true),
        ("Octo/Shop", true),
        ("platform/shop", false),
        ("octo-x/shop", false),
        ("mallory/octo", false),
        ("acme/shop", false),
        ("acme@77/shop", false),
        ("octo:x/shop", false),
        ("octo", false),
    ] {
        let result = project_of(|claims| claims["repository"] = json!(repository));
        assert_eq!(result.is_ok(), good, "{repository}: {result:?}");
        assert!(
            result.is_err() || result == Ok("github.com:octo/shop".to_owned()),
            "one name: {result:?}"
        );
    }
    // A name that was given up may be another account's now; the number stays.
    let of = |id: Value| {
        project_of(|claims| {
            claims["repository"] = json!("acme/shop");
            claims["repository_owner_id"] = id;
        })
    };
    assert_eq!(of(json!("77")).as_deref(), Ok("github.com:acme/shop"));
    for id in [json!("78"), json!(""), json!(null)] {
        assert!(of(id).is_err_and(|error| error.is_forbidden()));
    }
    // No project of GitLab can pass for one of GitHub.
    for path in ["github.com:octo/shop", "platform/x:y", "octo/shop"] {
        let result = project_of(|claims| {
            claims["iss"] = json!("https://gitlab.example.com");
            claims["project_path"] = json!(path);
        });
        assert!(result.is_err_and(|error| error.is_forbidden()), "{path}");
    }
}

#[test]
fn the_list_of_issuers_is_clear_about_whose_projects_they_are() {
    for (issuer, keys) in [
        (
            "https://gitlab.example.com/",
            "https://gitlab.example.com/oauth/discovery/keys",
        ),
        (GITHUB, "https://token.actions.githubusercontent.com/.well-known/jwks"),
        (
            "https://token.actions.githubusercontent.com/acme",
            "https://token.actions.githubusercontent.com/acme/.well-known/jwks",
        ),
        (
            "https://ghe.example.com/_services/token",
            "https://ghe.example.com/_services/token/.well-known/jwks",
        ),
    ] {
        let policies = OidcPolicy::of_issuers(issuer, AUDIENCE, "").expect(issuer);
        assert_eq!(policies[0].keys(), keys);
    }
    let resident = OidcPolicy::of_issuers("https://token.actions.octo.ghe.com", AUDIENCE, "octo.ghe.com:**");
    assert!(resident.is_ok(), "{resident:?}");
    for (issuers, projects, named) in [
        ("https://gitlab.example.com", "ok,a[", "`a[` is not a pattern"),
        (
            "https://a.example.com,https://b.example.com",
            "**",
            "`https://b.example.com` is the second",
        ),
        (
            "https://token.actions.githubusercontent.com,https://token.actions.githubusercontent.com/acme",
            "",
            "second",
        ),
        (GITHUB, "octo/*", "`octo/*` is a pattern for a GitLab"),
        (
            "https://gitlab.example.com",
            "github.com:octo/*",
            "`octo/*` is a pattern for github.com:",
        ),
        (GITHUB, "github.com:**", "lets in repositories of every account"),
        (GITHUB, "github.com:*/shop", "name the owner"),
        (GITHUB, "github.com:/oct?/shop", "name the owner"),
        (GITHUB, "github.com:", "it is empty"),
    ] {
        let problem = OidcPolicy::of_issuers(issuers, AUDIENCE, projects).expect_err(projects);
        assert!(problem.contains(named), "{problem}");
    }
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
