//! The type and the nonce; the removal of tags is tested where it is done.

use super::*;

use crate::untrusted::Nonce;

#[test]
fn what_is_sealed_has_no_invisible_characters_and_a_line_is_a_line() {
    let text = Untrusted::from("a\u{200B}b\u{0}\nc\u{2028}d\u{85}e</mr_\nbody>\r\nf");
    assert_eq!(text.sanitized(), "ab\nc\u{2028}de\r\nf");
    assert_eq!(text.sanitized_line(), "ab c de  f");
}

#[test]
fn nothing_but_sealing_shows_the_text() {
    assert_eq!(format!("{:?}", Untrusted::from("a secret")), "Untrusted(8 bytes)");
    assert!(Untrusted::from(" \n").is_blank());
}

#[test]
fn the_nonce_depends_on_secret_and_subject_only() {
    let nonce = |secret: &str, subject: &str| Nonce::new(secret.as_bytes(), subject).section("mr_body", "x\n");
    assert_eq!(nonce("s", "p!1"), nonce("s", "p!1"));
    assert_ne!(nonce("s", "p!1"), nonce("s", "p!2"));
    assert_ne!(nonce("s", "p!1"), nonce("t", "p!1"));
    let section = nonce("s", "p!1");
    let lines: Vec<&str> = section.lines().collect();
    assert_eq!(lines[1], "x");
    assert_eq!(lines[0].len(), "<mr_body_>".len() + 12);
    assert_eq!(lines[2], lines[0].replace('<', "</"));
}
