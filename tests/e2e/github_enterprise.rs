//! Enterprise Servers: their own addresses, and older ones that lack a part of the API.

use conclave_fake_github::{FakeGithub, Options, Permissions};

use crate::support::{Outcome, Repository, Workflow, provider};

on_both_runtimes! {
    multi_thread:
    an_enterprise_server_is_reviewed_like_github_and_what_an_older_one_lacks_is_said
}

/// The switches of an Enterprise Server that lacks these operations of REST and fields of GraphQL.
fn without(operations: &[&str], fields: &[&str]) -> Options {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Options {
        enterprise: Some("3.17.0".to_owned()),
        missing_operations: owned(operations),
        missing_fields: owned(fields),
        ..Options::default()
    }
}

async fn an_enterprise_server_is_reviewed_like_github_and_what_an_older_one_lacks_is_said() {
    let provider = provider().await;
    let checks = "POST /repos/{owner}/{repo}/check-runs";
    for (options, said, is_resolved, is_marked) in [
        (without(&[], &[]), None, true, false),
        (
            without(&[checks], &[]),
            Some("there is a commit status in place of a check run"),
            true,
            false,
        ),
        (
            without(&[], &["Mutation.resolveReviewThread"]),
            Some("this server cannot resolve a thread: it may be too old"),
            false,
            true,
        ),
        (
            without(&[], &["PullRequestReviewThread.subjectType"]),
            Some("a thread of an earlier review could not be changed"),
            false,
            false,
        ),
    ] {
        let has_checks = options.missing_operations.is_empty();
        let repository = Repository::two_flaws();
        let github = FakeGithub::builder().options(options).start().await;
        let mut workflow = Workflow::on(github, &repository);
        let permissions = Permissions::review().write("contents").write("statuses");
        workflow.token = workflow.github.actions_token(workflow.repository, permissions);
        let run = async || -> Outcome {
            let job = workflow.opened(repository.path());
            assert!(job.variables["GITHUB_API_URL"].ends_with("/api/v3"));
            let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
            call.run().await.expect_code(0)
        };
        let gate = || {
            let found = workflow.snapshot();
            if has_checks {
                assert_eq!(found.statuses, []);
                found.checks[0].conclusion.clone().unwrap()
            } else {
                assert_eq!(found.checks, []);
                found.statuses[0].state.clone()
            }
        };
        run().await;
        let threads = workflow.snapshot().threads.len();
        assert_eq!((workflow.comments().len(), gate().as_str()), (1, "failure"), "{said:?}");
        repository.git(&["checkout", "--quiet", "feature"]);
        repository.write("src/users.py", "import sqlite3\n");
        repository.commit("Find nobody");
        workflow.push(&repository);
        let stderr = run().await.stderr;
        if let Some(said) = said {
            assert!(stderr.contains(said), "{said}:\n{stderr}");
        }
        let found = workflow.snapshot();
        assert_eq!(
            (found.threads.len(), found.comments.len(), gate().as_str()),
            (threads, 1, "failure")
        );
        let fixed = found
            .threads
            .iter()
            .find(|thread| thread.path == "src/users.py")
            .unwrap();
        let is_settled = fixed.comments[0].body.starts_with("✅ **Settled: fixed in ");
        assert_eq!(
            (fixed.resolved_by.is_some(), is_settled),
            (is_resolved, is_marked),
            "{stderr}"
        );
        assert_eq!(workflow.github.violations(), []);
    }
}
