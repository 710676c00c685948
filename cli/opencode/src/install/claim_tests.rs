//! Tarballs of strangers: what they say is masked and bounded.

use super::*;
use crate::test_support::{USUAL as HERE, tarball};

/// The claim of a tarball with these members.
async fn claim(members: &[(&str, &str)]) -> Option<Claim> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("some.tgz");
    std::fs::write(&file, tarball(members)).expect("a file");
    claim_of(Utf8Path::from_path(&file).expect("UTF-8")).await
}

#[tokio::test]
async fn a_package_says_for_which_machine_it_is() {
    for (manifest, package, elsewhere) in [
        (
            r#"{"name":"opencode-darwin-arm64","version":"1.18.33","os":["darwin"],"cpu":["arm64"]}"#,
            "opencode-darwin-arm64@1.18.33",
            Some("darwin on arm64"),
        ),
        (
            r#"{"name":"@vscode/ripgrep-darwin-x64","os":["darwin","!win32"],"cpu":"x64"}"#,
            "@vscode/ripgrep-darwin-x64@unknown",
            Some("darwin on x64"),
        ),
        // npm had such packages before it had a word for the library.
        (
            r#"{"name":"opencode-linux-x64-musl","version":"1.18.33","os":["linux"]}"#,
            "opencode-linux-x64-musl@1.18.33",
            Some("linux on any processor with musl"),
        ),
        (
            r#"{"name":"a","version":"1","os":["darwin","linux"],"cpu":["arm64","x64"],"libc":["glibc"]}"#,
            "a@1",
            None,
        ),
        (r#"{"name":"a","version":1,"os":{},"cpu":[1]}"#, "a@unknown", None),
        // Names are foreign texts.
        (
            r#"{"name":"a\u001b[2J`b c\n\u202e","version":"1`","os":["\u0007"]}"#,
            "a??2J?b?c??@1?",
            Some("? on any processor"),
        ),
    ] {
        let found = claim(&[("package/bin/x", "x"), ("package/package.json", manifest)]).await;
        let found = found.expect(manifest);
        assert_eq!(found.package(), package);
        assert_eq!(found.elsewhere(HERE).as_deref(), elsewhere, "{package}");
    }
}

#[tokio::test]
async fn what_is_no_package_or_too_large_says_nothing() {
    let named = |name: &str| format!(r#"{{"name":"{name}"}}"#);
    let (short, long) = (named("a"), named(&"x".repeat(1000)));
    let found = claim(&[("package/package.json", &long)]).await.expect("a description");
    assert_eq!(found.package(), format!("{}@unknown", "x".repeat(MAX_WORD)));
    let larger = named(&"x".repeat(70_000));
    for (member, text) in [
        ("package/package.json", larger.as_str()),
        ("package/package.json", "{"),
        ("package/package.json", "[]"),
        ("package/lib/package.json", &short),
    ] {
        assert_eq!(claim(&[(member, text)]).await, None, "{member}");
    }
    // Behind more entries than any package has, none is looked for.
    let mut members = vec![("package/a", ""); MAX_ENTRIES];
    members.push(("package/package.json", &short));
    assert_eq!(claim(&members).await, None);
    members.remove(0);
    assert!(claim(&members).await.is_some());
}
