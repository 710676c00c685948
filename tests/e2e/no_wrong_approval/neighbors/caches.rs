//! State on disk that steers a review, in a directory that a branch can commit.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::{PROJECT, Pipeline, Repository, provider};

#[tokio::test]
async fn a_planted_configuration_is_not_used_with_or_without_a_secret() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    // Nobody listens there.
    let url = "http://127.0.0.1:9/";
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let source = format!("{url} {PROJECT}");
    let name: String = source.chars().map(plain).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let planted = format!(
        r#"{{"source":"{source}","at_seconds":{now},"answer":{{"config":{{"schema_version":1,"reviewers":{{"generalist":{{"enabled":false}}}}}}}}}}"#
    );
    repository.write(&format!("cache/conclave/config-{name}.json"), &planted);
    let job = || {
        pipeline
            .job(&repository, &["--dry-run"])
            .anthropic(&provider)
            .env("CONCLAVE_RUNTIME", "native")
            .env("XDG_CACHE_HOME", repository.path().join("cache"))
            .env("CONCLAVE_CONFIG_URL", url)
    };
    for (secret, token, job_token) in [
        ("", "t", ""),
        ("the secret of the installation", "t", "ey.x.y"),
        ("the secret of the installation", "", ""),
    ] {
        let job = job()
            .env("CONCLAVE_CONFIG_TOKEN", token)
            .env("CONCLAVE_CONFIG_OIDC_TOKEN", job_token);
        let outcome = job.env("CONCLAVE_SECRET", secret).run().await.expect_code(0);
        let review = outcome.review();
        assert_eq!(review["configuration"]["instead"], "defaults");
        let warnings = review["warnings"].to_string();
        assert!(warnings.contains("the built-in defaults are used"), "{warnings}");
        assert!(!warnings.contains("its last answer"), "{warnings}");
    }
}
