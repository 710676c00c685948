//! The panel as a whole.

use std::sync::Mutex;

use super::*;
use crate::{
    diff::{Content, PatchRange},
    ports::{BudgetStanding, Remedy, StopCause},
    scheduler::test_support::{Play, Stage, context, fails, lives, route, says},
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
        patches: Arc::new(vec!["p/large".to_owned(), "p/small".to_owned()]),
        source: Arc::new(NoSource),
    }
}

fn members(names: &[&str]) -> Vec<PanelMember> {
    let member = |name: &&str| PanelMember {
        name: ReviewerName::new(*name).expect("a name"),
        route: Ok(route()),
        required: true,
        attempt: Duration::from_mins(10),
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

fn nothing_found(seconds: u64) -> Play {
    says(seconds, "<findings></findings>")
}

#[tokio::test(start_paused = true)]
async fn seven_work_side_by_side_and_no_more_than_allowed() {
    let stage = Stage::new(|_, _| nothing_found(60));
    let (context, ..) = context(&stage);
    let started = Instant::now();
    let panel = run_panel(&context, members(&SEVEN), &input(), 7).await;
    assert!(panel.reports.iter().all(|report| report.outcome == ReviewerOutcome::Ok));
    assert_eq!(
        started.elapsed().as_secs(),
        60,
        "as long as the slowest, not as all of them"
    );
    assert_eq!(*stage.most_busy.lock().expect("free"), 7);

    let stage = Stage::new(|_, _| nothing_found(60));
    let (context, ..) = super::super::test_support::context(&stage);
    let panel = run_panel(&context, members(&SEVEN), &input(), 2).await;
    assert_eq!(panel.reports.len(), 7);
    assert_eq!(*stage.most_busy.lock().expect("free"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_after_the_other_is_in_the_panels_order() {
    for _ in 0..20 {
        let stage = Stage::new(|_, _| nothing_found(0));
        let (context, ..) = context(&stage);
        run_panel(&context, members(&SEVEN), &input(), 1).await;
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
    let panel = run_panel(&context, members, &input(), 5).await;
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
    let (panel, ()) = tokio::join!(run_panel(&context, members(&SEVEN), &input, 7), stopping);
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
    let panel = run_panel(&context, members(&["security"]), &input(), 7).await;
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
    let panel = run_panel(&context, members(&["security"]), &input(), 7).await;
    assert_eq!(panel.reports[0].outcome, ReviewerOutcome::Failed);
    assert_eq!(panel.reads, []);
}

#[tokio::test(start_paused = true)]
async fn a_reviewer_whose_task_breaks_is_not_forgotten() {
    let stage = Stage::new(|prompt, _| {
        assert!(prompt.agent != "security", "a fault of the program");
        nothing_found(5)
    });
    let (context, ..) = context(&stage);
    let panel = run_panel(&context, members(&["security", "correctness"]), &input(), 7).await;
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
        (BudgetStanding::Free, vec![true, true]),
        (BudgetStanding::Tight("$2 for the run".to_owned()), vec![true, false]),
        (BudgetStanding::Spent("$2 for the run".to_owned()), vec![false, false]),
    ] {
        let (context, around, _stop) = context(&stage);
        *around.standing.lock().expect("free") = Some(standing.clone());
        let mut members = members(&["security", "documentation"]);
        members[1].required = false;
        let panel = run_panel(&context, members, &input(), 7).await;
        let ran: Vec<bool> = panel.reports.iter().map(|report| !report.models.is_empty()).collect();
        assert_eq!(ran, started, "{standing:?}");
        for report in panel.reports.iter().filter(|report| report.models.is_empty()) {
            assert_eq!(report.outcome, ReviewerOutcome::Skipped);
            let reason = report.reason.as_deref().expect("a reason");
            assert!(reason.contains("budget of $2 for the run"), "{reason}");
        }
    }
}
