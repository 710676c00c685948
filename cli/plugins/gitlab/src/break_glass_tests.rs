//! Lines that are the writer's own, and accounts that are no people.

use super::*;

#[test]
fn only_a_line_of_the_writers_own_counts() {
    for (text, expected) in [
        ("break glass", Some(Word::On)),
        ("  Break  GLASS \r\n", Some(Word::On)),
        ("Production is down.\n\nbreak glass\n\nThanks", Some(Word::On)),
        ("break glass off", Some(Word::Off)),
        ("break glass\nbreak glass off", Some(Word::Off)),
        ("break glass off\nbreak glass", Some(Word::On)),
        ("```\nx\n```\nbreak glass", Some(Word::On)),
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
        ("", None),
    ] {
        assert_eq!(word(text), expected, "{text:?}");
    }
}

#[test]
fn accounts_of_tokens_are_known_by_their_names() {
    for (name, is) in [
        ("project_7_bot_0f3a", true),
        ("group_12_bot", true),
        ("project_7_robot", false),
        ("project_bot", false),
        ("project_x_bot", false),
        ("alice", false),
        ("my_project_7_bot", false),
    ] {
        assert_eq!(is_token_account(name), is, "{name}");
    }
}
