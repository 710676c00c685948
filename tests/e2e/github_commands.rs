//! Commands in comments on a pull request, and other jobs of GitHub Actions without a review.

use conclave_fake_github::{Job, JobEvent, NewPull, Permissions, ReviewState, UserId, workflow_commands};
use serde_json::{Value, json};

use crate::support::{Conclave, Outcome, Repository, Workflow, provider};

on_both_runtimes! {
    multi_thread:
    people_with_write_access_give_commands_and_nobody_else_does
    an_explanation_is_one_comment_and_the_first_job_hands_the_rest_on
    an_old_job_that_runs_again_passes_no_commit_that_it_did_not_review
    a_second_pull_request_with_the_same_head_passes_no_check_for_the_first
    a_pull_request_that_nobody_has_reviewed_is_passed_by_no_other_of_its_commit
    what_happens_while_the_summary_is_posted_is_neither_approved_nor_passed
}

/// The job that a comment by this account starts.
fn commented(workflow: &Workflow, repository: &Repository, user: UserId, text: &str) -> Job {
    let comment = workflow.github.comment(workflow.pull, user, text);
    let event = JobEvent::IssueComment(comment);
    workflow.github.job(workflow.pull, &event, repository.path())
}

/// The bot's comments that are not its summary.
fn answers(workflow: &Workflow) -> Vec<String> {
    let comments = workflow.comments().into_iter();
    comments.filter(|body| body.contains("<!-- conclave:answer:")).collect()
}

fn states(workflow: &Workflow) -> Vec<ReviewState> {
    let reviews = workflow.snapshot().reviews.into_iter().map(|review| review.state);
    reviews.filter(|state| *state != ReviewState::Commented).collect()
}

async fn people_with_write_access_give_commands_and_nobody_else_does() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::new(&repository).await;
    workflow.github.allow_actions_to_approve(workflow.repository, true);
    let (alice, bob) = (workflow.github.create_user("alice2"), workflow.member("bob"));
    let outsider = workflow.github.create_user("mallory");
    let author = workflow.author;
    let run = async |job: &Job, arguments: &[&str]| -> Outcome {
        let call = workflow.review_in(job, &repository, arguments).anthropic(&provider);
        call.run().await
    };
    let opened = workflow.opened(repository.path());
    run(&opened, &["--mode", "gate", "--gate", "off"]).await.expect_code(0);
    assert_eq!(states(&workflow), [ReviewState::ChangesRequested]);

    // Who may not is not answered, and neither are words that only look like a command.
    workflow.github.forget_requests();
    let asked = provider.requests().len();
    for (user, text, said) in [
        (outsider, "/conclave full", "mallory may not give commands"),
        (alice, "/conclave dismiss", "alice2 may not give commands"),
        (author, "/conclave dismiss", "has a part in the change"),
        (bob, "> /conclave dismiss", "does not begin with `/conclave`"),
        (bob, "Please:\n/conclave dismiss", "does not begin with `/conclave`"),
    ] {
        let job = commented(&workflow, &repository, user, text);
        let outcome = run(&job, &[]).await.expect_code(0);
        assert!(outcome.stderr.contains(said), "{text}:\n{}", outcome.stderr);
    }
    let edited = workflow.github.comment(workflow.pull, bob, "Thanks!");
    workflow
        .github
        .edit_comment(workflow.pull, outsider, edited, "/conclave dismiss");
    let job = workflow
        .github
        .job(workflow.pull, &JobEvent::IssueComment(edited), repository.path());
    assert!(run(&job, &[]).await.expect_code(0).stderr.contains("was edited"));
    // Nor does its own writer make a command of what was another comment.
    let own = workflow.github.comment(workflow.pull, bob, "Thanks!");
    workflow
        .github
        .edit_comment(workflow.pull, bob, own, "/conclave dismiss");
    let job = workflow
        .github
        .job(workflow.pull, &JobEvent::IssueComment(own), repository.path());
    assert!(run(&job, &[]).await.expect_code(0).stderr.contains("was edited"));
    // The payload's word about the writer is not believed.
    let mut event = commented(&workflow, &repository, outsider, "/conclave dismiss").event;
    event["comment"]["user"]["login"] = json!("bob");
    event["comment"]["author_association"] = json!("OWNER");
    std::fs::write(job.directory().join("event.json"), event.to_string()).unwrap();
    assert!(run(&job, &[]).await.expect_code(0).stderr.contains("mallory may not"));
    assert_eq!((workflow.github.writes().len(), provider.requests().len()), (0, asked));

    // Nothing new: a review has nothing to do, a full one everything.
    let job = commented(&workflow, &repository, bob, "/conclave review");
    assert_eq!(
        run(&job, &[]).await.expect_code(0).review()["coverage"]["reviewed"],
        json!([])
    );
    let job = commented(&workflow, &repository, bob, "/conclave full\n\nPlease.");
    let full = run(&job, &["--mode", "gate", "--gate", "off"])
        .await
        .expect_code(0)
        .review();
    assert_eq!(full["coverage"]["reviewed"], json!(["src/users.py"]));
    assert_eq!(workflow.snapshot().threads.len(), 1, "nothing is posted twice");

    let job = commented(&workflow, &repository, bob, "/conclave dismiss");
    run(&job, &[]).await.expect_code(0);
    assert!(states(&workflow).iter().all(|state| *state == ReviewState::Dismissed));
    let summary = workflow.comments().concat();
    assert!(
        summary.contains("The bot's review was dismissed") && summary.contains("`bob` has dismissed it"),
        "{summary}"
    );
    // What a person has dismissed is not asked for again by a review that says the same.
    let job = workflow.opened(repository.path());
    run(&job, &["--mode", "gate", "--gate", "off"]).await.expect_code(0);
    assert!(states(&workflow).iter().all(|state| *state == ReviewState::Dismissed));
    // The gate is the check, and stays.
    let checks = workflow.snapshot().checks;
    assert_eq!(checks[0].conclusion.as_deref(), Some("failure"));
    assert_eq!(workflow.github.violations(), []);
    assert_eq!(workflow.github.effects(), []);
}

async fn an_explanation_is_one_comment_and_the_first_job_hands_the_rest_on() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::new(&repository).await;
    let bob = workflow.member("bob");
    let explain = commented(&workflow, &repository, bob, "/conclave explain");
    for _ in 0..2 {
        let call = workflow
            .review_in(&explain, &repository, &["--answer-only"])
            .anthropic(&provider);
        call.run().await.expect_code(0);
        let [answer] = &answers(&workflow)[..] else {
            panic!("one answer: {:?}", workflow.comments())
        };
        assert!(
            answer.contains("Panel")
                && answer.contains("generalist")
                && answer.contains("```text")
                && answer.contains("The mode of this job is `comment`"),
            "{answer}"
        );
    }
    let unknown = commented(&workflow, &repository, bob, "/conclave merge");
    let call = workflow
        .review_in(&unknown, &repository, &["--answer-only"])
        .anthropic(&provider);
    call.run().await.expect_code(0);
    assert!(answers(&workflow)[1].contains("`/conclave explain` says who would review"));
    workflow.github.forget_requests();
    for word in ["review", "full", "stop"] {
        let job = commented(&workflow, &repository, bob, &format!("/conclave {word}"));
        let call = workflow
            .review_in(&job, &repository, &["--answer-only"])
            .anthropic(&provider);
        call.run().await.expect_code(0);
        assert!(job.output().contains(&format!("\n{word}\n")), "{}", job.output());
    }
    assert_eq!((workflow.github.writes().len(), provider.requests().len()), (0, 0));
    // The comment of an issue.
    let mut own = explain.event.clone();
    own["issue"]["pull_request"] = Value::Null;
    std::fs::write(explain.directory().join("event.json"), own.to_string()).unwrap();
    let call = workflow.review_in(&explain, &repository, &[]).anthropic(&provider);
    let outcome = call.run().await.expect_code(2);
    assert!(
        outcome.stderr.contains("is of no comment on a pull request"),
        "{}",
        outcome.stderr
    );
    assert_eq!(workflow.github.violations(), []);
    assert_eq!(workflow.github.effects(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commanded_job_that_has_checked_out_the_head_is_refused() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::new(&repository).await;
    let bob = workflow.member("bob");
    repository.git(&["checkout", "--quiet", "feature"]);
    for word in ["review", "explain"] {
        let job = commented(&workflow, &repository, bob, &format!("/conclave {word}"));
        let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
        let stderr = call.run().await.expect_code(2).stderr;
        assert!(
            stderr.contains("secrets (`issue_comment`) and has checked out the code of the pull request"),
            "{stderr}"
        );
    }
    assert_eq!(provider.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_queue_gets_its_check_and_a_fork_s_job_without_secrets_ends_in_peace() {
    let repository = Repository::flawed();
    let mut workflow = Workflow::new(&repository).await;
    let queue = workflow
        .github
        .job(workflow.pull, &JobEvent::MergeGroup, repository.path());
    let call = workflow.review_in(&queue, &repository, &[]).env("CONCLAVE_SECRET", "s");
    call.run().await.expect_code(0);
    let head = queue.event["merge_group"]["head_sha"].as_str().unwrap();
    let writes = workflow.github.writes();
    assert!(writes.iter().all(|write| write.path.contains("/check-runs")) && !writes.is_empty());
    assert_eq!(writes[0].body["head_sha"], head);
    assert_eq!(writes.last().unwrap().body["conclusion"], "success");

    let mallory = workflow.github.create_user("mallory");
    let fork = workflow.github.fork(workflow.repository, mallory);
    let new = NewPull::new(mallory, "feature", "main").from_fork(fork);
    workflow.pull = workflow.github.open_pull(workflow.repository, new);
    workflow.token = workflow
        .github
        .actions_token(workflow.repository, Permissions::read_only());
    workflow.github.forget_requests();
    let job = workflow.opened(repository.path());
    for (arguments, code) in [(&[][..], 0), (&["--strict"][..], 4)] {
        let call: Conclave = workflow.review_in(&job, &repository, arguments);
        let outcome = call.run().await.expect_code(code);
        assert!(outcome.stderr.contains("which gets no secrets"), "{}", outcome.stderr);
        // The runner acts on nothing of the log but our own two words.
        let commands = workflow_commands(&outcome.stderr);
        assert!(
            commands.iter().all(|command| command.name == "stop-commands"),
            "{commands:?}"
        );
    }
    assert!(job.summary().contains("Not reviewed"), "{}", job.summary());
    assert_eq!(workflow.github.requests().len(), 0);
    // Where it has secrets, what is wrong is said as ever.
    let job = workflow.github.job(
        workflow.pull,
        &JobEvent::PullRequestTarget("opened", None),
        repository.path(),
    );
    let outcome = workflow.review_in(&job, &repository, &[]).run().await.expect_code(2);
    assert!(
        outcome.stderr.contains("CONCLAVE_SECRET is not set"),
        "{}",
        outcome.stderr
    );
}

async fn a_second_pull_request_with_the_same_head_passes_no_check_for_the_first() {
    let provider = provider().await;
    for permissions in [
        Permissions::review(),
        // Without check runs a commit status is the gate.
        Permissions::none()
            .read("contents")
            .write("pull_requests")
            .write("statuses"),
    ] {
        let repository = Repository::flawed();
        // The last commit is a harmless one.
        repository.git(&["branch", "other"]);
        repository.write("src/more.py", "MORE = 1\n");
        repository.commit("More");
        let mut workflow = Workflow::new(&repository).await;
        workflow.token = workflow.github.actions_token(workflow.repository, permissions);
        let first = workflow.pull;
        let second = workflow
            .github
            .open_pull(workflow.repository, NewPull::new(workflow.author, "feature", "other"));
        let review = async |pull| {
            let event = JobEvent::PullRequest("opened");
            let job = workflow.github.job(pull, &event, repository.path());
            let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
            call.run().await.expect_code(0).review()["verdict"].clone()
        };
        assert_eq!(review(first).await, "significant_concerns");
        assert_eq!(review(second).await, "approved");
        let gate = |pull| {
            let found = workflow.github.snapshot(pull);
            let check = found
                .checks
                .last()
                .map(|check| (check.conclusion.clone().unwrap(), check.title.clone().unwrap()));
            check.unwrap_or_else(|| {
                let status = found.statuses.last().unwrap();
                (status.state.clone(), status.description.clone().unwrap_or_default())
            })
        };
        let (conclusion, title) = gate(first);
        assert_eq!(conclusion, "failure", "{title}");
        assert!(
            title.contains("The review of #1, which has the same commit, has not passed"),
            "{title}"
        );
        assert_eq!(gate(second).0, "failure");
        // Once the first one is closed, the second one's own verdict counts.
        workflow
            .github
            .set_state(first, conclave_fake_github::PullState::Closed);
        assert_eq!(review(second).await, "approved");
        assert_eq!(gate(second).0, "success");
        assert_eq!(workflow.github.violations(), []);
    }
}

async fn a_pull_request_that_nobody_has_reviewed_is_passed_by_no_other_of_its_commit() {
    let (provider, repository) = (provider().await, Repository::flawed());
    repository.git(&["branch", "other"]);
    repository.write("src/more.py", "MORE = 1\n");
    repository.commit("More");
    let workflow = Workflow::new(&repository).await;
    let first = workflow.pull;
    let second = workflow
        .github
        .open_pull(workflow.repository, NewPull::new(workflow.author, "feature", "other"));
    let job = workflow
        .github
        .job(second, &JobEvent::PullRequest("opened"), repository.path());
    let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
    let outcome = call.run().await.expect_code(0);
    assert_eq!(outcome.review()["verdict"], "approved");
    let said = "The review of #1, which has the same commit, has not passed";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    let checks = workflow.github.snapshot(first).checks;
    assert_eq!(checks[0].conclusion.as_deref(), Some("failure"));
    assert!(checks[0].title.as_deref().unwrap().contains(said), "{checks:?}");
    assert_eq!(workflow.github.violations(), []);
}

/// A push, another target branch, a close and a merge, at the last moment.
async fn what_happens_while_the_summary_is_posted_is_neither_approved_nor_passed() {
    use conclave_fake_github::PullState::{Closed, Merged};
    let provider = provider().await;
    for (change, said) in [
        ("push", "There is a newer commit"),
        ("retarget", "the target branch is release by now"),
        ("close", "The pull request is closed by now"),
        ("merge", "The pull request is merged by now"),
    ] {
        let repository = Repository::clean();
        let workflow = Workflow::new(&repository).await;
        workflow.github.allow_actions_to_approve(workflow.repository, true);
        repository.git(&["branch", "--quiet", "release", "main"]);
        workflow.github.push(workflow.repository, repository.path(), "release");
        let job = workflow.opened(repository.path());
        repository.git(&["checkout", "--quiet", "feature"]);
        repository.write("src/more.py", "MORE = 1\n");
        repository.commit("More");
        repository.git(&["checkout", "--quiet", "main"]);
        let (github, at, pull) = (workflow.github.clone(), workflow.repository, workflow.pull);
        let source = repository.path().to_owned();
        workflow
            .github
            .after("POST", "/repos/*/*/issues/*/comments", move || match change {
                "push" => github.push(at, &source, "feature"),
                "retarget" => github.retarget(pull, "release"),
                "close" => github.set_state(pull, Closed),
                _ => github.set_state(pull, Merged),
            });
        let call = workflow.review_in(&job, &repository, &["--mode", "approve"]);
        let outcome = call.anthropic(&provider).run().await.expect_code(0);
        assert!(outcome.stderr.contains(said), "{change}: {}", outcome.stderr);
        assert!(!states(&workflow).contains(&ReviewState::Approved), "{change}");
        let writes = workflow.github.writes().into_iter();
        let checks: Vec<_> = writes.filter(|write| write.path.contains("/check-runs")).collect();
        assert_eq!(checks.last().unwrap().body["conclusion"], "cancelled", "{change}");
        assert_eq!(workflow.github.violations(), []);
    }
}

async fn an_old_job_that_runs_again_passes_no_commit_that_it_did_not_review() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::new(&repository).await;
    let old = workflow.opened(repository.path());
    let red = workflow.github.head(workflow.pull);
    let run = async |job: &Job| {
        let call = workflow.review_in(job, &repository, &[]).anthropic(&provider);
        call.run().await.expect_code(0);
    };
    run(&old).await;
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.write("src/more.py", "MORE = 1\n");
    repository.commit("More");
    workflow.push(&repository);
    run(&old).await;
    // Back to the first commit, whose check the second run of its job has touched.
    repository.git(&["reset", "--quiet", "--hard", &red]);
    workflow.push(&repository);
    let checks = workflow.snapshot().checks;
    assert_eq!(workflow.github.head(workflow.pull), red);
    assert_eq!(checks[0].conclusion.as_deref(), Some("cancelled"), "{checks:?}");
    // A newest version with nothing in it passes the newest commit only.
    repository.git(&["reset", "--quiet", "--hard", "main"]);
    repository.write("assets/app.min.js", "eval(1);\n");
    repository.commit("Only what nobody reads");
    workflow.push(&repository);
    run(&old).await;
    let new = workflow.opened(repository.path());
    repository.git(&["checkout", "--quiet", "main"]);
    run(&new).await;
    let checks = workflow.snapshot().checks;
    let title = checks[0].title.as_deref().unwrap();
    assert_eq!(checks[0].conclusion.as_deref(), Some("neutral"), "{title}");
    assert!(title.contains("A person has to approve this"), "{title}");
    assert!(
        checks[0].summary.as_deref().unwrap().contains("assets/app.min.js"),
        "{checks:?}"
    );
    assert!(new.summary().contains("assets/app.min.js"), "{}", new.summary());
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.git(&["reset", "--quiet", "--hard", &red]);
    workflow.push(&repository);
    let checks = workflow.snapshot().checks;
    assert_eq!(checks[0].conclusion.as_deref(), Some("cancelled"), "{checks:?}");
    assert_eq!(workflow.github.violations(), []);
}
