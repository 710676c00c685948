//! What a judge may do with critical findings of earlier reviews.

use conclave_fake_gitlab::AccessLevel;
use conclave_scripted_provider::{Answer, COORDINATOR};
use serde_json::{Value, json};

use super::{CRITICAL, FILE, NEW_GUARD, OLD_GUARD, QUERY, changed, line_of, refuted_by};
use crate::no_wrong_approval::scene::{Scene, Seen};

/// A second review, after a member has argued against the critical finding of the first one and the judge has read that.
async fn argued(refuted_by: &Value) -> (Scene, Seen) {
    let scene = changed().await;
    scene.finds(&[&CRITICAL]);
    scene.decides(&json!([]));
    let first = scene.review().await;
    assert_eq!(first.review["verdict"], "significant_concerns", "{}", first.note);
    let bob = scene.pipeline.member("bob", AccessLevel::Developer);
    let thread = scene.pipeline.thread_about(CRITICAL.category);
    let said = "The name is checked before it gets here.";
    scene
        .pipeline
        .gitlab
        .reply(scene.pipeline.merge_request, bob, &thread.id, said);
    let review = json!({
        "summary": "The name is checked before.", "decisions": [], "proposed_verdict": "approved",
        "earlier": [{"id": "E1", "status": "withdrawn", "reason": "The name is checked.", "answer": "You are right.",
                     "refuted_by": refuted_by}],
    });
    scene
        .provider
        .set_always(COORDINATOR, Answer::call("submit_review", review.clone()));
    scene
        .provider
        .set(COORDINATOR, 2, Answer::call("submit_review", review));
    let seen = scene.review().await;
    (scene, seen)
}

#[tokio::test]
async fn the_judge_withdraws_an_earlier_critical_only_with_code_that_refutes_it() {
    for (case, refuted_by) in [
        ("nothing is quoted", Value::Null),
        (
            "the code is invented",
            refuted_by("src/guard.py", 3, "    name = escape(name)"),
        ),
    ] {
        let (scene, seen) = argued(&refuted_by).await;
        seen.critical_stands(case);
        assert!(!scene.pipeline.thread_about(CRITICAL.category).resolved, "{case}");
    }
    let (scene, seen) = argued(&refuted_by(FILE, line_of(OLD_GUARD), OLD_GUARD)).await;
    assert_eq!(seen.review["verdict"], "approved", "{}", seen.note);
    assert!(seen.approved && scene.pipeline.thread_about(CRITICAL.category).resolved);
    let entry = &seen.review["findings"][0];
    assert_eq!(
        (&entry["fate"], &entry["removed_by"], &entry["refutation"]["status"]),
        (&json!("dropped"), &json!("judge"), &json!("unchanged_code"))
    );
    assert!(
        seen.note
            .contains("the judge removed 1 finding: 1 critical (1 withdrawn)"),
        "{}",
        seen.note
    );
}

#[tokio::test]
async fn an_earlier_critical_that_the_change_itself_refutes_leaves_the_approval_to_a_person_in_later_runs_too() {
    let (scene, seen) = argued(&refuted_by(FILE, line_of(NEW_GUARD), NEW_GUARD)).await;
    let withheld = |seen: &Seen, case: &str| {
        assert_eq!(
            seen.review["verdict"], "approved",
            "{case}: the judge's decision counts"
        );
        assert!(!seen.approved, "{case}: {}", seen.note);
        assert_eq!(seen.holds(), ["refuted_by_this_change"], "{case}");
        let compared = seen.note.split_once("### Refuted by this change itself");
        let (_, compared) = compared.unwrap_or_else(|| panic!("{case}: side by side in {}", seen.note));
        assert!(
            compared.contains(QUERY) && compared.contains(NEW_GUARD),
            "{case}: {compared}"
        );
    };
    withheld(&seen, "withdrawn");
    // Nothing of it is looked at again, and the judge has nothing more to say.
    let nothing = json!({"summary": "As before.", "decisions": [], "proposed_verdict": "approved"});
    scene
        .provider
        .set(COORDINATOR, 2, Answer::call("submit_review", nothing.clone()));
    scene
        .provider
        .set_always(COORDINATOR, Answer::call("submit_review", nothing));
    withheld(&scene.review().await, "run again");
    scene.repository.write("src/other.py", "LIMIT = 5\n");
    scene.repository.commit("A limit");
    scene
        .pipeline
        .gitlab
        .push(scene.pipeline.merge_request.project, scene.repository.path(), "feature");
    scene.finds(&[]);
    withheld(&scene.review().await, "after a push of another file");
}
