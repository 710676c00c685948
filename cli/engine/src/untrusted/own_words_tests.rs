use super::*;

/// The plain lines of a comment that say this.
fn says(comment: &str) -> bool {
    let words = OwnWords::of(comment);
    words.plain_lines().any(|line| line.trim() == "decided")
}

#[test]
fn a_line_of_ones_own_is_one() {
    for comment in [
        "decided",
        "  decided  ",
        "It is late.\ndecided\nThanks",
        "> What about it?\n\ndecided",
        "```\nlog\n```\ndecided",
        "- one\n- two\n\ndecided",
        "- one\n\n  ```\n  code\n  ```\n\ndecided",
        ">>>\nquoted\n>>>\ndecided",
        ">>>\nquoted\n>>>\n\nWell:\n\n>>>\nmore\n>>>\n\ndecided",
        "<!-- a comment -->\n\ndecided",
        "<details><summary>Log</summary>\n\nlong\n\n</details>\n\ndecided",
        "# Heading\n\ndecided",
        "| a |\n|---|\n| b |\n\ndecided",
        "a<br>\ndecided",
        "decided\r\nreally",
        "x\rdecided",
        "---\nkey: value\n---\ndecided",
    ] {
        assert!(says(comment), "{comment:?}: {:?}", OwnWords::of(comment));
    }
}

#[test]
fn what_is_quoted_folded_coded_or_marked_up_is_not() {
    for comment in [
        // Quotes, also those that GitLab alone knows.
        "> decided",
        "> somebody said:\ndecided",
        ">>>\ndecided\n>>>",
        ">>>\ndecided",
        ">>>\nx\n\ndecided\n\n>>>\nthanks",
        ">>>\na\n>>>>\ndecided\n>>>",
        " >>>\ndecided\n >>>",
        ">>>\n```\n>>>\ndecided\n```\n>>>",
        "- item\n  >>>\n\n>>>\ndecided",
        "```\n>>>\n```\n>>>\ndecided",
        "> [!note]\n> decided",
        // Code.
        "```\ndecided\n```",
        "```\ndecided",
        "~~~text\ndecided\n~~~",
        "````\n```\ndecided\n````",
        "- ```\n  decided\n  ```",
        "- a\n\n  ```\n  x\n\ndecided\n  ```\n  decided",
        "1. a\n   ```\n   decided\n   ```",
        "    decided",
        "\tdecided",
        "`decided`",
        "$$\ndecided\n$$",
        // HTML.
        "<!-- decided -->",
        "<!--\ndecided\n-->",
        "<!--\n\ndecided\n\n-->",
        "text <!--\n\ndecided\n\n-->",
        "<pre>\ndecided\n</pre>",
        "<pre>\n\ndecided\n\n</pre>",
        "a <pre>\n\ndecided\n\n</pre>",
        "<details>\n\ndecided\n\n</details>",
        "<details><summary>x</summary>\ndecided\n</details>",
        "<details open\n>\n\ndecided",
        "<details title=\"</details>\">\n\ndecided\n\n</details>",
        "<blockquote>\n\ndecided\n\n</blockquote>",
        "<blockquote><p>\n\ndecided",
        "<div></p>\n\ndecided\n\n</div>",
        "<b>decided</b>",
        "<span>\ndecided\n</span>",
        // Other blocks.
        "- decided",
        "* decided",
        "1. decided",
        "- a\n  - decided",
        "- a\n\n  decided",
        "- a\ndecided",
        "- [ ] decided",
        "# decided",
        "decided\n=======",
        "decided\n---",
        "| decided |\n|---|\n| decided |",
        "[^1]: decided",
        "[a]: /url '\ndecided\n'",
        "---\ndecided\n---",
        "---\n\ndecided\n\n---",
        "+++\ndecided\n+++",
        // Marks of emphasis, links.
        "**decided**",
        "_decided_",
        "~~decided~~",
        "[decided](https://example.org)",
        "![decided](a.png)",
        "[x](/url \"\ndecided\n\")",
        "<https://example.org/decided>",
    ] {
        assert!(!says(comment), "{comment:?}: {:?}", OwnWords::of(comment));
    }
}

#[test]
fn doubt_is_said() {
    for (comment, doubtful) in [
        ("plain *words* and `code`", false),
        ("> quoted\n\nplain", false),
        (">>>\nquoted\n>>>\nplain", false),
        (">>>\nquoted", true),
        ("a ~~b~~ c", true),
        ("a <b>b</b> c", true),
        ("a <!-- b --> c", false),
        ("a <!-- b", true),
    ] {
        assert_eq!(OwnWords::of(comment).doubtful, doubtful, "{comment:?}");
    }
}

#[test]
fn it_never_fails_and_is_quick() {
    for comment in [
        "", "<", "</", "<!", "<!--", ">>>", "`", "[", "\u{0}", "\u{E000}", "<a \"", "$$",
    ] {
        let _ = OwnWords::of(comment);
    }
    for piece in ["> ", "- ", "<div>", "[", "`", "*a", ">>>\n", "```\n", "$"] {
        let _ = OwnWords::of(&piece.repeat(5_000));
    }
}

#[test]
fn where_html_begins_is_known() {
    for (text, begins) in [
        ("<!-- here -->", true),
        ("text\n\n<!-- here -->\n<!-- more -->", true),
        ("text\n<!-- here -->", true),
        ("```\nx\n```\n\n<!-- here -->", true),
        ("<details>\n\nx\n\n</details>\n\n<!-- here -->", true),
        ("```\n<!-- here -->\n```", false),
        ("```\n\n<!-- here -->", false),
        ("> <!-- here -->", false),
        ("- a\n\n  <!-- here -->", false),
        ("    <!-- here -->", false),
        ("text <!-- here -->", false),
        ("<!-- in front\n<!-- here -->", false),
    ] {
        let at = text.find("<!-- here").expect("there");
        assert_eq!(begins_html(text, at), begins, "{text:?}");
    }
}
