//! What a repository remembers: people turn a finding down, and reviews learn from it.

use conclave_fake_gitlab::{AccessLevel, MergeRequestRef, NewMergeRequest};
use conclave_shared::telemetry::Event;
use serde_json::{Value, json};

use crate::support::{Conclave, PROJECT, Pipeline, Repository, Workers, provider};

on_both_runtimes! {
    what_was_turned_down_in_two_merge_requests_is_left_out_of_the_third_until_it_is_cleared
    reviewers_hear_of_hot_spots_and_what_is_critical_stands_whatever_was_learned
}

const CATEGORY: &str = "mutable-default-argument";
const BRANCHES: [&str; 3] = ["feature", "feature-2", "feature-3"];

/// Three branches that make the same mistake.
fn repository() -> Repository {
    let repository = Repository::new();
    for branch in BRANCHES {
        repository.git(&["checkout", "--quiet", "-b", branch, "main"]);
        repository.write(
            "src/basket.py",
            "def add(item, basket=[]):\n    basket.append(item)\n    return basket\n",
        );
        repository.commit("Fill baskets");
    }
    repository
}

impl Pipeline {
    fn tracked(&self, of: MergeRequestRef, repository: &Repository, tracker: &str, arguments: &[&str]) -> Conclave {
        self.job_of(of, repository, arguments)
            .env("CONCLAVE_TRACKER_URL", tracker)
            .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
            .env("CONCLAVE_SECRET", Workers::SECRET)
    }

    /// A member who has not written the change answers in the thread of the mistake: its author would teach nothing.
    fn answer(&self, of: MergeRequestRef, text: &str) {
        let member = self.gitlab.create_user(&format!("member-{}", of.iid));
        self.gitlab.add_member(of.project, member, AccessLevel::Developer);
        let snapshot = self.gitlab.snapshot(of);
        let thread = snapshot
            .threads
            .iter()
            .find(|thread| thread.notes[0].body.contains(CATEGORY));
        self.gitlab
            .reply(of, member, &thread.expect("it has a thread").id, text);
    }
}

/// The entry of the mistake in a review.
fn entry(review: &Value) -> &Value {
    let findings = review["findings"].as_array().expect("findings");
    let of = |entry: &&Value| entry["finding"]["category"] == CATEGORY;
    findings.iter().find(of).expect("it was found")
}

fn memory(workers: &Workers, arguments: &[&str]) -> Conclave {
    let mut all = vec!["memory"];
    all.extend(arguments);
    Conclave::new(std::path::Path::new("/"), &all).env("CONCLAVE_TRACKER_URL", &workers.tracker_url)
}

async fn what_was_turned_down_in_two_merge_requests_is_left_out_of_the_third_until_it_is_cleared() {
    let (provider, repository, mut workers) = (provider().await, repository(), Workers::tracker().await);
    let pipeline = Pipeline::new(&repository).await;
    let url = workers.tracker_url.clone();
    let open = |branch: &str| {
        let new = NewMergeRequest::new(pipeline.author, branch, "main");
        pipeline
            .gitlab
            .create_merge_request(pipeline.merge_request.project, new)
    };
    let [second, third] = [BRANCHES[1], BRANCHES[2]].map(open);
    for (number, merge_request) in [pipeline.merge_request, second].into_iter().enumerate() {
        let job = || {
            pipeline
                .tracked(merge_request, &repository, &url, &[])
                .anthropic(&provider)
        };
        let review = job().run().await.expect_code(0).review();
        assert_eq!(entry(&review)["fate"], "kept", "once is not enough");
        pipeline.answer(merge_request, "won't fix");
        let review = job().run().await.expect_code(0).review();
        assert_eq!(review["settled"][0]["outcome"], "rejected", "{review:#}");
        // A third run of the same merge request does not count again.
        workers
            .rows("SELECT * FROM memory", |rows| rows.len() == number + 1)
            .await;
    }

    let dry = || {
        pipeline
            .tracked(third, &repository, &url, &["--dry-run"])
            .anthropic(&provider)
    };
    let outcome = dry().run().await.expect_code(0);
    let review = outcome.review();
    let suppressed = entry(&review);
    assert_eq!(
        (&suppressed["fate"], &suppressed["reason_code"]),
        (&json!("dropped"), &json!("suppressed"))
    );
    assert!(
        suppressed["reason"].as_str().unwrap().contains("in 2 changes"),
        "{suppressed:#}"
    );
    assert_eq!(review["verdict"], "approved");
    assert!(
        outcome
            .stdout
            .contains("1 finding is left out, because people of this repository"),
        "{}",
        outcome.stdout
    );
    // It was taken out before there was anything to judge.
    assert_eq!(review["coordinator"]["outcome"], "skipped", "no judge is asked");

    // Shown, and cleared by whoever may.
    let shown = memory(&workers, &["show", "--project", PROJECT])
        .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
        .run()
        .await
        .expect_code(0);
    let lines = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [CATEGORY, "src/basket.py", "left out", "in the changes 2, 1"] {
        assert!(lines.contains(part), "{part} is missing in\n{lines}");
    }
    let refused = memory(&workers, &["clear", "--project", PROJECT, "--yes"])
        .env("CONCLAVE_TRACKER_OPERATOR_TOKEN", Workers::INGEST_TOKEN)
        .run()
        .await
        .expect_code(2);
    assert!(refused.stderr.contains("OPERATOR_TOKENS"), "{}", refused.stderr);
    let clear = |arguments: &[&str]| {
        let mut all = vec!["clear", "--project", PROJECT];
        all.extend(arguments);
        memory(&workers, &all).env("CONCLAVE_TRACKER_OPERATOR_TOKEN", Workers::OPERATOR_TOKEN)
    };
    let unasked = clear(&[]).run().await.expect_code(2);
    assert!(unasked.stderr.contains("add --yes to go on"), "{}", unasked.stderr);
    let cleared = clear(&["--yes", "--json"]).run().await.expect_code(0);
    let cleared: Value = serde_json::from_str(&cleared.stdout).expect("JSON");
    assert_eq!(cleared, json!({"project": PROJECT, "forgotten": 2}));
    let review = dry().run().await.expect_code(0).review();
    assert_eq!(entry(&review)["fate"], "kept", "forgotten, it comes back");
    assert_eq!(pipeline.gitlab.violations(), []);
}

/// A settled finding, as a job of an earlier merge request would have told it.
fn outcome(number: u64, body: &Value) -> Value {
    let mut event = json!({
        "type": "finding_outcome", "reviewer": "security", "severity": "critical", "path": "src/users.py",
        "merge_request": number,
    });
    for (name, value) in body.as_object().expect("an object") {
        event[name] = value.clone();
    }
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let now = u64::try_from(now.as_millis()).unwrap();
    let event = json!({
        "id": uuid::Uuid::now_v7(), "schema": 1, "at_ms": now - number,
        "run_id": uuid::Uuid::now_v7(), "project": PROJECT, "event": event,
    });
    // Without a signature it would teach nothing.
    let mut event: Event = serde_json::from_value(event).expect("an event");
    event.sign(Workers::SECRET.as_bytes());
    json!(event)
}

async fn tell(workers: &Workers, events: Vec<Value>) {
    let response = reqwest::Client::new()
        .post(format!("{}/v1/events", workers.tracker_url))
        .bearer_auth(Workers::INGEST_TOKEN)
        .json(&json!({ "events": events }))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 202, "{}", response.text().await.unwrap());
}

async fn reviewers_hear_of_hot_spots_and_what_is_critical_stands_whatever_was_learned() {
    let (provider, repository, mut workers) = (provider().await, Repository::flawed(), Workers::tracker().await);
    let pipeline = Pipeline::new(&repository).await;
    let url = workers.tracker_url.clone();
    let job = |arguments: &[&str]| {
        pipeline
            .tracked(pipeline.merge_request, &repository, &url, arguments)
            .anthropic(&provider)
    };
    let fixed = |number: u64, category: &str| {
        let body = json!({"category": category, "fingerprint": format!("f{number}"), "outcome": "fixed"});
        outcome(number, &body)
    };
    let events =
        [(103, "naming"), (104, "sql-injection"), (105, "naming")].map(|(number, category)| fixed(number, category));
    tell(&workers, events.to_vec()).await;
    workers.rows("SELECT * FROM memory", |rows| rows.len() == 3).await;
    let before = job(&["--dry-run", "--no-memory"]).run().await.expect_code(0);
    assert!(
        !before.record("shared-mr-context.txt").contains("hot_spots"),
        "switched off, it is as if nothing were remembered"
    );
    let review = before.review();
    let sql = |review: &Value| {
        let findings = review["findings"].as_array().expect("findings").clone();
        let of = |entry: &Value| entry["finding"]["category"] == "sql-injection";
        findings.into_iter().find(of).expect("it was found")
    };
    let found = sql(&review);
    assert_eq!(found["finding"]["severity"], "critical");
    let rejected = json!({
        "category": "sql-injection", "fingerprint": found["finding"]["fingerprint"], "outcome": "rejected",
    });
    tell(&workers, [101, 102].map(|number| outcome(number, &rejected)).to_vec()).await;
    workers.rows("SELECT * FROM memory", |rows| rows.len() == 5).await;

    let asked = provider.requests().len();
    let after = job(&[]).run().await.expect_code(0);
    let context = after.record("shared-mr-context.txt");
    assert!(
        context.contains("- src/users.py: 3 fixed (naming, sql-injection)"),
        "{context}"
    );
    assert!(context.contains("</hot_spots_"), "{context}");
    let later = &provider.requests()[asked..];
    assert!(
        later
            .iter()
            .any(|request| request.agent != "coordinator" && request.text().contains("3 fixed (naming")),
        "reviewers read it"
    );
    let review = after.review();
    let found = sql(&review);
    assert_eq!(
        (&found["fate"], &found["finding"]["severity"]),
        (&json!("kept"), &json!("critical"))
    );
    assert_eq!(review["verdict"], "significant_concerns");
    let notes = pipeline.notes().concat();
    assert!(
        notes.contains("turned down the same as the finding on"),
        "the review says so: {notes}"
    );

    // The repository does not want it.
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write(".conclave.toml", "[review]\nmemory = false\n");
    repository.commit("No memory");
    pipeline
        .gitlab
        .push(pipeline.merge_request.project, repository.path(), "main");
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.git(&["rebase", "--quiet", "main"]);
    repository.write(
        "src/users.py",
        &format!(
            "{}\n",
            std::fs::read_to_string(repository.path().join("src/users.py")).unwrap()
        ),
    );
    repository.commit("Another line");
    pipeline
        .gitlab
        .push(pipeline.merge_request.project, repository.path(), "feature");
    let without = job(&["--dry-run"]).run().await.expect_code(0);
    assert!(!without.record("shared-mr-context.txt").contains("hot_spots"));
    assert_eq!(sql(&without.review())["finding"]["severity"], "critical");
}
