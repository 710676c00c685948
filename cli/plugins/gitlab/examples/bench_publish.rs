//! `scripts/bench publish`: 200 findings on a merge request of 300 files with 500 threads, on a GitLab that takes 50 ms for
//! every request and lets a user post 300 notes a minute.
//!
//! Three runs, each the whole way from reading the merge request to the read-back: the first posts everything, the second is the
//! same once more, the third has five other findings. Requests are counted by the server.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers, without users"
)]

#[path = "../../../forge/tests/conformance/sample.rs"]
mod sample;
/// Where the stage looks for it.
mod conformance {
    pub(crate) use crate::sample;
}
#[path = "../tests/publisher/stage.rs"]
#[expect(dead_code, reason = "the tests need more of it than this does")]
mod stage;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use conclave_engine::{
    ports::{Forge, Publication, PublishSettings},
    review::{JudgedFinding, Review, ReviewMode},
};
use conclave_fake_gitlab::{FakeGitlab, Options, RequestRecord, Tier};
use conclave_plugin_gitlab::GitLab;
use conclave_shared::{
    finding::{Finding, fingerprint},
    severity::Severity,
    verdict::Verdict,
};
use serde_json::{Value, json};
use stage::Stage;

const FILES: usize = 300;
const FINDINGS: usize = 200;
const THREADS: usize = 500;
const LATENCY: Duration = Duration::from_millis(50);
const NOTES_PER_MINUTE: usize = 300;

/// Requests beyond pages, new and changed notes; one of them asks for the tip of the target branch.
const MAX_OTHER_REQUESTS: usize = 7;
const MAX_SECONDS: f64 = 5.0;

fn finding(number: usize, round: usize) -> JudgedFinding {
    let file = format!("src/file{:03}.py", number % FILES);
    let evidence = format!("added {number} in round {round}");
    let entry = sample::finding(&format!("Problem {number} is one."), &evidence);
    JudgedFinding {
        finding: Finding {
            fingerprint: fingerprint(&file, "injection", &evidence),
            file,
            line: 3,
            end_line: number.is_multiple_of(2).then_some(4),
            severity: if number.is_multiple_of(10) {
                Severity::Critical
            } else {
                Severity::Warning
            },
            ..entry.finding
        },
        ..entry
    }
}

/// What a run did, by the server's books.
struct Run {
    seconds: f64,
    pages: usize,
    new: usize,
    changed: usize,
    requests: usize,
}

impl Run {
    fn of(requests: &[RequestRecord], seconds: f64) -> Self {
        let count = |is: fn(&RequestRecord) -> bool| requests.iter().filter(|request| is(request)).count();
        let posted = |request: &RequestRecord| {
            request.method == "POST" && (request.path.ends_with("/discussions") || request.path.ends_with("/notes"))
        };
        Self {
            seconds,
            pages: count(|request| request.method == "GET" && request.path.ends_with("/discussions")),
            new: requests.iter().filter(|request| posted(request)).count(),
            changed: requests
                .iter()
                .filter(|request| request.is_write() && !posted(request))
                .count(),
            requests: requests.len(),
        }
    }

    fn most_requests(&self) -> usize {
        self.pages + self.new + self.changed + MAX_OTHER_REQUESTS
    }

    fn json(&self) -> Value {
        json!({
            "seconds": (self.seconds * 1000.0).round() / 1000.0,
            "requests": self.requests,
            "requests_at_most": self.most_requests(),
            "pages": self.pages,
            "new": self.new,
            "changed": self.changed,
        })
    }
}

async fn run(stage: &Stage, findings: Vec<JudgedFinding>) -> Run {
    let files = stage.files();
    let review = Review {
        findings,
        ..stage.review(Verdict::SignificantConcerns)
    };
    stage.gitlab.forget_requests();
    let started = Instant::now();
    let gitlab = GitLab::publisher(&stage.settings(), None).unwrap();
    gitlab.load().await.unwrap();
    let publication = Publication {
        review: &review,
        files: &files,
        sources: &HashMap::new(),
        settings: PublishSettings {
            mode: ReviewMode::Gate,
            max_inline: FINDINGS,
            ..PublishSettings::default()
        },
        hurried: false,
        settings_watch: &conclave_engine::ports::NoSettings,
    };
    let outcome = gitlab.publish(publication).await.unwrap();
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(outcome.warnings, Vec::<String>::new());
    Run::of(&stage.gitlab.requests(), seconds)
}

#[tokio::main]
async fn main() {
    let names: Vec<String> = (0..FILES).map(|number| format!("src/file{number:03}.py")).collect();
    let base: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), Some("one\ntwo\nlast\n")))
        .collect();
    let head: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), Some("one\ntwo\nthree\nfour\nlast\n")))
        .collect();
    let builder = FakeGitlab::builder().options(Options {
        tier: Tier::Premium,
        ..Options::default()
    });
    let stage = Stage::of_change(builder, &base, &head).await;
    for number in 0..THREADS {
        let text = format!("Thread {number}");
        stage
            .gitlab
            .start_thread(stage.merge_request, stage.human, &text, &Value::Null);
    }
    stage.gitlab.configure(|options| {
        options.latency = LATENCY;
        options.notes_per_minute = Some(NOTES_PER_MINUTE);
    });

    let findings = || (0..FINDINGS).map(|number| finding(number, 1)).collect::<Vec<_>>();
    let first = run(&stage, findings()).await;
    let second = run(&stage, findings()).await;
    let writes = stage.gitlab.writes().len();
    let mut other = findings();
    for (number, entry) in other.iter_mut().enumerate().take(5) {
        *entry = finding(number, 2);
    }
    let third = run(&stage, other).await;
    let threads = stage.gitlab.snapshot(stage.merge_request).threads.len();

    let holds = [&first, &second, &third]
        .iter()
        .all(|run| run.requests <= run.most_requests())
        && first.seconds <= MAX_SECONDS
        && writes == 0
        && threads == THREADS + FINDINGS + 5;
    let result = json!({
        "benchmark": "publish",
        "files": FILES,
        "findings": FINDINGS,
        "threads_before": THREADS,
        "latency_ms": LATENCY.as_millis(),
        "notes_per_minute": NOTES_PER_MINUTE,
        "first": first.json(),
        "first_seconds_at_most": MAX_SECONDS,
        "again": second.json(),
        "again_writes": writes,
        "five_others": third.json(),
        "held": holds,
    });
    println!("{result:#}");
    if !holds {
        std::process::exit(1);
    }
}
