//! Text that does nothing: examples of each kind.

use super::*;

#[test]
fn a_link_is_one_link_and_nothing_else() {
    for (label, address, expected) in [
        (
            "NET-012",
            "https://rules.example.com/net_012?v=2#use",
            "[NET-012](https://rules.example.com/net_012?v=2#use)",
        ),
        (
            "a](http://evil)\n/approve",
            "https://x.example/a)(b\"@all'<img>`|[x](y)!",
            "[a\\](http:\u{2060}//evil) \\/approve](https://x.example/a%29%28b%22%40all%27%3Cimg%3E%60%7C%5Bx%5D%28y%29%21)",
        ),
        ("@all", "javascript:alert(1)", "@\u{2060}all"),
        ("x", "https://a.example/\n/approve", "x"),
        ("x", "https://a.example/ \"title\"", "x"),
        ("x", "//evil.example", "x"),
        ("é", "https://x.example/é", "[é](https://x.example/%C3%A9)"),
    ] {
        assert_eq!(link(label, address), expected);
    }
}

#[test]
fn nothing_acts() {
    for (text, expected) in [
        ("/approve", "\\/approve"),
        ("  /merge", "  \\/merge"),
        ("> /close", "\\> \\/close"),
        ("- /label ~bug", "\\- \\/label \\~\u{2060}bug"),
        ("ok\r/approve", "ok\n\\/approve"),
        ("ask @root", "ask @\u{2060}root"),
        ("![x](http://evil/?q)", "\\!\\[x\\](http:\u{2060}//evil/?q)"),
        ("<img src=x>", "\\<img src=x\u{2060}\\>"),
        ("a / b", "a / b"),
        ("see `a < b && @x` there", "see `a < b && @x` there"),
        ("\u{0}/approve", "\\/approve"),
        ("\t\u{1b}/approve", " \\/approve"),
        ("http:\u{0}//x ww\u{1}w.x", "http:\u{2060}//x www\u{2060}.x"),
        ("1. /approve", "1. \\/approve"),
        ("> 2) /approve", "\\> 2) \\/approve"),
        ("a\n:-\n`@x | y`", "a\n\\:-\n`@x | y`"),
        ("::include{file=x}", "\\::include{file=x}"),
        (
            "see www.evil.com, WWW.x.org",
            "see www\u{2060}.evil.com, WWW\u{2060}.x.org",
        ),
        ("broken ` tick @x", "broken \\` tick @\u{2060}x"),
    ] {
        assert_eq!(escape(text), expected, "{text:?}");
    }
}

#[test]
fn a_fence_is_longer_than_any_run_inside() {
    assert_eq!(fenced("x", "py"), "```py\nx\n```");
    assert_eq!(fenced("a\n````\nb", "p`y"), "`````py\na\n````\nb\n`````");
}
#[test]
fn no_line_of_a_block_begins_with_a_quick_action() {
    let code = "# How to\n```\n/approve\n  /merge\n```";
    assert_eq!(
        fenced(code, "markdown"),
        "````markdown\n # How to\n ```\n /approve\n   /merge\n ```\n````"
    );
    assert_eq!(fenced("x\r/close", ""), "```\n x\n /close\n```");
    assert_eq!(fenced("\ta\n\u{0}/close", ""), "```\n \ta\n /close\n```");
    for code in ["// a comment", "/* one */", "a /b", "x\ny"] {
        assert_eq!(fenced(code, ""), format!("```\n{code}\n```"), "{code:?}");
    }
}

#[test]
fn a_closed_block_of_code_stays_one_and_does_nothing() {
    for (text, expected) in [
        (
            "Write\n\n```python\ndb.run(\"?\", order.id)  # @root <b> ${x} -> #1\n```\nThat is safe, @root.",
            "Write\n\n```python\ndb.run(\"?\", order.id)  # @root <b> ${x} -> #1\n```\nThat is safe, @\u{2060}root.",
        ),
        ("```rust\r\nfn a() {}\r\n```", "```rust\nfn a() {}\n```"),
        ("~~~ sql\nselect 1\n~~~", "```sql\nselect 1\n```"),
        ("  ```js\n    a\n  b\n  ```\n/close", "```js\n  a\nb\n```\n\\/close"),
        ("````\n```\nx\n```\n````", "````\n```\nx\n```\n````"),
        ("~~~\n```\n/approve\n~~~", "````\n ```\n /approve\n````"),
        ("```\na\u{200b}b\n```", "```\nab\n```"),
        ("```py\na\n```\n```\nb\n```", "```\nb\n```"),
    ] {
        let expected = expected.to_owned();
        let posted = escape_with_blocks(text);
        assert!(posted.ends_with(&expected), "{posted:?}");
    }
    for acts in [
        "suggestion",
        "suggestion:-0+0",
        "mermaid",
        "math",
        "json:table",
        "plantuml",
        "glql",
        "geojson",
    ] {
        let posted = escape_with_blocks(&format!("```{acts}\nx\n```"));
        assert_eq!(posted, "```\nx\n```", "{acts}");
    }
}

#[test]
fn what_is_not_closed_is_not_a_block() {
    for text in [
        "```python\n/approve\n@root",
        "```\n/approve\n``` x",
        "````\n/approve\n```",
        "```\n/approve\n~~~",
        "    ```\n/approve\n    ```",
        "```a`b\n/approve\n",
    ] {
        assert_eq!(escape_with_blocks(text), escape(text), "{text:?}");
        assert!(
            !escape_with_blocks(text).lines().any(|line| line.starts_with('/')),
            "{text:?}"
        );
    }
    let text = "no block\nat `all`";
    assert_eq!(escape_with_blocks(text), escape(text));
}

#[test]
fn lines_that_end_like_on_windows_stay_single() {
    assert_eq!(fenced("a\r\nb\r\n", ""), "```\na\nb\n```");
}

#[test]
fn a_cell_holds_no_code_span() {
    assert_eq!(cell("a `@x | y`\nb"), "a '@\u{2060}x \\| y' b");
}
