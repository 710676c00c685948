//! Lock files of real repositories that go, are emptied, move, or are of a format that no rule reads.

use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::diff::FilteredFile;

use super::*;
use crate::diff;

const YARN: &str = "# yarn lockfile v1\n\na@^1.0.0:\n  version \"1.0.0\"\n  resolved \
                    \"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz\"\n  integrity sha512-A\n";
const PNPM: &str = "lockfileVersion: '9.0'\npackages:\n  a@1.0.0:\n    resolution: {integrity: sha512-A}\n";
const CARGO: &str = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \
                     \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"aaaa\"\n";

type Files<'a> = &'a [(&'a str, &'a str)];

fn git(root: &Utf8Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

/// The answer of the rules where one set of files takes the place of another.
async fn checked(before: Files<'_>, after: Files<'_>) -> LockFiles {
    let directory = tempfile::tempdir().expect("a directory");
    let root = Utf8PathBuf::from_path_buf(directory.path().join("source")).expect("UTF-8");
    std::fs::create_dir(&root).expect("a directory");
    git(&root, &["init", "--quiet"]);
    let commit = |files: Files<'_>| {
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        git(&root, &["add", "--all"]);
        git(&root, &["commit", "--quiet", "--allow-empty", "-m", "step"]);
        git(&root, &["rev-parse", "HEAD"])
    };
    let base = commit(before);
    for (path, _) in before {
        std::fs::remove_file(root.join(path)).expect("a file");
    }
    let head = commit(after);
    let repository = Repository::open(&root).await.expect("a repository");
    let scratch = root.parent().expect("a parent");
    let (diff, _) = diff::read(&repository, &base, &head, scratch).await.expect("a diff");
    let trusted = PathGlobs::default();
    check(&repository, &head, &diff, &trusted).await.expect("a check")
}

#[tokio::test]
async fn a_lock_file_is_gone_where_its_manifest_stays_and_no_other_one_pins_its_packages() {
    let before: Files<'_> = &[("app/package.json", "{}\n"), ("app/yarn.lock", YARN)];
    let manifest = ("app/package.json", "{}\n");
    let empty = "# yarn lockfile v1\n\n";
    let more = PNPM.replace(
        "packages:\n",
        "packages:\n  b@1.0.0:\n    resolution: {integrity: sha512-B}\n",
    );
    let other = PNPM.replace("a@1", "b@1");
    let rows: [(Files<'_>, bool); 15] = [
        (&[], false),
        (&[manifest], true),
        (&[manifest, ("app/pnpm-lock.yaml", PNPM)], false),
        (&[manifest, ("app/pnpm-lock.yaml", &more)], false),
        // It pins something, and not what the other one did.
        (&[manifest, ("app/pnpm-lock.yaml", &other)], true),
        (&[manifest, ("app/package-lock.json", "{}\n")], true),
        (&[manifest, ("app/deno.lock", "{}\n")], true),
        (&[manifest, ("app/Cargo.toml", ""), ("app/Cargo.lock", CARGO)], true),
        (&[manifest, ("web/pnpm-lock.yaml", PNPM)], true),
        (&[manifest, ("app/yarn.lock", empty)], true),
        (&[("app/yarn.lock", empty)], false),
        (
            &[manifest, ("app/yarn.lock", empty), ("app/pnpm-lock.yaml", PNPM)],
            false,
        ),
        (&[("web/package.json", "{}\n"), ("web/yarn.lock", YARN)], false),
        (&[manifest, ("web/yarn.lock", YARN)], true),
        (&[manifest, ("app/yarn.lock.bak", YARN)], true),
    ];
    for (after, is_gone) in rows {
        let expected: &[&str] = if is_gone { &["app/yarn.lock"] } else { &[] };
        assert_eq!(checked(before, after).await.doubts.gone, expected, "{after:?}");
    }
}

#[tokio::test]
async fn each_manifest_has_lock_files_of_its_own() {
    let sum = format!("github.com/a/b v1.0.0 h1:{}=\n", "A".repeat(43));
    let work = [
        ("go.mod", "module a\n"),
        ("go.work", "go 1.22\n"),
        ("go.work.sum", &sum[..]),
    ];
    let with_sum = [&work[..], &[("go.sum", &sum[..])]].concat();
    assert_eq!(checked(&with_sum, &work).await.doubts.gone, ["go.sum"]);
    let bun = "{\"packages\": {\"a\": [\"a@1.0.0\", \"\", {}, \"sha512-A\"]}}\n";
    let manifest = ("package.json", "{}\n");
    let binary = [manifest, ("bun.lockb", "\0")];
    assert_eq!(
        checked(&binary, &[manifest, ("bun.lock", bun)]).await.doubts.gone,
        [""; 0]
    );
    assert_eq!(checked(&binary, &[manifest]).await.doubts.gone, ["bun.lockb"]);
    let gradle = [("build.gradle", "\n"), ("gradle.lockfile", "a:b:1=c\n")];
    assert_eq!(checked(&gradle, &gradle[..1]).await.doubts.gone, ["gradle.lockfile"]);
    assert_eq!(checked(&gradle, &[]).await.doubts.gone, [""; 0]);
}

#[tokio::test]
async fn the_manifest_beside_a_lock_file_says_which_aliases_are_meant() {
    let lock = "# yarn lockfile v1\n\n\"pad@npm:a@^1\":\n  version \"1.0.0\"\n  resolved \
                \"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz\"\n  integrity sha512-A\n";
    for (manifest, expected) in [("{\"dependencies\": {\"pad\": \"npm:a@^1\"}}\n", 0), ("{}\n", 1)] {
        let after = [("web/package.json", manifest), ("web/yarn.lock", lock)];
        let findings = checked(&[], &after).await.findings.expect("checked");
        assert_eq!(findings.len(), expected, "{findings:?}");
    }
}

#[test]
fn a_lock_file_that_no_rule_reads_withholds_the_approval_where_no_reviewer_reads_it_either() {
    let filtered = |path: &str, reason| FilteredFile {
        path: path.to_owned(),
        old_path: None,
        reason,
    };
    let diff = FilteredDiff {
        filtered: vec![
            filtered("binary.lock", FilterReason::Binary),
            filtered("vendor/deno.lock", FilterReason::Vendored),
            filtered("ignored/deno.lock", FilterReason::ExcludedByProject),
            filtered("large/deno.lock", FilterReason::TooLarge),
        ],
        read_by_nobody: vec!["vendor/deno.lock".to_owned()],
        ..FilteredDiff::default()
    };
    let paths = diff.filtered.iter().map(|file| file.path.clone());
    let doubts = Doubts {
        unknown: paths.chain(["deno.lock".to_owned()]).collect(),
        ..Doubts::default()
    };
    let holds = doubts.holds(&diff);
    assert_eq!(holds.len(), 1);
    assert_eq!(holds[0].places, ["binary.lock"]);
    assert!(holds[0].reason.contains("`[paths] trusted`"), "{}", holds[0].reason);
}
