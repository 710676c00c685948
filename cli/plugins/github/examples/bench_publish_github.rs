//! `scripts/bench publish`, its half for GitHub: the requests of a first review with 20 findings, and of an unchanged one after it, from
//! reading the pull request to the read-back. The server counts them.
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

use std::{collections::HashMap, path::Path, process::Command};

use conclave_engine::{
    diff::{DiffLimits, DiffReader, FileDiff},
    ports::{Forge, NoSettings, Publication, PublishSettings},
    review::{JudgedFinding, Review, ReviewMode},
};
use conclave_fake_github::FakeGithub;
use conclave_shared::{
    finding::{Finding, fingerprint},
    verdict::Verdict,
};
use serde_json::{Value, json};
use stage::Stage;

const FINDINGS: usize = 20;
const MAX_FIRST: usize = 12;
const MAX_AGAIN: usize = 8;

fn finding(number: usize) -> JudgedFinding {
    let file = format!("src/file{number:02}.py");
    let evidence = format!("added {number}");
    let entry = sample::finding(&format!("Problem {number} is one."), &evidence);
    JudgedFinding {
        finding: Finding {
            fingerprint: fingerprint(&file, "injection", &evidence),
            file,
            line: 3,
            end_line: number.is_multiple_of(2).then_some(4),
            ..entry.finding
        },
        ..entry
    }
}

fn diff(repository: &Path, base: &str, head: &str) -> Vec<FileDiff> {
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["diff", "--raw", "--patch", "-z", "--no-abbrev", "--full-index"])
        .args([base, head])
        .output()
        .unwrap();
    let mut reader = DiffReader::new(DiffLimits::default(), Vec::new());
    reader.push(&output.stdout).unwrap();
    reader.finish().unwrap().0.files
}

/// Posts the review; returns the requests and the writes.
async fn run(stage: &Stage, mode: ReviewMode) -> (usize, usize) {
    let found = stage.snapshot();
    let files = diff(
        &stage.github.repository_path(stage.repository),
        &found.merge_base,
        &found.head,
    );
    let review = Review {
        findings: (0..FINDINGS).map(finding).collect(),
        ..sample::review(&found.head, Verdict::MinorIssues)
    };
    stage.github.forget_requests();
    let publisher = stage.plugin();
    publisher.load().await.unwrap();
    let publication = Publication {
        review: &review,
        files: &files,
        sources: &HashMap::new(),
        settings: PublishSettings {
            mode,
            ..PublishSettings::default()
        },
        hurried: false,
        settings_watch: &NoSettings,
    };
    let outcome = publisher.publish(publication).await.unwrap();
    assert_eq!(outcome.warnings, Vec::<String>::new());
    (stage.github.requests().len(), stage.github.writes().len())
}

#[tokio::main]
async fn main() {
    let names: Vec<String> = (0..FINDINGS).map(|number| format!("src/file{number:02}.py")).collect();
    let files = |text: &'static str| -> Vec<(&str, Option<&str>)> {
        names.iter().map(|name| (name.as_str(), Some(text))).collect()
    };
    let (base, head) = (files("one\ntwo\nlast\n"), files("one\ntwo\nthree\nfour\nlast\n"));
    let mut results: Vec<Value> = Vec::new();
    let mut holds = true;
    for (name, mode) in [("comment", ReviewMode::Comment), ("gate", ReviewMode::Gate)] {
        let stage = Stage::of_change(FakeGithub::builder(), &base, &head).await;
        let (first, _) = run(&stage, mode).await;
        let (again, writes) = run(&stage, mode).await;
        let threads = stage.snapshot().threads.len();
        holds &= first <= MAX_FIRST && again <= MAX_AGAIN && writes == 0 && threads == FINDINGS;
        results
            .push(json!({ "mode": name, "first": first, "again": again, "again_writes": writes, "threads": threads }));
    }
    let result = json!({
        "benchmark": "publish",
        "forge": "github",
        "findings": FINDINGS,
        "runs": results,
        "first_at_most": MAX_FIRST,
        "again_at_most": MAX_AGAIN,
        "held": holds,
    });
    println!("{result:#}");
    if !holds {
        std::process::exit(1);
    }
}
