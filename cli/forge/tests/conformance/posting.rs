//! Findings beside their lines, and what stands in the summary only.

use conclave_engine::{
    ports::{Forge, PublishSettings},
    review::JudgedFinding,
};
use conclave_shared::{finding::Finding, severity::Severity};

use super::stage::{Act, ForgeStage, Trouble, Who, at, on_lines};

pub(crate) async fn a_finding_stands_on_its_lines_and_the_summary_says_only_where<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    let outcome = stage.run(&review, PublishSettings::default()).await;
    assert_eq!((outcome.posted_inline, outcome.warnings), (1, Vec::new()));
    let shown = stage.shown();
    let [thread] = &shown.threads[..] else {
        unreachable!("one thread")
    };
    assert_eq!(
        (thread.author, thread.resolved, thread.line),
        (Some(Who::Bot), false, Some(4))
    );
    let start = "🟡 **Warning** · Something is wrong with new one.";
    assert!(thread.body.starts_with(start), "{}", thread.body);
    assert!(thread.body.contains("\n\n<!-- conclave:finding:"), "{}", thread.body);
    let summary = shown.summary();
    assert!(summary.contains("Something is wrong with new one."), "{summary}");
    assert!(summary.contains(&thread.note.to_string()), "a link: {summary}");
    assert!(!summary.contains("```"), "the code is beside the note: {summary}");
    let (note, _) = shown.notes[0];
    assert!(outcome.url.unwrap().contains(&note.to_string()));
}

pub(crate) async fn a_file_outside_of_the_diff_is_in_the_summary<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let mut suggestion = at("src/a.py", (4, 4), "new one");
    suggestion.finding.severity = Severity::Suggestion;
    let review = stage.with_findings(vec![suggestion, at("unchanged.py", (1, 1), "u")]);
    let outcome = stage.run(&review, PublishSettings::default()).await;
    let shown = stage.shown();
    assert_eq!((shown.threads.len(), outcome.warnings.len()), (0, 0));
    for part in ["Something is wrong with new one", "Something is wrong with u"] {
        assert!(shown.summary().contains(part), "{}", shown.summary());
    }
}

pub(crate) async fn at_most_so_many_beside_the_code_with_those_that_are_there<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let review = stage.with_findings(on_lines(5));
    for (max_inline, expected) in [(2, 2), (2, 2), (3, 3), (0, 3), (20, 5)] {
        let settings = PublishSettings {
            max_inline,
            ..PublishSettings::default()
        };
        let outcome = stage.run(&review, settings).await;
        let shown = stage.shown();
        assert_eq!(shown.threads.len(), expected, "{max_inline}: {outcome:?}");
        for line in 1..=5 {
            let claim = format!("wrong with no {line}.");
            assert!(shown.summary().contains(&claim), "{max_inline}: {}", shown.summary());
        }
    }
}

pub(crate) async fn the_same_finding_twice_is_one_thread<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let twice = vec![at("src/a.py", (4, 4), "new one"), at("src/a.py", (4, 4), "new one")];
    stage.run(&stage.with_findings(twice), PublishSettings::default()).await;
    assert_eq!(stage.shown().threads.len(), 1);
}

pub(crate) async fn what_cannot_be_posted_at_all_stands_in_the_summary<S: ForgeStage>() {
    let stage = S::with_lines().await;
    stage.trouble(Act::OpenThread, Trouble::ServerError, 0, 99);
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    let outcome = stage.run(&review, PublishSettings::default()).await;
    let shown = stage.shown();
    assert_eq!(shown.threads, []);
    let warning = &outcome.warnings[0];
    assert!(
        warning.contains("1 finding could not be posted beside the code and stand"),
        "{warning}"
    );
    assert!(
        shown.summary().contains("```python\nnew one\n```"),
        "{}",
        shown.summary()
    );
}

pub(crate) async fn a_right_is_missing_only_where_nothing_was_posted<S: ForgeStage>() {
    for (act, is_missing) in [(Act::OpenThread, true), (Act::PostNote, false)] {
        let stage = S::with_lines().await;
        stage.trouble(act, Trouble::NoRight, 0, 99);
        let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
        let publisher = stage.loaded().await;
        let posted = stage.publish(&publisher, &review, PublishSettings::default()).await;
        assert!(posted.is_err(), "{act:?}: {posted:?}");
        assert_eq!(stage.shown().threads.len(), usize::from(!is_missing), "{act:?}");
        assert_eq!(publisher.was_denied(), is_missing, "{act:?}");
    }
}

pub(crate) async fn nothing_that_is_posted_beside_the_code_acts<S: ForgeStage>() {
    const HOSTILE: &str = "/approve\n\r/merge\n@all ![x](https://evil.example/) <img src=x>\n> /close\n- /label ~bug";
    let stage = S::with_lines().await;
    let hostile = |file: &str| {
        let entry = at(file, (4, 4), "new one\n```\n/approve");
        JudgedFinding {
            finding: Finding {
                claim: HOSTILE.to_owned(),
                scenario: HOSTILE.to_owned(),
                category: "x\n/approve".to_owned(),
                fix: Some("```\n/merge\n@all".to_owned()),
                quoted_whole: true,
                ..entry.finding
            },
            ..entry
        }
    };
    let (entry, on_file) = (hostile("src/a.py"), hostile("image.bin"));
    stage
        .run(&stage.with_findings(vec![entry, on_file]), PublishSettings::default())
        .await;
    let shown = stage.shown();
    assert_eq!((shown.threads.len(), shown.carried_out), (2, 0));
    for thread in &shown.threads {
        let body = &thread.body;
        assert!(!body.lines().any(|line| line.starts_with('/')), "{body}");
        let acts = body.contains("@all ") || body.contains("![x]") || body.contains(" <img");
        assert!(!acts, "{body}");
    }
}

pub(crate) async fn nothing_stands_beside_the_code_of_a_closed_merge_request<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let publisher = stage.loaded().await;
    stage.close();
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    stage
        .publish(&publisher, &review, PublishSettings::default())
        .await
        .unwrap();
    let shown = stage.shown();
    assert_eq!(shown.threads, []);
    assert!(shown.summary().contains("```python\nnew one\n```"));
}

pub(crate) async fn a_push_during_the_review_leaves_the_findings_on_what_was_reviewed<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let publisher = stage.loaded().await;
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    let files = stage.files();
    stage.push(&[("src/a.py", Some("a1\n"))]);
    let posted = stage
        .publish_of(&files, &publisher, &review, PublishSettings::default())
        .await;
    assert_eq!(posted.unwrap().posted_inline, 1);
    let thread = &stage.shown().threads[0];
    assert!(thread.outdated, "{thread:?}");
}
