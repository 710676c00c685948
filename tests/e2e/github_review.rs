//! `conclave review` in a job of GitHub Actions, against the stateful GitHub stand-in: the whole program with the real OpenCode.

use std::time::{Duration, Instant};

use conclave_fake_github::{FakeGithub, Fault, FaultKind, JobEvent, ReviewState};
use conclave_scripted_provider::{Answer, COORDINATOR, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{Conclave, Repository, Workflow, crowd, provider};

/// Time that a test waits for what has to happen first.
const PATIENCE: Duration = Duration::from_mins(3);

on_both_runtimes! {
    multi_thread:
    a_first_review_on_github_is_posted_and_an_unchanged_run_again_writes_nothing
    the_next_push_on_github_is_reviewed_and_people_are_answered
    a_question_alone_on_github_is_answered_in_a_comment_that_quotes_it
    approving_and_requesting_changes_on_github_is_opt_in
    a_pull_request_is_reviewed_by_its_address_from_anywhere
    a_review_that_is_not_finished_or_failed_never_passes_the_check
    a_target_that_changes_during_the_review_does_not_pass_the_check
    another_secret_on_github_does_not_pass_the_check
    an_approval_that_stands_in_spite_of_the_run_fails_it
    a_job_that_is_cancelled_while_github_asks_to_wait_shows_its_review_all_the_same
    a_breach_that_a_person_has_to_approve_is_not_approved_on_github
    break_glass_on_github_skips_the_review_and_a_dry_run_posts_nothing
    the_check_is_the_gate_and_the_workflow_gets_summary_and_outputs
    without_the_right_to_make_checks_there_is_a_status_and_without_that_the_exit_code
    a_reading_token_shows_every_finding_in_the_summary_and_says_that_nothing_was_posted
    findings_are_handed_to_code_scanning_on_request
    a_fork_is_reviewed_in_two_stages_and_what_was_tampered_with_in_between_is_rejected
}

/// The lines of the change that findings of the demo model are about.
const SQL: (&str, Option<u64>) = ("src/users.py", Some(6));

async fn a_first_review_on_github_is_posted_and_an_unchanged_run_again_writes_nothing() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let review = || workflow.review_in(&job, &repository, &[]).anthropic(&provider);
    let first = review().run().await.expect_code(0);
    assert_eq!(first.review()["forge"], "github");
    let found = workflow.snapshot();
    let thread = found
        .threads
        .iter()
        .find(|thread| thread.comments[0].body.contains("sql-injection"))
        .expect("the finding has a thread");
    assert_eq!((thread.path.as_str(), thread.line), SQL);
    let summary = workflow.comments().concat();
    for part in [
        "Significant concerns",
        "`src/users.py:6`",
        "#discussion_r",
        "<!-- conclave:summary:",
    ] {
        assert!(summary.contains(part), "{part} is missing in:\n{summary}");
    }
    // It only comments unless the mode says otherwise.
    let opinions = found
        .reviews
        .iter()
        .filter(|review| review.state != ReviewState::Commented);
    assert_eq!(opinions.count(), 0);
    assert!(!first.stderr.contains(&workflow.token) && !summary.contains(&workflow.token));

    let before = workflow.snapshot();
    workflow.github.forget_requests();
    review().run().await.expect_code(0);
    let writes: Vec<String> = workflow
        .github
        .writes()
        .iter()
        .filter(|write| !write.path.contains("/check-runs"))
        .map(|write| format!("{} {}", write.method, write.path))
        .collect();
    assert_eq!(writes, Vec::<String>::new());
    assert_eq!(workflow.snapshot().comments, before.comments);
    assert_eq!(workflow.github.violations(), []);
    assert_eq!(workflow.github.effects(), []);
}

async fn the_next_push_on_github_is_reviewed_and_people_are_answered() {
    let (provider, repository) = (provider().await, Repository::two_flaws());
    let mut workflow = Workflow::new(&repository).await;
    // Threads are resolved only with this right.
    let permissions = conclave_fake_github::Permissions::review().write("contents");
    workflow.token = workflow.github.actions_token(workflow.repository, permissions);
    let bob = workflow.member("bob");
    let run = async || {
        let job = workflow.opened(repository.path());
        let review = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
        review.run().await.expect_code(0).review()
    };
    run().await;
    let threads = workflow.snapshot().threads;
    let orders = threads.iter().find(|thread| thread.path == "src/orders.py").unwrap();
    let question = orders.comments[0].id;
    workflow
        .github
        .reply(workflow.pull, bob, question, "I disagree: nobody calls it.");

    repository.git(&["checkout", "--quiet", "feature"]);
    repository.write(
        "src/users.py",
        "import sqlite3\n\n\ndef find(connection, name):\n    query = \"SELECT * FROM users WHERE name = ?\"\n    return \
         connection.execute(query, (name,)).fetchall()\n",
    );
    repository.commit("Bind the name");
    workflow.push(&repository);
    let second = run().await;
    assert_eq!(second["coverage"]["reviewed"], json!(["src/users.py"]));
    assert_eq!(second["verdict"], "significant_concerns", "the other one stands");
    for thread in workflow.snapshot().threads {
        let is_fixed = thread.path == "src/users.py";
        assert_eq!(thread.resolved_by.is_some(), is_fixed, "{thread:?}");
        if thread.comments[0].id == question {
            assert!(
                thread.comments[2].body.contains("still does what the finding says"),
                "{thread:?}"
            );
        }
    }
    // What we have resolved stays so, although GitHub does not say that it was us.
    let third = run().await;
    assert_eq!(third["coverage"]["reviewed"], json!([]));
    assert_eq!(workflow.snapshot().threads.len(), threads.len());
    assert_eq!(workflow.github.violations(), []);
    assert_eq!(workflow.github.effects(), []);
}

async fn a_question_alone_on_github_is_answered_in_a_comment_that_quotes_it() {
    let (provider, repository) = (provider().await, Repository::clean());
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let review = async || {
        let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
        call.run().await.expect_code(0).review()
    };
    review().await;
    let carol = workflow.github.create_user("carol");
    for (question, light, answer) in [
        ("Tabs or spaces?", true, "Tabs on weekdays."),
        (
            "Does this work with Postgres 12?",
            false,
            "Yes: it uses nothing newer. @bob",
        ),
    ] {
        workflow.github.comment(workflow.pull, carol, question);
        let submission = json!({"summary": "Nothing new.", "decisions": [], "proposed_verdict": "approved",
                                "answers": [{"id": "Q1", "answer": answer, "light": light}]});
        provider.set_always(COORDINATOR, Answer::call("submit_review", submission));
        let reviewed = review().await;
        assert_eq!(
            (&reviewed["verdict"], &reviewed["coverage"]["reviewed"]),
            (&json!("approved"), &json!([])),
            "{question}"
        );
        assert_eq!(reviewed["coordinator"]["outcome"], "ok", "{question}");
    }
    let before = provider.requests().len();
    review().await;
    assert_eq!(provider.requests().len(), before, "a judge has read both");
    let comments = workflow.comments();
    let answers = comments.iter().filter(|body| body.contains("<!-- conclave:answer:"));
    let answers: Vec<&String> = answers.collect();
    assert_eq!((comments.len(), answers.len()), (3, 2), "{comments:?}");
    for (body, question, answer) in [
        (answers[0], "Tabs or spaces?", "Tabs on weekdays."),
        (
            answers[1],
            "Does this work with Postgres 12?",
            "Yes: it uses nothing newer. @",
        ),
    ] {
        assert!(body.starts_with(&format!("> [{question}](")), "{body}");
        assert!(
            body.contains("#issuecomment-") && body.contains(&format!("\n\n{answer}")),
            "{body}"
        );
    }
    assert_eq!(workflow.github.violations(), []);
    assert_eq!(workflow.github.effects(), []);
}

async fn approving_and_requesting_changes_on_github_is_opt_in() {
    let provider = provider().await;
    for (repository, mode, verdict, state) in [
        (Repository::clean(), "approve", "approved", Some(ReviewState::Approved)),
        (Repository::clean(), "comment", "approved", None),
        (
            Repository::flawed(),
            "gate",
            "significant_concerns",
            Some(ReviewState::ChangesRequested),
        ),
    ] {
        let workflow = Workflow::new(&repository).await;
        workflow.github.allow_actions_to_approve(workflow.repository, true);
        let job = workflow.opened(repository.path());
        let call = workflow
            .review_in(&job, &repository, &["--mode", mode])
            .anthropic(&provider);
        // Where significant concerns block, the job fails as well.
        let outcome = call.run().await.expect_code(i32::from(mode == "gate"));
        assert_eq!(outcome.review()["verdict"], verdict);
        let opinions = workflow.snapshot().reviews.into_iter().map(|review| review.state);
        let opinion = opinions.into_iter().find(|state| *state != ReviewState::Commented);
        assert_eq!(opinion, state, "{mode}");
        assert_eq!(workflow.github.violations(), []);
    }
}

async fn a_breach_that_a_person_has_to_approve_is_not_approved_on_github() {
    let (provider, repository) = (provider().await, crate::gitlab_review::breaks_a_rule());
    let workflow = Workflow::new(&repository).await;
    workflow.github.allow_actions_to_approve(workflow.repository, true);
    let job = workflow.opened(repository.path());
    let call = workflow
        .review_in(&job, &repository, &["--mode", "approve"])
        .anthropic(&provider);
    let review = call.run().await.expect_code(0).review();
    assert_eq!(review["manual_reviews"][0]["breach"], true, "{review:#}");
    let snapshot = workflow.snapshot();
    assert!(
        snapshot
            .reviews
            .iter()
            .all(|review| review.state == ReviewState::Commented),
        "{:?}",
        snapshot.reviews
    );
    let said = format!("{:?}{:?}", snapshot.comments, snapshot.reviews);
    assert!(said.contains("has to approve: the rule [LOG-007]"), "{said}");
    // The check passes and says who has to look; nothing about it reads as approved.
    let (conclusion, title) = check(&workflow);
    assert_eq!(conclusion, "neutral");
    assert!(title.starts_with("A person has to approve this"), "{title}");
    let summary = snapshot.checks[0].summary.clone().unwrap();
    for text in [&title, &summary, &job.summary(), &said] {
        assert!(!text.contains("Approved"), "{text}");
    }
    assert!(summary.contains("has to approve") && job.summary().contains("A person has to approve this"));
    assert_eq!(workflow.github.violations(), []);
}

async fn break_glass_on_github_skips_the_review_and_a_dry_run_posts_nothing() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let dry = workflow
        .review_in(&job, &repository, &["--dry-run"])
        .anthropic(&provider);
    dry.run().await.expect_code(0);
    assert_eq!(workflow.github.writes().len(), 0);
    let bob = workflow.member("bob");
    workflow
        .github
        .comment(workflow.pull, bob, "Production is down.\n\nbreak glass");
    let asked = provider.requests().len();
    let skipped = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
    skipped.run().await.expect_code(0);
    assert_eq!(provider.requests().len(), asked, "no model is asked");
    let summary = workflow.comments().concat();
    assert!(summary.contains("Not reviewed: break glass"), "{summary}");
    assert!(summary.contains("The pull request is not reviewed"), "{summary}");
    assert_eq!(
        check(&workflow),
        ("success".to_owned(), "Not reviewed: break glass".to_owned())
    );
    // Where it approves, the approval of an older commit does not stand beside the new one.
    workflow.github.allow_actions_to_approve(workflow.repository, true);
    for change in ["one", "two"] {
        repository.git(&["checkout", "--quiet", "feature"]);
        repository.write("src/more.py", &format!("more = '{change}'\n"));
        repository.git(&["add", "src/more.py"]);
        repository.git(&["commit", "--quiet", "-m", change]);
        workflow.github.push(workflow.repository, repository.path(), "feature");
        let job = workflow.opened(repository.path());
        let approving = workflow.review_in(&job, &repository, &["--mode", "approve"]);
        approving.anthropic(&provider).run().await.expect_code(0);
        let reviews = workflow.snapshot().reviews;
        let standing = reviews.iter().filter(|review| review.state == ReviewState::Approved);
        assert_eq!(standing.count(), 1, "{reviews:?}");
    }
    assert_eq!(workflow.github.violations(), []);
}

async fn a_pull_request_is_reviewed_by_its_address_from_anywhere() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // A host that is not github.com is an Enterprise Server.
    let github = FakeGithub::builder().enterprise("3.19.0").start().await;
    let workflow = Workflow::on(github, &repository);
    let address = format!("{}/acme/service/pull/1/files", workflow.github.url());
    let elsewhere = tempfile::tempdir().unwrap();
    for (flag, changes) in [("--pr", true), ("--mr", false)] {
        let call = Conclave::new(elsewhere.path(), &["review", flag, &address]);
        let call = call.anthropic(&provider).env("GITHUB_TOKEN", &workflow.token);
        workflow.github.forget_requests();
        let outcome = call.run().await.expect_code(0);
        assert_eq!(outcome.review()["project"], "acme/service");
        let written = workflow
            .github
            .writes()
            .iter()
            .any(|write| write.path.ends_with("/reviews"));
        assert_eq!(written, changes, "{flag}");
    }
    assert!(workflow.comments().concat().contains("Significant concerns"));
    assert_eq!(workflow.github.violations(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_without_the_event_of_a_pull_request_says_what_is_wrong() {
    let repository = Repository::flawed();
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let file = job.directory().join("event.json");
    let whole = job.event.to_string();
    let other = |change: &dyn Fn(&mut Value)| {
        let mut event = job.event.clone();
        change(&mut event);
        event.to_string()
    };
    for (content, said) in [
        (String::new(), "is not the whole of an event"),
        (whole[..whole.len() / 2].to_owned(), "is not the whole of an event"),
        ("{}".to_owned(), "names no repository"),
        (
            other(&|event| event["pull_request"] = Value::Null),
            "is of no pull request",
        ),
        (
            other(&|event| event["repository"]["full_name"] = json!("acme/other")),
            "is of the repository acme/other",
        ),
        (
            other(&|event| event["repository"]["id"] = json!(1)),
            "of the repository acme/service with the number 1, and GITHUB_REPOSITORY_ID is 7",
        ),
        (
            other(&|event| event["pull_request"]["head"]["sha"] = json!("--upload-pack=x")),
            "names no commit",
        ),
    ] {
        std::fs::write(&file, &content).unwrap();
        let outcome = workflow
            .review_in(&job, &repository, &[])
            .env("ANTHROPIC_API_KEY", "k")
            .run()
            .await;
        let stderr = outcome.expect_code(2).stderr;
        assert!(
            stderr.contains(said) && stderr.contains("--pr URL"),
            "{said}:\n{stderr}"
        );
    }
    std::fs::remove_file(&file).unwrap();
    let gone = workflow
        .review_in(&job, &repository, &[])
        .env("ANTHROPIC_API_KEY", "k")
        .run()
        .await;
    assert!(gone.expect_code(2).stderr.contains("cannot be read"));
    std::fs::write(&file, whole).unwrap();
    for (name, value, said) in [
        ("GITHUB_EVENT_NAME", "push", "this job runs for `push`"),
        ("GITHUB_API_URL", "nowhere", "GITHUB_API_URL is `nowhere`"),
        (
            "GITHUB_API_URL",
            "ftp://x",
            "GITHUB_API_URL is `ftp://x`: it does not begin with https://",
        ),
        ("GITHUB_REPOSITORY_ID", "abc", "GITHUB_REPOSITORY_ID is abc"),
        ("CONCLAVE_TIMEOUT_MINUTES", "45m", "CONCLAVE_TIMEOUT_MINUTES is `45m`"),
        (
            "GITHUB_TOKEN",
            "",
            "GITHUB_TOKEN is not set: hand the job's token to the step",
        ),
        ("ANTHROPIC_API_KEY", "", "CONCLAVE_SECRET is not set"),
    ] {
        let call = workflow
            .review_in(&job, &repository, &[])
            .env("ANTHROPIC_API_KEY", "k")
            .env(name, value);
        let stderr = call.run().await.expect_code(2).stderr;
        assert!(stderr.contains(said), "{name}:\n{stderr}");
    }
    assert_eq!(workflow.github.writes().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_job_that_has_checked_out_the_pull_request_is_refused() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::new(&repository).await;
    let job = workflow.github.job(
        workflow.pull,
        &JobEvent::PullRequestTarget("opened", None),
        repository.path(),
    );
    let review = || {
        workflow
            .review_in(&job, &repository, &[])
            .anthropic(&provider)
            .env("CONCLAVE_RUNTIME", "native")
    };
    // The head itself, and the merge that GitHub makes of it.
    repository.git(&["checkout", "--quiet", "feature"]);
    for _ in 0..2 {
        let stderr = review().run().await.expect_code(2).stderr;
        assert!(
            stderr.contains("secrets (`pull_request_target`) and has checked out the code of the pull request"),
            "{stderr}"
        );
        repository.git(&["checkout", "--quiet", "--detach", "main"]);
        repository.git(&["merge", "--quiet", "--no-ff", "-m", "Merge", "feature"]);
    }
    // Only the check says so.
    assert!(
        workflow
            .github
            .writes()
            .iter()
            .all(|write| write.path.contains("/check-runs"))
    );
    assert_eq!(check(&workflow).0, "failure");
    assert_eq!(provider.requests().len(), 0);
    // The base is what such a job may have.
    repository.git(&["checkout", "--quiet", "main"]);
    review().run().await.expect_code(0);
    assert_eq!(workflow.comments().len(), 1);
}

/// The conclusion and the title of our check on the head.
fn check(workflow: &Workflow) -> (String, String) {
    let checks = workflow.snapshot().checks;
    let [check] = &checks[..] else {
        panic!("one check: {checks:?}")
    };
    assert_eq!((check.name.as_str(), check.status.as_str()), ("conclave", "completed"));
    (check.conclusion.clone().unwrap(), check.title.clone().unwrap())
}

async fn the_check_is_the_gate_and_the_workflow_gets_summary_and_outputs() {
    let provider = provider().await;
    for (repository, conclusion, title, verdict) in [
        (Repository::clean(), "success", "Approved", "approved"),
        (
            Repository::flawed(),
            "failure",
            "Significant concerns",
            "significant_concerns",
        ),
    ] {
        let workflow = Workflow::new(&repository).await;
        let job = workflow.opened(repository.path());
        for _ in 0..2 {
            let call = workflow
                .review_in(&job, &repository, &["--max-inline", "0"])
                .anthropic(&provider);
            call.run().await.expect_code(0);
            // A second run begins the same check anew.
            let (concluded, shown) = check(&workflow);
            assert_eq!(concluded, conclusion);
            assert!(shown.starts_with(title), "{shown}");
        }
        let found = workflow.snapshot().checks.remove(0);
        assert!(found.summary.unwrap().contains(title));
        if verdict != "approved" {
            // What has no thread is an annotation, also after a second run once.
            let mut annotations = found.annotations.clone();
            annotations.dedup();
            assert!(
                annotations == found.annotations && annotations[0].contains("src/users.py:6"),
                "{:?}",
                found.annotations
            );
        }
        assert!(job.summary().contains(title), "{}", job.summary());
        let output = job.output();
        assert!(
            output.contains(&format!("\n{verdict}\n")) && output.starts_with("verdict<<conclave_"),
            "{output}"
        );
        let json = output.split("review-json<<").nth(1).unwrap().lines().nth(1).unwrap();
        assert!(json.ends_with("/review.json"), "{output}");
        assert_eq!(job.environment(), "", "later steps get nothing");
        assert_eq!(workflow.github.violations(), []);
    }
}

async fn a_target_that_changes_during_the_review_does_not_pass_the_check() {
    let (provider, repository) = (provider().await, Repository::clean());
    repository.git(&["branch", "release", "main"]);
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
    let outcome = call
        .run_while(|_| async {
            assert!(provider.wait_for_requests(1, PATIENCE).await, "a model is asked");
            workflow.github.retarget(workflow.pull, "release");
        })
        .await
        .expect_code(0);
    assert_eq!(outcome.review()["verdict"], "approved");
    let (conclusion, title) = check(&workflow);
    assert_eq!(conclusion, "cancelled");
    assert!(title.contains("the target branch is release by now"), "{title}");
    assert!(
        outcome.stderr.contains("the check does not pass: "),
        "{}",
        outcome.stderr
    );
    // The next run reviews the merge into that one.
    let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
    call.run().await.expect_code(0);
    assert_eq!(check(&workflow).0, "success");
    assert_eq!(workflow.github.violations(), []);
}

async fn an_approval_that_stands_in_spite_of_the_run_fails_it() {
    let (provider, repository) = (provider().await, Repository::clean());
    repository.git(&["branch", "release", "feature"]);
    let workflow = Workflow::new(&repository).await;
    workflow.github.allow_actions_to_approve(workflow.repository, true);
    let job = workflow.opened(repository.path());
    let arguments = ["--mode", "approve"];
    let review = || workflow.review_in(&job, &repository, &arguments).anthropic(&provider);
    review().run().await.expect_code(0);
    // Nothing is left to review, and the approval was for another target branch.
    workflow.github.retarget(workflow.pull, "release");
    let dismissals = "/repos/*/*/pulls/*/reviews/*/dismissals";
    let fault = Fault::once("PUT", dismissals, FaultKind::NotAccessible);
    workflow.github.inject(fault.times(99));
    let stderr = review().run().await.expect_code(3).stderr;
    assert!(stderr.contains("an earlier approval may stand"), "{stderr}");
    assert_eq!(check(&workflow).0, "failure");
    workflow.github.clear_faults();
    review().run().await.expect_code(0);
    let reviews = workflow.snapshot().reviews;
    assert!(
        reviews.iter().all(|review| review.state != ReviewState::Approved),
        "{reviews:?}"
    );
}

async fn a_job_that_is_cancelled_while_github_asks_to_wait_shows_its_review_all_the_same() {
    use conclave_fake_github::workflow_commands;
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let hour = FaultKind::SecondaryLimit {
        retry_after: Some(3600),
    };
    let fault = Fault::once("POST", "/repos/*/*/pulls/*/reviews", hour);
    workflow.github.inject(fault.times(99));
    let call = workflow
        .review_in(&job, &repository, &["--mode", "gate"])
        .anthropic(&provider);
    let stopped = std::sync::OnceLock::new();
    let outcome = call
        .run_while(|id| {
            let (workflow, stopped) = (&workflow, &stopped);
            async move {
                let is_asked = |write: &conclave_fake_github::RequestRecord| write.path.ends_with("/reviews");
                let asked = async {
                    while !workflow.github.writes().iter().any(is_asked) {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                };
                tokio::time::timeout(PATIENCE, asked).await.expect("it posts findings");
                let id = nix::unistd::Pid::from_raw(i32::try_from(id).unwrap());
                nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
                stopped.set(Instant::now()).unwrap();
            }
        })
        .await
        .expect_code(130);
    // GitHub sends another signal after 7.5 s, and kills then.
    let took = stopped.get().unwrap().elapsed();
    assert!(took < Duration::from_secs(7).mul_f64(crowd()), "{took:?}");
    let finding = "src/users.py:6";
    let checks = workflow.snapshot().checks;
    assert_eq!(
        (checks[0].conclusion.as_deref(), checks[0].title.as_deref()),
        (Some("cancelled"), Some("The review was stopped before its end"))
    );
    let summary = checks[0].summary.as_deref().unwrap();
    assert!(summary.contains(finding), "{summary}");
    assert!(
        checks[0].annotations.concat().contains(finding),
        "{:?}",
        checks[0].annotations
    );
    let summary = job.summary();
    assert!(
        summary.contains(finding) && summary.contains("**Not everything was posted:** the run was stopped"),
        "{summary}"
    );
    let commands = workflow_commands(&outcome.stderr);
    assert!(commands.iter().any(|command| command.name == "error"), "{commands:?}");
    assert_eq!(workflow.github.violations(), []);
}

async fn a_review_that_is_not_finished_or_failed_never_passes_the_check() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // What the one call that the budget allows brings cannot be read, and a second chance is not paid for.
    provider.set_always("generalist", Answer::text("Looks good to me!".to_owned()));
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let cut = workflow
        .review_in(&job, &repository, &["--max-cost-usd", "0.000001"])
        .anthropic(&provider);
    let review = cut.run().await.expect_code(0).review();
    assert_eq!(review["verdict"], "inconclusive");
    assert_eq!(check(&workflow).0, "action_required");
    // A run that cannot begin, because its arguments are wrong.
    let wrong = workflow.review_in(&job, &repository, &["--gate", "blok"]);
    wrong.anthropic(&provider).run().await.expect_code(2);
    assert_eq!(check(&workflow), ("failure".to_owned(), "The review failed".to_owned()));
    // Without a key nothing can be reviewed.
    let failed = workflow.review_in(&job, &repository, &[]).env("CONCLAVE_SECRET", "s");
    failed.run().await.expect_code(2);
    assert_eq!(check(&workflow), ("failure".to_owned(), "The review failed".to_owned()));
    assert_eq!(workflow.github.violations(), []);
}

async fn another_secret_on_github_does_not_pass_the_check() {
    let (seeing, blind, repository) = (provider().await, provider().await, Repository::flawed());
    blind.set_words("generalist", vec![Answer::text("<findings></findings>")]);
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let run = |provider: &ScriptedProvider, secret: &str| {
        let call = workflow.review_in(&job, &repository, &["--mode", "gate", "--gate", "block"]);
        call.anthropic(provider).env("CONCLAVE_SECRET", secret).run()
    };
    run(&seeing, "the first secret").await.expect_code(1);
    assert_eq!(check(&workflow).0, "failure");
    let review = run(&blind, "the second secret").await.expect_code(1).review();
    assert_eq!(review["approval_holds"][0]["cause"], "unreadable_reviews", "{review:#}");
    assert_eq!(check(&workflow).0, "action_required");
    let found = workflow.snapshot();
    let opinions: Vec<_> = found
        .reviews
        .iter()
        .map(|review| review.state)
        .filter(|state| *state != ReviewState::Commented)
        .collect();
    assert_eq!(opinions, [ReviewState::ChangesRequested]);
    assert!(found.threads.iter().all(|thread| thread.resolved_by.is_none()));
    let comments = workflow.comments().concat();
    assert!(comments.contains("signed with another secret"), "{comments}");
    assert_eq!(workflow.github.violations(), []);
}

async fn without_the_right_to_make_checks_there_is_a_status_and_without_that_the_exit_code() {
    use conclave_fake_github::Permissions;
    let (provider, repository) = (provider().await, Repository::flawed());
    let mut workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let write = || Permissions::none().read("contents").write("pull_requests");
    for (permissions, said, status) in [
        (
            write().write("statuses"),
            "there is a commit status in place of a check run",
            Some("failure"),
        ),
        (write(), "only the job's exit code", None),
    ] {
        workflow.token = workflow.github.actions_token(workflow.repository, permissions);
        let call = workflow
            .review_in(&job, &repository, &["--gate", "block"])
            .anthropic(&provider);
        let outcome = call.run().await.expect_code(1);
        assert!(
            outcome.stderr.contains(said) && outcome.stderr.contains("`checks: write`"),
            "{}",
            outcome.stderr
        );
        let found = workflow.snapshot();
        assert_eq!(found.checks, []);
        if let Some(status) = status {
            assert_eq!(found.statuses[0].state, status);
        }
    }
    assert_eq!(workflow.github.violations(), []);
}

async fn a_reading_token_shows_every_finding_in_the_summary_and_says_that_nothing_was_posted() {
    use conclave_fake_github::{Permissions, workflow_commands};
    let (provider, repository) = (provider().await, Repository::flawed());
    let mut workflow = Workflow::new(&repository).await;
    workflow.token = workflow
        .github
        .actions_token(workflow.repository, Permissions::read_only());
    let job = workflow.opened(repository.path());
    for (arguments, code) in [(&[][..], 0), (&["--strict"][..], 4)] {
        let outcome = workflow
            .review_in(&job, &repository, arguments)
            .anthropic(&provider)
            .run()
            .await;
        let outcome = outcome.expect_code(code);
        assert!(
            outcome.stderr.contains("nothing was posted: the token may not"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains("`pull-requests: write`"), "{}", outcome.stderr);
        let commands = workflow_commands(&outcome.stderr);
        let annotations = commands
            .iter()
            .filter(|command| matches!(command.name.as_str(), "error" | "warning"));
        assert!(annotations.count() > 0, "{commands:?}");
        // Ours are all: between them the runner acts on nothing.
        let ours = ["error", "warning", "group", "endgroup", "stop-commands"];
        assert!(
            commands.iter().all(|command| ours.contains(&command.name.as_str())),
            "{commands:?}"
        );
        assert_eq!(commands[0].name, "stop-commands");
        let count = |name: &str| commands.iter().filter(|command| command.name == name).count();
        assert!(
            count("group") > 1 && count("group") == count("endgroup"),
            "{commands:?}"
        );
    }
    let summary = job.summary();
    assert!(
        summary.contains("**Not posted:**") && summary.contains("Significant concerns"),
        "{summary}"
    );
    assert!(summary.contains("src/users.py:6"), "{summary}");
    let found = workflow.snapshot();
    assert_eq!(
        (found.comments.len(), found.threads.len(), found.checks.len()),
        (0, 0, 0)
    );
    assert_eq!(workflow.github.violations(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_names_the_line_for_each_missing_permission_and_writes_nothing() {
    use conclave_fake_github::Permissions;
    let repository = Repository::flawed();
    let mut workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let doctor = || Conclave::new(repository.path(), &["doctor", "--json"]).env("CONCLAVE_RUNTIME", "native");
    let read = || Permissions::none().read("contents").read("pull_requests");
    for (permissions, failures, warnings) in [
        (Permissions::review(), &[][..], &[][..]),
        (read(), &["pull-requests"], &["checks", "statuses"]),
        (read().write("pull_requests"), &[], &["checks", "statuses"]),
        (read().write("pull_requests").write("statuses"), &[], &["checks"]),
    ] {
        workflow.token = workflow.github.actions_token(workflow.repository, permissions);
        let before = workflow.snapshot();
        let call = workflow.in_job(&job, doctor());
        let outcome = call
            .env("ANTHROPIC_API_KEY", "k")
            .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
            .run()
            .await;
        let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        let checks = report["checks"].as_array().unwrap();
        for (status, expected) in [("failure", failures), ("warning", warnings)] {
            let found: Vec<&Value> = checks
                .iter()
                .filter(|check| check["name"].as_str().unwrap().starts_with("permission-") && check["status"] == status)
                .collect();
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (check, name) in found.iter().zip(expected) {
                let line = format!("add `{name}: write` to the `permissions` of the workflow");
                assert!(check["next_step"].as_str().unwrap().starts_with(&line), "{check}");
            }
        }
        assert!(
            checks
                .iter()
                .any(|check| check["name"] == "pull-request" && check["status"] == "ok"),
            "{report:#}"
        );
        assert_eq!(workflow.snapshot(), before);
    }
    // Whether a merge waits for the check is read from the rules; code scanning is asked about where it is wanted.
    for (required, gate) in [(vec![], "warning"), (vec![("conclave".to_owned(), None)], "ok")] {
        let protection = conclave_fake_github::Protection {
            required_checks: required,
            ..Default::default()
        };
        workflow.github.protect(workflow.repository, "main", protection);
        let call = workflow.in_job(&job, doctor());
        let call = call
            .env("ANTHROPIC_API_KEY", "k")
            .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
        let outcome = call.env("CONCLAVE_UPLOAD_SARIF", "true").run().await;
        let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        let status = |name: &str| {
            let mut checks = report["checks"].as_array().unwrap().iter();
            let found = checks.find(|check| check["name"] == name);
            found.unwrap_or_else(|| panic!("no {name}: {report:#}"))["status"].clone()
        };
        assert_eq!(
            (status("gate"), status("permission-security-events")),
            (gate.into(), "warning".into())
        );
    }
    // A person's token makes no check runs, whatever its permissions are, and does not see whether workflows may approve.
    let bob = workflow.member("bob");
    let own = read().write("pull_requests").write("statuses");
    workflow.token = workflow.github.personal_token(bob, own);
    let call = workflow.in_job(&job, doctor());
    let call = call
        .env("ANTHROPIC_API_KEY", "k")
        .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let stdout = call.run().await.stdout;
    assert!(
        stdout.contains("a personal access token cannot make check runs")
            && stdout.contains("whether workflows may approve pull requests cannot be seen with this token")
            && !stdout.contains("add `checks: write`"),
        "{stdout}"
    );
    workflow.token = "ghs_wrong".to_owned();
    let call = workflow
        .in_job(&job, Conclave::new(repository.path(), &["doctor"]))
        .env("ANTHROPIC_API_KEY", "k");
    let outcome = call.run().await.expect_code(1);
    assert!(
        outcome.stdout.contains("GitHub refused the token"),
        "{}",
        outcome.stdout
    );
    assert_eq!(workflow.github.violations(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_reports_what_a_review_refuses() {
    let repository = Repository::flawed();
    let github = FakeGithub::builder().enterprise("3.19.0").start().await;
    let workflow = Workflow::on(github, &repository);
    let elsewhere = tempfile::tempdir().unwrap();
    let examined = async |directory: &std::path::Path, address: &str, secret: &str| -> Value {
        let call = Conclave::new(directory, &["doctor", "--json", "--pr", address]);
        let call = call.env("GITHUB_TOKEN", &workflow.token).env("CONCLAVE_SECRET", secret);
        let outcome = call
            .env("ANTHROPIC_API_KEY", "k")
            .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
        serde_json::from_str(&outcome.run().await.stdout).expect("JSON")
    };
    let check = |report: &Value, name: &str| {
        let checks = report["checks"].as_array().unwrap().iter();
        let found = checks.into_iter().find(|check| check["name"] == name);
        found.map(|check| (check["status"].as_str().unwrap().to_owned(), check.to_string()))
    };
    let address = |number: u32| format!("{}/acme/service/pull/{number}", workflow.github.url());

    // A number that is not there says nothing of the token's rights.
    let report = examined(elsewhere.path(), &address(99), "").await;
    assert_eq!(check(&report, "pull-request").unwrap().0, "failure");
    let (status, text) = check(&report, "permission-pull-requests").unwrap();
    assert!(
        status == "warning" && !text.contains("add `pull-requests: write`"),
        "{text}"
    );

    // The secret, and a repository that is not a clone of the project: a review refuses the latter in the same words.
    let report = examined(elsewhere.path(), &address(1), "").await;
    let (status, text) = check(&report, "secret").unwrap();
    assert!(
        status == "warning" && text.contains("CONCLAVE_SECRET is not set"),
        "{text}"
    );
    assert_eq!(check(&report, "checkout"), None);
    let report = examined(repository.path(), &address(1), "a long random text").await;
    assert_eq!(check(&report, "secret").unwrap().0, "ok");
    let (status, text) = check(&report, "checkout").unwrap();
    assert!(status == "failure" && text.contains("is not a clone of"), "{text}");
    assert_eq!(report["healthy"], false);
    let call = Conclave::new(repository.path(), &["review", "--pr", &address(1)]);
    let call = call.env("GITHUB_TOKEN", &workflow.token).env("ANTHROPIC_API_KEY", "k");
    assert!(call.run().await.expect_code(2).stderr.contains("is not a clone of"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_goes_to_its_own_server_and_a_wrong_address_is_told() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let github = FakeGithub::builder().enterprise("3.19.0").start().await;
    let workflow = Workflow::on(github, &repository);
    let elsewhere = tempfile::tempdir().unwrap();
    let asked = async |address: &str, variables: &[(&str, &str)]| -> String {
        let mut call = Conclave::new(elsewhere.path(), &["review", "--dry-run", "--pr", address]);
        for (name, value) in variables {
            call = call.env(name, value);
        }
        let call = call.env("GITHUB_TOKEN", &workflow.token).anthropic(&provider);
        call.env("CONCLAVE_RUNTIME", "native").run().await.stderr
    };
    let (url, api) = (workflow.github.url(), workflow.github.api_url());
    let page = format!("{url}/acme/service/pull/1");
    workflow.github.forget_requests();
    for (variable, value) in [
        ("GITHUB_SERVER_URL", "https://github.com"),
        ("GITHUB_API_URL", "https://api.github.com"),
    ] {
        let said = asked(&page, &[(variable, value)]).await;
        assert!(
            said.contains(&format!("{variable} is {value}")) && said.contains("is not sent to another server"),
            "{said}"
        );
    }
    let said = asked(&format!("{url}/acme/service/pulls/1"), &[]).await;
    assert!(
        said.contains("where a page has `/pull/`") && said.contains("/acme/service/pull/1"),
        "{said}"
    );
    let said = asked(&format!("{api}/repos/acme/service/pulls/1"), &[]).await;
    assert!(
        said.contains("it is of the API") && said.contains("/acme/service/pull/1"),
        "{said}"
    );
    assert_eq!(workflow.github.requests().len(), 0, "nobody got the token");
    asked(&page, &[("GITHUB_SERVER_URL", url), ("GITHUB_API_URL", &api)]).await;
    assert!(!workflow.github.requests().is_empty());
}

/// A step of the action, with these inputs.
fn action_step(
    id: &str,
    workflow: &Workflow,
    job: &conclave_fake_github::Job,
    inputs: &[(&str, &str)],
) -> (String, Vec<(String, String)>) {
    let text = std::fs::read_to_string(crate::support::repository_root().join("action.yml")).unwrap();
    let action: Value = serde_norway::from_str(&text).expect("YAML");
    let value = |text: &str| {
        let pattern = regex::Regex::new(r"\$\{\{ ([a-z0-9.-]+) \}\}").unwrap();
        let found = pattern.replace_all(text, |found: &regex::Captures<'_>| match found[1].split_once('.') {
            Some(("inputs", name)) => {
                let given = inputs
                    .iter()
                    .find(|(given, _)| *given == name)
                    .map(|(_, value)| (*value).to_owned());
                given.unwrap_or_else(|| {
                    action["inputs"][name]["default"]
                        .as_str()
                        .expect("a default")
                        .to_owned()
                })
            }
            Some(("runner", "temp")) => job.directory().to_string_lossy().into_owned(),
            _ => panic!("what is {}?", &found[1]),
        });
        found.replace("${{ github.token }}", &workflow.token)
    };
    let steps = action["runs"]["steps"].as_array().unwrap();
    for step in steps {
        assert!(
            !step["run"].as_str().unwrap().contains("${{"),
            "nothing is expanded into a command"
        );
    }
    let step = steps.iter().find(|step| step["id"] == id).unwrap();
    let variables = step["env"].as_object().unwrap().iter();
    let variables = variables
        .map(|(name, text)| (name.clone(), value(text.as_str().unwrap())))
        .collect();
    (step["run"].as_str().unwrap().to_owned(), variables)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_action_hands_its_inputs_on_as_variables_and_its_outputs_back() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let reports = job.directory().join("reports");
    let name = "$(touch pwned) `touch pwned`";
    let inputs = [
        ("check-name", name),
        ("secret", "a long random text"),
        ("reports", reports.to_str().unwrap()),
    ];
    let (script, variables) = action_step("review", &workflow, &job, &inputs);
    let call = workflow.in_job(&job, Conclave::script(repository.path(), &script, "run"));
    let call = variables.iter().fold(call, |call, (name, value)| call.env(name, value));
    let outcome = call
        .env("CONCLAVE_OUTPUT", job.directory().join("run"))
        // The job's own: one for an input that is empty, and one for an input that is not.
        .env("CONCLAVE_GATE", "block")
        .env("CONCLAVE_CHECK_NAME", "the job's own")
        .anthropic(&provider)
        .run()
        .await;
    outcome.expect_code(1);
    assert!(!repository.path().join("pwned").exists());
    let checks = workflow.snapshot().checks;
    assert_eq!(
        (checks[0].name.as_str(), checks[0].conclusion.as_deref()),
        (name, Some("failure"))
    );
    assert!(job.output().contains("\nsignificant_concerns\n"), "{}", job.output());
    assert!(reports.join("review.json").exists());
    assert_eq!(workflow.github.violations(), []);
}

async fn findings_are_handed_to_code_scanning_on_request() {
    use conclave_fake_github::Permissions;
    let (provider, repository) = (provider().await, Repository::flawed());
    let mut workflow = Workflow::new(&repository).await;
    workflow.github.set_code_scanning(workflow.repository, true);
    let job = workflow.opened(repository.path());
    let run = async |workflow: &Workflow, arguments: &[&str]| {
        let call = workflow.review_in(&job, &repository, arguments).anthropic(&provider);
        call.run().await.expect_code(0).stderr
    };
    run(&workflow, &[]).await;
    assert_eq!(workflow.github.sarifs(workflow.repository).len(), 0, "only on request");
    // Without the right it is said which, and the review is posted all the same.
    let said = run(&workflow, &["--upload-sarif"]).await;
    assert!(said.contains("`security-events: write`"), "{said}");
    let permissions = Permissions::review().write("security_events");
    workflow.token = workflow.github.actions_token(workflow.repository, permissions);
    let said = run(&workflow, &["--upload-sarif"]).await;
    assert!(said.contains("handed to code scanning"), "{said}");
    let [[commit, reference, log]] = &workflow.github.sarifs(workflow.repository)[..] else {
        panic!("one upload")
    };
    assert_eq!(commit, &workflow.github.head(workflow.pull));
    assert_eq!(reference, "refs/pull/1/head");
    // The stand-in refuses what is not compressed SARIF.
    assert!(!log.is_empty());
    workflow.github.set_code_scanning(workflow.repository, false);
    let said = run(&workflow, &["--upload-sarif"]).await;
    assert!(said.contains("has to have it switched on"), "{said}");
    assert_eq!(workflow.github.violations(), []);
}

/// The command of a workflow's step in `templates/github`.
fn template_step(file: &str, step: usize) -> String {
    let path = crate::support::repository_root().join("templates/github").join(file);
    let workflow: Value = serde_norway::from_str(&std::fs::read_to_string(path).unwrap()).expect("YAML");
    let jobs = workflow["jobs"].as_object().unwrap();
    let job = jobs.values().next().unwrap();
    job["steps"][step]["run"].as_str().expect("a command").to_owned()
}

/// Files that a fork's job may have changed on their way, each with what is said of it. `numbers` are those of the fork's own pull
/// request and of another one with the same commit.
fn tampered_files((own, other): (u64, u64), head: &str) -> Vec<(String, &'static str)> {
    vec![
        // The branch's pull request has the same commit, in another repository.
        (
            format!("{{\"number\": {other}, \"head\": \"{head}\"}}"),
            "of the same commit in the repository with the number",
        ),
        (
            "{\"number\": 99, \"head\": \"HEAD\"}".into(),
            "names another commit than the run was of",
        ),
        (
            "{\"number\": \"1; curl evil.example\", \"head\": \"x\"}".into(),
            "and nothing else",
        ),
        (
            "{\"number\": 1, \"head\": \"x\", \"verdict\": \"approved\"}".into(),
            "and nothing else",
        ),
        ("[]".into(), "and nothing else"),
        (format!("[{own}, \"{head}\"]"), "and nothing else"),
        (String::new(), "and nothing else"),
        (" ".repeat(2_000), "not a small file"),
    ]
}

async fn a_fork_is_reviewed_in_two_stages_and_what_was_tampered_with_in_between_is_rejected() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let mut workflow = Workflow::new(&repository).await;
    let mallory = workflow.github.create_user("mallory");
    let fork = workflow.github.fork(workflow.repository, mallory);
    let of_branch = workflow.pull;
    let new = conclave_fake_github::NewPull::new(mallory, "feature", "main").from_fork(fork);
    workflow.pull = workflow.github.open_pull(workflow.repository, new);
    // The base is all that is checked out.
    repository.git(&["checkout", "--quiet", "main"]);

    // The first process: the fork's own job, without secrets, which hands on a file.
    let untrusted = workflow
        .github
        .job(workflow.pull, &JobEvent::PullRequest("opened"), repository.path());
    let handed_on = untrusted.directory().join("pull-request.json");
    let status = std::process::Command::new("bash")
        .args(["-euc", &template_step("fork-1-untrusted.yml", 0)])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .envs(&untrusted.variables)
        .status()
        .unwrap();
    assert!(status.success());
    let honest = std::fs::read_to_string(&handed_on).unwrap();

    // The second one: on the default branch, with secrets.
    let run = workflow.github.add_workflow_run(workflow.pull, "pull_request");
    let trusted = workflow
        .github
        .job(workflow.pull, &JobEvent::WorkflowRun(run), repository.path());
    let file = repository.path().join("handed-on/pull-request.json");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    let review = |content: &str| {
        std::fs::write(&file, content).unwrap();
        let script = template_step("fork-2-trusted.yml", 1).replace("--reports conclave-reports", "");
        let call = Conclave::script(repository.path(), &script, "unused");
        let call = workflow.in_job(&trusted, call).anthropic(&provider);
        call.env("CONCLAVE_OUTPUT", trusted.directory().join("records")).run()
    };
    let number = workflow.pull.number;
    let head = workflow.github.head(workflow.pull);
    for (tampered, said) in tampered_files((number, of_branch.number), &head) {
        let outcome = review(&tampered).await.expect_code(2);
        // Once, and nothing is said of an approval: the pull request is not this job's.
        assert_eq!(
            (
                outcome.stderr.matches(said).count(),
                outcome.stderr.contains("may stand")
            ),
            (1, false),
            "{tampered}:\n{}",
            outcome.stderr
        );
    }
    assert_eq!(
        (workflow.github.writes().len(), provider.requests().len()),
        (0, 0),
        "nothing was posted, no model asked"
    );
    // A link to a file of the machine.
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
    let call = workflow
        .in_job(&trusted, Conclave::new(repository.path(), &["review"]))
        .anthropic(&provider);
    let outcome = call.env("CONCLAVE_HANDED_ON", &file).run().await.expect_code(2);
    assert!(outcome.stderr.contains("not a small file"), "{}", outcome.stderr);
    std::fs::remove_file(&file).unwrap();

    // The head of the pull request must not be checked out beside the secrets.
    repository.git(&["checkout", "--quiet", "feature"]);
    let stderr = review(&honest).await.expect_code(2).stderr;
    assert!(
        stderr.contains("secrets (`workflow_run`) and has checked out the code of the pull request"),
        "{stderr}"
    );
    repository.git(&["checkout", "--quiet", "main"]);

    review(&honest).await.expect_code(0);
    let found = workflow.github.snapshot(workflow.pull);
    assert!(!found.threads.is_empty() && found.comments.len() == 1, "{number}");
    assert_eq!(found.checks[0].conclusion.as_deref(), Some("failure"));
    assert!(workflow.github.snapshot(of_branch).comments.is_empty());

    // A push after the first workflow ran is left to its own.
    let before = workflow.github.writes().len();
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.write("src/more.py", "more = 1\n");
    repository.git(&["add", "src/more.py"]);
    repository.git(&["commit", "--quiet", "-m", "More"]);
    workflow.github.push(fork, repository.path(), "feature");
    repository.git(&["checkout", "--quiet", "main"]);
    let outcome = review(&honest).await.expect_code(2);
    assert!(
        outcome.stderr.contains("if there was a push meanwhile"),
        "{}",
        outcome.stderr
    );
    assert_eq!(workflow.github.writes().len(), before);
    assert_eq!(workflow.github.violations(), []);
}
