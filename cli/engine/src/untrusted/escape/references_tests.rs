//! No reference is left: held with a reader of its own, made from the patterns of the forges.

use std::sync::LazyLock;

use conclave_shared::invisible::{ends_line, is_invisible, is_presentation_selector};
use proptest::prelude::*;
use regex::Regex;

use crate::untrusted::escape;

/// What acts in a text as it is shown, outside of code.
const ACTIVE: &[&str] = &[
    // People and groups.
    r"[@＠﹫][\w.-]",
    // Issues, merge requests, snippets, milestones, labels, epics, alerts of GitLab; issues of GitHub.
    r"[#!$%&]\d",
    r#"[%~]["\w]"#,
    r"(?i)\^alert",
    r"(?i)\bG[LH]-\d",
    r"(?i)\[(?:issue|epic|work_item|vulnerability|feature_flag|contact|wiki_page|cadence|[a-z_]+):",
    r"\[\[",
    r"(?i)\*iteration:",
    // Commits.
    r"[0-9a-fA-F]{7}",
    // Projects.
    r"[\w.][\w.-]*>",
    // Issues of Jira, YouTrack, Phorge, ClickUp and Engineering Workflow Management.
    r"[A-Za-z][A-Za-z0-9_]*-\d",
    r"\bT\d",
    r"\bCU-\w",
    r"(?i)\b(?:bug|task|work item|workitem|rtcwi|defect)\s+\d",
    // Addresses.
    r"://",
    r"(?i)www\.",
];

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    ACTIVE
        .iter()
        .map(|pattern| Regex::new(pattern).expect("a pattern"))
        .collect()
});

/// What a reader sees of Markdown without any block: the runs of text, and the code spans.
fn shown(markdown: &str) -> Vec<(bool, String)> {
    let characters: Vec<char> = markdown.chars().collect();
    let mut parts = vec![(false, String::new())];
    let mut at = 0;
    while at < characters.len() {
        match characters[at] {
            '\\' if characters.get(at + 1).is_some_and(char::is_ascii_punctuation) => {
                parts.last_mut().expect("a part").1.push(characters[at + 1]);
                at += 2;
            }
            '`' => {
                let run = |from: usize| characters[from..].iter().take_while(|one| **one == '`').count();
                let fence = run(at);
                let mut end = at + fence;
                while end < characters.len() && run(end) != fence {
                    end += run(end).max(1);
                }
                assert!(end < characters.len(), "a fence without an end: {markdown:?}");
                parts.push((true, characters[at..end + fence].iter().collect()));
                parts.push((false, String::new()));
                at = end + fence;
            }
            sign @ ('<' | '[' | ']' | '*' | '_' | '~' | '|' | '&') => panic!("{sign} acts: {markdown:?}"),
            character => {
                parts.last_mut().expect("a part").1.push(character);
                at += 1;
            }
        }
    }
    parts
}

/// Panics if something in the posted text acts, or if it says something else than the text did.
fn check(text: &str) {
    let posted = escape(text);
    let parts = shown(&posted);
    for (is_code, part) in &parts {
        let active = PATTERNS.iter().find(|pattern| !is_code && pattern.is_match(part));
        assert!(active.is_none(), "{active:?} in {part:?}, made of {text:?}");
    }
    let slash = |line: &str| line.trim_start().starts_with('/');
    assert!(!posted.lines().any(slash), "{posted:?}");
    let said: String = parts.into_iter().map(|(_, part)| part).collect();
    assert_eq!(plain(&said), plain(text), "{posted:?}");
}

/// The text without what nobody sees.
fn plain(text: &str) -> String {
    let lines = text.split(ends_line).map(|line| {
        let seen: String = line
            .chars()
            .map(|character| if character == '\t' { ' ' } else { character })
            .filter(|character| !is_invisible(*character) || is_presentation_selector(*character))
            .collect();
        seen.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_refers_to_anything() {
    for text in [
        "see #1, group/project#1, !22, $3, %4, %\"next one\", ~bug, ~\"to do\", &5, ^alert#6",
        "[vulnerability:1] [feature_flag:2] [contact:a@b.c] [wiki_page:home] [issue:1] [epic:group/2] [work_item:3] [[home]] [cadence:1]",
        "*iteration:7 *iteration:\"two\" *ITERATION:7",
        "GL-1 gl-1 GH-1 ABC-123 abc-123 ABC_D-1 x_ABC-1 ÄBC-1 NET-012 a-1-2 group/ABC-1",
        "1a2b3c4 1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d 1a2b3c4..5d6e7f8 x1234567 group/project@1a2b3c4d5e 1048576 DEADBEEF",
        "@root @group/sub ＠root ﹫root @\u{200b}root @ro\u{200b}ot a@b.c &commat;root &#64;root &#x40;root @`root` (@all)",
        "https://gitlab.example.com/group/project/-/issues/1 www.example.com WWW.example.com http://x ftp://x",
        "group/project> a-> b-project> foo/barT>",
        "bug 12 Task 3 work item 4 defect\t5 T123 CU-a1b2",
        // A letter to some versions of Unicode, none to others.
        "\u{33372}T17f304",
        // Digits, marks and letters outside of ASCII.
        "a01d6-೫ ABC-٣ T५ bug ೩ #٤ %\u{301}x ~\u{203f} CU-\u{301} taſk 1 wor\u{212a} item 2 *\u{131}teration: defect\u{3000}٧",
        "Closes #1. Fixes ABC-2, resolves group/project#3",
        "a `@root and #1` b ``c ` d`` e ```x``` ` f",
        "``@root` #1 ``` x",
        "\\`@root` \\\\#1 \\@root",
        "／approve",
        "\u{a0}/approve",
        "\u{3000}/approve\n\u{feff}/merge\n\u{200b}\u{202e}/close\r/label ~x\u{2028}/unapprove",
        "owner/repo#1 org/repo@1a2b3c4d5e",
        "SHA-256 and UTF-8, CVE-2024-1234, claude-sonnet-5",
    ] {
        check(text);
    }
}

#[test]
fn what_refers_to_nothing_stays_as_it_is() {
    for text in [
        "The total is 100 at most, 3.5 of 2026-11-22, items(0).",
        "`#1 @root 1a2b3c4d5e6f ABC-1` is code",
        "a - 1, x-ray, 10-20, and so on: none; (see above) 'quoted' \"twice\"",
        "a task for 3 people",
        "'1 OR 1=1' leads to 3 rows, at 5 @ 3",
    ] {
        assert_eq!(escape(text), text);
    }
}

#[test]
fn code_in_prose_can_be_copied_where_no_forge_acts_on_it() {
    for text in [
        "id holds 1 -> all rows, a => b, (x)> y, <>",
        "`x` becomes ${name}, $total, #include, !important, &value, !=, @ and @{",
    ] {
        let posted = escape(text);
        assert!(!posted.contains('\u{2060}'), "{posted:?}");
    }
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "#",
            "!",
            "$",
            "~",
            "%",
            "&",
            "^",
            "@",
            "＠",
            "[",
            "]",
            "*",
            "`",
            "``",
            "```",
            "\\",
            "<",
            ">",
            "-",
            "_",
            "/",
            "／",
            ":",
            "://",
            ".",
            "www",
            "WWW",
            "GL-",
            "GH-",
            "ABC-",
            "T",
            "CU-",
            "bug ",
            "work item ",
            "iteration:",
            "[vulnerability:",
            "alert",
            "\"",
            "\n",
            "\r",
            "\u{2028}",
            "\t",
            " ",
            "\u{a0}",
            "\u{200b}",
            "\u{202e}",
            "\u{feff}",
            "\u{1b}",
            "1",
            "7",
            "abcdef",
            "0",
            "F",
            "root",
            "group/project",
            "&amp;",
            "&#64;",
            "ä",
            "語",
            "é",
            "😀",
            "|",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        "[0-9a-f]{5,9}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_refers_to_anything_whatever_the_text(pieces in prop::collection::vec(piece(), 0..14)) {
        check(&pieces.concat());
    }
}
