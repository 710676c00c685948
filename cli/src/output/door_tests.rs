//! Nothing that acts gets through the door, and what is ours does.

use proptest::prelude::*;

use super::{
    super::paint::{Paint, link},
    *,
};

#[test]
fn what_a_log_or_a_terminal_acts_on_is_broken() {
    for (text, printed) in [
        ("plain ünï 語 😀 ⚠\u{fe0f}", "plain ünï 語 😀 ⚠\u{fe0f}"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2J", "[31mred[0m ]0;title[2J"),
        ("\u{9b}31m \u{7f}\u{8}x\0", "31m x"),
        ("over\rwritten", "over written"),
        (
            "\x1b[0Ksection_start:1:x\r\x1b[0KForged",
            "[0Ksection_start :1:x [0KForged",
        ),
        (
            "SECTION_END:1:x sec\u{200b}tion_start:1:x",
            "SECTION_END :1:x section_start :1:x",
        ),
        ("::error::x", ": :error::x"),
        ("  ::set-output name=a::b", "  : :set-output name=a::b"),
        (":\u{200b}:stop-commands::x", ": :stop-commands::x"),
        (
            "##[error]x ##vso[task] ## [x] # [x]",
            "# #[error]x # #vso[task] ## [x] # [x]",
        ),
        ("std::error::Error a::b use(x)::y", "std::error::Error a::b use(x)::y"),
        ("\u{202e}sliaf\u{2066} \u{2028}x\u{2029}y\u{85}z", "sliaf  x y z"),
        ("a\nb\r\nc", "a\nb\nc"),
        ("a\u{2060}b", "ab"),
    ] {
        assert_eq!(clean(text, Keep::Signs), printed, "{text:?}");
    }
    assert_eq!(clean("@\u{2060}x\u{200b}", Keep::Joiners), "@\u{2060}x");
}

#[test]
fn colors_and_links_of_ours_become_sequences() {
    assert_eq!(clean(&"x".red(), Keep::Signs), "\x1b[31mx\x1b[39m");
    assert_eq!(clean(&"x".red(), Keep::Text), "x");
    assert_eq!(
        clean(&link("x", "https://e.org/"), Keep::Signs),
        "\x1b]8;;https://e.org/\x1b\\x\x1b]8;;\x1b\\"
    );
    // A mark that is painted in two parts is one all the same.
    assert_eq!(clean(&format!("{}{}", ":".red(), ":error::"), Keep::Text), ": :error::");
}

#[test]
fn only_the_first_line_of_a_message_begins_where_a_line_does() {
    assert_eq!(message("a\nb\n  c\n\n    d\re"), "a\n  b\n  c\n\n    d\n  e");
    assert_eq!(one_line("a\nb\tc\u{2028}d\x1b[1m"), "a b c d[1m");
}

#[test]
fn json_keeps_what_it_says() {
    let value = serde_json::json!({"a": "\u{9b}\u{202e}\u{e0041}\u{7f} ##[error] section_start:1 ::error::x\u{2028}"});
    let escaped = escaped_json(&format!("{value:#}"));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&escaped).expect("JSON"),
        value
    );
    assert!(
        escaped.is_ascii() && !escaped.contains("##[") && !escaped.contains("section_start:"),
        "{escaped}"
    );
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "\x1b[31m",
            "\x1b]0;x\x07",
            "\r",
            "\n",
            "\t",
            " ",
            ":",
            "::",
            "error",
            "section_start",
            "section_end:",
            "1:x",
            "#",
            "##",
            "[",
            "vso[",
            "\u{202e}",
            "\u{200b}",
            "\u{2028}",
            "\u{9b}",
            "\u{e0001}",
            "\u{e007f}",
            "\u{e0030}",
            "a",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ]
}

proptest! {
    #[test]
    fn nothing_that_acts_gets_through(pieces in prop::collection::vec(piece(), 0..16)) {
        let text = pieces.concat();
        for printed in [clean(&text, Keep::Signs), clean(&message(&text), Keep::Text), one_line(&text)] {
            prop_assert!(!printed.chars().any(|c| c != '\n' && c != '\t' && (c.is_control() || (is_invisible(c) && !is_presentation_selector(c)))));
            prop_assert!(!printed.contains("section_start:") && !printed.contains("section_end:") && !printed.contains("##["));
            for line in printed.lines() {
                let line = line.trim_start();
                prop_assert!(!(line.starts_with("::") && line[2..].starts_with(|c: char| c.is_ascii_alphabetic())), "{line:?}");
            }
        }
        prop_assert!(message(&text).split('\n').skip(1).all(|line| line.is_empty() || line.starts_with("  ")));
    }
}
