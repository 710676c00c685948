//! Paragraphs that are the writer's own.

use super::*;

#[test]
fn only_a_paragraph_of_the_writers_own_counts() {
    for (text, expected) in [
        ("break glass", Some(BreakGlassWord::On)),
        ("  Break  GLASS \r\n", Some(BreakGlassWord::On)),
        ("Production is down.\n\nbreak glass\n\nThanks", Some(BreakGlassWord::On)),
        ("break glass off", Some(BreakGlassWord::Off)),
        ("break glass\nbreak glass off", Some(BreakGlassWord::Off)),
        ("break glass off\nbreak glass", Some(BreakGlassWord::On)),
        ("```\nx\n```\nbreak glass", Some(BreakGlassWord::On)),
        ("> break glass", None),
        (">break glass", None),
        ("- break glass", None),
        ("* break glass", None),
        ("`break glass`", None),
        ("**break glass**", None),
        ("please break glass", None),
        ("break glass now", None),
        ("break glass.", None),
        ("do not\nbreak glass, please", None),
        ("break\nglass", None),
        ("breakglass", None),
        ("break-glass", None),
        ("```\nbreak glass\n```", None),
        ("~~~text\nbreak glass\n~~~", None),
        ("````\n```\nbreak glass\n````", None),
        ("```\nbreak glass", None),
        ("    break glass", None),
        ("\tbreak glass", None),
        ("<!-- break glass -->", None),
        (">>>\nbreak glass\n>>>", None),
        ("- log\n  ```\n  break glass\n  ```", None),
        ("- log\n  ```\nbreak glass\n  ```", None),
        ("> somebody said\nbreak glass", None),
        ("- a\n  - break glass", None),
        ("<pre>\nbreak glass\n</pre>", None),
        ("<details>\n\nbreak glass\n\n</details>", None),
        ("# break glass", None),
        (">>>\nWhat now?\n>>>\nbreak glass", Some(BreakGlassWord::On)),
        ("break glass\n\n> break glass off", Some(BreakGlassWord::On)),
        ("Nobody may write\nbreak glass\nhere.", None),
        ("I do not say\nbreak glass", None),
        ("“I would say\n\nbreak glass\n\nhere” said Bob", None),
        ("\"I would say\n\nbreak glass\n\nhere\" said Bob", None),
        ("„Ich sage\n\nbreak glass\n\nhier“", None),
        ("«One\n\n«two\n\nbreak glass\n\nthree»", None),
        ("»One\n\nbreak glass\n\ntwo«", None),
        ("Bob says “no\n- \"list\"\n\nbreak glass\n\n”", None),
        (
            "She said “stop”, „halt“, «non», \"no\".\n\nbreak glass",
            Some(BreakGlassWord::On),
        ),
        ("break glass\nis what nobody should write", None),
        ("break glass\nbreak glass off\nis how it ends", None),
        (
            "Nobody may write\nbreak glass off\nhere.\n\nbreak glass",
            Some(BreakGlassWord::On),
        ),
        ("", None),
    ] {
        assert_eq!(word(text), expected, "{text:?}");
    }
}
