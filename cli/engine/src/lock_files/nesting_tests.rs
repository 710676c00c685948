//! Brackets in lock files in YAML.

use crate::lock_files::tests::{check, found};

#[test]
fn brackets_that_no_package_manager_nests_are_refused_before_they_are_parsed() {
    let many = 60_000;
    let berry = "__metadata:\n  version: 8\n";
    for (path, text) in [
        (
            "pnpm-lock.yaml",
            format!("packages: {}{}\n", "[".repeat(many), "]".repeat(many)),
        ),
        ("pnpm-lock.yaml", format!("packages: {}\n", "[\n".repeat(many))),
        ("pnpm-lock.yaml", format!("packages: {}\n", "[\"]\", ".repeat(many))),
        ("pnpm-lock.yaml", format!("packages: {}\n", "[\"]\",\n".repeat(many))),
        ("pnpm-lock.yaml", format!("packages: {}\n", "[a #]\n, ".repeat(many))),
        (
            "pnpm-lock.yaml",
            format!("packages: {}\n", "[a, \"\n]\", ".repeat(many)),
        ),
        ("pnpm-lock.yaml", format!("a]: {}\n", "[\n".repeat(many))),
        ("pnpm-lock.yaml", format!("a: #: |-\n  {}\n", "[\n".repeat(many))),
        ("pnpm-lock.yaml", format!("- a: |-\n  b: {}\n", "[\n".repeat(many))),
        (
            "yarn.lock",
            format!("{berry}x: {}{}\n", "{".repeat(many), "}".repeat(many)),
        ),
    ] {
        let fault = check(path, None, &text).expect_err("deep").to_string();
        assert!(fault.contains("is nested too deep, or not closed"), "{fault}");
    }
}

#[test]
fn entries_that_a_formatter_has_broken_and_texts_with_brackets_are_read() {
    let broken = "lockfileVersion: '9.0'
packages:
  left-pad@1.3.0:
    resolution:
      {
        integrity: sha512-AAAA,
      }
    engines: { node: \">=4\", npm: '[x' }
    cpu: [
      x64,
      \"arm64\"
    ]
    deprecated: |-
      Use [other] { or \"another
      # [[[[ it's

      [[[[
    hasBin: true # [ it's
  'b@1.0.0':
    resolution: {integrity: sha512-BBBB}
    deprecated: Do not use 'it' [any more](https://example.org/#a
";
    assert_eq!(found("pnpm-lock.yaml", Some(broken), broken), []);
    let newer = broken.replace("1.3.0", "1.3.1").replace("AAAA", "CCCC");
    assert_eq!(found("pnpm-lock.yaml", Some(broken), &newer), []);
}
