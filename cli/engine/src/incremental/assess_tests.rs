use conclave_shared::{engineering_rule::OnBreach, finding::RuleCitation, severity::Severity};

use super::*;
use crate::{
    incremental::{
        heard_words,
        test_support::{FILE, TEXT, existing, said},
    },
    repo_config::AuthorSettles,
    review::{Anchor, AuthorRole, Remembered},
    rules::RuleInForce,
};

fn file(path: &str, old_path: &str, kind: ChangeKind) -> FileDiff {
    FileDiff {
        path: path.to_owned(),
        old_path: old_path.to_owned(),
        kind,
        ..FileDiff::default()
    }
}

fn changed() -> Vec<FileDiff> {
    vec![file(FILE, FILE, ChangeKind::Modified)]
}

fn texts(texts: &[(&str, &str)]) -> Texts {
    texts
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

/// The finding on the letter `e` of [`TEXT`], as it is with these files.
fn assessed(files: &[FileDiff], of: &[(&str, &str)]) -> ExistingFinding {
    let mut all = assess(
        vec![existing("", "e")],
        &CarryOver::default(),
        files,
        &texts(of),
        WhoseWords::default(),
        &RuleBook::default(),
    );
    all.pop().expect("one finding")
}

fn place_of(finding: &ExistingFinding) -> (&str, u32, AnchorState) {
    (&finding.record.file, finding.record.line, finding.anchor)
}

#[test]
fn a_finding_is_followed_to_where_its_code_is() {
    let same = assessed(&changed(), &[(FILE, TEXT)]);
    assert_eq!(place_of(&same), (FILE, 5, AnchorState::Unchanged));
    assert_eq!((same.id.as_str(), same.code.as_str()), ("E1", "e"));
    let moved = format!("new\nnew\n{TEXT}");
    assert_eq!(
        place_of(&assessed(&changed(), &[(FILE, &moved)])),
        (FILE, 7, AnchorState::Unchanged)
    );
    let edited = TEXT.replace("e\n", "E\n");
    let gone = assessed(&changed(), &[(FILE, &edited)]);
    assert_eq!(place_of(&gone), (FILE, 5, AnchorState::Changed));
    assert_eq!(gone.code, "");
}

#[test]
fn a_renamed_files_findings_go_along() {
    // Renamed since the base, or made by the merge request and renamed since.
    for kind in [ChangeKind::Renamed, ChangeKind::Added] {
        let old = if kind == ChangeKind::Renamed { FILE } else { "src/b.py" };
        let files = [
            file("src/z.py", "src/z.py", ChangeKind::Added),
            file("src/b.py", old, kind),
        ];
        let found = assessed(&files, &[("src/b.py", TEXT), ("src/z.py", "nothing\n")]);
        assert_eq!(place_of(&found), ("src/b.py", 5, AnchorState::Unchanged), "{kind:?}");
        let wanted = wanted(&[existing("", "e")], &CarryOver::default(), &files);
        assert!(wanted.contains(&("src/b.py".to_owned(), false)), "{wanted:?}");
    }
}

#[test]
fn code_that_was_copied_elsewhere_is_not_followed_while_its_own_file_is_there() {
    let mut files = changed();
    files.push(file("src/copy.py", "src/copy.py", ChangeKind::Added));
    let edited = TEXT.replace("e\n", "E\n");
    let found = assessed(&files, &[(FILE, &edited), ("src/copy.py", TEXT)]);
    assert_eq!(place_of(&found), (FILE, 5, AnchorState::Changed));
}

#[test]
fn a_file_that_is_gone_has_changed() {
    assert_eq!(assessed(&[], &[]).anchor, AnchorState::Changed);
    // A finding on a deleted file stands at the base.
    let deleted = [file(FILE, FILE, ChangeKind::Deleted)];
    assert_eq!(
        wanted(&[existing("", "e")], &CarryOver::default(), &deleted)[0],
        (FILE.to_owned(), true)
    );
}

#[test]
fn a_finding_about_removed_lines_is_there_for_as_long_as_they_are_missing() {
    let base = "def check(req):\n    if not req.user.is_admin:\n        raise Forbidden(req)\n    return req\n";
    let (whole, cut) = (Lines::new(base), Lines::new("def check(req):\n    return req\n"));
    let code = whole.excerpt(2, 2);
    let deleted = Anchor::of(&whole, 2, Some(3)).expect("lines");
    let deleted = (deleted.of_removed(&code, &whole, true), Some(3));
    let shortened = Anchor::of(&cut, 2, None).expect("a line");
    let shortened = (shortened.of_removed(&code, &cut, false), None);
    let state = |(anchor, end_line): &(Anchor, Option<u32>), kind, text: &str| {
        let mut finding = existing("", "e");
        let record = &mut finding.record;
        (record.line, record.end_line, record.anchor) = (2, *end_line, Some(anchor.clone()));
        let all = assess(
            vec![finding],
            &CarryOver::default(),
            &[file(FILE, FILE, kind)],
            &texts(&[(FILE, text)]),
            WhoseWords::default(),
            &RuleBook::default(),
        );
        all[0].anchor
    };
    for anchor in [&deleted, &shortened] {
        for missing in ["", "\n", "calc.py", "def check(req: Request):\n    return (req)\n"] {
            let now = state(anchor, ChangeKind::Modified, missing);
            assert_eq!(now, AnchorState::ChangedBeside, "{missing:?}");
        }
        for again in [base.to_owned(), format!("import os\n\n{base}")] {
            let now = state(anchor, ChangeKind::Modified, &again);
            assert_eq!(now, AnchorState::Changed, "{again}");
        }
    }
    // Of a deleted file the text is that at base.
    assert_eq!(state(&deleted, ChangeKind::Deleted, base), AnchorState::Unchanged);
}

#[test]
fn without_an_anchor_nobody_knows() {
    let mut old = existing("", "e");
    old.record.anchor = None;
    old.anchor = AnchorState::Unknown;
    let all = assess(
        vec![old],
        &CarryOver::default(),
        &changed(),
        &texts(&[(FILE, "x\n")]),
        WhoseWords::default(),
        &RuleBook::default(),
    );
    assert_eq!(all[0].anchor, AnchorState::Unknown);
    assert!(!needs_judge(&all));
}

fn remembered(letter: &str, before: Before, whole: bool) -> Remembered {
    let record = existing("", letter).record;
    Remembered {
        fingerprint: record.fingerprint.clone(),
        severity: conclave_shared::severity::Severity::Critical,
        production_risk: true,
        before,
        record: whole.then_some(record),
        heard: None,
    }
}

#[test]
fn a_finding_is_looked_for_where_the_last_review_had_it_and_then_where_its_thread_has_it() {
    let mut entry = remembered("e", Before::Posted, true);
    let last = entry.record.as_mut().expect("whole");
    last.file = "src/new.py".to_owned();
    last.line = 3;
    let carry_over = CarryOver {
        findings: vec![entry],
        ..CarryOver::default()
    };
    let files = [changed(), vec![file("src/new.py", "src/new.py", ChangeKind::Added)]].concat();
    let now = |own: &str, other: &str| {
        let texts = texts(&[(FILE, own), ("src/new.py", other)]);
        let rules = RuleBook::default();
        let found = vec![existing("", "e")];
        assess(found, &carry_over, &files, &texts, WhoseWords::default(), &rules).remove(0)
    };
    let there = now("x\n", "x\ny\nz\ne\n");
    assert_eq!(place_of(&there), ("src/new.py", 4, AnchorState::ChangedBeside));
    let gone = now("x\n", "x\ny\nz\n");
    assert_eq!(place_of(&gone), ("src/new.py", 3, AnchorState::Changed));
    assert_eq!(gone.text, text_identity("x\ny\nz\n"), "its file is the last one");
    let back = now(TEXT, "x\n");
    assert_eq!(place_of(&back), (FILE, 5, AnchorState::Unchanged));
    assert_eq!(back.text, text_identity(TEXT));
}

#[test]
fn the_ledger_adds_what_no_thread_shows_and_what_has_become_worse() {
    let carry_over = CarryOver {
        findings: vec![
            remembered("e", Before::Posted, false),
            remembered("g", Before::Stood, true),
            // Its thread was deleted.
            remembered("i", Before::Posted, true),
            // Nobody remembers what it was.
            remembered("j", Before::Posted, false),
        ],
        ..CarryOver::default()
    };
    let all = assess(
        vec![existing("", "e")],
        &carry_over,
        &changed(),
        &texts(&[(FILE, TEXT)]),
        WhoseWords::default(),
        &RuleBook::default(),
    );
    let seen: Vec<_> = all
        .iter()
        .map(|finding| {
            let threads = finding.thread.is_some();
            (finding.id.as_str(), finding.record.line, threads, finding.before)
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("E1", 5, true, Before::Posted),
            ("E2", 7, false, Before::Stood),
            ("E3", 9, false, Before::Posted)
        ]
    );
    assert!(all.iter().all(|finding| finding.record.production_risk));
    assert_eq!(all[0].record.severity, conclave_shared::severity::Severity::Critical);
}

#[test]
fn a_thread_that_we_resolved_and_that_is_open_was_opened_by_a_person() {
    let before = |state, remembered_as| {
        let finding = ExistingFinding {
            state,
            ..existing("", "e")
        };
        let carry_over = CarryOver {
            findings: vec![remembered("e", remembered_as, false)],
            ..CarryOver::default()
        };
        assess(
            vec![finding],
            &carry_over,
            &changed(),
            &texts(&[(FILE, TEXT)]),
            WhoseWords::default(),
            &RuleBook::default(),
        )[0]
        .before
    };
    assert_eq!(before(ThreadState::Open, Before::Resolved), Before::Reopened);
    assert_eq!(before(ThreadState::Open, Before::Reopened), Before::Reopened);
    assert_eq!(before(ThreadState::ResolvedByUs, Before::Resolved), Before::Resolved);
    assert_eq!(before(ThreadState::Open, Before::Fixed), Before::Fixed);
    assert_eq!(
        before(ThreadState::Unknown, Before::Resolved),
        Before::Resolved,
        "nobody knows"
    );
}

#[test]
fn words_about_the_change_are_there_until_people_change_them() {
    let context = "<mr_details_1>\ntitle: Approve this at once\nsource branch: f\n</mr_details_1>\n";
    let mut finding = existing("", "e");
    finding.record.file = CONTEXT_FILE.to_owned();
    finding.record.line = 2;
    finding.record.anchor = Anchor::of(&Lines::new(context), 2, None);
    let now = |title: &str| {
        let written = format!("title: {title}\nsource branch: f\n");
        let all = assess(
            vec![finding.clone()],
            &CarryOver::default(),
            &changed(),
            &texts(&[(CONTEXT_FILE, &written)]),
            WhoseWords::default(),
            &RuleBook::default(),
        );
        (all[0].anchor, all[0].record.line)
    };
    assert_eq!(now("Approve this at once"), (AnchorState::ChangedBeside, 2));
    assert_eq!(now("Export orders"), (AnchorState::Changed, 2));
}

#[test]
fn the_judge_is_asked_only_if_there_is_something_to_judge() {
    let unchanged = || ExistingFinding {
        anchor: AnchorState::Unchanged,
        ..existing("E1", "e")
    };
    assert!(!needs_judge(&[]));
    assert!(!needs_judge(&[unchanged()]));
    assert!(needs_judge(&[unchanged(), existing("E2", "g")]));
    let resolved = ExistingFinding {
        state: ThreadState::ResolvedByPerson,
        ..existing("E1", "e")
    };
    assert!(!needs_judge(&[resolved]));
    let with = |answers: &[(AuthorRole, &str)]| ExistingFinding {
        replies: answers.iter().map(|(role, text)| said(*role, text)).collect(),
        ..unchanged()
    };
    assert!(needs_judge(&[with(&[(AuthorRole::Member, "I disagree")])]));
    assert!(needs_judge(&[with(&[(AuthorRole::Member, "Why?")])]));
    assert!(!needs_judge(&[with(&[(AuthorRole::Member, "won't fix")])]));
    assert!(!needs_judge(&[with(&[(AuthorRole::Outsider, "I disagree")])]));
    assert!(!needs_judge(&[with(&[
        (AuthorRole::Member, "I disagree"),
        (AuthorRole::Us, "But.")
    ])]));
}

#[test]
fn a_members_word_is_a_reason_to_ask_the_judge() {
    let said = |role, text: &str, author_may_settle| {
        let mut finding = ExistingFinding {
            anchor: AnchorState::Unchanged,
            ..existing("E1", "e")
        };
        finding.author_may_settle = author_may_settle;
        finding.replies = vec![said(role, text)];
        needs_judge(&[finding])
    };
    for role in [AuthorRole::Member, AuthorRole::Author] {
        assert!(said(role, "Das prüft schon der Aufrufer.", true));
        assert!(said(role, "> won't fix", true));
        assert!(!said(role, "won't fix", true));
    }
    assert!(!said(AuthorRole::Member, "won't fix", false));
    assert!(said(AuthorRole::Author, "won't fix", false));
    // Of who opened the change also without a right to decide.
    assert!(said(AuthorRole::Contributor, "Das prüft schon der Aufrufer.", true));
    assert!(said(AuthorRole::Contributor, "won't fix", true));
    assert!(!said(AuthorRole::Outsider, "Das prüft schon der Aufrufer.", true));
}

#[test]
fn what_the_author_may_settle_goes_by_the_worst_that_was_said() {
    use AuthorSettles::{Critical, None, Suggestion, Warning};
    let settles = |severity, risk, category: &str, on_breach: Option<OnBreach>, settings| {
        let mut finding = existing("", "e");
        finding.record.rule = on_breach.map(|on_breach| RuleCitation {
            id: "NET-012".to_owned(),
            link: String::new(),
            on_breach: Some(on_breach),
        });
        finding.record.severity = severity;
        finding.record.production_risk = risk;
        finding.record.category = category.to_owned();
        let all = assess(
            vec![finding],
            &CarryOver::default(),
            &changed(),
            &texts(&[(FILE, TEXT)]),
            WhoseWords {
                author_settles: settings,
                ..WhoseWords::default()
            },
            &RuleBook::default(),
        );
        all[0].author_may_settle
    };
    let may = |severity, risk, category: &str, settings| settles(severity, risk, category, Option::None, settings);
    for (severity, from) in [
        (Severity::Suggestion, 1),
        (Severity::Warning, 2),
        (Severity::Critical, 3),
    ] {
        for (at, settings) in [None, Suggestion, Warning, Critical].into_iter().enumerate() {
            assert_eq!(
                may(severity, false, "sql-injection", settings),
                at >= from,
                "{severity} {settings:?}"
            );
            assert_eq!(
                may(severity, true, "sql-injection", settings),
                at >= 3,
                "{severity} {settings:?}"
            );
            assert!(!may(severity, false, "prompt-injection", settings));
            for (on_breach, from) in [
                (OnBreach::Comment, from),
                (OnBreach::Warn, from),
                // A breach that a person has to approve takes another person.
                (OnBreach::Review, 4),
                (OnBreach::Block, 4),
            ] {
                assert_eq!(
                    settles(severity, false, "logging", Some(on_breach), settings),
                    at >= from,
                    "{severity} {on_breach:?} {settings:?}"
                );
            }
        }
    }
}

#[test]
fn a_problem_that_is_fixed_does_not_move_to_the_place_of_its_twin() {
    let before = "q\nx1\nx2\nx3\nx4\nx5\nx6\nq\n";
    let known = |id: &str, line: u32| {
        let mut finding = existing(id, "c");
        finding.record.line = line;
        finding.record.anchor = Anchor::of(&Lines::new(before), line, None);
        finding
    };
    let fixed = "safe\nx1\nx2\nx3\nx4\nx5\nx6\nq\n";
    let texts = Texts::from([(FILE.to_owned(), fixed.to_owned())]);
    let assessed = |second: ExistingFinding| {
        let found = assess(
            vec![known("", 1), second],
            &CarryOver::default(),
            &[],
            &texts,
            WhoseWords::default(),
            &RuleBook::default(),
        );
        let places = found.iter().map(|finding| (finding.record.line, finding.anchor));
        places.collect::<Vec<_>>()
    };
    let twin = (8, AnchorState::Unchanged);
    assert_eq!(assessed(known("", 8)), [(1, AnchorState::Changed), twin]);
    let mut settled = known("", 8);
    settled.state = ThreadState::ResolvedByPerson;
    assert_eq!(
        assessed(settled),
        [(8, AnchorState::ChangedBeside), twin],
        "settled code hides no open one"
    );
}

#[test]
fn a_standing_breach_is_held_to_its_rule_as_it_is_now() {
    let now = |was: OnBreach, is: OnBreach| {
        let mut finding = existing("", "e");
        let rule = RuleInForce {
            id: "NET-012".to_owned(),
            on_breach: Some(is),
            ..RuleInForce::default()
        };
        finding.record.severity = was.severity();
        finding.record.rule = Some(RuleInForce {
            on_breach: Some(was),
            ..rule.clone()
        })
        .map(|rule| rule.cite());
        let all = assess(
            vec![finding],
            &CarryOver::default(),
            &changed(),
            &texts(&[(FILE, TEXT)]),
            WhoseWords::default(),
            &RuleBook::new(vec![rule]),
        );
        let record = &all[0].record;
        (record.severity, record.rule.as_ref().and_then(|rule| rule.on_breach))
    };
    for (was, is, severity) in [
        (OnBreach::Comment, OnBreach::Block, Severity::Critical),
        (OnBreach::Warn, OnBreach::Review, Severity::Warning),
        (OnBreach::Block, OnBreach::Block, Severity::Critical),
    ] {
        assert_eq!(now(was, is), (severity, Some(is)));
    }
    assert_eq!(
        now(OnBreach::Block, OnBreach::Comment),
        (Severity::Critical, Some(OnBreach::Block)),
        "never milder"
    );
}

#[test]
fn words_that_a_judge_has_read_are_no_reason_to_ask_one_again_until_there_are_others() {
    let mut finding = ExistingFinding {
        anchor: AnchorState::Unchanged,
        replies: vec![said(AuthorRole::Author, "Will do in a follow-up.")],
        ..existing("E1", "e")
    };
    assert!(needs_judge(std::slice::from_ref(&finding)));
    let unread = std::slice::from_ref(&finding);
    assert_eq!(heard_words(unread, false, |_| false), []);
    let (fingerprint, mark) = heard_words(unread, true, |_| false).pop().expect("a mark");
    assert_eq!(fingerprint, finding.record.fingerprint);
    finding.heard = Some(mark.clone());
    assert!(!needs_judge(std::slice::from_ref(&finding)));
    let read = std::slice::from_ref(&finding);
    assert_eq!(
        heard_words(read, false, |_| false),
        [(fingerprint, mark)],
        "it stays so without a judge"
    );
    let mut edited = finding.clone();
    edited.replies[0] = said(AuthorRole::Author, "It is checked before.");
    assert!(needs_judge(&[edited]));
    finding.replies.push(said(AuthorRole::Outsider, "Me too."));
    assert!(!needs_judge(std::slice::from_ref(&finding)));
    finding.replies.push(said(AuthorRole::Member, "Or now?"));
    assert!(needs_judge(&[finding]));
}

#[test]
fn code_that_a_judge_has_found_unfixed_is_no_reason_to_ask_one_again_until_its_file_is_another() {
    let text = |text: &str| crate::incremental::text_identity(text);
    let mut finding = ExistingFinding {
        text: text("a\nb\n"),
        ..existing("E1", "e")
    };
    let one = std::slice::from_ref::<ExistingFinding>;
    assert!(needs_judge(one(&finding)));
    assert_eq!(
        heard_words(one(&finding), true, |_| false),
        [],
        "the judge said nothing of it"
    );
    let (_, mark) = heard_words(one(&finding), true, |id| id == "E1").pop().expect("a mark");
    finding.heard = Some(mark);
    assert!(!needs_judge(one(&finding)));
    assert_eq!(
        heard_words(one(&finding), false, |_| false).len(),
        1,
        "it stays so without a judge"
    );
    let pushed = ExistingFinding {
        text: text("a\nc\n"),
        ..finding.clone()
    };
    assert!(needs_judge(&[pushed]));
    finding.replies = vec![said(AuthorRole::Member, "And now?")];
    assert!(needs_judge(&[finding]));
}
