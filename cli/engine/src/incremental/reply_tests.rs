use super::*;

#[track_caller]
fn all(expected: ReplyIntent, answers: &[&str]) {
    for answer in answers {
        assert_eq!(intent(&OwnWords::of(answer), None), expected, "{answer:?}");
    }
}

#[test]
fn what_declines() {
    all(
        ReplyIntent::Declines,
        &[
            "won't fix",
            "Won't fix.",
            "WON'T FIX!",
            "won’t fix",
            "Wontfix",
            "won't-fix",
            "**Won't fix**",
            "_won't fix_",
            "I won't fix this.",
            "We will not fix this, thanks.",
            "@conclave-bot, won't fix",
            "Not going to fix that here",
            "This won't be fixed.",
            "Sorry, not fixing",
            "Won't fix <!-- a note to myself -->",
            "Ok, won't fix it.",
            "> The query is built from user input.\n\nWon't fix.",
        ],
    );
}

#[test]
fn what_acknowledges() {
    all(
        ReplyIntent::Acknowledges,
        &[
            "acknowledged",
            "Acknowledged.",
            "Yes, acknowledged",
            "Good catch, acknowledged, thanks!",
            "Acknowledged. Thanks!",
            "Acknowledged. Thank you.",
            "ack",
            "ACK!",
            "Risk accepted.",
            "No, accepted risk",
        ],
    );
}

#[test]
fn a_decision_beside_anything_else_decides_nothing() {
    all(
        ReplyIntent::Mixed,
        &[
            "Acknowledged, do not merge. This is a blocker.",
            "acknowledged as critical, must not be merged",
            "Ack: blocker.",
            "ack @author please address",
            "Acknowledged, @author please fix",
            "Acknowledged, fixing now",
            "Acknowledged, I'll push a fix",
            "acknowledged. Please fix.",
            "Ack!! This is a serious bug",
            "Accepted risk: no",
            "accepted risk: none",
            "Accepted risk: only admins get here.",
            "Won't fix this way; the parameter has to be checked.",
            "won't fix, reject the MR",
            "Won't fix: the change must be reverted.",
            "Won't fix. On second thought, please fix.",
            "won't fix it, try another approach",
            "Won't fix, said nobody ever.",
            "Won't fix\n\nOr rather: do.",
            "Won't fix\nany other way",
            "Won't fix because the caller checks it.",
            "Won't fix - not worth it",
            "Won't fix (legacy)",
            "Won't fix `load()`",
            "Won't fix, see [the decision](https://example.org/adr).",
            "Won't fix https://example.org/adr",
            "Won't fix\n\n- unless you insist",
            "Won't fix\n\n> said nobody ever",
            "Won't fix\n\n```\nis no answer\n```",
            "Acknowledged 🚫",
            "won't fix :-)",
            "Risk accepted /s",
            "Acknowledged\u{2026}",
            "Acknowledged, but the author has to fix it.",
            "Acknowledged, will fix.",
            "Acknowledged. I'll fix it in the next push.",
            "Ack, working on it",
            "Ack, on it",
            "Won't fix unless somebody insists",
            "Won't fix it if you tell me why it matters.",
            "won't fix until Monday",
            "Won't fix. Just kidding.",
            "Won't fix. Thanks for nothing.",
            "Won't fix. Thanks. I will fix it.",
            "Acknowledged.\nThanks!",
            "Won't fix this now. Actually I will fix it.",
            "won't fix or maybe yes",
            "We won't fix prices in this release",
        ],
    );
}

#[test]
fn a_decision_that_may_be_meant_for_another_decides_nothing_and_is_known_as_one() {
    all(
        ReplyIntent::Mixed,
        &[
            "@ann won't fix this",
            "@review-bot won't fix",
            "Agreed, won't fix.",
            "+1 won't fix",
            "Agreed, acknowledged.",
            "Accepted.",
            "We accept this.",
            "Won't do.",
            "This is fine.",
        ],
    );
    all(
        ReplyIntent::Other,
        &[
            "Accepted values are 1 and 2.",
            "Fine, I'll change it.",
            "Not acceptable.",
            "Agreed, this is wrong.",
            "Agreed.",
        ],
    );
    all(ReplyIntent::Asks, &["Accepted?", "@review-bot won't fix?"]);
}

#[test]
fn who_asks_for_a_thread_to_stay_open_is_understood() {
    let keeps = |text: &str| keeps_open(&OwnWords::of(text));
    for text in [
        "Fixed, but please keep this open.",
        "Leave it open until Monday.",
        "Please don't resolve this yet.",
        "Bitte offen lassen.",
        "Оставьте открытым.",
        "開いたままにしてください。",
        "<b>Fixed</b>",
    ] {
        assert!(keeps(text), "{text}");
    }
    for text in [
        "Fixed the open redirect.",
        "Resolved in 1a2b3c4, closes #12.",
        "> Keep it open.\n\nDone.",
        "👍",
    ] {
        assert!(!keeps(text), "{text}");
    }
}

#[test]
fn a_question_to_another_person_names_an_account_that_is_not_the_bots() {
    let asks = |text: &str| asks_another(&OwnWords::of(text), "Review-Bot[bot]");
    assert!(asks("@ann, is that what you meant?"));
    assert!(asks("Fixed. @ann? @review-bot?"));
    for text in [
        "@review-bot is it fixed?",
        "Is it fixed?",
        "@ann fixed.",
        "a@example.org?",
    ] {
        assert!(!asks(text), "{text}");
    }
    for text in ["?", "Done ✅❓", "¿Listo"] {
        assert!(holds_question(&OwnWords::of(text)), "{text}");
    }
    for text in [
        "Done.",
        "Fixed `a ? b : c`.",
        "See https://example.org/?page=2",
        "> Why?\n\nDone.",
    ] {
        assert!(!holds_question(&OwnWords::of(text)), "{text}");
    }
}

#[test]
fn a_decision_that_is_anothers_or_denied_decides_nothing() {
    all(
        ReplyIntent::Other,
        &[
            "You won't fix this.",
            "No risk accepted.",
            "Nope acknowledged",
            "not acknowledged",
            "This is not a won't fix.",
            "Not won't fix",
            "I never said won't fix",
            "Nobody says won't fix here",
            "Are we not fixing this",
            "don't resolve this: won't fix is no answer",
        ],
    );
}

#[test]
fn what_disagrees() {
    all(
        ReplyIntent::Disagrees,
        &[
            "I disagree",
            "I disagree: the caller checks for that, but see for yourself.",
            "I don't agree with this. The input is validated in `parse`.",
            "We do not agree",
            "This is a false positive.",
            "False positive",
            "Not a bug, it is documented.",
            "That's wrong",
            "I respectfully disagree.",
            "> SQL injection\n\nI disagree, it is a constant.",
        ],
    );
}

#[test]
fn look_alikes_decide_nothing() {
    all(
        ReplyIntent::Other,
        &[
            "acknowledgement sent",
            "unacknowledged messages pile up here",
            "acknowledgements are in the README",
            "backpack",
            "ack-timeout is five seconds",
            "won't fixate on that",
            "won't fixture",
            "the fix won't work",
            "It won't fix itself",
            "It won't fix this",
            "That's not going to fix it",
            // Cyrillic letters.
            "w\u{043e}n't fix",
            "\u{0430}cknowledged",
            "i won t fix",
            "",
            "   ",
            "👍",
        ],
    );
}

#[test]
fn questions_decide_nothing() {
    all(
        ReplyIntent::Asks,
        &[
            "won't fix?",
            "Acknowledged?",
            "Do you disagree?",
            "Should we write won't fix here?",
            "Why is that a problem? The caller checks it.",
            "The caller checks it. Doesn't it?",
            "Won't fix? No, let us talk.",
            "won't fix？",
            "acknowledged؟",
            "won't fix\u{37E}",
            "won't fix ⁉",
            "won't fix❓",
            "Won't fix...?",
            "Won't fix.\n?",
            "¿won't fix",
        ],
    );
}

#[test]
fn what_is_quoted_is_not_said() {
    all(
        ReplyIntent::Other,
        &[
            "> won't fix\n\nPlease do.",
            "> won't fix",
            "> somebody said:\nwon't fix",
            ">>>\nwon't fix\n>>>\nplease do",
            "```\nwon't fix\n```\nis what the log says",
            "~~~\nacknowledged\n~~~",
            "`won't fix` is a label of ours",
            "- ```\n  won't fix\n  ```",
            "<!-- won't fix -->",
            "<pre>\nwon't fix\n</pre>",
            "<details>\n\nwon't fix\n\n</details>",
            "<blockquote>\n\nwon't fix",
            "    won't fix",
            "[x]: /url 'won't fix'",
            "The team lead wrote \"won't fix\" elsewhere",
            "\"Won't fix\", that would be too easy.",
            "“Won't fix” - that would be too easy.",
            "'Won't fix', that would be too easy.",
        ],
    );
}

#[test]
fn what_is_no_plain_paragraph_decides_nothing() {
    all(
        ReplyIntent::Other,
        &[
            "- won't fix",
            "# Won't fix",
            "won't fix\n---",
            "1. acknowledged",
            "| won't fix |\n|---|\n| x |",
            "~~won't fix~~",
            "~~No,~~ won't fix",
            "Won't fix <b>unless</b> you insist",
            "[Won't fix](https://example.org/adr)",
            "![x](a.png) won't fix",
            "`load` won't fix that",
            "`load()`: won't fix",
            "Das ist kein Problem, der Aufrufer prüft das.",
            "対応しません。",
        ],
    );
}

#[test]
fn it_never_fails_on_anything() {
    for answer in [
        "`", "```", ">>>", "?", "'", "\u{0}", "@", "won't", "will not", "ack?!", "…",
    ] {
        let _ = intent(&OwnWords::of(answer), None);
    }
    let _ = intent(&OwnWords::of(&"won't fix ".repeat(10_000)), None);
}

#[test]
fn a_question_is_one_in_the_persons_own_words() {
    let asked = |comment: &str| asks(&OwnWords::of(comment));
    for question in [
        "Tabs or spaces?",
        "为什么？",
        "لماذا؟",
        "Fine.\n\n- And what of this?",
        "Why is `a?.b` there?",
    ] {
        assert!(asked(question), "{question:?}");
    }
    for other in [
        "> Tabs or spaces?\n\nTabs.",
        "Use `a?.b` here.",
        "```\na ? b : c\n```",
        "See https://example.org/?page=2 for that.",
        "Fine.",
        "",
    ] {
        assert!(!asked(other), "{other:?}");
    }
}

#[test]
fn a_reason_behind_a_colon_or_a_dash_is_one() {
    let declines = |text: &str, language| declines_with_reason(&OwnWords::of(text), language);
    for text in [
        "won't fix: the API is going away",
        "wontfix – legacy code",
        "Won't fix — it is generated. We remove it in May.",
        "We will not fix this - see the ticket",
    ] {
        assert!(declines(text, None), "{text}");
        assert_eq!(intent(&OwnWords::of(text), None), ReplyIntent::Mixed, "{text}");
    }
    assert!(declines("Wird nicht behoben: Altlast", Some(Language::German)));
    for text in [
        "won't fix",
        "won't fix:",
        "won't fix: why?",
        "you won't fix this: it is broken",
        "acknowledged: will be fixed",
        "I can't, so won't fix: no time",
        "won't fix: see\n\n> but do",
        "- won't fix: legacy",
        "Reason: won't fix",
    ] {
        assert!(!declines(text, None), "{text}");
    }
}
