use super::*;

#[track_caller]
fn all(expected: ReplyIntent, answers: &[&str]) {
    for answer in answers {
        assert_eq!(intent(&OwnWords::of(answer)), expected, "{answer:?}");
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
            "We will not fix this: the module goes away next month.",
            "@conclave-bot won't fix, legacy code",
            "Not going to fix that here",
            "Sorry, won't fix because the caller checks it.",
            "This won't be fixed.",
            "Won't fix - not worth it",
            "Won't fix `load()`",
            "Won't fix, see [the decision](https://example.org/adr).",
            "Won't fix <!-- a note to myself -->",
            "Won't fix (legacy)",
            "Ok, won't fix it. We have a ticket for the rewrite.",
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
            "ack",
            "ACK!",
            "Acknowledged, we live with it for now.",
            "Risk accepted.",
            "Accepted risk: only admins get here.",
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
            "We won't fix prices in this release",
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
fn negations_conditions_and_promises_decide_nothing() {
    all(
        ReplyIntent::Other,
        &[
            "not acknowledged",
            "This is not a won't fix.",
            "Not won't fix",
            "I never said won't fix",
            "Nobody says won't fix here",
            "Acknowledged, but the author has to fix it.",
            "Acknowledged, will fix.",
            "Acknowledged. I'll fix it in the next push.",
            "Ack, working on it",
            "Ack, on it",
            "Won't fix unless somebody insists",
            "Won't fix it if you tell me why it matters.",
            "won't fix until Monday",
            "Won't fix. Just kidding.",
            "Won't fix this now. Actually I will fix it.",
            "don't resolve this: won't fix is no answer",
            "won't fix or maybe yes",
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
        let _ = intent(&OwnWords::of(answer));
    }
    let _ = intent(&OwnWords::of(&"won't fix ".repeat(10_000)));
}
