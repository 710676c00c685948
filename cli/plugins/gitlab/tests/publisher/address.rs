//! Finding the GitLab of an address that somebody copied out of the browser.

use conclave_fake_gitlab::FakeGitlab;
use conclave_plugin_gitlab::{GitLab, GitLabSettings, MergeRequestAddress};

use crate::stage::Stage;

fn web_url(stage: &Stage) -> String {
    format!("{}/group/project/-/merge_requests/1", stage.gitlab.url())
}

#[tokio::test]
async fn a_gitlab_at_the_root_or_below_a_path_is_found_without_the_token() {
    for path in ["", "/gitlab", "/tools/git"] {
        let stage = Stage::with(FakeGitlab::builder().sub_path(path)).await;
        let address = MergeRequestAddress::parse(&format!("{}/diffs#note_1", web_url(&stage))).unwrap();
        let located = address.locate(None, &[]).await.unwrap();
        assert_eq!(located.api_url.as_str(), stage.gitlab.api_url());
        assert_eq!((located.project.as_str(), located.iid), ("group/project", 1));
        let repository = format!("{}/group/project.git", stage.gitlab.url());
        assert_eq!(located.repository_url.as_str(), repository);
        assert!(stage.gitlab.requests().iter().all(|request| request.user.is_none()));
        let settings = GitLabSettings {
            api_url: located.api_url,
            project: located.project,
            ..stage.settings()
        };
        let info = GitLab::publisher(&settings, None).unwrap().load().await.unwrap();
        assert_eq!(info.subject.project, "group/project");
    }
}

#[tokio::test]
async fn a_known_address_is_not_asked_for() {
    let stage = Stage::with(FakeGitlab::builder().sub_path("/gitlab")).await;
    let address = MergeRequestAddress::parse(&web_url(&stage)).unwrap();
    let known = stage.gitlab.api_url().parse().unwrap();
    let located = address.locate(Some(&known), &[]).await.unwrap();
    assert_eq!((located.api_url, located.project.as_str()), (known, "group/project"));
    assert!(stage.gitlab.requests().is_empty());
}

#[tokio::test]
async fn a_host_without_gitlab_is_named() {
    let stage = Stage::with(FakeGitlab::builder().sub_path("/elsewhere")).await;
    let address = web_url(&stage).replace("/elsewhere", "/wrong");
    let address = MergeRequestAddress::parse(&address).unwrap();
    let error = address.locate(None, &[]).await.unwrap_err().to_string();
    assert!(
        error.starts_with("no GitLab answers at http://127.0.0.1:") && error.contains("wrong/group/project"),
        "{error}"
    );
}
