//! GitLab among the plugins of a run.

use std::sync::Arc;

use conclave_engine::plugin::{ReviewPlugin, bootstrap, configure};
use conclave_forge::ApiErrorKind;
use conclave_plugin_gitlab::GitLabPlugin;

use crate::stage::Stage;

fn configured(plugins: &[Box<dyn ReviewPlugin>]) -> Result<(), String> {
    let assembled = configure(plugins);
    assembled.map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn the_merge_request_arrives_while_plugins_start() {
    let stage = Stage::new().await;
    let (plugin, arrival) = GitLabPlugin::new(Arc::new(stage.plugin()));
    let mut plugins: Vec<Box<dyn ReviewPlugin>> = vec![Box::new(plugin)];
    assert_eq!(bootstrap(&mut plugins).await, [""; 0]);
    let loaded = arrival.await.unwrap().unwrap();
    assert_eq!(
        (loaded.subject.forge, loaded.subject.merge_request),
        ("gitlab", Some(1))
    );
    assert_eq!(configured(&plugins), Ok(()));
}

#[tokio::test]
async fn without_a_forge_there_is_no_review() {
    let stage = Stage::new().await;
    stage.gitlab.revoke_token(&stage.token);
    let (plugin, arrival) = GitLabPlugin::new(Arc::new(stage.plugin()));
    let mut plugins: Vec<Box<dyn ReviewPlugin>> = vec![Box::new(plugin)];
    let failures = bootstrap(&mut plugins).await;
    assert!(
        failures[0].starts_with("gitlab: GitLab refused the token"),
        "{failures:?}"
    );
    // Whoever waits gets the whole error, for its exit code.
    assert_eq!(arrival.await.unwrap().unwrap_err().kind, ApiErrorKind::Unauthorized);
    let error = configured(&plugins).unwrap_err();
    assert!(
        error.starts_with("gitlab: no forge, no review: GitLab refused the token"),
        "{error}"
    );
}

#[tokio::test]
async fn a_plugin_without_a_merge_request_is_off() {
    let mut plugins: Vec<Box<dyn ReviewPlugin>> = vec![Box::new(GitLabPlugin::off())];
    assert_eq!(bootstrap(&mut plugins).await, [""; 0]);
    assert_eq!(configured(&plugins), Ok(()));
}
