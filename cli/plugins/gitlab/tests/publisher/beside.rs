//! Findings beside their lines: on the right ones, once, and never lost.

use conclave_engine::{
    ports::PublishSettings,
    review::{FindingRecord, JudgedFinding, Review},
};
use conclave_fake_gitlab::{FakeGitlab, Fault, FaultKind, MergeRequestState, ThreadSnapshot};
use conclave_shared::{
    finding::{Finding, fingerprint},
    severity::Severity,
    verdict::Verdict,
};
use serde_json::{Value, json};

use crate::{
    sample,
    stage::{BOT, Files, Stage},
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
async fn a_note_says_the_problem_and_the_summary_only_where() {
    let stage = stage().await;
    let outcome = stage
        .run_with(
            &review(&stage, vec![at("src/a.py", (4, 4), "new one")]),
            PublishSettings::default(),
        )
        .await;
    let [thread] = &threads(&stage)[..] else {
        unreachable!("one thread")
    };
    let note = &thread.notes[0];
    assert_eq!((note.author.as_str(), thread.resolved), (BOT, false));
    assert!(
        note.body
            .starts_with("🟡 **Warning** · Something is wrong with new one."),
        "{}",
        note.body
    );
    assert!(note.body.contains("\n\n<!-- conclave:finding:"), "{}", note.body);
    let summary = summary(&stage);
    let link = format!("/group/project/-/merge_requests/1#note_{}", note.id);
    assert!(summary.contains("Something is wrong with new one."), "{summary}");
    assert!(summary.contains(&link), "{summary}");
    assert!(!summary.contains("```"), "the code is beside the note: {summary}");
    assert!(outcome.url.unwrap().contains("#note_"));
}

#[tokio::test]
async fn a_second_run_writes_nothing() {
    let stage = stage().await;
    let review = Review {
        cost_usd: 0.0,
        ..review(
            &stage,
            vec![
                at("src/a.py", (4, 4), "new one"),
                at("fresh.py", (1, 3), "f"),
                at("nowhere.py", (1, 1), "n"),
            ],
        )
    };
    stage.run_with(&review, PublishSettings::default()).await;
    let before = stage.snapshot();
    stage.gitlab.forget_requests();
    // Another run of the same: other times, words and costs.
    let again = Review {
        run_id: "run-2".to_owned(),
        summary: "The same in other words.".to_owned(),
        seconds: 99.0,
        cost_usd: 0.5,
        ..review
    };
    let settings = PublishSettings {
        remember_cost: false,
        ..PublishSettings::default()
    };
    let outcome = stage.run_with(&again, settings).await;
    assert_eq!((outcome.posted_inline, stage.writes()), (0, Vec::<String>::new()));
    assert_eq!(stage.snapshot(), before);
    // Where there is a limit for all reviews together, what was paid has to be remembered.
    stage.run_with(&again, PublishSettings::default()).await;
    assert_eq!(stage.writes(), ["PUT /notes/[0] 200"]);
}

#[tokio::test]
async fn a_summary_that_somebody_changed_is_written_again() {
    let stage = stage().await;
    let review = review(&stage, Vec::new());
    stage.run_with(&review, PublishSettings::default()).await;
    let note = &stage.gitlab.snapshot(stage.merge_request).notes[0];
    stage.gitlab.edit_note(
        stage.merge_request,
        note.id,
        &note.body.replace("Minor issues", "Approved"),
    );
    stage.run_with(&review, PublishSettings::default()).await;
    assert!(summary(&stage).contains("Minor issues"));
}

#[tokio::test]
async fn suggestions_and_what_has_no_place_stand_in_the_summary() {
    let stage = stage().await;
    let mut suggestion = at("src/a.py", (4, 4), "new one");
    suggestion.finding.severity = Severity::Suggestion;
    let review = review(&stage, vec![suggestion, at("unchanged.py", (1, 1), "u")]);
    let outcome = stage.run_with(&review, PublishSettings::default()).await;
    assert_eq!((threads(&stage).len(), outcome.warnings.len()), (0, 0));
    let summary = summary(&stage);
    for part in ["Something is wrong with new one", "Something is wrong with u"] {
        assert!(summary.contains(part), "{summary}");
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
async fn at_most_so_many_beside_the_code_with_those_that_are_there() {
    let stage = stage().await;
    let findings: Vec<JudgedFinding> = (1..=5)
        .map(|line| at("src/a.py", (line, line), &format!("no {line}")))
        .collect();
    let review = review(&stage, findings);
    let most = |most_inline| PublishSettings {
        most_inline,
        ..PublishSettings::default()
    };
    for (limit, expected) in [(2, 2), (2, 2), (3, 3), (0, 3), (20, 5)] {
        let outcome = stage.run_with(&review, most(limit)).await;
        assert_eq!(threads(&stage).len(), expected, "{limit}: {outcome:?}");
        let shown = summary(&stage);
        for line in 1..=5 {
            assert!(shown.contains(&format!("wrong with no {line}.")), "{limit}: {shown}");
        }
    }
}

#[tokio::test]
async fn the_same_finding_twice_is_one_thread() {
    let stage = stage().await;
    let twice = vec![at("src/a.py", (4, 4), "new one"), at("src/a.py", (4, 4), "new one")];
    stage.run_with(&review(&stage, twice), PublishSettings::default()).await;
    assert_eq!(threads(&stage).len(), 1);
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
async fn what_cannot_be_posted_at_all_stands_in_the_summary() {
    let stage = stage().await;
    stage
        .gitlab
        .inject(Fault::once("POST", DISCUSSIONS, FaultKind::ServerError).times(99));
    let outcome = stage
        .run_with(
            &review(&stage, vec![at("src/a.py", (4, 4), "new one")]),
            PublishSettings::default(),
        )
        .await;
    assert_eq!(threads(&stage), []);
    assert!(
        outcome.warnings[0].contains("stand in the summary: GitLab answered 500"),
        "{outcome:?}"
    );
    assert!(summary(&stage).contains("```python\nnew one\n```"));
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
async fn a_thread_of_an_earlier_run_is_known_after_pushes_and_only_if_it_is_ours() {
    let stage = stage().await;
    let entry = at("src/a.py", (4, 4), "new one");
    stage
        .run_with(&review(&stage, vec![entry.clone()]), PublishSettings::default())
        .await;
    let body = threads(&stage)[0].notes[0].body.clone();
    stage.push_change(&[("fresh.py", Some("f1\nf2\nf3\nf4\n"))]);
    let outcome = stage
        .run_with(&review(&stage, vec![entry.clone()]), PublishSettings::default())
        .await;
    assert_eq!((outcome.posted_inline, threads(&stage).len()), (0, 1));

    // Somebody who copies our note, marker and all, keeps nothing from being posted.
    let stage = self::stage().await;
    stage
        .gitlab
        .start_thread(stage.merge_request, stage.human, &body, &Value::Null);
    let outcome = stage
        .run_with(&review(&stage, vec![entry]), PublishSettings::default())
        .await;
    assert_eq!((outcome.posted_inline, threads(&stage).len()), (1, 2));
}

#[tokio::test]
async fn a_resolved_thread_is_respected_unless_it_was_ours_to_resolve_or_it_got_worse() {
    for (by_bot, severity, posted) in [
        (false, Severity::Warning, 0),
        (false, Severity::Critical, 1),
        (true, Severity::Warning, 1),
    ] {
        let stage = stage().await;
        let mut entry = at("src/a.py", (4, 4), "new one");
        stage
            .run_with(&review(&stage, vec![entry.clone()]), PublishSettings::default())
            .await;
        let by = if by_bot { stage.bot } else { stage.human };
        stage
            .gitlab
            .resolve(stage.merge_request, by, &threads(&stage)[0].id, true);
        entry.finding.severity = severity;
        for expected in [posted, 0] {
            let outcome = stage
                .run_with(&review(&stage, vec![entry.clone()]), PublishSettings::default())
                .await;
            assert_eq!(outcome.posted_inline, expected, "{by_bot} {severity:?}");
        }
    }
}

#[tokio::test]
async fn a_finding_whose_thread_is_known_is_not_posted() {
    let stage = stage().await;
    let mut entry = at("src/a.py", (4, 4), "new one");
    stage
        .run_with(&review(&stage, vec![entry.clone()]), PublishSettings::default())
        .await;
    let thread = &threads(&stage)[0];
    // The code around it was changed, so its fingerprint is another one.
    entry.finding.fingerprint = fingerprint("src/a.py", "injection", "something else");
    entry.thread = Some(thread.id.clone());
    let outcome = stage
        .run_with(&review(&stage, vec![entry]), PublishSettings::default())
        .await;
    assert_eq!((outcome.posted_inline, threads(&stage).len()), (0, 1));
    let link = format!("#note_{}", thread.notes[0].id);
    assert!(summary(&stage).contains(&link), "{}", summary(&stage));
}

#[tokio::test]
async fn two_jobs_at_once_leave_one_of_everything() {
    let stage = stage().await;
    let findings: Vec<JudgedFinding> = (1..=8)
        .map(|line| at("src/a.py", (line, line), &format!("no {line}")))
        .collect();
    let review = review(&stage, findings);
    let (one, two) = (stage.loaded().await, stage.loaded().await);
    let settings = PublishSettings::default();
    let (first, second) = tokio::join!(
        stage.publish_with(&one, &review, settings),
        stage.publish_with(&two, &review, settings)
    );
    first.unwrap();
    second.unwrap();
    assert_eq!(threads(&stage).len(), 8);
    summary(&stage);
    // And what both have left is left alone.
    stage.gitlab.forget_requests();
    stage.run_with(&review, settings).await;
    let writes: Vec<String> = stage
        .writes()
        .into_iter()
        .filter(|write| !write.starts_with("PUT /notes/"))
        .collect();
    assert_eq!(writes, Vec::<String>::new());
}

#[tokio::test]
async fn a_run_that_died_half_way_is_gone_on_from() {
    let stage = stage().await;
    let findings: Vec<JudgedFinding> = (1..=4)
        .map(|line| at("src/a.py", (line, line), &format!("no {line}")))
        .collect();
    let review = review(&stage, findings);
    stage.gitlab.inject(
        Fault::once("POST", DISCUSSIONS, FaultKind::InsufficientScope)
            .after(2)
            .times(99),
    );
    let failed = stage
        .publish_with(&stage.loaded().await, &review, PublishSettings::default())
        .await
        .unwrap_err();
    assert!(failed.contains("Make one with the scope `api`"), "{failed}");
    let left = threads(&stage).len();
    assert!((1..4).contains(&left), "{left}");
    stage.gitlab.clear_faults();
    let outcome = stage.run_with(&review, PublishSettings::default()).await;
    assert_eq!((threads(&stage).len(), outcome.posted_inline), (4, 4 - left));
    summary(&stage);
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
async fn nothing_stands_beside_the_code_of_a_closed_merge_request() {
    let stage = stage().await;
    let plugin = stage.loaded().await;
    stage
        .gitlab
        .set_state(stage.merge_request, stage.author, MergeRequestState::Closed);
    let review = review(&stage, vec![at("src/a.py", (4, 4), "new one")]);
    stage
        .publish_with(&plugin, &review, PublishSettings::default())
        .await
        .unwrap();
    assert_eq!(threads(&stage), []);
    assert!(summary(&stage).contains("```python\nnew one\n```"));
}

#[tokio::test]
async fn all_pages_of_discussions_are_read() {
    let stage = stage().await;
    stage.gitlab.configure(|options| {
        options.pagination.largest_page = 3;
        options.pagination.short_middle_page = true;
        options.pagination.totals = false;
    });
    for number in 0..7 {
        stage.gitlab.start_thread(
            stage.merge_request,
            stage.human,
            &format!("Thread {number}"),
            &Value::Null,
        );
    }
    let findings: Vec<JudgedFinding> = (1..=5)
        .map(|line| at("src/a.py", (line, line), &format!("no {line}")))
        .collect();
    let review = review(&stage, findings);
    stage.run_with(&review, PublishSettings::default()).await;
    assert_eq!(threads(&stage).len(), 12);
    stage.gitlab.forget_requests();
    stage.run_with(&review, PublishSettings::default()).await;
    assert_eq!((threads(&stage).len(), stage.writes()), (12, Vec::new()));
}

#[tokio::test]
async fn nothing_that_is_posted_beside_the_code_acts() {
    const HOSTILE: &str = "/approve\n\r/merge\n@all ![x](https://evil.example/) <img src=x>\n> /close\n- /label ~bug";
    let stage = stage().await;
    let mut entry = at("src/a.py", (4, 4), "new one\n```\n/approve");
    entry.finding.claim = HOSTILE.to_owned();
    entry.finding.scenario = HOSTILE.to_owned();
    entry.finding.category = "x\n/approve".to_owned();
    entry.finding.fix = Some("```\n/merge\n@all".to_owned());
    let mut on_file = entry.clone();
    on_file.finding.file = "image.bin".to_owned();
    on_file.finding.fingerprint = fingerprint("image.bin", "x", "y");
    stage
        .run_with(&review(&stage, vec![entry, on_file]), PublishSettings::default())
        .await;
    let after = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!((after.threads.len(), after.executed_commands), (2, Vec::new()));
    for thread in &after.threads {
        let body = &thread.notes[0].body;
        assert!(!body.lines().any(|line| line.starts_with('/')), "{body}");
        assert!(
            !body.contains("@all ") && !body.contains("![x]") && !body.contains(" <img"),
            "{body}"
        );
    }
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
