//! Break glass: whose word counts, and what happens then.

use conclave_engine::{
    ports::{NoSettings, PublishOutcome, SettingsWatch},
    publish::{BreakGlass, BreakGlassPolicy},
    review::ReviewMode,
};
use conclave_forge::Publisher;
use conclave_shared::verdict::Verdict;

use super::stage::{Changed, ForgeStage, Who, in_mode};

const WORD: &str = "break glass";

async fn asked<S: ForgeStage>(stage: &S, policy: BreakGlassPolicy) -> Option<BreakGlass> {
    stage.publisher().break_glass(policy).await.unwrap()
}

async fn is_broken<S: ForgeStage>(stage: &S) -> bool {
    asked(stage, BreakGlassPolicy::Developers).await.is_some()
}

/// A run that finds the glass broken.
async fn broken<S: ForgeStage>(stage: &S) -> (Publisher, BreakGlass) {
    let publisher = stage.publisher();
    let glass = publisher.break_glass(BreakGlassPolicy::Developers).await.unwrap();
    (publisher, glass.unwrap())
}

async fn skip<S: ForgeStage>(stage: &S, mode: ReviewMode, settings: &dyn SettingsWatch) -> PublishOutcome {
    let (publisher, glass) = broken(stage).await;
    publisher.skip_review(&glass, mode, settings).await.unwrap()
}

pub(crate) async fn a_members_own_line_counts_until_it_is_withdrawn<S: ForgeStage>() {
    let stage = S::new().await;
    assert!(!is_broken(&stage).await);
    let note = stage.say(Who::Member, "Production is down.\n\nbreak glass");
    let glass = asked(&stage, BreakGlassPolicy::Developers).await.unwrap();
    assert_eq!(
        (glass.note, glass.merge_request, glass.head_sha),
        (note, 1, stage.range().2)
    );
    assert_eq!(asked(&stage, BreakGlassPolicy::Off).await, None);
    // For later pushes, too, until it is withdrawn.
    stage.push_again();
    assert!(is_broken(&stage).await);
    stage.say(Who::Author, "break glass off");
    assert!(!is_broken(&stage).await);
    stage.say(Who::Member, WORD);
    assert!(is_broken(&stage).await);
    assert_eq!(stage.acts(), []);
}

pub(crate) async fn a_line_in_a_thread_counts_too<S: ForgeStage>() {
    let stage = S::new().await;
    let thread = stage.start_thread(Who::Author, "Can this go out?");
    stage.reply(Who::Member, &thread, WORD);
    assert!(is_broken(&stage).await);
}

pub(crate) async fn the_author_can_be_left_out<S: ForgeStage>() {
    let stage = S::new().await;
    stage.say(Who::Author, WORD);
    assert!(is_broken(&stage).await);
    assert_eq!(asked(&stage, BreakGlassPolicy::NotAuthor).await, None);
    stage.say(Who::Member, WORD);
    assert!(asked(&stage, BreakGlassPolicy::NotAuthor).await.is_some());
}

pub(crate) async fn the_review_is_skipped_and_the_merge_request_approved<S: ForgeStage>() {
    let stage = S::new().await;
    // An earlier review blocks it.
    let blocking = stage.review(Verdict::SignificantConcerns);
    stage.run(&blocking, in_mode(ReviewMode::Gate)).await;
    stage.say(Who::Member, WORD);
    let outcome = skip(&stage, ReviewMode::Gate, &NoSettings).await;
    assert_eq!((outcome.approved, outcome.warnings), (true, Vec::new()));
    let shown = stage.shown();
    assert_eq!((shown.bot_approves(), shown.bot_requests()), (true, false));
    assert!(
        shown.summary().contains("Not reviewed: break glass"),
        "{}",
        shown.summary()
    );
    // A second time it changes nothing.
    stage.forget();
    assert!(skip(&stage, ReviewMode::Gate, &NoSettings).await.approved);
    assert_eq!(stage.acts(), []);
    // Withdrawn, the next review is one again.
    stage.say(Who::Member, "break glass off");
    stage.run(&blocking, in_mode(ReviewMode::Gate)).await;
    let shown = stage.shown();
    assert_eq!((shown.bot_approves(), shown.bot_requests()), (false, true));
}

pub(crate) async fn a_push_in_between_is_left_to_its_own_job<S: ForgeStage>() {
    let stage = S::new().await;
    stage.say(Who::Member, WORD);
    let (publisher, glass) = broken(&stage).await;
    stage.push_again();
    let outcome = publisher
        .skip_review(&glass, ReviewMode::Approve, &NoSettings)
        .await
        .unwrap();
    assert!(
        !outcome.approved && outcome.warnings[0].contains("newer commit"),
        "{outcome:?}"
    );
    // The word is valid for that push, too.
    assert!(skip(&stage, ReviewMode::Approve, &NoSettings).await.approved);
}

pub(crate) async fn broken_glass_approves_no_other_target_than_the_one_that_was_read<S: ForgeStage>() {
    let stage = S::new().await;
    stage.say(Who::Member, WORD);
    // Nothing has moved: nothing is compared.
    let outcome = skip(&stage, ReviewMode::Approve, &Changed).await;
    assert!(outcome.approved, "{outcome:?}");

    let (publisher, glass) = broken(&stage).await;
    stage.advance("release", "released\n");
    stage.retarget("release");
    let outcome = publisher
        .skip_review(&glass, ReviewMode::Approve, &NoSettings)
        .await
        .unwrap();
    assert!(
        !outcome.approved && outcome.warnings[0].contains("changed from main to release"),
        "{outcome:?}"
    );
    let shown = stage.shown();
    assert!(!shown.bot_approves(), "the earlier approval goes, too");
    assert!(
        shown.summary().contains("The bot does not approve"),
        "{}",
        shown.summary()
    );

    let stage = S::new().await;
    stage.say(Who::Member, WORD);
    let (publisher, glass) = broken(&stage).await;
    stage.advance("main", "newer\n");
    let outcome = publisher
        .skip_review(&glass, ReviewMode::Approve, &Changed)
        .await
        .unwrap();
    assert!(
        !outcome.approved && outcome.warnings[0].contains("Settings of main changed"),
        "{outcome:?}"
    );
    // Other settings are the same at the newer commit.
    let (publisher, glass) = broken(&stage).await;
    stage.advance("main", "newest\n");
    let outcome = publisher
        .skip_review(&glass, ReviewMode::Approve, &NoSettings)
        .await
        .unwrap();
    assert!(outcome.approved, "{outcome:?}");
}

pub(crate) async fn the_mode_comment_approves_nothing<S: ForgeStage>() {
    let stage = S::new().await;
    stage.say(Who::Member, WORD);
    assert!(!skip(&stage, ReviewMode::Comment, &NoSettings).await.approved);
    assert!(!stage.shown().bot_approves());
}

pub(crate) async fn what_was_read_to_look_for_it_is_not_read_again<S: ForgeStage>() {
    let stage = S::new().await;
    let publisher = stage.publisher();
    assert_eq!(publisher.break_glass(BreakGlassPolicy::Developers).await.unwrap(), None);
    let asked = stage.requests();
    publisher.load().await.unwrap();
    assert_eq!(stage.requests(), asked);
}
