//! No input yields a boundary tag.

use proptest::prelude::*;

use super::*;

fn sealed(text: &str) -> String {
    Untrusted::from(text).sealed()
}

#[test]
fn tags_go_in_every_disguise() {
    for text in [
        "<mr_body>",
        "</mr_body>",
        "< / MR_Body >",
        "<mr_body_3f9a12>",
        "</mr_body x='1'>",
        "<mr_b<mr_body>ody>",
        "&lt;/mr_body&gt;",
        "&#60;mr_body&#x3E;",
        "&LT;/mr_body>",
        "\u{FF1C}mr_body\u{FF1E}",
        "<mr\u{200B}_body>",
        "<\u{202E}mr_body>",
        "<mr body>",
        "<mr-body>",
        "<mr_body",
        "<!mr_body>",
        "<mr_b<mr_b<mr_body>ody>ody>",
        "<m\u{E0041}r_input>",
    ] {
        let out = sealed(text);
        assert!(
            !out.to_lowercase().contains("mr_body") && !out.contains("mr_input"),
            "{text:?} became {out:?}"
        );
        assert!(!out.contains('<'), "{text:?} became {out:?}");
    }
}

#[test]
fn ordinary_text_stays_as_it_is() {
    for text in [
        "Fixes a < b && c > d in Vec<String>",
        "the mr_body field",
        "if (x<mrs) {}",
        "naïve — 日本語\n\ttabs",
        "generic <T> and <div class='x'>",
    ] {
        assert_eq!(sealed(text), text);
    }
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

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("<".to_owned()),
        Just("</".to_owned()),
        Just(">".to_owned()),
        Just("&lt;".to_owned()),
        Just("&#x3c".to_owned()),
        Just("mr_".to_owned()),
        Just("body".to_owned()),
        Just("mr_body".to_owned()),
        Just("MR_INPUT".to_owned()),
        Just("\u{200B}".to_owned()),
        Just("\u{202E}".to_owned()),
        Just(" ".to_owned()),
        Just("_".to_owned()),
        Just("changed_files".to_owned()),
        Just("x".to_owned()),
        Just("\u{FF1C}".to_owned()),
        ".{0,3}",
    ]
}

proptest! {
    #[test]
    fn no_input_yields_a_boundary_tag(pieces in proptest::collection::vec(piece(), 0..40)) {
        let out = sealed(&pieces.concat());
        prop_assert!(!BOUNDARY.is_match(&out), "{out:?}");
        prop_assert!(!out.chars().any(is_invisible));
        let lower = out.to_lowercase();
        for name in SECTIONS {
            for open in ["<", "</"] {
                let tag = format!("{open}{name}");
                prop_assert!(!lower.contains(&tag), "{out:?}");
            }
        }
    }
}
