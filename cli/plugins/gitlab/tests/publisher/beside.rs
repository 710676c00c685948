//! Findings beside their lines: on the right ones, once, and never lost.

use conclave_engine::{
    ports::PublishSettings,
    review::{FindingRecord, JudgedFinding, Review},
};
use conclave_fake_gitlab::{FakeGitlab, Fault, FaultKind, ThreadSnapshot};
use conclave_shared::{
    finding::{Finding, fingerprint},
    severity::Severity,
    verdict::Verdict,
};
use serde_json::{Value, json};

use crate::{
    conformance::sample::{self, Files},
    stage::{BOT, Stage},
};

const DISCUSSIONS: &str = "/projects/{id}/merge_requests/{iid}/discussions";

const BASE: &Files<'_> = &[
    (
        "src/a.py",
        Some("a1\na2\na3\na4\na5\na6\na7\na8\na9\na10\na11\na12\na13\na14\na15\na16\n"),
    ),
    ("old.py", Some("r1\nr2\nr3\nr4\nr5\nr6\nr7\nr8\n")),
    ("gone.py", Some("g1\ng2\n")),
    ("image.bin", Some("a\0b")),
];
const HEAD: &Files<'_> = &[
    (
        "src/a.py",
        Some("a1\na3\na4\nnew one\nnew two\na5\na6\na7\na8\na9\na10\na11\na12\na13\na14\na15\na16\n"),
    ),
    ("old.py", None),
    ("new.py", Some("r1\nr2\nr3\nr4\nr5\nr6\nr7\nR8\n")),
    ("gone.py", None),
    ("fresh.py", Some("f1\nf2\nf3\n")),
    ("image.bin", Some("a\0c")),
];

async fn stage() -> Stage {
    Stage::of_change(FakeGitlab::builder(), BASE, HEAD).await
}

/// A warning about these lines.
fn at(file: &str, lines: (u32, u32), evidence: &str) -> JudgedFinding {
    let entry = sample::finding(&format!("Something is wrong with {evidence}."), evidence);
    JudgedFinding {
        finding: Finding {
            file: file.to_owned(),
            line: lines.0,
            end_line: (lines.1 > lines.0).then_some(lines.1),
            fingerprint: fingerprint(file, "injection", evidence),
            ..entry.finding
        },
        ..entry
    }
}

fn review(stage: &Stage, findings: Vec<JudgedFinding>) -> Review {
    Review {
        findings,
        ..stage.review(Verdict::MinorIssues)
    }
}

fn threads(stage: &Stage) -> Vec<ThreadSnapshot> {
    stage.gitlab.snapshot(stage.merge_request).threads
}

/// Where the threads are: kind, paths, lines, and whether it is several.
fn places(stage: &Stage) -> Vec<Value> {
    threads(stage)
        .iter()
        .map(|thread| {
            let place = thread.position.as_ref().unwrap();
            json!([
                place.kind,
                place.old_path,
                place.new_path,
                place.old_line,
                place.new_line,
                place.multi_line
            ])
        })
        .collect()
}

fn summary(stage: &Stage) -> String {
    let notes = stage.gitlab.snapshot(stage.merge_request).notes;
    let mut own = notes.into_iter().filter(|note| note.author == BOT);
    let body = own.next().unwrap().body;
    assert_eq!(own.next(), None, "there is one summary");
    body
}

#[tokio::test]
async fn every_kind_of_line_has_its_position() {
    for (lines, finding, place) in [
        (
            "an added line",
            at("src/a.py", (4, 4), "new one"),
            json!(["text", "src/a.py", "src/a.py", null, 4, false]),
        ),
        (
            "several added lines",
            at("src/a.py", (4, 5), "new"),
            json!(["text", "src/a.py", "src/a.py", null, 5, true]),
        ),
        (
            "a context line",
            at("src/a.py", (3, 3), "a4"),
            json!(["text", "src/a.py", "src/a.py", 4, 3, false]),
        ),
        (
            "from context to added",
            at("src/a.py", (2, 5), "a3"),
            json!(["text", "src/a.py", "src/a.py", null, 5, true]),
        ),
        (
            "from added to context",
            at("src/a.py", (5, 6), "x"),
            json!(["text", "src/a.py", "src/a.py", 5, 6, true]),
        ),
        (
            "outside of the hunks",
            at("src/a.py", (15, 15), "a14"),
            json!(["text", "src/a.py", "src/a.py", 14, 15, false]),
        ),
        (
            "several outside",
            at("src/a.py", (14, 15), "a13"),
            json!(["text", "src/a.py", "src/a.py", 14, 15, true]),
        ),
        (
            "of a renamed file",
            at("new.py", (8, 8), "R8"),
            json!(["text", "old.py", "new.py", null, 8, false]),
        ),
        (
            "context of it",
            at("new.py", (7, 7), "r7"),
            json!(["text", "old.py", "new.py", 7, 7, false]),
        ),
        (
            "a new file",
            at("fresh.py", (1, 3), "f"),
            json!(["text", "fresh.py", "fresh.py", null, 3, true]),
        ),
        (
            "a removed file",
            at("gone.py", (1, 2), "g"),
            json!(["text", "gone.py", "gone.py", 2, null, true]),
        ),
        (
            "a binary file",
            at("image.bin", (1, 1), "b"),
            json!(["file", "image.bin", "image.bin", null, null, false]),
        ),
    ] {
        let stage = stage().await;
        let outcome = stage
            .run_with(&review(&stage, vec![finding]), PublishSettings::default())
            .await;
        assert_eq!(outcome.warnings, Vec::<String>::new(), "{lines}");
        assert_eq!((outcome.posted_inline, places(&stage)), (1, vec![place]), "{lines}");
        let refused = stage
            .gitlab
            .writes()
            .iter()
            .filter(|request| request.status == Some(400))
            .count();
        assert_eq!(refused, 0, "{lines}: the first position is the right one");
    }
}

#[tokio::test]
async fn a_refused_position_becomes_the_last_line_then_the_file_then_the_summary() {
    let line_code = FaultKind::Answer {
        status: 400,
        content_type: "application/json".to_owned(),
        body:
            r#"{"message":"400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}"}"#
                .to_owned(),
    };
    let finding = || at("src/a.py", (4, 5), "new one\nnew two");
    for (refusals, place) in [
        (1, Some(json!(["text", "src/a.py", "src/a.py", null, 5, false]))),
        (2, Some(json!(["file", "src/a.py", "src/a.py", null, null, false]))),
        (3, None),
    ] {
        let stage = stage().await;
        stage
            .gitlab
            .inject(Fault::once("POST", DISCUSSIONS, line_code.clone()).times(refusals));
        let outcome = stage
            .run_with(&review(&stage, vec![finding()]), PublishSettings::default())
            .await;
        assert_eq!(stage.gitlab.remaining_faults(), 0);
        assert_eq!(places(&stage), Vec::from_iter(place.clone()), "{refusals}");
        let shown = summary(&stage);
        assert!(shown.contains("Something is wrong with new one"), "{shown}");
        if place.is_none() {
            assert!(shown.contains("```python\nnew one\nnew two\n```"), "all of it: {shown}");
            assert!(
                outcome.warnings[0].starts_with("1 finding could not be posted beside the code and stand"),
                "{outcome:?}"
            );
        } else if refusals == 2 {
            let body = &threads(&stage)[0].notes[0].body;
            assert!(
                body.contains("Lines 4 to 5:\n\n```python\nnew one\nnew two\n```"),
                "{body}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_unfolds_nothing_gets_the_finding_on_the_file() {
    let stage = stage().await;
    stage.gitlab.configure(|options| options.unfold_context = false);
    stage
        .run_with(
            &review(&stage, vec![at("src/a.py", (15, 15), "a14")]),
            PublishSettings::default(),
        )
        .await;
    assert_eq!(
        places(&stage),
        [json!(["file", "src/a.py", "src/a.py", null, null, false])]
    );
}

#[tokio::test]
async fn what_was_stored_in_spite_of_an_error_is_not_posted_again() {
    for (kind, times) in [
        (FaultKind::ErrorAfterStore, 1),
        (FaultKind::ErrorAfterStore, 3),
        (FaultKind::TruncatedBody, 2),
        (FaultKind::ServerError, 2),
        (FaultKind::BadGateway, 3),
        (FaultKind::ResourceLock, 1),
        (FaultKind::RateLimited { retry_after: Some(1) }, 2),
        (FaultKind::ApplicationLimit, 1),
    ] {
        let stage = stage().await;
        let findings = vec![
            at("src/a.py", (4, 4), "new one"),
            at("src/a.py", (5, 5), "new two"),
            at("fresh.py", (2, 2), "f2"),
        ];
        stage
            .gitlab
            .inject(Fault::once("POST", DISCUSSIONS, kind.clone()).times(times));
        let outcome = stage
            .run_with(&review(&stage, findings), PublishSettings::default())
            .await;
        assert_eq!(
            (threads(&stage).len(), outcome.posted_inline, outcome.warnings),
            (3, 3, Vec::new()),
            "{kind:?}"
        );
        assert_eq!(stage.gitlab.remaining_faults(), 0);
    }
}

#[tokio::test]
async fn a_merge_request_that_is_full_is_asked_once_a_finding() {
    let stage = stage().await;
    let full = FaultKind::Answer {
        status: 400,
        content_type: "application/json".to_owned(),
        body: r#"{"message":"400 Bad request - Note {:base=>[\"Maximum number of comments exceeded\"]}"}"#.to_owned(),
    };
    stage.gitlab.inject(Fault::once("POST", DISCUSSIONS, full).times(99));
    let outcome = stage
        .run_with(
            &review(&stage, vec![at("src/a.py", (4, 5), "new one")]),
            PublishSettings::default(),
        )
        .await;
    assert!(
        outcome.warnings[0].contains("Maximum number of comments"),
        "{outcome:?}"
    );
    let tries = stage
        .gitlab
        .writes()
        .iter()
        .filter(|request| request.matches("POST", DISCUSSIONS))
        .count();
    assert_eq!(tries, 1);
}

#[tokio::test]
async fn a_fix_that_fits_byte_for_byte_can_be_committed() {
    let stage = stage().await;
    let fixed = |lines, evidence: &str, fix: &str| {
        let mut entry = at("src/a.py", lines, evidence);
        entry.finding.fix = Some(fix.to_owned());
        entry.finding.quoted_whole = true;
        entry
    };
    let findings = vec![
        fixed((4, 4), "new one", "better one"),
        // The finding is about one line, the fix replaces two.
        fixed((4, 4), "new one\nnew two", "better two\nand three"),
        fixed((3, 3), "a4", "A4"),
        fixed((6, 6), " a5", "A5"),
        fixed((7, 7), "a6", "Use something else instead."),
    ];
    stage
        .run_with(&review(&stage, findings), PublishSettings::default())
        .await;
    // They are posted beside each other, so the order is GitLab's.
    let mut threads = threads(&stage);
    threads.sort_by_key(|thread| thread.position.as_ref().map(|place| (place.new_line, place.multi_line)));
    let found: Vec<(usize, Option<u64>, bool)> = threads
        .iter()
        .map(|thread| {
            let place = thread.position.as_ref().unwrap();
            let body = &thread.notes[0].body;
            (
                thread.notes[0].suggestions,
                place.new_line,
                body.contains("Possible fix"),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (1, Some(3), false),
            (1, Some(4), false),
            (1, Some(5), false),
            (0, Some(6), true),
            (0, Some(7), true)
        ]
    );
    let blocks: Vec<String> = threads
        .iter()
        .filter_map(|thread| {
            Some(
                thread.notes[0]
                    .body
                    .split_once("```suggestion")?
                    .1
                    .split("```")
                    .next()?
                    .to_owned(),
            )
        })
        .collect();
    assert_eq!(
        blocks,
        [":-0+0\nA4\n", ":-0+0\nbetter one\n", ":-1+0\nbetter two\nand three\n"]
    );
}

#[tokio::test]
async fn a_push_during_the_review_leaves_the_findings_on_what_was_reviewed() {
    let stage = stage().await;
    let plugin = stage.loaded().await;
    let review = review(&stage, vec![at("src/a.py", (4, 4), "new one")]);
    let files = stage.files();
    stage.push_change(&[("src/a.py", Some("a1\n"))]);
    let publication = conclave_engine::ports::Publication {
        review: &review,
        files: &files,
        sources: &std::collections::HashMap::new(),
        settings: PublishSettings::default(),
        hurried: false,
        settings_watch: &conclave_engine::ports::NoSettings,
    };
    let outcome = conclave_engine::ports::Forge::publish(&plugin, publication)
        .await
        .unwrap();
    assert_eq!(outcome.posted_inline, 1);
    let place = threads(&stage)[0].position.clone().unwrap();
    assert_eq!(
        (place.version, place.outdated, place.new_line),
        (Some(1), true, Some(4))
    );
}

#[tokio::test]
async fn the_record_says_what_the_finding_was() {
    let entry = at("src/a.py", (4, 5), "new one");
    let record = FindingRecord::new(&entry, "abc");
    assert_eq!(
        (record.line, record.end_line, record.head_sha.as_str(), record.severity),
        (4, Some(5), "abc", Severity::Warning)
    );
    let long = FindingRecord::new(
        &JudgedFinding {
            finding: Finding {
                claim: "ä".repeat(2000),
                ..entry.finding.clone()
            },
            ..entry
        },
        "abc",
    );
    assert_eq!(long.claim.chars().count(), 500);
}
