//! Answers in our threads of earlier reviews, and to comments of people.

use conclave_engine::{
    ports::PublishSettings,
    review::{Answer, AuthorRole, Review, ThreadAction, ThreadChange, ThreadState},
    untrusted::escape,
};
use conclave_shared::verdict::Verdict;

use super::stage::{Act, ForgeStage, Trouble, Who, at};

pub(crate) async fn a_thread_that_is_fixed_elsewhere_is_answered_with_the_code_once_and_resolved<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let entry = at("src/a.py", (4, 4), "new one");
    stage
        .run(&stage.with_findings(vec![entry.clone()]), PublishSettings::default())
        .await;
    let thread = stage.shown().threads.remove(0);
    stage.reply(Who::Member, &thread.id, "That is checked elsewhere.");
    // An answer of an earlier review, which names no place, is not the last word.
    stage.reply(Who::Bot, &thread.id, "It is still there.");
    let review = Review {
        threads: vec![ThreadAction {
            thread: thread.id.clone(),
            fingerprint: entry.finding.fingerprint.clone(),
            change: ThreadChange::FixedElsewhere {
                text: "It is checked there. /approve @bob [x](https://example.org)".to_owned(),
                file: "docs/a (1).md".to_owned(),
                line: 2,
                end_line: Some(3),
            },
        }],
        ..stage.review(Verdict::MinorIssues)
    };
    stage.run(&review, PublishSettings::default()).await;
    let shown = stage.shown();
    let after = &shown.threads[0];
    assert!(after.resolved);
    assert_eq!(after.answers.len(), 3, "one answer more: {:?}", after.answers);
    let answer = &after.answers[2];
    let head = stage.range().2;
    let address = answer.rsplit_once("](").unwrap().1;
    assert!(
        address.contains(&format!("/blob/{head}/docs/a%20%281%29.md#L2-")) && address.ends_with("3)"),
        "{answer}"
    );
    let place = escape("docs/a (1).md, lines 2-3");
    assert!(answer.contains(&format!("\n\n[{place}]({address}")), "{answer}");
    assert!(
        !answer.contains("@bob") && !answer.contains("(https://example.org)"),
        "{answer}"
    );
    assert_eq!(shown.carried_out, 0);
    stage.forget();
    stage.run(&review, PublishSettings::default()).await;
    let writes: Vec<_> = stage
        .acts()
        .into_iter()
        .filter(|(act, _)| *act != Act::EditNote)
        .collect();
    assert_eq!(writes, [], "once");
}

/// Answers to all comments that wait for one, in their order.
async fn answers<S: ForgeStage>(stage: &S) -> Vec<Answer> {
    let change = stage.publisher().load().await.unwrap();
    let waiting = change.subject.comments.iter();
    let waiting = waiting.filter_map(|comment| Some((comment.waits.clone()?, comment.body.sanitized_line())));
    waiting
        .map(|(place, question)| Answer {
            note: place.note,
            thread: place.thread,
            text: format!("Yes. /approve @bob ({question})"),
            question,
            light: false,
        })
        .collect()
}

/// Our answers that stand there: in threads, and in notes of their own.
fn shown_answers<S: ForgeStage>(stage: &S) -> Vec<String> {
    let shown = stage.shown();
    let in_threads = shown.threads.into_iter().flat_map(|thread| thread.answers);
    let alone = shown.notes.into_iter().map(|(_, body)| body);
    let all = in_threads.chain(alone);
    all.filter(|body| body.contains("<!-- conclave:answer:")).collect()
}

const WHOLE: &str = "Does this work with Postgres 12?";
const BESIDE: &str = "Why not a constant?";

pub(crate) async fn each_question_is_answered_where_it_stands_once_also_after_an_error<S: ForgeStage>() {
    for trouble in [Trouble::ErrorAfterStore, Trouble::CutAnswer, Trouble::BadGateway] {
        let stage = S::new().await;
        let asked = stage.say(Who::Member, WHOLE);
        stage.start_thread(Who::Author, BESIDE);
        let review = Review {
            answers: answers(&stage).await,
            ..stage.review(Verdict::MinorIssues)
        };
        assert_eq!(review.answers.len(), 2);
        stage.trouble(Act::Answer, trouble, 0, 1);
        let outcome = stage.run(&review, PublishSettings::default()).await;
        assert_eq!((outcome.warnings, stage.troubles_left()), (vec![], 0), "{trouble:?}");
        let given = shown_answers(&stage);
        assert_eq!(given.len(), 2, "{trouble:?}: {given:?}");
        assert!(given.iter().all(|body| !body.contains("@bob")), "{given:?}");
        let shown = stage.shown();
        let answers_in = |text: &str| {
            let thread = shown.threads.iter().find(|thread| thread.body == text);
            thread.map_or(0, |thread| thread.answers.len())
        };
        // Where a comment on the whole takes no answer, ours quotes it, and links to it.
        let is_ours = |body: &&String| body.starts_with(&format!("> [{WHOLE}](")) && body.contains(&asked.to_string());
        let quoted = given.iter().filter(is_ours).count();
        assert_eq!((answers_in(WHOLE) + quoted, answers_in(BESIDE)), (1, 1), "{given:?}");
        assert_eq!(shown.carried_out, 0);

        // Another run with the same answers, as after one that died before it posted its summary, and one that reads what is there.
        stage.run(&review, PublishSettings::default()).await;
        assert_eq!(shown_answers(&stage), given);
        assert_eq!(answers(&stage).await, []);
    }
}

pub(crate) async fn two_runs_at_once_answer_a_question_once<S: ForgeStage>() {
    let stage = S::new().await;
    stage.say(Who::Member, WHOLE);
    let review = Review {
        answers: answers(&stage).await,
        ..stage.review(Verdict::MinorIssues)
    };
    let (one, two) = (stage.loaded().await, stage.loaded().await);
    let (first, second) = tokio::join!(
        stage.publish(&one, &review, PublishSettings::default()),
        stage.publish(&two, &review, PublishSettings::default())
    );
    assert_eq!((first.unwrap().warnings, second.unwrap().warnings), (vec![], vec![]));
    assert_eq!(shown_answers(&stage).len(), 1);
}

pub(crate) async fn a_question_that_was_deleted_is_not_answered<S: ForgeStage>() {
    let stage = S::new().await;
    let asked = stage.say(Who::Member, WHOLE);
    let review = Review {
        answers: answers(&stage).await,
        ..stage.review(Verdict::MinorIssues)
    };
    let slow = stage.loaded().await;
    stage.delete_note(asked);
    let outcome = stage.publish(&slow, &review, PublishSettings::default()).await.unwrap();
    assert_eq!((outcome.warnings, shown_answers(&stage)), (vec![], vec![]));
}

pub(crate) async fn a_question_that_another_person_has_answered_meanwhile_is_not_answered<S: ForgeStage>() {
    let stage = S::new().await;
    let thread = stage.start_thread(Who::Author, BESIDE);
    let review = Review {
        answers: answers(&stage).await,
        ..stage.review(Verdict::MinorIssues)
    };
    assert_eq!(review.answers.len(), 1);
    let slow = stage.loaded().await;
    stage.reply(Who::Member, &thread, "Because it is read from the settings.");
    let outcome = stage.publish(&slow, &review, PublishSettings::default()).await.unwrap();
    assert_eq!((outcome.warnings, shown_answers(&stage)), (vec![], vec![]));
}

pub(crate) async fn an_author_without_a_right_is_read_and_decides_nothing<S: ForgeStage>() {
    let stage = S::new().await;
    let review = stage.with_findings(vec![at("file.txt", (2, 2), "two")]);
    stage.run(&review, PublishSettings::default()).await;
    let thread = stage.shown().threads.remove(0).id;
    stage.take_right_from_author();
    stage.reply(Who::Author, &thread, "won't fix");
    stage.resolve(Who::Author, &thread);
    let change = stage.publisher().load().await.unwrap();
    let found = &change.subject.existing_findings[0];
    let roles: Vec<AuthorRole> = found.replies.iter().map(|reply| reply.role).collect();
    assert_eq!(
        (roles, found.state),
        (vec![AuthorRole::Contributor], ThreadState::ResolvedByOutsider)
    );
}
