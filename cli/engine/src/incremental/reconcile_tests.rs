use conclave_shared::{severity::Severity, telemetry::Settlement};

use super::*;
use crate::{
    incremental::{
        EarlierStatus, EarlierVerdict,
        test_support::{existing, fresh, said},
    },
    review::{AnchorState, AuthorRole, FindingRecord, Refutation, RefutationStatus, RefutingCode, Reply, ThreadChange},
};

const HEAD: &str = "2222222222222222";

fn word(id: &str, status: EarlierStatus) -> EarlierVerdicts {
    EarlierVerdicts {
        words: vec![EarlierVerdict {
            id: id.to_owned(),
            status,
            reason: "because".into(),
            answer: Some("Because of line 3.".into()),
            refuted_by: None,
            refutation: None,
        }],
        ..EarlierVerdicts::default()
    }
}

struct Scene {
    earlier: Vec<ExistingFinding>,
    words: EarlierVerdicts,
    judged: Vec<JudgedFinding>,
    degraded: bool,
}

/// One open warning, and nobody says anything.
fn scene() -> Scene {
    Scene {
        earlier: vec![existing("E1", "c")],
        words: EarlierVerdicts::default(),
        judged: Vec::new(),
        degraded: false,
    }
}

impl Scene {
    fn reconcile(&self) -> Reconciled {
        reconcile(ReconcileInput {
            earlier: &self.earlier,
            words: &self.words,
            judged: self.judged.clone(),
            degraded: self.degraded,
            head_sha: HEAD,
        })
    }

    fn replied(mut self, role: AuthorRole, text: &str) -> Self {
        self.earlier[0].replies.push(said(role, text));
        self
    }

    fn state(mut self, state: ThreadState) -> Self {
        self.earlier[0].state = state;
        self
    }

    fn word(mut self, status: EarlierStatus) -> Self {
        self.words = word("E1", status);
        self
    }

    fn judged(mut self, severity: Severity, letter: &str) -> Self {
        let id = format!("F{}", self.judged.len() + 1);
        self.judged.push(fresh(&id, severity, letter));
        self
    }
}

/// Everything that stands: id, severity, whether a thread shows it.
fn surviving(settled: &Reconciled) -> Vec<(String, Severity, bool)> {
    let standing = settled.findings.iter().filter(|entry| entry.stands());
    standing
        .map(|entry| (entry.finding.id.clone(), entry.finding.severity, entry.thread.is_some()))
        .collect()
}

fn change_of(settled: &Reconciled) -> ThreadChange {
    let [action] = &settled.threads[..] else {
        panic!("one thread, not {:?}", settled.threads)
    };
    assert_eq!(action.thread, "thread c");
    action.change.clone()
}

#[track_caller]
fn stands(scene: &Scene) {
    let settled = scene.reconcile();
    assert_eq!(surviving(&settled), [("E1".to_owned(), Severity::Warning, true)]);
    assert_eq!(change_of(&settled), ThreadChange::Keep);
}

#[track_caller]
fn gone(scene: &Scene, change: &ThreadChange, before: Option<Before>) {
    let settled = scene.reconcile();
    assert_eq!(surviving(&settled), []);
    assert_eq!(change_of(&settled), *change);
    assert_eq!(settled.remembered.first().map(|entry| entry.before), before);
}

fn resolve(why: &str) -> ThreadChange {
    ThreadChange::Resolve { why: why.into() }
}

/// A guard that refutes, as far as it was checked.
fn guard(status: RefutationStatus) -> Refutation {
    Refutation {
        file: "src/guard.py".into(),
        line: 3,
        end_line: None,
        quote: "if not NAME.fullmatch(name):".into(),
        status,
        needed: true,
        lost_by_target: false,
        altered_use: None,
        uncertain: None,
        fault: (status == RefutationStatus::Invalid).then(|| "it does not stand there".to_owned()),
        surroundings: None,
    }
}

#[test]
fn a_model_that_forgets_a_finding_changes_nothing() {
    stands(&scene());
    let carried = &scene().reconcile().findings[0];
    assert_eq!(carried.since.as_deref(), Some("1111111111"));
    assert_eq!(carried.finding.claim, "Claim E1.");
}

#[test]
fn fixed_needs_the_judges_word_and_changed_code_and_a_whole_review() {
    let fixed = resolve("fixed in `22222222`");
    gone(&scene().word(EarlierStatus::Fixed), &fixed, Some(Before::Resolved));
    stands(&scene().word(EarlierStatus::NotFixed));
    let mut unchanged = scene().word(EarlierStatus::Fixed);
    for anchor in [AnchorState::Unchanged, AnchorState::Unknown] {
        unchanged.earlier[0].anchor = anchor;
        stands(&unchanged);
    }
    let mut degraded = scene().word(EarlierStatus::Fixed);
    degraded.degraded = true;
    stands(&degraded);
}

#[test]
fn what_we_resolved_and_cannot_see_counts_and_stays_remembered_as_resolved() {
    for before in [Before::Resolved, Before::Declined] {
        let mut unseen = scene().state(ThreadState::Unknown);
        unseen.earlier[0].before = before;
        stands(&unseen);
        let print = unseen.earlier[0].record.fingerprint.clone();
        assert_eq!(unseen.reconcile().unseen, [(print, before)]);
        gone(&unseen.word(EarlierStatus::Fixed), &ThreadChange::Keep, Some(before));
    }
    let open = scene().state(ThreadState::Unknown);
    stands(&open);
    assert!(open.reconcile().unseen.is_empty());
}

#[test]
fn a_fixed_findings_thread_in_which_a_person_talks_is_left_to_that_person() {
    let answer = ThreadChange::Answer {
        text: "Because of line 3.".into(),
        resolve: false,
    };
    for (role, change) in [(AuthorRole::Member, answer), (AuthorRole::Outsider, ThreadChange::Keep)] {
        let scene = scene()
            .replied(role, "Have a look at b.py, too.")
            .word(EarlierStatus::Fixed);
        gone(&scene, &change, Some(Before::Fixed));
        // It was answered, or its author has resolved it.
        let mut answered = scene.replied(AuthorRole::Us, "Because of line 3.");
        answered.earlier[0].before = Before::Fixed;
        gone(&answered, &ThreadChange::Keep, Some(Before::Fixed));
    }
    let mut resolved = scene()
        .replied(AuthorRole::Author, "Done.")
        .state(ThreadState::ResolvedByAuthor)
        .word(EarlierStatus::Fixed);
    resolved.earlier[0].author_may_settle = false;
    gone(&resolved, &resolve("fixed in `22222222`"), Some(Before::Fixed));
    // A program's chatter is no conversation.
    let scene = scene()
        .replied(AuthorRole::Machine, "Coverage: 80 %")
        .word(EarlierStatus::Fixed);
    gone(&scene, &resolve("fixed in `22222222`"), Some(Before::Resolved));
}

#[test]
fn what_the_author_says_alone_or_was_answered_before_is_no_talk_in_a_fixed_findings_thread() {
    let fixed = resolve("fixed in `22222222`");
    for role in [AuthorRole::Author, AuthorRole::Contributor] {
        for text in [
            "Done, thanks.",
            "Fixed in `abc1234`",
            "Fixed in !12, PTAL",
            "👍",
            "Good point, changed to a bound parameter.",
            "値を束縛しました。",
        ] {
            let done = || scene().replied(role, text);
            gone(&done().word(EarlierStatus::Fixed), &fixed, Some(Before::Resolved));
            // Only the judge's word fixes it.
            assert_eq!(surviving(&done().word(EarlierStatus::NotFixed).reconcile()).len(), 1);
            // An earlier version has answered that, and left the thread open.
            let mut left = done().replied(AuthorRole::Us, "Thanks, that fixes it.");
            left.earlier[0].before = Before::Fixed;
            gone(&left, &fixed, Some(Before::Resolved));
        }
    }
    let answered = scene()
        .replied(AuthorRole::Member, "Is there another way?")
        .replied(AuthorRole::Us, "Yes.")
        .replied(AuthorRole::Author, "Done.");
    gone(&answered.word(EarlierStatus::Fixed), &fixed, Some(Before::Resolved));
}

#[test]
fn a_question_of_the_author_keeps_a_fixed_findings_thread_open_until_it_is_answered() {
    let open = |scene: Scene| {
        let scene = scene.word(EarlierStatus::Fixed);
        let ThreadChange::Answer { resolve: false, .. } = change_of(&scene.reconcile()) else {
            panic!("it is left open: {:?}", scene.earlier[0].replies)
        };
        let mut left = scene.replied(AuthorRole::Us, "It is not there.");
        left.earlier[0].before = Before::Fixed;
        left.words = EarlierVerdicts::default();
        left
    };
    let by = |text: &str| scene().replied(AuthorRole::Author, text);
    let fixed = resolve("fixed in `22222222`");
    for text in ["Done?", "Done, but what of b.py?"] {
        gone(&open(by(text)), &fixed, Some(Before::Resolved));
    }
    // Our answer ends neither what is asked of others, nor a request, nor what another person says.
    for text in ["@ann is that what you meant?", "Fixed, but please keep this open."] {
        gone(&open(by(text)), &ThreadChange::Keep, Some(Before::Fixed));
    }
    for role in [AuthorRole::Member, AuthorRole::Author] {
        let mut two = by("Fixed.").replied(role, "The same is in b.py.");
        two.earlier[0].replies[1].author = "ann".into();
        gone(&open(two), &ThreadChange::Keep, Some(Before::Fixed));
    }
}

#[test]
fn what_code_has_fixed_stands_again_without_that_code_while_people_talk_in_its_thread() {
    let mut talk = scene().replied(AuthorRole::Member, "Thanks!");
    let finding = &mut talk.earlier[0];
    finding.record.severity = Severity::Critical;
    finding.before = Before::Fixed;
    finding.anchor = AnchorState::ChangedBeside;
    finding.refuting = RefutingCode::Stands;
    gone(&talk, &ThreadChange::Keep, Some(Before::Fixed));
    for refuting in [RefutingCode::Gone, RefutingCode::Uncovered] {
        talk.earlier[0].refuting = refuting;
        assert_eq!(surviving(&talk.reconcile()).len(), 1, "{refuting:?}");
    }
}

#[test]
fn what_was_found_fixed_stays_so_without_being_said_again() {
    let mut talk = scene().replied(AuthorRole::Member, "Thanks!");
    talk.earlier[0].before = Before::Fixed;
    gone(&talk, &ThreadChange::Keep, Some(Before::Fixed));
    // Unless the code is back, the judge says otherwise, or it is found anew.
    talk.earlier[0].anchor = AnchorState::Unchanged;
    stands(&talk);
    talk.earlier[0].anchor = AnchorState::Changed;
    talk.words = word("E1", EarlierStatus::NotFixed);
    assert_eq!(surviving(&talk.reconcile()).len(), 1);
    talk.words = EarlierVerdicts::default();
    let talk = talk.judged(Severity::Warning, "c");
    assert_eq!(
        surviving(&talk.reconcile()),
        [("F1".to_owned(), Severity::Warning, true)]
    );
}

#[test]
fn a_members_answer_decides_and_nobody_elses() {
    gone(
        &scene().replied(AuthorRole::Member, "won't fix"),
        &resolve("a member declined it"),
        Some(Before::Declined),
    );
    gone(
        &scene().replied(AuthorRole::Member, "Acknowledged."),
        &resolve("a member acknowledged it"),
        Some(Before::Declined),
    );
    for role in [AuthorRole::Outsider, AuthorRole::Machine, AuthorRole::Us] {
        stands(&scene().replied(role, "won't fix"));
    }
    // The last word of a member counts.
    stands(
        &scene()
            .replied(AuthorRole::Member, "won't fix")
            .replied(AuthorRole::Member, "Please do, Bob."),
    );
    gone(
        &scene()
            .replied(AuthorRole::Member, "Hm.")
            .replied(AuthorRole::Member, "won't fix")
            .replied(AuthorRole::Outsider, "Oh no."),
        &resolve("a member declined it"),
        Some(Before::Declined),
    );
}

#[test]
fn an_answer_decides_also_without_a_judge() {
    let mut scene = scene().replied(AuthorRole::Member, "won't fix");
    scene.degraded = true;
    gone(&scene, &resolve("a member declined it"), Some(Before::Declined));
}

#[test]
fn a_disagreement_is_judged_and_each_word_answered_once() {
    let disagrees = || scene().replied(AuthorRole::Member, "I disagree, it is a constant.");
    let answer = |resolve| ThreadChange::Answer {
        text: "Because of line 3.".into(),
        resolve,
    };
    gone(
        &disagrees().word(EarlierStatus::Withdrawn),
        &answer(true),
        Some(Before::Resolved),
    );
    let settled = disagrees().word(EarlierStatus::NotFixed).reconcile();
    assert_eq!(change_of(&settled), answer(false));
    assert_eq!(surviving(&settled), [("E1".to_owned(), Severity::Warning, true)]);
    // Once: who has spoken does not speak again before the member does.
    let answered = || disagrees().replied(AuthorRole::Us, "Because of line 2.");
    stands(&answered().word(EarlierStatus::NotFixed));
    // But may give in, without another word.
    gone(
        &answered().word(EarlierStatus::Withdrawn),
        &resolve("a member's argument against it holds"),
        Some(Before::Resolved),
    );
    // A new word is never ignored.
    let again = answered().replied(AuthorRole::Member, "I still disagree? No: I disagree.");
    assert_eq!(
        change_of(&again.word(EarlierStatus::NotFixed).reconcile()),
        answer(false)
    );
    // Without a judge nobody answers.
    stands(&disagrees());
    // Nobody without a role starts a dispute.
    stands(
        &scene()
            .replied(AuthorRole::Outsider, "I disagree")
            .word(EarlierStatus::NotFixed),
    );
    stands(&scene().word(EarlierStatus::Withdrawn));
}

#[test]
fn a_members_question_is_answered_once() {
    let asks = scene()
        .replied(AuthorRole::Member, "Why is that?")
        .word(EarlierStatus::NotFixed);
    assert_eq!(
        change_of(&asks.reconcile()),
        ThreadChange::Answer {
            text: "Because of line 3.".into(),
            resolve: false
        }
    );
}

#[test]
fn a_members_word_in_any_language_is_an_argument() {
    for text in [
        "Das prüft schon der Aufrufer.",
        "呼び出し側で確認済みです。",
        "Nice find.",
        "> won't fix",
        "- won't fix",
    ] {
        for role in [AuthorRole::Member, AuthorRole::Author] {
            let said = || scene().replied(role, text);
            let answer = |resolve| ThreadChange::Answer {
                text: "Because of line 3.".into(),
                resolve,
            };
            assert_eq!(
                change_of(&said().word(EarlierStatus::NotFixed).reconcile()),
                answer(false),
                "{text}"
            );
            gone(
                &said().word(EarlierStatus::Withdrawn),
                &answer(true),
                Some(Before::Resolved),
            );
            stands(&said());
        }
    }
    // Nobody who is no member starts a dispute.
    stands(
        &scene()
            .replied(AuthorRole::Outsider, "Das prüft schon der Aufrufer.")
            .word(EarlierStatus::NotFixed),
    );
}

#[test]
fn a_decision_beside_other_words_is_an_argument_and_the_thread_says_how_to_decide() {
    let said = || scene().replied(AuthorRole::Member, "Acknowledged, do not merge.");
    stands(&said());
    let ThreadChange::Answer { text, resolve } = change_of(&said().word(EarlierStatus::NotFixed).reconcile()) else {
        panic!("the judge's answer is posted");
    };
    assert!(text.starts_with("Because of line 3.\n\n"), "{text}");
    assert!(
        text.contains("answer with `won't fix` or `acknowledged` and nothing else"),
        "{text}"
    );
    assert!(!resolve);
}

#[test]
fn a_reason_behind_a_decision_settles_what_is_not_serious() {
    for text in ["won't fix: legacy code", "Wontfix – the file is generated."] {
        gone(
            &scene().replied(AuthorRole::Member, text),
            &resolve("a member declined it"),
            Some(Before::Declined),
        );
        stands(&scene().replied(AuthorRole::Outsider, text));
        let serious: [fn(&mut FindingRecord); 3] = [
            |record| record.severity = Severity::Critical,
            |record| record.production_risk = true,
            |record| record.category = "prompt-injection".to_owned(),
        ];
        for change in serious {
            let mut scene = scene().replied(AuthorRole::Member, text);
            change(&mut scene.earlier[0].record);
            assert_eq!(surviving(&scene.reconcile()).len(), 1, "{text}");
        }
    }
    stands(&scene().replied(AuthorRole::Member, "won't fix: why?"));
}

#[test]
fn what_the_author_says_after_a_members_decision_is_an_argument_until_it_was_acted_on() {
    for text in ["No, I'll fix it.", "Wait, this is a real bug, do not merge."] {
        let scene = severe(|_| {}).replied(AuthorRole::Member, "Won't fix.");
        let settled = scene.replied(AuthorRole::Author, text).reconcile();
        assert_eq!(surviving(&settled).len(), 1, "{text}");
        assert_eq!(change_of(&settled), ThreadChange::Keep, "{text}");
        let scene = severe(|finding| {
            finding.state = ThreadState::ResolvedByUs;
            finding.anchor = AnchorState::Unchanged;
        });
        let acted_on = scene.replied(AuthorRole::Member, "Won't fix.");
        let settled = acted_on.replied(AuthorRole::Author, text).reconcile();
        assert_eq!(settled.accepted.len(), 1, "{text}");
    }
    let agreed = severe(|_| {}).replied(AuthorRole::Member, "Won't fix.");
    let settled = agreed.replied(AuthorRole::Author, "Acknowledged.").reconcile();
    assert_eq!(surviving(&settled).len(), 0);
}

#[test]
fn a_word_that_is_taken_back_settles_nothing_any_more() {
    let declined = |finding: &mut ExistingFinding| {
        finding.state = ThreadState::ResolvedByUs;
        finding.before = Before::Declined;
        finding.anchor = AnchorState::Unchanged;
    };
    let scene = || severe(declined);
    let open_again = |scene: Scene| {
        let settled = scene.reconcile();
        assert_eq!(surviving(&settled).len(), 1);
        let ThreadChange::Answer { text, resolve: false } = change_of(&settled) else {
            panic!("it is open: {:?}", settled.threads)
        };
        assert_eq!(text, texts::TAKEN_BACK);
    };
    let wont_fix = || {
        scene()
            .replied(AuthorRole::Member, "Won't fix.")
            .replied(AuthorRole::Us, "Resolved.")
    };
    open_again(wont_fix().replied(AuthorRole::Member, "I take that back: this must be fixed."));
    // The answer was deleted.
    open_again(scene());
    let settled = wont_fix().reconcile();
    assert_eq!((surviving(&settled).len(), settled.accepted.len()), (0, 1));
    assert_eq!(settled.remembered[0].before, Before::Declined);
    let settled = wont_fix()
        .replied(AuthorRole::Outsider, "I take that back.")
        .reconcile();
    assert_eq!(surviving(&settled).len(), 0);
    let mut fixed = scene();
    fixed.earlier[0].anchor = AnchorState::Changed;
    assert_eq!(surviving(&fixed.reconcile()).len(), 0, "its code is gone");
}

#[test]
fn who_has_accepted_a_warning_has_not_accepted_a_critical_finding() {
    let raised = |state| {
        let scene = severe(|finding| {
            finding.raised = true;
            finding.state = state;
        });
        let scene = scene.replied(AuthorRole::Member, "Won't fix.");
        scene.replied(AuthorRole::Us, "It is a critical finding now, so it is open again.")
    };
    assert_eq!(surviving(&raised(ThreadState::Open).reconcile()).len(), 1);
    let again = raised(ThreadState::Open).replied(AuthorRole::Member, "Won't fix.");
    assert_eq!(surviving(&again.reconcile()).len(), 0);
    assert_eq!(
        surviving(&raised(ThreadState::ResolvedByUs).reconcile()).len(),
        0,
        "it was settled again"
    );
}

/// A finding that is not the author's to settle.
fn severe(change: impl FnOnce(&mut ExistingFinding)) -> Scene {
    let mut scene = scene();
    let finding = &mut scene.earlier[0];
    finding.record.severity = Severity::Critical;
    finding.author_may_settle = false;
    change(finding);
    scene
}

/// It stands, and the author reads who can settle it.
#[track_caller]
fn stands_and_says_who(scene: &Scene, of: &str) {
    let settled = scene.reconcile();
    assert_eq!(surviving(&settled).len(), 1);
    assert_eq!(settled.settled, []);
    let ThreadChange::Answer { text, resolve: false } = change_of(&settled) else {
        panic!("it is open: {:?}", settled.threads)
    };
    assert!(text.contains(&format!("cannot settle {of}")), "{text}");
    assert!(text.contains("who may push to it"), "{text}");
    assert!(
        settled.notes.iter().any(|note| note.contains("has tried to settle")),
        "{:?}",
        settled.notes
    );
}

#[test]
fn the_author_settles_nothing_above_the_limit() {
    for text in ["won't fix", "Acknowledged."] {
        stands_and_says_who(&severe(|_| {}).replied(AuthorRole::Author, text), "a critical finding");
        // Up to the limit it counts as any member's word.
        let own = scene().replied(AuthorRole::Author, text).reconcile();
        assert_eq!(surviving(&own), []);
    }
    stands_and_says_who(
        &severe(|_| {}).state(ThreadState::ResolvedByAuthor),
        "a critical finding",
    );
    gone(&scene().state(ThreadState::ResolvedByAuthor), &ThreadChange::Keep, None);
    let risk = severe(|finding| {
        finding.record.severity = Severity::Warning;
        finding.record.production_risk = true;
    });
    stands_and_says_who(&risk.replied(AuthorRole::Author, "won't fix"), "a danger to production");
    let injection = severe(|finding| finding.record.category = "prompt-injection".to_owned());
    stands_and_says_who(
        &injection.replied(AuthorRole::Author, "won't fix"),
        "an attempt to steer the review",
    );
    // What we have answered is not said again; a new word is.
    let answered = severe(|_| {})
        .replied(AuthorRole::Author, "won't fix")
        .replied(AuthorRole::Us, "This stands.");
    assert_eq!(change_of(&answered.reconcile()), ThreadChange::Keep);
    stands_and_says_who(
        &answered.replied(AuthorRole::Author, "acknowledged"),
        "a critical finding",
    );
    // Another member decides, whatever the author adds.
    for scene in [
        severe(|_| {})
            .replied(AuthorRole::Author, "won't fix")
            .replied(AuthorRole::Member, "won't fix"),
        severe(|_| {})
            .replied(AuthorRole::Member, "acknowledged")
            .replied(AuthorRole::Author, "Thanks!"),
        severe(|_| {}).state(ThreadState::ResolvedByPerson),
    ] {
        assert_eq!(surviving(&scene.reconcile()), []);
    }
}

#[test]
fn what_the_author_says_about_a_fixed_finding_does_not_keep_it_away() {
    let back = severe(|_| {})
        .state(ThreadState::ResolvedByUs)
        .replied(AuthorRole::Author, "won't fix")
        .judged(Severity::Critical, "c");
    assert_eq!(
        surviving(&back.reconcile()),
        [("F1".to_owned(), Severity::Critical, true)]
    );
    // Opened again by somebody, and resolved by the author.
    let mut again = severe(|_| {}).state(ThreadState::ResolvedByAuthor);
    again.earlier[0].before = Before::Resolved;
    assert_eq!(surviving(&again.reconcile()).len(), 1);
}

#[test]
fn a_breach_that_blocks_is_settled_by_code_or_by_another_member_and_never_by_its_authors_word() {
    use conclave_shared::engineering_rule::OnBreach;
    let breach = |on_breach| {
        severe(move |finding| {
            finding.record.severity = OnBreach::severity(on_breach);
            finding.record.rule = Some(conclave_shared::finding::RuleCitation {
                id: "SEC-001".to_owned(),
                link: String::new(),
                on_breach: Some(on_breach),
            });
            finding.anchor = AnchorState::Unchanged;
        })
    };
    let refuted = |scene: Scene, word, status: Option<RefutationStatus>| {
        let mut scene = scene.word(word);
        scene.words.words[0].refutation = status.map(guard);
        scene.reconcile()
    };
    for on_breach in [OnBreach::Review, OnBreach::Block] {
        for text in ["won't fix", "Acknowledged.", "It is checked in src/guard.py."] {
            let by = |role| breach(on_breach).replied(role, text);
            for word in [
                EarlierStatus::FixedElsewhere,
                EarlierStatus::Withdrawn,
                EarlierStatus::Fixed,
            ] {
                for status in [None, Some(RefutationStatus::Invalid)] {
                    let settled = refuted(by(AuthorRole::Author), word, status);
                    assert_eq!(surviving(&settled).len(), 1, "{on_breach:?} {text} {word:?} {status:?}");
                }
            }
            for status in [RefutationStatus::UnchangedCode, RefutationStatus::ThisChange] {
                let settled = refuted(by(AuthorRole::Author), EarlierStatus::FixedElsewhere, Some(status));
                assert_eq!(surviving(&settled), [], "{on_breach:?} {text}");
                assert_eq!(
                    settled.findings[0].refuted_by_this_change().is_some(),
                    status == RefutationStatus::ThisChange
                );
            }
        }
        let member = breach(on_breach).replied(AuthorRole::Member, "won't fix");
        assert_eq!(surviving(&member.reconcile()), []);
    }
}

#[test]
fn what_another_person_may_have_edited_decides_nothing() {
    let mut edited = scene().replied(AuthorRole::Member, "won't fix");
    edited.earlier[0].replies[0].edited = true;
    stands(&edited);
    // It is read as an argument.
    assert!(matches!(
        change_of(&edited.word(EarlierStatus::NotFixed).reconcile()),
        ThreadChange::Answer { resolve: false, .. }
    ));
}

#[test]
fn a_models_word_alone_withdraws_nothing_serious() {
    for role in [AuthorRole::Member, AuthorRole::Author] {
        for change in [
            (|_| {}) as fn(&mut ExistingFinding),
            |finding| {
                finding.record.severity = Severity::Warning;
                finding.record.production_risk = true;
            },
            |finding| finding.record.category = "prompt-injection".to_owned(),
        ] {
            let argued = severe(change)
                .replied(role, "I disagree: it is a constant.")
                .word(EarlierStatus::Withdrawn);
            assert_eq!(surviving(&argued.reconcile()).len(), 1);
        }
    }
}

#[test]
fn code_withdraws_a_serious_finding_where_a_member_argues_against_it() {
    let refutation = |status| Refutation {
        file: "src/guard.py".into(),
        line: 3,
        end_line: None,
        quote: "if not NAME.fullmatch(name):".into(),
        status,
        needed: true,
        lost_by_target: false,
        altered_use: None,
        uncertain: None,
        fault: None,
        surroundings: None,
    };
    let withdrawn = |status, argued: bool| {
        let mut scene = severe(|_| {}).word(EarlierStatus::Withdrawn);
        if argued {
            scene = scene.replied(AuthorRole::Author, "The name is checked before.");
        }
        scene.words.words[0].refutation = Some(refutation(status));
        scene.reconcile()
    };
    for status in [RefutationStatus::UnchangedCode, RefutationStatus::ThisChange] {
        let settled = withdrawn(status, true);
        assert_eq!(surviving(&settled), []);
        let [entry] = &settled.findings[..] else {
            panic!("one record, not {:?}", settled.findings)
        };
        assert_eq!(
            entry.refuted_by_this_change().is_some(),
            status == RefutationStatus::ThisChange
        );
        assert_eq!(entry.reason_code.as_deref(), Some("withdrawn"));
        assert_eq!(surviving(&withdrawn(status, false)).len(), 1, "no member argues");
    }
    let settled = withdrawn(RefutationStatus::Invalid, true);
    assert_eq!(surviving(&settled).len(), 1);
    let overruled = settled.findings[0].overruled.as_ref().expect("the judge disagrees");
    assert!(
        overruled.describe().contains("It would withdraw it."),
        "{}",
        overruled.describe()
    );
}

#[test]
fn an_author_without_a_right_argues_and_settles_nothing() {
    let by = |text: &str| scene().replied(AuthorRole::Contributor, text);
    for text in ["won't fix", "Acknowledged."] {
        let settled = by(text).reconcile();
        assert_eq!(surviving(&settled), [("E1".to_owned(), Severity::Warning, true)]);
        let ThreadChange::Answer { text, resolve: false } = change_of(&settled) else {
            panic!("an answer: {:?}", settled.threads)
        };
        assert!(
            text.contains("an author who may not push to the project cannot settle a warning"),
            "{text}"
        );
        let notes = settled.notes.join("; ");
        assert!(notes.contains("a warning takes a member of the project"), "{notes}");
    }
    let argues = |word| by("It is checked in src/guard.py.").word(word);
    let answered = ThreadChange::Answer {
        text: "Because of line 3.".into(),
        resolve: false,
    };
    assert_eq!(change_of(&argues(EarlierStatus::NotFixed).reconcile()), answered);
    // On their argument the judge needs code, however little the finding weighs.
    for status in [
        None,
        Some(RefutationStatus::Invalid),
        Some(RefutationStatus::UnchangedCode),
    ] {
        let mut scene = argues(EarlierStatus::Withdrawn);
        scene.words.words[0].refutation = status.map(guard);
        let settled = scene.reconcile();
        let is_withdrawn = status == Some(RefutationStatus::UnchangedCode);
        assert_eq!(surviving(&settled).is_empty(), is_withdrawn, "{status:?}");
        let by: Vec<_> = settled.settled.iter().map(|settled| settled.by).collect();
        let author = Some(conclave_shared::telemetry::SettledBy::Author);
        assert_eq!(
            by,
            if is_withdrawn { vec![author] } else { vec![] },
            "what it settles teaches nothing"
        );
    }
    // What they say behind a member's word neither adds to it nor takes from it.
    let after = |word: &str, text: &str| {
        scene()
            .replied(AuthorRole::Member, word)
            .replied(AuthorRole::Contributor, text)
    };
    let withdrawn = after("I disagree, it is a constant.", "Right.").word(EarlierStatus::Withdrawn);
    assert_eq!(surviving(&withdrawn.reconcile()), []);
    assert_eq!(surviving(&after("won't fix", "No, please fix it.").reconcile()), []);
}

#[test]
fn nothing_serious_hides_behind_another_kind_of_problem() {
    // The judge says that a new critical finding is the settled warning.
    let mut hidden = scene()
        .state(ThreadState::ResolvedByPerson)
        .judged(Severity::Critical, "i");
    hidden.judged[0].finding.category = "auth-bypass".to_owned();
    hidden.words.repeats = vec![("F1".into(), "E1".into())];
    hidden.earlier[0].record.severity = Severity::Critical;
    assert_eq!(
        surviving(&hidden.reconcile()),
        [("F1".to_owned(), Severity::Critical, false)]
    );
    // The judge says that a new suggestion of another kind is the critical one, whose code has changed.
    let mut hiding = severe(|_| {}).judged(Severity::Suggestion, "i");
    hiding.judged[0].finding.category = "naming".to_owned();
    hiding.words.repeats = vec![("F1".into(), "E1".into())];
    assert!(surviving(&hiding.reconcile()).contains(&("E1".to_owned(), Severity::Critical, true)));
    // A new critical of the same kind in other lines, while the code of the earlier one stands.
    let mut elsewhere = scene().judged(Severity::Critical, "i");
    elsewhere.earlier[0].anchor = AnchorState::Unchanged;
    elsewhere.words.repeats = vec![("F1".into(), "E1".into())];
    assert_eq!(
        surviving(&elsewhere.reconcile()),
        [
            ("F1".to_owned(), Severity::Critical, false),
            ("E1".to_owned(), Severity::Warning, true)
        ]
    );
    // It drops the repetition, and says that the problem is fixed.
    let mut dropped = scene().judged(Severity::Warning, "c").word(EarlierStatus::Fixed);
    dropped.judged[0].fate = FindingFate::Dropped;
    dropped.judged[0].reason_code = Some("duplicate".into());
    assert_eq!(
        surviving(&dropped.reconcile()),
        [("E1".to_owned(), Severity::Warning, true)]
    );
}

#[test]
fn what_the_author_settles_teaches_nothing() {
    use conclave_shared::telemetry::SettledBy::{Author, Member};
    let outcomes = |scene: Scene| {
        let settled = scene.reconcile().settled;
        let [settled] = &settled[..] else {
            panic!("one, not {settled:?}")
        };
        (settled.outcome, settled.by.expect("a person"))
    };
    let withdrawn = |role, text| scene().replied(role, text).word(EarlierStatus::Withdrawn);
    assert_eq!(
        outcomes(withdrawn(AuthorRole::Member, "I disagree.")),
        (Settlement::Rejected, Member)
    );
    assert_eq!(
        outcomes(withdrawn(AuthorRole::Member, "Nein.")),
        (Settlement::Resolved, Member)
    );
    assert_eq!(
        outcomes(withdrawn(AuthorRole::Author, "I disagree.")),
        (Settlement::Resolved, Author)
    );
    let declined = |role| scene().replied(role, "won't fix");
    assert_eq!(outcomes(declined(AuthorRole::Member)), (Settlement::Rejected, Member));
    assert_eq!(outcomes(declined(AuthorRole::Author)), (Settlement::Resolved, Author));
    for state in [ThreadState::ResolvedByAuthor, ThreadState::ResolvedByPerson] {
        assert_eq!(
            outcomes(declined(AuthorRole::Author).state(state)),
            (Settlement::Resolved, Author)
        );
    }
}

#[test]
fn what_a_person_resolved_is_respected_unless_it_is_worse() {
    let resolved = || scene().state(ThreadState::ResolvedByPerson);
    gone(&resolved(), &ThreadChange::Keep, None);
    gone(&resolved().judged(Severity::Warning, "c"), &ThreadChange::Keep, None);
    gone(&resolved().judged(Severity::Suggestion, "c"), &ThreadChange::Keep, None);
    let settled = resolved().judged(Severity::Warning, "c").reconcile();
    assert_eq!(settled.findings[0].reason_code.as_deref(), Some("already_handled"));

    let worse = |settled: &Reconciled, severity| {
        assert_eq!(surviving(settled), [("F1".to_owned(), severity, true)]);
        let ThreadChange::Answer { text, resolve: false } = change_of(settled) else {
            panic!("it is opened again: {:?}", settled.threads)
        };
        text
    };
    let text = worse(
        &resolved().judged(Severity::Critical, "c").reconcile(),
        Severity::Critical,
    );
    assert_eq!(
        text,
        "This was settled as a warning. With `22222222` it is a critical, so it is open again."
    );
    // A danger to production that was none is worse, too.
    let mut dangerous = resolved().judged(Severity::Warning, "c");
    dangerous.judged[0].production_risk = true;
    worse(&dangerous.reconcile(), Severity::Warning);
}

#[test]
fn nobody_without_a_role_settles_anything() {
    stands(&scene().state(ThreadState::ResolvedByOther));
    let other = scene().state(ThreadState::ResolvedByOutsider);
    // Also where a member has asked something in the thread.
    for scene in [
        &other,
        &scene()
            .state(other.earlier[0].state)
            .replied(AuthorRole::Member, "Why?"),
    ] {
        let settled = scene.reconcile();
        assert_eq!(surviving(&settled), [("E1".to_owned(), Severity::Warning, true)]);
        let notes = settled.notes.join("; ");
        assert!(notes.contains("not a member of the project"), "{notes}");
        let ThreadChange::Answer { text, resolve: false } = change_of(&settled) else {
            panic!("it is open again: {:?}", settled.threads)
        };
        let says = "a person who may not push to the project cannot settle a warning. A member of the project who may";
        assert!(text.contains(says), "{text}");
    }
    let unnamed = scene().state(ThreadState::ResolvedByUnnamed).reconcile();
    assert_eq!(surviving(&unnamed), [("E1".to_owned(), Severity::Warning, true)]);
    let ThreadChange::Answer { text, resolve: false } = change_of(&unnamed) else {
        panic!("it is open again: {:?}", unnamed.threads)
    };
    let says = "This stands: an account that the forge does not name cannot settle a warning. A member";
    assert!(text.contains(says), "{text}");
    let fixed_too = scene().state(ThreadState::ResolvedByUnnamed).word(EarlierStatus::Fixed);
    gone(&fixed_too, &resolve("fixed in `22222222`"), Some(Before::Fixed));
    // What is fixed is fixed all the same.
    let mut fixed = other.word(EarlierStatus::Fixed);
    gone(&fixed, &resolve("fixed in `22222222`"), Some(Before::Fixed));
    // Its thread stays that person's; what we found is remembered.
    fixed.earlier[0].before = Before::Fixed;
    fixed.words = EarlierVerdicts::default();
    gone(&fixed, &ThreadChange::Keep, Some(Before::Fixed));
}

#[test]
fn what_we_resolved_comes_back_as_what_it_was() {
    let ours = || scene().state(ThreadState::ResolvedByUs);
    gone(&ours(), &ThreadChange::Keep, Some(Before::Resolved));
    let settled = ours().judged(Severity::Warning, "c").reconcile();
    assert_eq!(surviving(&settled), [("F1".to_owned(), Severity::Warning, true)]);
    assert!(matches!(change_of(&settled), ThreadChange::Answer { text, resolve: false } if text.contains("is back")));
    // On a member's word it stays settled.
    for answer in ["won't fix", "acknowledged", "I disagree"] {
        let declined = || ours().replied(AuthorRole::Member, answer);
        gone(
            &declined().judged(Severity::Warning, "c"),
            &ThreadChange::Keep,
            Some(Before::Resolved),
        );
        assert_eq!(
            surviving(&declined().judged(Severity::Critical, "c").reconcile()).len(),
            1
        );
    }
}

#[test]
fn removed_lines_that_were_put_back_and_are_missing_again_are_back() {
    let back = |anchor_state| {
        let mut ours = scene().state(ThreadState::ResolvedByUs);
        let earlier = &mut ours.earlier[0];
        earlier.record.severity = Severity::Critical;
        let anchor = earlier.record.anchor.take().expect("a line");
        let file = crate::incremental::Lines::new("");
        earlier.record.anchor = Some(anchor.of_removed("check(user)", &file, false));
        (earlier.before, earlier.anchor) = (Before::Resolved, anchor_state);
        !surviving(&ours.reconcile()).is_empty()
    };
    assert!(back(AnchorState::ChangedBeside));
    assert!(!back(AnchorState::Changed), "they stand");
}

#[test]
fn code_that_was_fixed_is_back_wherever_it_stands_if_it_is_known_by_itself() {
    let standing = |severity, code: &str, refuting, anchor| {
        let mut ours = scene().state(ThreadState::ResolvedByUs);
        let finding = &mut ours.earlier[0];
        finding.record.severity = severity;
        finding.before = Before::Resolved;
        finding.code = code.to_owned();
        finding.refuting = refuting;
        finding.anchor = anchor;
        surviving(&ours.reconcile()).len()
    };
    let code = "    return connection.execute(query + name)";
    let (none, beside) = (RefutingCode::None, AnchorState::ChangedBeside);
    assert_eq!(standing(Severity::Critical, code, none, beside), 1);
    assert_eq!(standing(Severity::Critical, "x", none, AnchorState::Unchanged), 1);
    for (severity, code, refuting, anchor) in [
        (Severity::Critical, "    run(x)", none, beside),
        (Severity::Critical, "", none, beside),
        (Severity::Critical, code, RefutingCode::Stands, beside),
        (Severity::Critical, code, none, AnchorState::Changed),
        (Severity::Critical, code, none, AnchorState::Unknown),
        (Severity::Warning, code, none, beside),
    ] {
        assert_eq!(
            standing(severity, code, refuting, anchor),
            0,
            "{severity} {code:?} {refuting:?} {anchor:?}"
        );
    }
}

#[test]
fn a_thread_that_a_person_opened_again_is_that_persons() {
    for text in ["won't fix", "Still there."] {
        let mut reopened = scene().replied(AuthorRole::Member, text).word(EarlierStatus::Fixed);
        reopened.earlier[0].before = Before::Reopened;
        assert_eq!(
            surviving(&reopened.reconcile()),
            [("E1".to_owned(), Severity::Warning, true)]
        );
        assert_eq!(reopened.reconcile().remembered[0].before, Before::Reopened);
    }
}

#[test]
fn a_new_finding_that_repeats_an_open_one_takes_its_place() {
    // The same identity, the same code in a file that was renamed, the same lines, the judge's word.
    let by_identity = scene().judged(Severity::Warning, "c");
    let mut by_code = scene().judged(Severity::Warning, "c");
    by_code.judged[0].finding.fingerprint = fresh("F", Severity::Warning, "a").finding.fingerprint;
    let mut by_place = scene().judged(Severity::Warning, "b");
    by_place.judged[0].finding.end_line = Some(4);
    let mut by_word = scene().judged(Severity::Warning, "i");
    by_word.words.repeats = vec![("F1".into(), "E1".into())];
    for (how, scene) in [
        ("identity", by_identity),
        ("code", by_code),
        ("place", by_place),
        ("word", by_word),
    ] {
        let settled = scene.reconcile();
        assert_eq!(
            surviving(&settled),
            [("F1".to_owned(), Severity::Warning, true)],
            "{how}"
        );
        assert_eq!(
            settled.findings[0].finding.fingerprint, scene.earlier[0].record.fingerprint,
            "{how}"
        );
        assert_eq!(change_of(&settled), ThreadChange::Keep, "{how}");
    }
}

#[test]
fn another_problem_is_a_new_one() {
    for letter in ["b", "d"] {
        let settled = scene().judged(Severity::Warning, letter).reconcile();
        assert_eq!(surviving(&settled).len(), 2, "{letter}");
    }
    let mut other_kind = scene().judged(Severity::Critical, "c");
    other_kind.judged[0].finding.category = "race".into();
    other_kind.judged[0].finding.fingerprint = conclave_shared::finding::fingerprint("src/a.py", "race", "c");
    let settled = other_kind.reconcile();
    assert_eq!(
        surviving(&settled),
        [
            ("F1".to_owned(), Severity::Critical, false),
            ("E1".to_owned(), Severity::Warning, true)
        ]
    );
}

#[test]
fn of_several_repeats_the_worst_speaks_and_the_others_agree() {
    let mut scene = scene().judged(Severity::Warning, "c").judged(Severity::Critical, "c");
    scene.judged[0].finding.found_by =
        vec![conclave_shared::reviewer::ReviewerName::new("correctness").expect("a name")];
    let settled = scene.reconcile();
    assert_eq!(surviving(&settled), [("F2".to_owned(), Severity::Critical, true)]);
    assert_eq!(settled.findings[0].finding.found_by.len(), 2);
    assert_eq!(settled.findings[1].fate, FindingFate::Merged);
}

#[test]
fn a_dropped_duplicate_neither_hides_nor_revives() {
    let mut scene = scene().judged(Severity::Critical, "c");
    scene.judged[0].fate = FindingFate::Dropped;
    scene.judged[0].reason_code = Some("duplicate".into());
    // The earlier one stands, as bad as the duplicate says.
    assert_eq!(
        surviving(&scene.reconcile()),
        [("E1".to_owned(), Severity::Critical, true)]
    );
    scene.judged[0].reason_code = Some("false_positive".into());
    assert_eq!(
        surviving(&scene.reconcile()),
        [("E1".to_owned(), Severity::Warning, true)]
    );
}

#[test]
fn a_severity_falls_only_with_changed_code_in_a_whole_review() {
    let mut scene = scene().judged(Severity::Suggestion, "c");
    assert_eq!(surviving(&scene.reconcile())[0].1, Severity::Suggestion);
    scene.degraded = true;
    assert_eq!(surviving(&scene.reconcile())[0].1, Severity::Warning);
    scene.degraded = false;
    scene.earlier[0].anchor = AnchorState::Unchanged;
    assert_eq!(surviving(&scene.reconcile())[0].1, Severity::Warning);
}

#[test]
fn what_the_judge_keeps_is_not_fixed() {
    let both = scene().word(EarlierStatus::Fixed).judged(Severity::Warning, "c");
    assert_eq!(
        surviving(&both.reconcile()),
        [("F1".to_owned(), Severity::Warning, true)]
    );
    let withdrawn = scene()
        .replied(AuthorRole::Member, "I disagree")
        .word(EarlierStatus::Withdrawn)
        .judged(Severity::Warning, "c");
    assert_eq!(surviving(&withdrawn.reconcile()).len(), 1);
}

#[test]
fn a_finding_of_the_summary_is_carried_and_can_be_fixed() {
    let mut summary_only = scene();
    summary_only.earlier[0].thread = None;
    summary_only.earlier[0].before = Before::Stood;
    let settled = summary_only.reconcile();
    assert_eq!(surviving(&settled), [("E1".to_owned(), Severity::Warning, false)]);
    assert_eq!(settled.threads, []);
    let settled = summary_only.word(EarlierStatus::Fixed).reconcile();
    assert_eq!((surviving(&settled), settled.remembered), (vec![], vec![]));
}

#[test]
fn a_deleted_threads_finding_stands_and_is_not_posted_again() {
    let mut deleted = scene();
    deleted.earlier[0].thread = None;
    let settled = deleted.reconcile();
    assert_eq!(surviving(&settled), [("E1".to_owned(), Severity::Warning, true)]);
    assert_eq!(settled.findings[0].thread.as_deref(), Some(""));
    assert!(settled.notes[0].contains("was deleted"), "{:?}", settled.notes);
}

#[test]
fn the_review_says_how_many_went_which_way() {
    let mut scene = scene();
    scene.earlier.push(ExistingFinding {
        replies: vec![Reply {
            body: "won't fix".into(),
            role: AuthorRole::Member,
            ..Reply::default()
        }],
        ..existing("E2", "e")
    });
    scene.earlier.push(existing("E3", "g"));
    scene.words = word("E3", EarlierStatus::Fixed);
    assert_eq!(
        scene.reconcile().notes,
        [
            "1 finding stands from an earlier review",
            "1 earlier finding is fixed",
            "1 earlier finding was settled by a member's answer"
        ]
    );
}

/// How the one earlier finding was settled, if this review is the one that notices it.
fn told(scene: &Scene) -> Option<Settlement> {
    let settled = scene.reconcile().settled;
    assert!(settled.len() <= 1, "{settled:?}");
    settled.first().map(|entry| {
        assert_eq!(
            (entry.category.as_str(), entry.file.as_str()),
            ("sql-injection", "src/a.py")
        );
        entry.outcome
    })
}

#[test]
fn what_was_settled_is_told_by_the_review_that_notices_it_and_by_no_other() {
    use Settlement::{Fixed, Rejected, Resolved};
    let again = |mut scene: Scene| {
        scene.earlier[0].stood = false;
        scene
    };
    let person = || scene().state(ThreadState::ResolvedByPerson);
    for (scene, expected) in [
        (scene(), None),
        (scene().word(EarlierStatus::Fixed), Some(Fixed)),
        (scene().word(EarlierStatus::NotFixed), None),
        // Fixed, and people talk about it: told once.
        (
            scene()
                .word(EarlierStatus::Fixed)
                .replied(AuthorRole::Member, "Thanks!"),
            Some(Fixed),
        ),
        (scene().replied(AuthorRole::Member, "won't fix"), Some(Rejected)),
        (scene().replied(AuthorRole::Outsider, "won't fix"), None),
        // Whoever takes a risk does not say that there is none.
        (scene().replied(AuthorRole::Member, "acknowledged"), Some(Resolved)),
        (
            scene()
                .replied(AuthorRole::Member, "I disagree: it is a constant")
                .word(EarlierStatus::Withdrawn),
            Some(Rejected),
        ),
        (
            scene().replied(AuthorRole::Member, "I disagree: it is a constant"),
            None,
        ),
        (person(), Some(Resolved)),
        (person().replied(AuthorRole::Member, "won't fix"), Some(Rejected)),
        (again(person()), None),
        (again(person().replied(AuthorRole::Member, "won't fix")), None),
        (scene().state(ThreadState::ResolvedByUs), None),
        (
            scene()
                .state(ThreadState::ResolvedByUs)
                .replied(AuthorRole::Member, "won't fix"),
            None,
        ),
    ] {
        assert_eq!(told(&scene), expected, "{:?}", scene.earlier[0]);
    }
    let mut in_talk = scene()
        .word(EarlierStatus::Fixed)
        .replied(AuthorRole::Member, "Thanks!");
    in_talk.earlier[0].before = Before::Fixed;
    assert_eq!(told(&in_talk), None, "the last review has told it");
}

const SAID: &str = "The average of an empty list divides by zero.";
const OTHER: &str = "Prices are rounded before they are added up.";

/// A critical in lines 2 and 3, while an earlier one in line 3 stands, whose code is there.
fn wider(state: ThreadState, category: &str, claim: &str) -> Scene {
    let scene = severe(|finding| {
        finding.anchor = AnchorState::ChangedBeside;
        finding.record.claim = SAID.to_owned();
    });
    let mut scene = scene.state(state).judged(Severity::Critical, "c");
    let entry = &mut scene.judged[0];
    entry.anchor = None;
    let finding = &mut entry.finding;
    finding.claim = claim.to_owned();
    finding.category = category.to_owned();
    finding.line = 2;
    finding.end_line = Some(3);
    finding.fingerprint = conclave_shared::finding::fingerprint("src/a.py", category, "b c");
    scene
}

#[test]
fn the_same_claim_about_the_same_lines_is_the_same_finding_whatever_its_category_and_quote() {
    let resolved = ThreadState::ResolvedByPerson;
    for category in ["sql-injection", "missing-value"] {
        let open = wider(ThreadState::Open, category, SAID).reconcile();
        assert_eq!(surviving(&open), [("F1".to_owned(), Severity::Critical, true)]);
        let settled = wider(resolved, category, SAID).reconcile();
        assert_eq!((surviving(&settled), settled.accepted.len()), (vec![], 1), "{category}");
        // The judge's word for it changes nothing.
        let mut said = wider(resolved, category, SAID);
        said.words.repeats = vec![("F1".into(), "E1".into())];
        assert_eq!(surviving(&said.reconcile()), [], "{category}");
    }
}

#[test]
fn an_accepted_finding_hides_nothing_that_says_more_than_it() {
    let more: [fn(&mut Scene); 7] = [
        |scene| scene.judged[0].finding.claim = OTHER.to_owned(),
        |scene| scene.judged[0].finding.category = conclave_shared::finding::Finding::PROMPT_INJECTION.to_owned(),
        |scene| {
            scene.judged[0].finding.rule = Some(conclave_shared::finding::RuleCitation {
                id: "SEC-001".to_owned(),
                link: String::new(),
                on_breach: None,
            });
        },
        |scene| scene.judged[0].finding.end_line = None,
        |scene| scene.earlier[0].anchor = AnchorState::Changed,
        |scene| {
            scene.earlier[0].code = "c".to_owned();
            scene.judged[0].finding.evidence = "c\nb\nc".to_owned();
        },
        |scene| scene.earlier[0].record.severity = Severity::Warning,
    ];
    for (at, change) in more.iter().enumerate() {
        let mut scene = wider(ThreadState::ResolvedByPerson, "missing-value", SAID);
        change(&mut scene);
        let settled = scene.reconcile();
        let [(id, severity, _)] = &surviving(&settled)[..] else {
            panic!("case {at}: {:?}", settled.findings)
        };
        assert_eq!((id.as_str(), *severity), ("F1", Severity::Critical), "case {at}");
    }
}

#[test]
fn a_judge_may_take_what_is_on_the_lines_of_an_earlier_finding_for_it_whatever_it_is_called() {
    let said = |state, severity| {
        let mut scene = wider(state, "missing-value", OTHER);
        scene.judged[0].finding.severity = severity;
        scene.words.repeats = vec![("F1".into(), "E1".into())];
        scene.reconcile()
    };
    for severity in [Severity::Critical, Severity::Warning] {
        let open = said(ThreadState::Open, severity);
        assert_eq!(surviving(&open), [("E1".to_owned(), Severity::Critical, true)]);
        assert_eq!(change_of(&open), ThreadChange::Keep, "nothing is posted again");
    }
    assert_eq!(surviving(&said(ThreadState::ResolvedByPerson, Severity::Warning)), []);
    // What people have accepted is not a reason to take what weighs out on a word.
    assert_eq!(
        surviving(&said(ThreadState::ResolvedByPerson, Severity::Critical)),
        [("F1".to_owned(), Severity::Critical, false)]
    );
    // Without the judge's word they are two.
    let two = wider(ThreadState::Open, "missing-value", OTHER).reconcile();
    assert_eq!(surviving(&two).len(), 2);
}

#[test]
fn why_a_finding_is_not_the_earlier_one_that_the_judge_takes_it_for_is_said() {
    for (state, category, fault) in [
        (
            ThreadState::Open,
            conclave_shared::finding::Finding::PROMPT_INJECTION,
            "the finding on `src/a.py:3` is of another kind, so merging needs code that refutes it, too",
        ),
        (
            ThreadState::ResolvedByPerson,
            "missing-value",
            "people have settled the finding on `src/a.py:3`, and no code shows that this is the same one",
        ),
        (
            ThreadState::ResolvedByPerson,
            "sql-injection",
            "people have settled the finding on `src/a.py:3`, and no code shows that this is the same one",
        ),
    ] {
        let mut scene = wider(state, category, OTHER);
        scene.judged[0].reason = Some("The same.".to_owned());
        scene.words.repeats = vec![("F1".into(), "E1".into())];
        let settled = scene.reconcile();
        let mut standing = settled.findings.iter().filter(|entry| entry.stands());
        let entry = standing.find(|entry| entry.finding.id == "F1").expect("it stands");
        assert_eq!(
            entry.overruled.as_ref().expect("noted").describe(),
            format!("the judge disagrees: The same. (It would merge it away. That does not count: {fault}.)")
        );
    }
}

#[test]
fn who_disputes_what_is_serious_reads_how_to_decide() {
    for text in [
        "False positive.",
        "I disagree.",
        "We accept this risk.",
        "This is intended.",
    ] {
        let said = severe(|_| {})
            .replied(AuthorRole::Member, text)
            .word(EarlierStatus::NotFixed);
        let ThreadChange::Answer { text: answer, .. } = change_of(&said.reconcile()) else {
            panic!("{text}: it is answered")
        };
        assert!(answer.ends_with(texts::HOW_TO_DECIDE), "{text}: {answer}");
    }
    let asked = severe(|_| {})
        .replied(AuthorRole::Member, "Is this intended?")
        .word(EarlierStatus::NotFixed);
    assert!(matches!(change_of(&asked.reconcile()), ThreadChange::Answer { text, .. } if text == "Because of line 3."));
    // Also where the judge has no words of its own.
    let mut silent = severe(|_| {})
        .replied(AuthorRole::Member, "@review-bot won't fix")
        .word(EarlierStatus::NotFixed);
    silent.words.words[0].answer = None;
    assert!(
        matches!(change_of(&silent.reconcile()), ThreadChange::Answer { text, resolve: false } if text == texts::HOW_TO_DECIDE)
    );
}

#[test]
fn an_author_who_means_to_settle_what_is_not_theirs_reads_who_can() {
    for role in [AuthorRole::Author, AuthorRole::Contributor] {
        for text in [
            "Won't fix: only internal",
            "Won't fix, this table is internal.",
            "False positive.",
        ] {
            let said = severe(|_| {}).replied(role, text);
            assert_eq!(change_of(&said.reconcile()), ThreadChange::Keep, "no judge has read it");
            let said = said.word(EarlierStatus::NotFixed);
            let ThreadChange::Answer {
                text: answer,
                resolve: false,
            } = change_of(&said.reconcile())
            else {
                panic!("{text}: it is answered")
            };
            let who = texts::not_the_authors(&said.earlier[0].record, role);
            assert_eq!(answer, format!("Because of line 3.\n\n{who}"), "{text}");
        }
        let asked = severe(|_| {}).replied(role, "Won't fix?").word(EarlierStatus::NotFixed);
        assert!(
            matches!(change_of(&asked.reconcile()), ThreadChange::Answer { text, .. } if text == "Because of line 3.")
        );
    }
}

#[test]
fn what_the_judge_may_not_do_is_not_said_as_if_it_were_done() {
    for (status, view) in [
        (EarlierStatus::Withdrawn, "would withdraw this"),
        (EarlierStatus::Fixed, "takes this to be fixed"),
    ] {
        let argued = severe(|finding| finding.anchor = AnchorState::ChangedBeside)
            .replied(AuthorRole::Member, "It is checked before.")
            .word(status);
        let ThreadChange::Answer { text, resolve: false } = change_of(&argued.reconcile()) else {
            panic!("it is answered")
        };
        assert!(
            text.starts_with(&format!(
                "The coordinator {view}. That does not count: no code was quoted"
            )),
            "{text}"
        );
        assert!(!text.contains("refuted_by"), "a field of the judge's tool: {text}");
        assert!(
            text.ends_with("To settle it, you can answer with `won't fix` or `acknowledged` and nothing else, or resolve this thread."),
            "{text}"
        );
    }
}
