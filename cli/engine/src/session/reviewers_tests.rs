//! The panel as a whole.

use std::{sync::Mutex, time::Duration};

use async_trait::async_trait;
use conclave_shared::{reviewer::ReviewerName, severity::Severity};

use super::*;
use crate::{
    diff::{Content, FileDiff, PatchRange},
    ports::{BudgetState, Remedy, SessionEvent, SourceTree, StrayCall},
    review::{GivenPatch, RepairKind, StopCause},
    rules::{RuleBook, RuleInForce},
    session::test_support::{Act, Play, Stage, context, ends, fails, lives, route, says, says_with_reasoning},
};

struct NoSource;

#[async_trait]
impl SourceTree for NoSource {
    async fn text(&self, _path: &str, _at_base: bool) -> Option<String> {
        None
    }
}

fn file(path: &str, changed: u64) -> FileDiff {
    FileDiff {
        content: Content::Text,
        old_path: path.to_owned(),
        path: path.to_owned(),
        added: changed,
        patch: PatchRange { offset: 0, length: 100 },
        ..FileDiff::default()
    }
}

fn input() -> PanelInput {
    PanelInput {
        unchanged: Arc::default(),
        files: Arc::new(vec![file("large", 90), file("small", 1)]),
        patches: Arc::new(vec![GivenPatch::file("p/large"), GivenPatch::file("p/small")]),
        security: Arc::default(),
        rules: Arc::default(),
        source: Arc::new(NoSource),
    }
}

fn members(names: &[&str]) -> Vec<PanelMember> {
    let member = |name: &&str| PanelMember {
        name: ReviewerName::new(*name).expect("a name"),
        route: Ok(route()),
        required: true,
        attempt: Duration::from_mins(10),
        patches: Vec::new(),
        rules: None,
        parts: vec!["shared".to_owned(), "role".to_owned()],
    };
    names.iter().map(member).collect()
}

const SEVEN: [&str; 7] = [
    "security",
    "correctness",
    "performance",
    "code_quality",
    "documentation",
    "agents_md",
    "release",
];

/// Runs a panel of which so many may be at work at once.
async fn run_at_once(
    context: &SessionContext,
    members: Vec<PanelMember>,
    input: &PanelInput,
    sessions: u32,
) -> PanelResult {
    let mut context = context.clone();
    context.limits.sessions = sessions;
    run_panel(&context, members, input).await
}

fn nothing_found(seconds: u64) -> Play {
    says(seconds, "<findings></findings>")
}

#[tokio::test(start_paused = true)]
async fn seven_work_side_by_side_and_no_more_than_allowed() {
    let stage = Stage::new(|_, _| nothing_found(60));
    let (context, ..) = context(&stage);
    let started = Instant::now();
    let panel = run_at_once(&context, members(&SEVEN), &input(), 7).await;
    assert!(panel.reports.iter().all(|report| report.outcome == ReviewerOutcome::Ok));
    assert_eq!(
        started.elapsed().as_secs(),
        60,
        "as long as the slowest, not as all of them"
    );
    assert_eq!(*stage.most_busy.lock().expect("free"), 7);

    let stage = Stage::new(|_, _| nothing_found(60));
    let (context, ..) = super::super::test_support::context(&stage);
    let panel = run_at_once(&context, members(&SEVEN), &input(), 2).await;
    assert_eq!(panel.reports.len(), 7);
    assert_eq!(*stage.most_busy.lock().expect("free"), 2);
}

#[tokio::test(start_paused = true)]
async fn who_reads_all_patches_that_it_is_shown_is_in_no_loop() {
    let numbers = 0..230_u64;
    let input = PanelInput {
        files: Arc::new(numbers.clone().map(|number| file(&number.to_string(), 1)).collect()),
        patches: Arc::new(
            numbers
                .clone()
                .map(|number| GivenPatch::file(format!("p/{number}")))
                .collect(),
        ),
        ..input()
    };
    let stage = Stage::new(move |_, _| {
        let called = |number: u64| SessionEvent::Called {
            message: String::new(),
            id: number.to_string(),
            call: number,
        };
        let calls = numbers.clone().map(|number| (0, Act::Event(called(number))));
        calls.chain(nothing_found(1)).collect()
    });
    let (context, ..) = context(&stage);
    let panel = run_panel(&context, members(&["agents_md"]), &input).await;
    let report = &panel.reports[0];
    assert_eq!(
        (report.outcome, report.repairs.as_slice()),
        (ReviewerOutcome::Ok, &[][..])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_after_the_other_is_in_the_panels_order() {
    for _ in 0..20 {
        let stage = Stage::new(|_, _| nothing_found(0));
        let (context, ..) = context(&stage);
        run_at_once(&context, members(&SEVEN), &input(), 1).await;
        let prompts = stage.prompts.lock().expect("free");
        let order: Vec<&str> = prompts.iter().map(|(_, prompt)| prompt.agent.as_str()).collect();
        assert_eq!(order, SEVEN);
    }
}

#[tokio::test(start_paused = true)]
async fn after_twenty_five_minutes_every_session_is_ended_and_none_is_started() {
    let stage = Stage::new(|_, _| lives(1000, 20));
    let (mut context, ..) = context(&stage);
    context.limits.panel_seconds = 1500;
    let mut members = members(&SEVEN);
    for member in &mut members {
        member.attempt = Duration::from_hours(1);
    }
    let started = Instant::now();
    let panel = run_at_once(&context, members, &input(), 5).await;
    assert_eq!(started.elapsed().as_secs(), 1500);
    let ended = |outcome| panel.reports.iter().filter(|report| report.outcome == outcome).count();
    assert_eq!(
        (ended(ReviewerOutcome::TimedOut), ended(ReviewerOutcome::Skipped)),
        (5, 2),
        "{:#?}",
        panel.reports
    );
    assert_eq!(stage.busy(), Vec::<String>::new());
    assert_eq!(stage.aborted.lock().expect("free").len(), 5);
    assert_eq!(stage.sessions(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_stop_keeps_what_is_known() {
    let stage = Stage::new(|prompt, _| {
        if prompt.agent == "security" {
            nothing_found(5)
        } else {
            lives(1000, 1)
        }
    });
    let (context, _, stopper) = context(&stage);
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        stopper.send_replace(Some(StopCause::Asked));
    };
    let input = input();
    let (panel, ()) = tokio::join!(run_at_once(&context, members(&SEVEN), &input, 7), stopping);
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Ok);
    assert!(
        panel.reports[1..]
            .iter()
            .all(|report| report.reason.as_deref() == Some("the run was stopped"))
    );
    assert_eq!(stage.busy(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_reviewer_that_was_given_less_says_so() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let stage = Stage::new(move |prompt, number| {
        noted.lock().expect("free").push(prompt.parts.clone());
        if number == 1 {
            fails(5, "ContextOverflowError", Remedy::LessToRead)
        } else {
            nothing_found(5)
        }
    });
    let (context, ..) = context(&stage);
    let panel = run_at_once(&context, members(&["security"]), &input(), 7).await;
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Ok);
    assert_eq!(
        panel.reports[0].reason.as_deref(),
        Some("everything did not fit into its context: it was given 1 of 2 files")
    );
    let asked = asked.lock().expect("free");
    let second = &asked[1];
    assert_eq!(
        (second[0].as_str(), second[2].as_str()),
        ("shared", "role"),
        "the role stays last"
    );
    assert!(
        second[1].contains("p/large") && !second[1].contains("p/small"),
        "{second:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_an_unreadable_answer_was_based_on_does_not_count_as_read() {
    let stage = Stage::new(|_, _| says(5, "Looks good to me!"));
    let (context, ..) = context(&stage);
    let panel = run_at_once(&context, members(&["security"]), &input(), 7).await;
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Failed);
    assert_eq!(panel.reads, []);
    assert_eq!(
        panel.unused_reads.len(),
        1,
        "which is not the same as that nobody opened it"
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_reviewer_was_shown_and_told_before_it_failed_is_not_forgotten() {
    let mut patches = vec![GivenPatch::file("p/large"), GivenPatch::file("p/small")];
    patches[1].in_prompt = true;
    let input = PanelInput {
        patches: Arc::new(patches),
        ..input()
    };
    let stage = Stage::new(|_, _| fails(5, "APIError", Remedy::None));
    let (context, ..) = context(&stage);
    let panel = run_at_once(&context, members(&["security"]), &input, 7).await;
    let seen: Vec<&str> = panel.unused_reads.iter().map(|read| read.path.as_str()).collect();
    assert_eq!(seen, ["p/small"], "it stood in its message");
    assert_eq!(panel.reads, []);

    let words = with_words(Some("why".to_owned()), Some("\"an injection\""));
    assert_eq!(
        words.as_deref(),
        Some("why; it may have told a problem that is in no finding: \"an injection\"")
    );
    assert_eq!(with_words(Some("why".to_owned()), None).as_deref(), Some("why"));
}

#[tokio::test(start_paused = true)]
async fn a_reviewer_whose_task_breaks_is_not_forgotten() {
    let stage = Stage::new(|prompt, _| {
        assert!(prompt.agent != "security", "a fault of the program");
        nothing_found(5)
    });
    let (context, ..) = context(&stage);
    let panel = run_at_once(&context, members(&["security", "correctness"]), &input(), 7).await;
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Failed);
    assert!(
        panel.reports[0]
            .reason
            .as_deref()
            .expect("a reason")
            .contains("its task broke")
    );
    assert_eq!(panel.reports[1].outcome, ReviewerOutcome::Ok);
}

#[tokio::test(start_paused = true)]
async fn with_four_fifths_of_the_budget_gone_nothing_optional_begins() {
    let stage = Stage::new(|_, _| nothing_found(60));
    for (standing, started) in [
        (BudgetState::Free, vec![true, true]),
        (BudgetState::Tight("$2 for the run".to_owned()), vec![true, false]),
        (BudgetState::Spent("$2 for the run".to_owned()), vec![false, false]),
    ] {
        let (context, around, _stop) = context(&stage);
        *around.standing.lock().expect("free") = Some(standing.clone());
        let mut members = members(&["security", "documentation"]);
        members[1].required = false;
        let panel = run_at_once(&context, members, &input(), 7).await;
        let ran: Vec<bool> = panel.reports.iter().map(|report| !report.models.is_empty()).collect();
        assert_eq!(ran, started, "{standing:?}");
        for report in panel.reports.iter().filter(|report| report.models.is_empty()) {
            assert_eq!(report.outcome, ReviewerOutcome::Skipped);
            let reason = report.reason.as_deref().expect("a reason");
            assert!(reason.contains("budget of $2 for the run"), "{reason}");
        }
    }
}

const SOURCE: &str = "import os\n\ndef load(key):\n    value = os.environ[key]\n    return value\n";

struct OneFile;

#[async_trait]
impl SourceTree for OneFile {
    async fn text(&self, path: &str, at_base: bool) -> Option<String> {
        (path == "small" && !at_base).then(|| SOURCE.to_owned())
    }
}

/// A finding as a reviewer writes it.
fn finding(severity: &str, claim: &str, evidence: &str) -> String {
    format!(
        "<finding><severity>{severity}</severity><category>kind</category><file>small</file><line>4</line>\
         <claim>{claim}</claim><evidence>{evidence}</evidence></finding>"
    )
}

fn block(findings: &[String]) -> String {
    format!("<findings>{}</findings>", findings.concat())
}

/// What a reviewer that gives these answers, one after the other, brings, and what it was told after the first.
async fn answers(answers: Vec<String>) -> (PanelResult, Vec<String>) {
    answers_after(&[], answers).await
}

/// The same of one whose answers before have broken off.
async fn answers_after(broken: &[&str], answers: Vec<String>) -> (PanelResult, Vec<String>) {
    let stage = Stage::new(move |_, number| says(5, answers.get(number - 1).map_or("enough", String::as_str)));
    let (context, around, _stop) = context(&stage);
    *around.broken.lock().expect("free") = broken.iter().map(|text| (*text).to_owned()).collect();
    let input = PanelInput {
        source: Arc::new(OneFile),
        ..input()
    };
    let panel = run_at_once(&context, members(&["security"]), &input, 7).await;
    let prompts = stage.prompts.lock().expect("free");
    let told = prompts.iter().skip(1).map(|(_, prompt)| prompt.parts.concat());
    (panel, told.collect())
}

fn claims(panel: &PanelResult) -> Vec<&str> {
    panel.findings.iter().map(|finding| finding.claim.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_finding_about_a_file_that_is_not_there_comes_to_the_one_with_its_quote() {
    let elsewhere =
        |quote| finding("warning", "It fails.", quote).replace("<file>small</file>", "<file>src/gone</file>");
    let (panel, asked) = answers(vec![block(&[elsewhere("value = os.environ[key]")])]).await;
    assert_eq!((panel.findings[0].file.as_str(), asked.len()), ("small", 0));
    let (panel, _) = answers(vec![block(&[elsewhere("value = os.getenv(key)")])]).await;
    assert_eq!((panel.findings.len(), panel.hallucinated.len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn whole_findings_of_an_answer_that_broke_off_count_and_nothing_else_of_it() {
    const TOLD: &str = "Everybody gets every value of the environment.";
    const AGAIN: &str = "Every value of the environment is given to everybody.";
    let told = finding("critical", TOLD, "value = os.environ[key]");
    let (begun, _) = told.split_once("<evidence>").expect("its evidence");
    let begun = begun.replace("Everybody", "Nobody");
    let beside = |severity: &str| format!("<findings>{told}{}", begun.replace("critical", severity));
    let cut = beside("warning");
    let (panel, asked) = answers_after(&[cut.as_str()], vec![block(&[])]).await;
    assert_eq!(claims(&panel), [TOLD]);
    assert_eq!(asked, [""; 0], "no more is asked than without");
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Ok);
    // The same without an answer at all.
    let (panel, _) = answers_after(&[cut.as_str(), cut.as_str()], vec![String::new(), String::new()]).await;
    assert_eq!(claims(&panel), [TOLD]);
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Failed);

    // Told again in other words, and more mildly, it is one finding, as severe as it ever was.
    let again = finding("warning", AGAIN, "value = os.environ[key]");
    let (panel, _) = answers_after(&[cut.as_str()], vec![block(&[again])]).await;
    assert_eq!(claims(&panel), [AGAIN]);
    assert_eq!(panel.findings[0].severity, Severity::Critical);
    let (panel, _) = answers_after(&[cut.as_str()], vec![block(std::slice::from_ref(&told))]).await;
    assert_eq!(claims(&panel), [TOLD]);

    // Evidence is checked as that of any other.
    let misquoted = cut.replace("os.environ", "os.getenv");
    let (panel, asked) = answers_after(&[misquoted.as_str()], vec![block(&[]), block(&[])]).await;
    assert_eq!((panel.findings.len(), panel.unproven.len(), asked.len()), (0, 1, 1));
    let (panel, _) = answers_after(&[misquoted.as_str()], vec![block(std::slice::from_ref(&told))]).await;
    assert_eq!(
        (panel.findings.len(), panel.unproven.len()),
        (1, 0),
        "it was told again, and well"
    );

    // Half of a critical one is asked for, and not forgotten if it does not come.
    let half = &cut[..told.len()];
    let (panel, asked) = answers_after(&[half], vec![block(&[]), block(std::slice::from_ref(&told))]).await;
    assert_eq!((claims(&panel), asked.len()), (vec![TOLD], 1));
    let (panel, asked) = answers_after(&[half], vec![block(&[]), block(&[])]).await;
    assert_eq!((panel.reports[0].outcome, asked.len()), (ReviewerOutcome::Failed, 1));
    for again in [told.clone(), finding("warning", AGAIN, "value = os.environ[key]")] {
        let (panel, asked) = answers_after(&[half], vec![block(&[again])]).await;
        assert_eq!((panel.findings.len(), asked.len()), (1, 0));
        assert_eq!(panel.findings[0].severity, Severity::Critical);
    }
    // The whole one beside it is not the half one, told again or not.
    for whole in [block(&[]), block(std::slice::from_ref(&told))] {
        let (panel, asked) = answers_after(&[beside("critical").as_str()], vec![whole, block(&[])]).await;
        assert_eq!((claims(&panel), asked.len()), (vec![TOLD], 1));
        assert!(
            asked[0].contains("did not come again: 1 (the answer broke off in one)"),
            "{asked:?}"
        );
        assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Failed);
    }

    // A whole one that cannot be read, too; a milder one is as if it had not come.
    let unread = |severity: &str| format!("<findings>{}<finding>", finding(severity, TOLD, ""));
    let (severe, mild) = (unread("critical"), unread("warning"));
    let (panel, asked) = answers_after(&[severe.as_str()], vec![block(&[]), block(&[])]).await;
    assert_eq!((panel.unproven.len(), asked.len()), (1, 1));
    let again = vec![block(&[]), block(std::slice::from_ref(&told))];
    let (panel, asked) = answers_after(&[severe.as_str()], again).await;
    let brought = (panel.findings.len(), panel.unproven.len(), asked.len());
    assert_eq!(brought, (1, 0, 1));
    let (panel, asked) = answers_after(&[mild.as_str()], vec![block(&[])]).await;
    assert_eq!((panel.unproven.len(), asked.len()), (0, 0));

    // Half of a milder one, half a sentence, or only thoughts: as if nothing had come.
    for nothing in ["", "I think that", "<findings>", "<findings></findings>"] {
        let (panel, asked) = answers_after(&[nothing], vec![block(&[])]).await;
        let brought = (
            panel.findings.len(),
            panel.unproven.len(),
            panel.hallucinated.len(),
            asked.len(),
        );
        assert_eq!(
            (brought, panel.reports[0].outcome),
            ((0, 0, 0, 0), ReviewerOutcome::Ok),
            "{nothing}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_answer_costs_one_more_turn_and_what_was_read_is_kept() {
    let good = finding("warning", "The key is not checked.", "value = os.environ[key]");
    let no_code = good
        .replace("value = os.environ[key]", "")
        .replace("The key", "Another key");
    let repaired = no_code
        .replace("<line>4</line>", "<line>5</line>")
        .replace("<evidence>", "<evidence>return value");
    let (panel, told) = answers(vec![block(&[good, no_code]), block(&[repaired])]).await;
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Ok, "{:?}", panel.reports);
    assert_eq!(panel.reports[0].repairs, [RepairKind::Unreadable]);
    assert_eq!(
        claims(&panel),
        ["The key is not checked.", "Another key is not checked."]
    );
    assert_eq!((told.len(), panel.unproven.len(), panel.reads.len()), (1, 0, 1));
    assert!(told[0].contains("finding 2 cannot be read: it has no"), "{}", told[0]);
    assert!(
        told[0].contains("do not repeat them:\n- small:4 The key is not checked."),
        "{}",
        told[0]
    );
}

#[tokio::test(start_paused = true)]
async fn what_stays_unreadable_is_a_failed_reviewer_with_its_good_findings() {
    let good = finding("warning", "The key is not checked.", "value = os.environ[key]");
    let (panel, told) = answers(vec![format!("{good} and so on"), "I cannot help with that.".to_owned()]).await;
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Failed);
    assert_eq!(claims(&panel), ["The key is not checked."]);
    assert_eq!((told.len(), panel.reads.len()), (1, 0));
    for nothing in ["", "Looks good to me!", "I cannot help with that."] {
        let (panel, told) = answers(vec![nothing.to_owned(), block(&[])]).await;
        assert_eq!(
            (panel.reports[0].outcome, told.len()),
            (ReviewerOutcome::Ok, 1),
            "{nothing:?}"
        );
        let (panel, told) = answers(vec![nothing.to_owned(), nothing.to_owned()]).await;
        assert_eq!(
            (panel.reports[0].outcome, told.len()),
            (ReviewerOutcome::Failed, 1),
            "{nothing:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_quote_that_does_not_stand_is_asked_for_once_more_with_the_nearest_lines() {
    let wrong = finding("critical", "Everybody gets every value.", "value = os.getenv(key)");
    let right = finding("critical", "Everybody gets every value.", "value = os.environ[key]");
    let (panel, told) = answers(vec![
        block(std::slice::from_ref(&wrong)),
        block(std::slice::from_ref(&right)),
    ])
    .await;
    assert_eq!(claims(&panel), ["Everybody gets every value."]);
    assert_eq!(panel.reports[0].repairs, [RepairKind::Quotes]);
    assert_eq!((panel.unproven.len(), panel.hallucinated.len()), (0, 0));
    assert!(
        told[0].contains("4:     value = os.environ[key]") || told[0].contains("4: value = os.environ[key]"),
        "{}",
        told[0]
    );

    // Taken back, wrong again, milder, or something else: it stays unproven.
    let milder = right.replace("critical", "warning");
    let other = finding(
        "critical",
        "Nobody reads the documentation of this function.",
        "return value",
    );
    for (second, findings) in [
        (vec![], 0),
        (vec![wrong.clone()], 0),
        (vec![milder], 1),
        (vec![other], 1),
    ] {
        let (panel, told) = answers(vec![block(std::slice::from_ref(&wrong)), block(&second)]).await;
        assert_eq!(
            (panel.findings.len(), panel.unproven.len()),
            (findings, 1),
            "{second:?}"
        );
        assert_eq!(panel.unproven[0].place(), "small:4");
        assert_eq!((told.len(), panel.reports[0].outcome), (1, ReviewerOutcome::Ok));
    }
}

#[tokio::test(start_paused = true)]
async fn a_finding_that_is_kept_makes_no_other_of_its_kind_and_file_good() {
    const KEPT: &str = "The key of the caller reaches the environment without a check.";
    const LOST: &str = "The returned value stands in the log of every request.";
    let kept = finding("critical", KEPT, "value = os.environ[key]");
    let misquoted = finding("critical", LOST, "log(value)");
    let both = block(&[kept.clone(), misquoted.clone()]);
    let reworded = finding(
        "critical",
        "Without a check the key of the caller reaches the whole environment.",
        "value = os.environ[key]",
    )
    .replace(">kind<", ">another-kind<");
    for again in [kept.clone(), reworded] {
        let (panel, told) = answers(vec![both.clone(), block(&[again])]).await;
        let unproven: Vec<&str> = panel.unproven.iter().map(|lost| lost.claim.as_str()).collect();
        assert_eq!((unproven, told.len()), (vec![LOST], 1));
        assert!(claims(&panel).contains(&KEPT) && !claims(&panel).contains(&LOST));
    }
    // The same of an answer that broke off.
    let cut = both.replace("</findings>", "<finding>");
    let (panel, told) = answers_after(&[cut.as_str()], vec![block(std::slice::from_ref(&kept)), block(&[])]).await;
    assert_eq!((claims(&panel), panel.unproven.len(), told.len()), (vec![KEPT], 1, 1));

    // Who corrects a quote is believed, also in a line beside and in other words.
    let lines = misquoted.replace("log(value)", "return value");
    let words = finding(
        "critical",
        "In the log of every request stands the value that is returned.",
        "return value",
    );
    for right in [lines.clone(), words] {
        let (panel, _) = answers(vec![both.clone(), block(&[right])]).await;
        assert_eq!((panel.findings.len(), panel.unproven.len()), (2, 0));
    }
    // One for one.
    let twice = block(&[misquoted.clone(), misquoted.replace("log(value)", "write(value)")]);
    let (panel, _) = answers(vec![twice, block(&[lines])]).await;
    assert_eq!((panel.findings.len(), panel.unproven.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn two_findings_without_evidence_are_two() {
    let one = finding("critical", "The first one.", "not there");
    let two = finding("critical", "The other one.", "not there either");
    let (panel, _) = answers(vec![block(&[one, two]), block(&[])]).await;
    assert_eq!(panel.unproven.len(), 2);
    // One that could not be read and is left out later is not lost either.
    let unreadable = finding("critical", "It quotes nothing.", "");
    let (panel, told) = answers(vec![block(&[unreadable]), block(&[])]).await;
    assert_eq!((panel.unproven.len(), told.len()), (1, 1));
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Ok);
    // Without weight, one that does not stand is only counted.
    let warning = finding("warning", "A quote that is not there.", "not there");
    let (panel, told) = answers(vec![block(&[warning]), block(&[])]).await;
    assert_eq!((panel.unproven.len(), panel.hallucinated.len(), told.len()), (0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn each_kind_is_repaired_once() {
    let wrong = finding("critical", "Everybody gets every value.", "value = os.getenv(key)");
    let (panel, told) = answers(vec![
        block(std::slice::from_ref(&wrong)),
        "prose".to_owned(),
        block(std::slice::from_ref(&wrong)),
    ])
    .await;
    assert_eq!(panel.reports[0].repairs, [RepairKind::Quotes, RepairKind::Unreadable]);
    assert_eq!(
        (told.len(), panel.reports[0].outcome, panel.unproven.len()),
        (2, ReviewerOutcome::Ok, 1)
    );
    // Both at once are one turn.
    let (panel, told) = answers(vec![format!("{} </evidence>", block(&[wrong])), block(&[])]).await;
    assert_eq!(panel.reports[0].repairs, [RepairKind::Unreadable, RepairKind::Quotes]);
    assert_eq!((told.len(), panel.unproven.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_once_more_beyond_the_budget() {
    let stage = Stage::new(|_, _| says(5, "prose"));
    let (context, around, _stop) = context(&stage);
    let spending = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        *around.standing.lock().expect("free") = Some(BudgetState::Spent("$2 for the run".to_owned()));
    };
    let input = input();
    let (panel, ()) = tokio::join!(run_at_once(&context, members(&["security"]), &input, 7), spending);
    assert_eq!(stage.prompts.lock().expect("free").len(), 1);
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Failed);
    assert_eq!(panel.reports[0].repairs, []);
    let reason = panel.reports[0].reason.as_deref().expect("a reason");
    assert!(
        reason.contains("no <findings> block") && reason.contains("$2 for the run"),
        "{reason}"
    );
}

/// A document with these limits.
fn with_limits(text: &str) -> Arc<conclave_shared::config::ConfigDocument> {
    let document = format!(r#"{{"schema_version":1,"limits":{text}}}"#);
    Arc::new(serde_json::from_str(&document).expect("valid"))
}

/// Routes that follow the channel.
fn following(
    sender: &watch::Sender<Option<Arc<conclave_shared::config::ConfigDocument>>>,
) -> crate::session::LiveRoutes {
    crate::session::LiveRoutes::new(
        sender.subscribe(),
        crate::session::RouteFacts {
            preset: conclave_shared::config::Preset::default(),
            credentials: ["a".to_owned(), "b".to_owned()].into(),
            trivial: false,
            classes: std::collections::BTreeMap::new(),
        },
    )
}

#[tokio::test(start_paused = true)]
async fn patches_that_were_not_opened_are_asked_for_once_and_only_where_they_count() {
    let run = async |change: fn(&mut PanelMember, &mut PanelInput)| {
        let stage = Stage::new(|_, _| nothing_found(5));
        let (context, ..) = context(&stage);
        let (mut members, mut input) = (members(&["security"]), input());
        members[0].patches = vec![0, 1];
        change(&mut members[0], &mut input);
        let panel = run_at_once(&context, members, &input, 1).await;
        let prompts = stage.prompts.lock().expect("free");
        let told: Vec<String> = prompts
            .iter()
            .skip(1)
            .map(|(_, prompt)| prompt.parts.concat())
            .collect();
        (panel, told)
    };
    // Every session of the stage reads `p`, which is neither.
    let (panel, told) = run(|_, _| {}).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("still to read:\n- `p/large`\n- `p/small`\n"),
        "{}",
        told[0]
    );
    assert_eq!(panel.reports[0].repairs, [RepairKind::Unread]);
    let report = &panel.reports[0];
    let failed = (ReviewerOutcome::Failed, Some("it has read none of its patches"));
    assert_eq!(
        (report.outcome, report.reason.as_deref()),
        failed,
        "whoever else has read them"
    );
    assert!(panel.reads.is_empty() && !panel.unused_reads.is_empty());
    let (_, told) = run(|member, _| member.patches = vec![1]).await;
    assert!(told[0].contains("still to read:\n- `p/small`\n"), "{}", told[0]);

    let (panel, told) = run(|_, input| {
        let mut patches = input.patches.to_vec();
        for patch in &mut patches {
            patch.in_prompt = true;
        }
        input.patches = Arc::new(patches);
    })
    .await;
    assert_eq!(told.len(), 0, "they stand in its message");
    let read: Vec<&str> = panel.reads.iter().map(|read| read.path.as_str()).collect();
    assert_eq!(read, ["p", "p/large", "p/small"]);
    let (panel, _) = run(|member, _| member.required = false).await;
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Ok);
    assert!(
        panel.reads.is_empty() && !panel.side_reads.is_empty(),
        "what others read does not count for those who have to"
    );
    for (name, change) in [
        (
            "not required",
            (|member, _| member.required = false) as fn(&mut PanelMember, &mut PanelInput),
        ),
        ("not its own", |member, _| member.patches = Vec::new()),
        ("no rule for them", |member, _| member.rules = Some(Arc::default())),
    ] {
        assert_eq!(run(change).await.1.len(), 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_raised_during_a_run_counts_at_once() {
    let stage = Stage::new(|_, _| nothing_found(60));
    let (mut context, ..) = context(&stage);
    let sender = watch::Sender::new(None);
    context.routes = following(&sender);
    let began = Instant::now();
    let raising = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        sender.send_replace(Some(with_limits(r#"{"sessions":7}"#)));
    };
    let (members, input) = (members(&SEVEN), input());
    let (panel, ()) = tokio::join!(run_at_once(&context, members, &input, 1), raising);
    assert!(panel.reports.iter().all(|report| report.outcome == ReviewerOutcome::Ok));
    assert!(began.elapsed() < Duration::from_secs(80), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_that_changes_during_a_run_counts_for_who_is_at_work() {
    for (limits, outcome, least, most) in [
        // Longer than the attempt's five minutes of the plan.
        (
            r#"{"reviewer_seconds":1200,"stall_seconds":1200,"first_sign_seconds":1200}"#,
            ReviewerOutcome::Ok,
            900,
            910,
        ),
        (r#"{"reviewer_seconds":30}"#, ReviewerOutcome::TimedOut, 30, 35),
        (r#"{"panel_seconds":40}"#, ReviewerOutcome::TimedOut, 40, 45),
    ] {
        let stage = Stage::new(|_, _| lives(90, 10).into_iter().chain(nothing_found(0)).collect());
        let (mut context, ..) = context(&stage);
        let sender = watch::Sender::new(None);
        context.routes = following(&sender);
        let began = Instant::now();
        let changing = async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            sender.send_replace(Some(with_limits(limits)));
        };
        let mut members = members(&["security"]);
        members[0].attempt = Duration::from_mins(5);
        let input = input();
        let (panel, ()) = tokio::join!(run_at_once(&context, members, &input, 1), changing);
        assert_eq!(
            panel.reports[0].outcome, outcome,
            "{limits}: {:?}",
            panel.reports[0].reason
        );
        let took = began.elapsed().as_secs();
        assert!((least..=most).contains(&took), "{limits}: {took} s");
    }
}

#[tokio::test(start_paused = true)]
async fn words_that_may_tell_a_problem_make_any_reviewer_a_required_one() {
    for (first, second, is_ok) in [
        ("NACK", "", true),
        ("NACK", "I have no findings.", true),
        ("No findings.", "", true),
        ("NACK", "The token is written to the log.", false),
        ("CRITICAL: large:10 runs a command.", "NACK", false),
        ("This is a critical vulnerability.", "", false),
        ("This is a critical vulnerability.", "The change looks good.", false),
        ("This is a critical vulnerability.", "I have no findings.", true),
        ("I looked for critical problems.", "", true),
    ] {
        let answers = [first, second].map(|words| format!("{words}\n<findings></findings>"));
        let stage = Stage::new(move |_, number| says(1, &answers[(number - 1).min(1)]));
        let (context, ..) = context(&stage);
        let mut members = members(&["documentation"]);
        members[0].required = false;
        let panel = run_at_once(&context, members, &input(), 1).await;
        let report = &panel.reports[0];
        assert_eq!(
            report.outcome == ReviewerOutcome::Ok,
            is_ok,
            "{first}, {second}: {report:#?}"
        );
        assert_eq!(report.required, !is_ok, "{first}, {second}");
        let reason = report.reason.clone().unwrap_or_default();
        let told = if second == "NACK" || second.starts_with("The token") {
            second
        } else {
            first
        };
        assert!(is_ok || reason.contains(told.trim_end_matches('.')), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_problem_told_in_a_second_turn_without_an_answer_makes_any_reviewer_a_failed_and_required_one() {
    let first = block(&[finding("warning", "A quote that is not there.", "not there")]);
    for (words, is_ok) in [("Let me read the callers.", true), ("Anyone can read all rows.", false)] {
        for is_cut_off in [true, false] {
            let first = first.clone();
            let stage = Stage::new(move |_, number| match (number, is_cut_off) {
                (1, _) => says(5, &first),
                (_, true) => ends(5, words, "length"),
                (_, false) => [ends(5, words, "tool-calls"), fails(5, "APIError", Remedy::None)].concat(),
            });
            let (context, ..) = context(&stage);
            let mut members = members(&["documentation"]);
            members[0].required = false;
            let input = PanelInput {
                source: Arc::new(OneFile),
                ..input()
            };
            let panel = run_at_once(&context, members, &input, 1).await;
            let report = &panel.reports[0];
            assert_eq!(
                (report.outcome == ReviewerOutcome::Ok, report.required),
                (is_ok, !is_ok),
                "{words} {is_cut_off}: {report:#?}"
            );
            let reason = report.reason.clone().unwrap_or_default();
            assert!(is_ok || reason.contains("read all rows"), "{reason}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_that_does_not_exist_is_given_beside_a_list_or_in_the_second_turn_is_not_lost() {
    let empty = block(&[]);
    let beside = r#"{"summary": "Anyone can read all of the rows.", "findings": "<findings></findings>"}"#;
    let alone = r#"{"title": "Anyone can read all of the rows."}"#;
    let clean = r#"{"summary": "I have no findings.", "findings": "<findings></findings>"}"#;
    // When it is called, in seconds: each answer takes five.
    for (arguments, called, first, turns, is_ok) in [
        (beside, 2, empty.as_str(), 2, true),
        (clean, 2, empty.as_str(), 1, true),
        (beside, 7, "prose", 2, false),
        (alone, 7, "prose", 2, false),
        (clean, 7, "prose", 2, true),
    ] {
        let (first, second) = (first.to_owned(), empty.clone());
        let stage = Stage::new(move |_, number| says(5, if number == 1 { &first } else { &second }));
        let (context, around, _stop) = context(&stage);
        let calling = async {
            tokio::time::sleep(Duration::from_secs(called)).await;
            *around.stray.lock().expect("free") = vec![StrayCall {
                tool: "report_findings".to_owned(),
                arguments: arguments.to_owned(),
            }];
        };
        let mut members = members(&["documentation"]);
        members[0].required = false;
        let input = input();
        let (panel, ()) = tokio::join!(run_at_once(&context, members, &input, 1), calling);
        let report = &panel.reports[0];
        assert_eq!(
            (report.outcome == ReviewerOutcome::Ok, report.required),
            (is_ok, !is_ok),
            "{arguments} {called}: {report:#?}"
        );
        let asked = stage.prompts.lock().expect("free").len();
        assert_eq!(asked, turns, "{arguments} {called}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_problem_that_thinking_asserts_is_asked_about_once_and_one_that_it_weighs_is_not() {
    let whole = finding("critical", "It reads any key.", "value = os.environ[key]");
    let empty = block(&[]);
    let told = block(std::slice::from_ref(&whole));
    for (thinking, answer, turns) in [
        (whole.as_str(), &empty, 2),
        ("| Severity | File |\n|---|---|\n| critical | small:4 |", &empty, 2),
        ("There is a critical injection in small:4.", &empty, 2),
        (
            "Could small:4 be a critical injection? The key is a constant.",
            &empty,
            1,
        ),
        ("The format: <findings><finding>...</finding></findings>", &empty, 1),
        (whole.as_str(), &told, 1),
    ] {
        let answer = format!("<think>{thinking}</think>\n{answer}");
        let stage = Stage::new(move |_, _| says(5, &answer));
        let (context, ..) = context(&stage);
        let input = PanelInput {
            source: Arc::new(OneFile),
            ..input()
        };
        let panel = run_at_once(&context, members(&["documentation"]), &input, 1).await;
        let asked = stage.prompts.lock().expect("free").len();
        assert_eq!(
            (panel.reports[0].outcome, asked),
            (ReviewerOutcome::Ok, turns),
            "{thinking}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_finding_that_reasoning_drafts_is_asked_about_once_and_what_it_weighs_is_not() {
    let whole = finding("critical", "It reads any key.", "value = os.environ[key]");
    let empty = block(&[]);
    let told = block(std::slice::from_ref(&whole));
    for (reasoning, answer, turns) in [
        (whole.as_str(), &empty, 2),
        (told.as_str(), &empty, 2),
        (
            "There is a critical injection in small:4. No, the key is a constant.",
            &empty,
            1,
        ),
        ("The format: <findings><finding>...</finding></findings>", &empty, 1),
        (whole.as_str(), &told, 1),
        ("", &empty, 1),
    ] {
        let (reasoning, answer) = (reasoning.to_owned(), answer.clone());
        let shown = reasoning.clone();
        let stage = Stage::new(move |_, _| says_with_reasoning(5, &reasoning, &answer));
        let (context, ..) = context(&stage);
        let input = PanelInput {
            source: Arc::new(OneFile),
            ..input()
        };
        let panel = run_at_once(&context, members(&["documentation"]), &input, 1).await;
        let prompts = stage.prompts.lock().expect("free");
        assert_eq!(
            (panel.reports[0].outcome, prompts.len()),
            (ReviewerOutcome::Ok, turns),
            "{shown}"
        );
        let questions = prompts.iter().skip(1).map(|(_, prompt)| prompt.parts.concat());
        for question in questions {
            assert!(question.contains("It reads any key."), "{question}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_told_behind_many_other_sentences_is_asked_about_too() {
    let whole = finding("critical", "It reads any key.", "value = os.environ[key]");
    let reported = "critical: It reads any key.\n";
    for (words, turns) in [
        (reported.repeat(150), 1),
        (format!("{}This is remote code execution.", reported.repeat(150)), 2),
        (reported.repeat(250), 2),
    ] {
        let answer = block(std::slice::from_ref(&whole));
        let stage = Stage::new(move |_, number| match number {
            1 => [ends(1, &words, "tool-calls"), says(5, &answer)].concat(),
            _ => says(5, "<findings></findings>"),
        });
        let (context, ..) = context(&stage);
        let input = PanelInput {
            source: Arc::new(OneFile),
            ..input()
        };
        let panel = run_at_once(&context, members(&["documentation"]), &input, 1).await;
        let asked = stage.prompts.lock().expect("free").len();
        assert_eq!((panel.reports[0].outcome, asked), (ReviewerOutcome::Ok, turns));
    }
}

#[tokio::test(start_paused = true)]
async fn more_findings_than_are_taken_from_one_answer_are_asked_for_and_missed_if_they_do_not_come() {
    let all: Vec<String> = (0..230)
        .map(|number| {
            finding(
                "warning",
                &format!("Step{number} reads what load{number} gives."),
                "value = os.environ[key]",
            )
        })
        .collect();
    for (second, kept, outcome) in [
        (block(&all[200..]), 230, ReviewerOutcome::Ok),
        (block(&all[..200]), 200, ReviewerOutcome::Failed),
        ("<findings></findings>".to_owned(), 200, ReviewerOutcome::Failed),
    ] {
        let (panel, told) = answers(vec![block(&all), second]).await;
        assert!(told[0].contains("give the other 30"), "{told:?}");
        assert_eq!((panel.findings.len(), panel.reports[0].outcome), (kept, outcome));
        assert!(panel.reports[0].required);
    }
    let (panel, told) = answers(vec![block(&all[..200])]).await;
    assert_eq!((panel.findings.len(), told.len()), (200, 0));
}

#[tokio::test(start_paused = true)]
async fn a_critical_finding_behind_more_than_are_taken_is_kept() {
    let mut all: Vec<String> = (0..229)
        .map(|number| {
            finding(
                "suggestion",
                &format!("Step{number} reads what load{number} gives."),
                "value = os.environ[key]",
            )
        })
        .collect();
    let critical = "Every caller deletes all orders of a shop.";
    all.push(finding("critical", critical, "value = os.environ[key]"));
    // Asked for the others, a model gives all of them again, or none.
    for (second, kept, outcome) in [
        (block(&all), 230, ReviewerOutcome::Ok),
        ("<findings></findings>".to_owned(), 200, ReviewerOutcome::Failed),
    ] {
        let (panel, told) = answers(vec![block(&all), second]).await;
        assert!(
            told[0].contains("more than 200 findings") && told[0].contains("give the other 30"),
            "{told:?}"
        );
        let report = &panel.reports[0];
        assert_eq!((panel.findings.len(), report.outcome), (kept, outcome));
        assert!(claims(&panel).contains(&critical));
        let reason = report.reason.as_deref().unwrap_or_default();
        assert_eq!(
            reason.contains("more than 200 findings"),
            outcome == ReviewerOutcome::Failed,
            "{reason}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_finding_given_to_a_tool_that_exists_counts() {
    let whole = finding("critical", "It reads any key.", "value = os.environ[key]");
    let stage = Stage::new(|_, _| nothing_found(5));
    let (context, around, _stop) = context(&stage);
    *around.stray.lock().expect("free") = vec![StrayCall {
        tool: "grep".to_owned(),
        arguments: serde_json::json!({"pattern": whole, "path": "small"}).to_string(),
    }];
    let input = PanelInput {
        source: Arc::new(OneFile),
        ..input()
    };
    let panel = run_at_once(&context, members(&["security"]), &input, 1).await;
    assert_eq!(panel.findings.len(), 1, "{:#?}", panel.reports[0]);
}

#[tokio::test(start_paused = true)]
async fn a_finding_beside_a_tool_call_that_cannot_be_read_is_asked_for_once() {
    let whole = finding("warning", "The key is not checked.", "value = os.environ[key]");
    let no_code = whole.replace("value = os.environ[key]", "");
    for (last, asked, second, found) in [
        (block(&[]), true, block(std::slice::from_ref(&whole)), 1),
        (block(&[]), true, block(&[]), 0),
        // It came again by itself.
        (block(std::slice::from_ref(&whole)), false, String::new(), 1),
    ] {
        let first = block(std::slice::from_ref(&no_code));
        let stage = Stage::new(move |_, number| match number {
            1 => [ends(1, &first, "tool-calls"), says(5, &last)].concat(),
            _ => says(5, &second),
        });
        let (context, ..) = context(&stage);
        let input = PanelInput {
            source: Arc::new(OneFile),
            ..input()
        };
        let panel = run_at_once(&context, members(&["security"]), &input, 1).await;
        let prompts = stage.prompts.lock().expect("free");
        let told: Vec<String> = prompts
            .iter()
            .skip(1)
            .map(|(_, prompt)| prompt.parts.concat())
            .collect();
        assert_eq!(told.len(), usize::from(asked), "{told:?}");
        let is_named = |told: &String| told.contains("cannot be read: it has no");
        assert!(told.iter().all(is_named), "{told:?}");
        assert_eq!(
            (panel.reports[0].outcome, panel.findings.len()),
            (ReviewerOutcome::Ok, found)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_reviewer_of_rules_has_not_read_is_not_checked_whoever_else_has_read_it() {
    let rule = RuleInForce {
        id: "LOG-1".into(),
        files: ["small".to_owned()].into(),
        ..RuleInForce::default()
    };
    let rules = Arc::new(RuleBook::new(vec![rule]));
    let unread = Some("it did not read small to its end, which rules are for");
    for (reviewer, content, in_prompt, reason) in [
        ("codex", Content::Text, false, unread),
        // It was only moved to where the rule is for it.
        ("codex", Content::None, false, unread),
        ("codex", Content::Text, true, None),
        ("codex", Content::None, true, None),
        // It has read the other one.
        ("security", Content::Text, false, None),
    ] {
        let stage = Stage::new(|_, _| nothing_found(5));
        let (context, ..) = context(&stage);
        let (mut members, mut input) = (members(&[reviewer]), input());
        members[0].patches = vec![0, 1];
        members[0].rules = (reviewer == "codex").then(|| Arc::clone(&rules));
        let (mut files, mut patches) = (input.files.to_vec(), input.patches.to_vec());
        files[1].content = content;
        patches[1].in_prompt = in_prompt;
        patches[0].in_prompt = reviewer == "security";
        (input.files, input.patches) = (Arc::new(files), Arc::new(patches));
        let panel = run_at_once(&context, members, &input, 1).await;
        let report = &panel.reports[0];
        assert_eq!(
            (report.outcome, report.reason.as_deref()),
            (ReviewerOutcome::Ok, reason),
            "{reviewer} {content:?} {in_prompt}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_breach_counts_whichever_reviewer_cites_the_rule() {
    let rule = RuleInForce {
        id: "LOG-1".into(),
        on_breach: Some(conclave_shared::engineering_rule::OnBreach::Block),
        files: ["small".to_owned()].into(),
        ..RuleInForce::default()
    };
    let breach = finding("suggestion", "The key is not checked.", "value = os.environ[key]");
    let answer = block(&[breach.replace("</finding>", "<rule>LOG-1</rule></finding>")]);
    let stage = Stage::new(move |_, _| says(5, &answer));
    let (context, ..) = context(&stage);
    let input = PanelInput {
        source: Arc::new(OneFile),
        rules: Arc::new(RuleBook::new(vec![rule])),
        ..input()
    };
    let panel = run_at_once(&context, members(&["generalist"]), &input, 1).await;
    assert_eq!(panel.findings[0].severity, Severity::Critical);
}

#[tokio::test(start_paused = true)]
async fn a_problem_in_another_notation_beside_a_tool_call_is_owed_a_finding() {
    let breach = finding("critical", "It reads any key.", "value = os.environ[key]");
    let item = "- **critical** small:4 reads any key.";
    for (words, second, outcome) in [
        (item, block(&[]), ReviewerOutcome::Failed),
        (item, block(std::slice::from_ref(&breach)), ReviewerOutcome::Ok),
        ("This is remote code execution.", block(&[]), ReviewerOutcome::Ok),
    ] {
        let nothing = block(&[]);
        let answer = second.clone();
        let stage = Stage::new(move |_, number| match number {
            1 => [ends(1, words, "tool-calls"), says(5, &nothing)].concat(),
            _ => says(5, &answer),
        });
        let (context, ..) = context(&stage);
        let input = PanelInput {
            source: Arc::new(OneFile),
            ..input()
        };
        let panel = run_at_once(&context, members(&["documentation"]), &input, 1).await;
        let asked = stage.prompts.lock().expect("free").len();
        assert_eq!((panel.reports[0].outcome, asked), (outcome, 2), "{words} {second}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_known_to_tell_no_problem_is_asked_about_once_and_an_empty_list_answers_it() {
    let whole = finding("warning", "Everyone becomes admin.", "value = os.environ[key]");
    let empty = block(&[]);
    let told = "Everyone becomes admin.";
    let calm = "Let me read the callers. The handler calls `get`, which returns the rows.";
    for (words, first, second, turns) in [
        (told, empty.clone(), empty.clone(), 2),
        (told, block(std::slice::from_ref(&whole)), empty.clone(), 1),
        (calm, empty.clone(), empty.clone(), 1),
        // Words beside a tool call do not answer the question.
        (told, empty.clone(), format!("CALL The caller is odd.\n{empty}"), 2),
        // Beside findings, of a problem that none of them reports.
        (
            "Let me read it.",
            format!("The refund is negated.\n{}", block(std::slice::from_ref(&whole))),
            empty.clone(),
            2,
        ),
    ] {
        let (play, last) = (first.clone(), second.clone());
        let stage = Stage::new(move |_, number| match (number, last.strip_prefix("CALL ")) {
            (1, _) => [ends(1, words, "tool-calls"), says(5, &play)].concat(),
            (_, None) => says(5, &last),
            (_, Some(rest)) => {
                let (beside, answer) = rest.split_once('\n').expect("two lines");
                [ends(1, beside, "tool-calls"), says(5, answer)].concat()
            }
        });
        let (context, ..) = context(&stage);
        let input = PanelInput {
            source: Arc::new(OneFile),
            ..input()
        };
        let panel = run_at_once(&context, members(&["documentation"]), &input, 1).await;
        let prompts = stage.prompts.lock().expect("free");
        assert_eq!(
            (panel.reports[0].outcome, prompts.len()),
            (ReviewerOutcome::Ok, turns),
            "{words} {first} {second}"
        );
        let asked = prompts.iter().skip(1).map(|(_, prompt)| prompt.parts.concat());
        for question in asked {
            assert!(question.contains("which is it?"), "{question}");
            assert!(question.starts_with("Your answer was read"), "{question}");
            assert!(question.contains("Everyone becomes admin") || question.contains("The refund is negated"));
        }
    }
}
