//! Real diffs by real git, from the two commits to what reviewers get; the golden files are in `tests/fixtures/diff`.

use std::{fmt::Write, os::unix::ffi::OsStrExt, path::Path, process::Command};

use camino::Utf8PathBuf;
use conclave_engine::{
    diff::{Content, Diff, FilterReason, FilterRules, FilteredDiff, LineMap, Unread},
    review::ReviewSubject,
};
use conclave_git::Repository;
use conclave_shared::risk::SecurityPaths;
use globset::GlobSet;

use super::*;

struct Scene {
    _directory: tempfile::TempDir,
    root: Utf8PathBuf,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(directory.path().join("source")).unwrap();
        std::fs::create_dir(&root).unwrap();
        let scene = Self {
            _directory: directory,
            root,
        };
        scene.git(&["init", "--quiet", "--initial-branch=main"]);
        scene
    }

    fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.org",
                "-c",
                "core.autocrlf=false",
            ])
            .args(arguments)
            .current_dir(&self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
            .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    fn text(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.git(arguments)).unwrap().trim().to_owned()
    }

    fn write(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        let path = self.root.as_std_path().join(std::ffi::OsStr::from_bytes(path.as_ref()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "step"]);
        self.text(&["rev-parse", "HEAD"])
    }

    async fn read(&self, base: &str, head: &str) -> (Diff, Spool) {
        let repository = Repository::open(&self.root).await.unwrap();
        read(&repository, base, head, self.root.parent().unwrap())
            .await
            .unwrap()
    }

    async fn filtered(&self, base: &str, head: &str) -> FilteredDiff {
        self.reviewed(base, head).await.0
    }

    /// The files to review, and their patches.
    async fn reviewed(&self, base: &str, head: &str) -> (FilteredDiff, Spool) {
        let repository = Repository::open(&self.root).await.unwrap();
        let (diff, spool) = self.read(base, head).await;
        let rules = FilterRules {
            security: &SecurityPaths::default(),
            ignore: &GlobSet::empty(),
            trusted: &GlobSet::empty(),
        };
        let diff = without_noise(&repository, head, diff, rules, &spool).await.unwrap();
        (diff, spool)
    }

    /// The files of which a checkout differs.
    async fn differing(&self, base: &str, head: &str) -> Vec<String> {
        let repository = Repository::open(&self.root).await.unwrap();
        let subject = ReviewSubject {
            base_sha: base.to_owned(),
            head_sha: head.to_owned(),
            ..ReviewSubject::default()
        };
        let (diff, _) = self.read(base, head).await;
        let filtered = self.filtered(base, head).await;
        let scope = attributes::Scope::of(&diff);
        let found = attributes::differing(&repository, &subject, &filtered, &scope);
        let found = found.await.unwrap();
        assert!(found.iter().all(|file| file.reason == FilterReason::CheckoutDiffers));
        found.into_iter().map(|file| file.path).collect()
    }

    /// What git itself counts, file by file; -1 where it shows no lines.
    fn numstat(&self, base: &str, head: &str) -> Vec<(i64, i64)> {
        let output = self.git(&["diff", "--numstat", "--no-ext-diff", "--no-textconv", "-M", base, head]);
        String::from_utf8_lossy(&output)
            .lines()
            .map(|line| {
                let mut counts = line.split('\t').map(|count| count.parse().unwrap_or(-1));
                (counts.next().unwrap(), counts.next().unwrap())
            })
            .collect()
    }
}

fn lines_of(map: &LineMap) -> String {
    let side = |is: &dyn Fn(u32) -> bool| {
        (1..500)
            .filter(|line| is(*line))
            .map(|line| line.to_string())
            .collect::<Vec<_>>()
    };
    format!(
        "added {:?} removed {:?}",
        side(&|line| map.is_added(line)).join(" "),
        side(&|line| map.is_removed(line)).join(" ")
    )
}

async fn golden(name: &str, before: impl FnOnce(&Scene), after: impl FnOnce(&Scene)) {
    let scene = Scene::new();
    before(&scene);
    let base = scene.commit();
    after(&scene);
    let head = scene.commit();
    let (diff, spool) = scene.read(&base, &head).await;
    let ours: Vec<(i64, i64)> = diff
        .files
        .iter()
        .map(|file| match file.content {
            Content::Binary => (-1, -1),
            // Git shows no lines of what is in wide characters.
            _ if file.is_decoded() => (-1, -1),
            _ => (file.added.cast_signed(), file.removed.cast_signed()),
        })
        .collect();
    assert_eq!(ours, scene.numstat(&base, &head), "{name}: git counts otherwise");
    let filtered = scene.filtered(&base, &head).await;
    let mut text = String::new();
    let mut patch = Vec::new();
    for file in &diff.files {
        let from = if file.old_path == file.path {
            String::new()
        } else {
            format!(" (was {:?})", file.old_path)
        };
        let reason = filtered.filtered.iter().find(|left_out| left_out.path == file.path);
        writeln!(
            text,
            "{:?}{from}: {} {:?} {}→{}, +{} -{}, {}{}",
            file.path,
            file.kind.as_str(),
            file.content,
            file.modes.0,
            file.modes.1,
            file.added,
            file.removed,
            lines_of(&file.lines),
            reason.map_or(String::new(), |left_out| format!(
                ", not reviewed: {}",
                left_out.reason.describe()
            )),
        )
        .unwrap();
        spool.patch(file, &mut patch).unwrap();
        for line in patch.split_inclusive(|byte| *byte == b'\n') {
            writeln!(text, "    {}", line.escape_ascii()).unwrap();
        }
    }
    insta::with_settings!({
        snapshot_path => Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/diff"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

fn numbered(count: usize) -> String {
    (1..=count).fold(String::new(), |text, line| text + &format!("line {line}\n"))
}

#[tokio::test]
async fn renames_and_deletions() {
    golden(
        "rename",
        |scene| {
            scene.write("pure.txt", numbered(9));
            scene.write("changed.txt", numbered(30));
            scene.write("gone.txt", "last words\n");
            scene.write("place", "a file\n");
        },
        |scene| {
            scene.git(&["mv", "pure.txt", "moved here.txt"]);
            scene.git(&["rm", "--quiet", "changed.txt", "gone.txt", "place"]);
            scene.write("sub/renamed.txt", numbered(30).replace("line 7\n", "line seven\n"));
            scene.write("place/now a directory", "a file below\n");
        },
    )
    .await;
}

#[tokio::test]
async fn modes_and_types() {
    golden(
        "modes",
        |scene| {
            scene.write("run.sh", "echo\n");
            scene.write("both.sh", "echo\n");
            scene.write("becomes-link", "text\n");
            std::os::unix::fs::symlink("run.sh", scene.root.join("becomes-file")).unwrap();
            std::os::unix::fs::symlink("old", scene.root.join("link")).unwrap();
        },
        |scene| {
            for path in ["run.sh", "both.sh"] {
                scene.git(&["update-index", "--chmod=+x", path]);
            }
            scene.write("both.sh", "echo changed\n");
            for path in ["run.sh", "both.sh"] {
                let file = scene.root.join(path);
                std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            }
            for (path, target) in [("becomes-link", "run.sh"), ("link", "/proc/self/environ")] {
                std::fs::remove_file(scene.root.join(path)).unwrap();
                std::os::unix::fs::symlink(target, scene.root.join(path)).unwrap();
            }
            std::fs::remove_file(scene.root.join("becomes-file")).unwrap();
            scene.write("becomes-file", "text now\n");
        },
    )
    .await;
}

#[tokio::test]
async fn binary_files_and_empty_ones() {
    golden(
        "binary-and-empty",
        |scene| {
            scene.write("logo.png", b"\x89PNG\r\n\x1a\n\0\x01");
            scene.write("gone.bin", b"\0");
            scene.write("was-empty", "");
            scene.write("gets-empty", "text\n");
            scene.write("empty-gone", "");
            scene.write("text-to-binary", "text\n");
        },
        |scene| {
            scene.write("logo.png", b"\x89PNG\r\n\x1a\n\0\x02");
            scene.write("new.bin", b"\0\x01");
            scene.write("utf-16.txt", b"\xff\xfea\0\n\0");
            scene.git(&["rm", "--quiet", "gone.bin", "empty-gone"]);
            scene.write("was-empty", "text\n");
            scene.write("gets-empty", "");
            scene.write("new-empty", "");
            scene.write("text-to-binary", b"bin\0ary");
        },
    )
    .await;
}

#[tokio::test]
async fn ends_of_lines_and_encodings() {
    golden(
        "text-forms",
        |scene| {
            scene.write("no-newline", "a\nb");
            scene.write("newline", "a\nb\n");
            scene.write("crlf", "one\r\ntwo\r\n");
            scene.write("to-lf", "one\r\ntwo\r\n");
            scene.write("latin-1.txt", b"caf\xe9\nna\xefve\n");
            scene.write("carriage-return", "a\rb\rc");
            scene.write("blank.txt", "\n\n\nx\n\n\n");
        },
        |scene| {
            scene.write("no-newline", "a\nb\n");
            scene.write("newline", "a\nb");
            scene.write("crlf", "one\r\nTWO\r\n");
            scene.write("to-lf", "one\ntwo\n");
            scene.write("latin-1.txt", b"caf\xe9s\nna\xefve\n");
            scene.write("carriage-return", "a\rB\rc");
            scene.write("blank.txt", "\n\n\ny\n\n\n");
        },
    )
    .await;
}

#[tokio::test]
async fn odd_file_names() {
    let names: [&[u8]; 13] = [
        b"with space.txt",
        b"tab\there.txt",
        b"line\nfeed.txt",
        b"quote\"and\\slash.txt",
        b"-dash.txt",
        b"--output=x",
        "umlaut-ä-日本.txt".as_bytes(),
        b"latin-\xe9.txt",
        b"a b/c b/d.txt",
        b"x -> y",
        b":colon",
        b"*.txt",
        b"\x1b[31mred",
    ];
    golden(
        "names",
        |scene| {
            for name in names {
                scene.write(name, "one\n");
            }
            scene.write("old\tname", numbered(9));
        },
        |scene| {
            for name in names {
                scene.write(name, "two\n");
            }
            scene.git(&["mv", "old\tname", "new\nname"]);
        },
    )
    .await;
}

#[tokio::test]
async fn submodules() {
    let (old, new) = ("1".repeat(40), "2".repeat(40));
    let entry = |scene: &Scene, commit: &str, path: &str| {
        scene.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{commit},{path}"),
        ]);
    };
    // Not in the working tree, so they are committed from the index alone.
    let scene = Scene::new();
    scene.write("becomes-module", "text\n");
    scene.git(&["add", "--all"]);
    entry(&scene, &old, "library");
    scene.git(&["commit", "--quiet", "-m", "one"]);
    let base = scene.text(&["rev-parse", "HEAD"]);
    entry(&scene, &new, "library");
    entry(&scene, &new, "added");
    scene.git(&["rm", "--quiet", "--cached", "becomes-module"]);
    entry(&scene, &new, "becomes-module");
    scene.git(&["commit", "--quiet", "-m", "two"]);
    let head = scene.text(&["rev-parse", "HEAD"]);
    let (diff, spool) = scene.read(&base, &head).await;
    let seen: Vec<_> = diff
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.content, file.unread))
        .collect();
    assert_eq!(
        seen,
        [
            ("added", Content::Submodule, None),
            ("becomes-module", Content::Submodule, None),
            ("library", Content::Submodule, None)
        ]
    );
    let mut patch = Vec::new();
    spool.patch(&diff.files[2], &mut patch).unwrap();
    let patch = String::from_utf8(patch).unwrap();
    assert!(
        patch.ends_with(&format!("-Subproject commit {old}\n+Subproject commit {new}\n")),
        "{patch}"
    );
    assert_eq!(
        scene.filtered(&base, &head).await.files.len(),
        3,
        "a moved submodule is reviewed"
    );
}

#[tokio::test]
async fn content_that_looks_like_a_diff() {
    golden(
        "imitation",
        |scene| scene.write("notes.sql", "-- drop\n++ plus\nkeep\n"),
        |scene| {
            scene.write(
                "notes.sql",
                "keep\ndiff --git a/auth/login.rs b/auth/login.rs\nindex 111..222 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n",
            );
        },
    )
    .await;
}

#[tokio::test]
async fn attributes_and_settings_cannot_hide_a_change() {
    let scene = Scene::new();
    scene.write("pay.py", "x = 1\n");
    scene.write("secret.py", "x = 1\n");
    scene.write("blank.py", "a\n\nx = 1\n\nb\n");
    let base = scene.commit();
    scene.write(
        ".gitattributes",
        "pay.py binary\nsecret.py -diff\n*.py diff=evil textconv=evil\n",
    );
    for path in ["pay.py", "secret.py"] {
        scene.write(path, "x = 2\n");
    }
    scene.write("blank.py", "a\n\nx = 2\n\nb\n");
    let head = scene.commit();
    let canary = scene.root.join("canary");
    for (key, value) in [
        ("diff.evil.textconv", format!("touch {canary}; cat")),
        ("diff.evil.command", format!("touch {canary}")),
        ("diff.external", format!("touch {canary}")),
        ("diff.noprefix", "true".into()),
        ("diff.mnemonicPrefix", "true".into()),
        ("diff.context", "0".into()),
        ("diff.suppressBlankEmpty", "true".into()),
        ("diff.orderFile", "nowhere".into()),
        ("diff.renames", "false".into()),
        ("diff.relative", "true".into()),
        ("core.quotePath", "true".into()),
        ("core.bigFileThreshold", "1".into()),
        ("color.ui", "always".into()),
    ] {
        scene.git(&["config", key, &value]);
    }
    let (diff, spool) = scene.read(&base, &head).await;
    let contents: Vec<_> = diff
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.content, file.added))
        .collect();
    assert_eq!(
        contents,
        [
            (".gitattributes", Content::Text, 3),
            ("blank.py", Content::Text, 1),
            ("pay.py", Content::Text, 1),
            ("secret.py", Content::Text, 1)
        ]
    );
    let mut patch = Vec::new();
    spool.patch(&diff.files[1], &mut patch).unwrap();
    assert!(
        patch.ends_with(b"@@ -1,5 +1,5 @@\n a\n \n-x = 1\n+x = 2\n \n b\n"),
        "{}",
        patch.escape_ascii()
    );
    assert!(!canary.exists(), "a command of the repository's settings ran");

    // Attributes that git reads from elsewhere still cannot pass a text off as binary.
    scene.write(".git/info/attributes", "pay.py -diff\n");
    let filtered = scene.filtered(&base, &head).await;
    let left_out: Vec<_> = filtered
        .filtered
        .iter()
        .map(|file| (file.path.as_str(), file.reason))
        .collect();
    assert_eq!(left_out, [("pay.py", FilterReason::HiddenText)]);
}

#[tokio::test]
async fn replaced_objects_do_not_count() {
    let scene = Scene::new();
    scene.write("a.py", "x = 1\n");
    let base = scene.commit();
    scene.write("a.py", "evil()\n");
    let head = scene.commit();
    let (before, after) = (
        scene.text(&["rev-parse", "HEAD~1:a.py"]),
        scene.text(&["rev-parse", "HEAD:a.py"]),
    );
    scene.git(&["replace", &after, &before]);
    let (diff, spool) = scene.read(&base, &head).await;
    let mut patch = Vec::new();
    spool.patch(&diff.files[0], &mut patch).unwrap();
    assert!(patch.ends_with(b"-x = 1\n+evil()\n"), "{}", patch.escape_ascii());
}

#[tokio::test]
async fn a_mark_of_generated_code_counts_only_with_the_base() {
    let scene = Scene::new();
    let marked = "// @generated\nfn a() {}\n";
    for path in [
        "old.rs",
        "gone.rs",
        "unmarked.rs",
        "moved.rs",
        "migrations/1.sql",
        "src/login.rs",
    ] {
        scene.write(path, format!("{marked}{}", numbered(20)));
    }
    scene.write("gone.rs", "// @generated\nnothing like the others\n");
    scene.write("newly.rs", "fn a() {}\n");
    let base = scene.commit();
    for path in ["old.rs", "unmarked.rs", "migrations/1.sql", "src/login.rs"] {
        scene.write(path, format!("{marked}{}changed\n", numbered(20)));
    }
    scene.write("unmarked.rs", "fn a() {}\nfn b() {}\n");
    scene.write("newly.rs", format!("{marked}fn b() {{}}\n"));
    scene.write("added.rs", marked);
    scene.git(&["rm", "--quiet", "gone.rs"]);
    scene.git(&["mv", "moved.rs", "renamed.rs"]);
    scene.write("renamed.rs", format!("{marked}{}changed\n", numbered(20)));
    let head = scene.commit();
    let filtered = scene.filtered(&base, &head).await;
    let left_out: Vec<_> = filtered
        .filtered
        .iter()
        .map(|file| (file.path.as_str(), file.reason))
        .collect();
    let generated = FilterReason::Generated;
    assert_eq!(
        left_out,
        [("gone.rs", generated), ("old.rs", generated), ("renamed.rs", generated)]
    );
}

#[tokio::test]
async fn what_no_reviewer_has_read_is_shown_whole_once_it_is_reviewed() {
    let scene = Scene::new();
    let (notes, marked) = (numbered(40), "// @generated\n");
    for path in ["vendor/a.txt", "vendor/b.py", "docs/c.txt", "src/d.py", "docs/e.txt"] {
        scene.write(path, format!("of {path}\n{notes}"));
    }
    scene.write("src/f.rs", format!("{marked}{notes}"));
    scene.write("vendor/g.txt", "x".repeat(2 << 20));
    let base = scene.commit();
    std::fs::create_dir_all(scene.root.join("lib")).unwrap();
    for (from, to) in [
        ("vendor/a.txt", "src/a.py"),
        ("docs/c.txt", "src/c.py"),
        ("src/d.py", "lib/d.py"),
        ("docs/e.txt", "lib/e.txt"),
        ("vendor/g.txt", "src/g.py"),
    ] {
        scene.git(&["mv", from, to]);
    }
    scene.git(&["rm", "--quiet", "vendor/b.py"]);
    scene.write(
        "src/auth/b.py",
        format!("of vendor/b.py\n{notes}").replace("line 7\n", "line seven\n"),
    );
    scene.write("src/f.rs", format!("// by hand\n{notes}"));
    let head = scene.commit();
    let (diff, spool) = scene.reviewed(&base, &head).await;
    let mut patch = Vec::new();
    let mut seen = Vec::new();
    for file in &diff.files {
        spool.patch(file, &mut patch).unwrap();
        let is_whole = String::from_utf8_lossy(&patch).contains("\n+line 33\n");
        seen.push((
            file.path.as_str(),
            file.changed_lines(),
            is_whole,
            file.row(33).is_some(),
        ));
    }
    assert_eq!(
        seen,
        [
            ("lib/d.py", 0, false, false),
            ("lib/e.txt", 0, false, false),
            ("src/a.py", 41, true, false),
            ("src/auth/b.py", 41, true, true),
            ("src/c.py", 41, true, false),
            ("src/f.rs", 41, true, true),
        ]
    );
    let left_out: Vec<_> = diff
        .filtered
        .iter()
        .map(|file| (file.path.as_str(), file.reason))
        .collect();
    assert_eq!(left_out, [("src/g.py", FilterReason::TooLarge)]);
}

#[tokio::test]
async fn a_line_of_100_mb_is_named_and_the_rest_is_read() {
    let scene = Scene::new();
    scene.write("big.json", "{}\n");
    scene.write("src/login.rs", "fn a() {}\n");
    scene.write("small.rs", "fn a() {}\n");
    let base = scene.commit();
    scene.write("big.json", vec![b'x'; 100 << 20]);
    scene.write("src/login.rs", "y".repeat(2 << 20));
    scene.write("small.rs", "fn b() {}\n");
    let head = scene.commit();
    let (diff, spool) = scene.read(&base, &head).await;
    let unread: Vec<_> = diff.files.iter().map(|file| file.unread).collect();
    assert_eq!(unread, [Some(Unread::TooLarge), None, Some(Unread::TooLarge)]);
    assert!(
        spool.0.metadata().unwrap().len() < 1000,
        "nothing of the large ones was kept"
    );
    let filtered = scene.filtered(&base, &head).await;
    let left_out: Vec<_> = filtered.filtered.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(left_out, ["big.json", "src/login.rs"]);
    assert!(filtered.filtered.iter().all(|file| file.reason.is_gap()));
}

#[tokio::test]
async fn a_new_attribute_of_lfs_is_a_gap_where_an_unchanged_pointer_stands_for_what_may_run() {
    let scene = Scene::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    for path in ["tool", "data/x.dat", "shown.png"] {
        scene.write(path, pointer);
    }
    scene.write("notes.txt", "no pointer\n");
    let base = scene.commit();
    scene.write(
        ".gitattributes",
        "tool filter=lfs\n*.dat filter=lfs\n*.png filter=lfs\n*.txt filter=lfs\n",
    );
    let head = scene.commit();
    assert_eq!(
        scene.differing(&base, &head).await,
        ["data/x.dat", "tool"],
        "pictures are shown, and what is no pointer stays as it is"
    );
}

#[tokio::test]
async fn a_lock_file_that_a_checkout_changes_is_a_gap_although_no_reviewer_gets_it() {
    let scene = Scene::new();
    for path in ["Cargo.lock", "go.sum", "uv.lock", "web/yarn.lock"] {
        scene.write(path, "# $Id$\n");
    }
    let base = scene.commit();
    for path in ["Cargo.lock", "uv.lock", "web/yarn.lock"] {
        scene.write(path, "# $Id$\n# new\n");
    }
    let attributes =
        "Cargo.lock working-tree-encoding=SHIFT_JIS\ngo.sum filter=lfs\nyarn.lock ident\nuv.lock eol=crlf\n";
    scene.write(".gitattributes", attributes);
    let head = scene.commit();
    let filtered = scene.filtered(&base, &head).await;
    assert!(filtered.filtered.iter().any(|file| file.path == "Cargo.lock"));
    assert_eq!(
        scene.differing(&base, &head).await,
        ["Cargo.lock", "go.sum", "web/yarn.lock"]
    );
    scene.write("Cargo.lock", "# newer\n");
    let newer = scene.commit();
    assert_eq!(
        scene.differing(&head, &newer).await,
        ["Cargo.lock"],
        "by older attributes"
    );
    scene.git(&["rm", "--quiet", "Cargo.lock"]);
    let gone = scene.commit();
    assert_eq!(scene.differing(&newer, &gone).await, [""; 0]);
}

#[tokio::test]
async fn a_file_in_the_place_of_a_link_has_attributes_too() {
    let scene = Scene::new();
    scene.write(".gitattributes", "*.sh filter=evil\n");
    let path = scene.root.join("run.sh");
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    let base = scene.commit();
    std::fs::remove_file(&path).unwrap();
    scene.write("run.sh", "echo run\n");
    let head = scene.commit();
    assert_eq!(scene.differing(&base, &head).await, ["run.sh"]);
}

#[tokio::test]
async fn attributes_change_also_where_their_file_is_noise_and_gets_another_name() {
    let scene = Scene::new();
    scene.write(".gitattributes", "*.sh ident\n");
    scene.write("vendor/x/.gitattributes", "*.sh -ident\n");
    scene.write("vendor/x/run.sh", "# $Id$\n");
    let base = scene.commit();
    scene.git(&["mv", "vendor/x/.gitattributes", "vendor/x/notes.txt"]);
    let head = scene.commit();
    let filtered = scene.filtered(&base, &head).await;
    assert!(filtered.files.is_empty(), "the move is noise");
    assert_eq!(scene.differing(&base, &head).await, ["vendor/x/run.sh"]);
    scene.git(&["mv", "vendor/x/notes.txt", "vendor/x/.gitattributes"]);
    let back = scene.commit();
    assert_eq!(scene.differing(&head, &back).await, [""; 0]);
}

#[tokio::test]
async fn a_link_that_gives_a_vendored_document_the_name_of_code_is_read_by_nobody() {
    let scene = Scene::new();
    let link = |target: &str, path: &str| std::os::unix::fs::symlink(target, scene.root.join(path)).unwrap();
    scene.write("vendor/x/README.md", "x\n");
    scene.write("src/a.py", "x = 1\n");
    link("../vendor/x/README.md", "src/old.py");
    let base = scene.commit();
    scene.write("vendor/x/README.md", "import os\n");
    let head = scene.commit();
    let filtered = scene.filtered(&base, &head).await;
    assert_eq!(filtered.read_by_nobody, ["src/old.py"], "an older link");

    link("src/old.py", "run.py");
    link("vendor/x/README.md", "README.md");
    link("src/a.py", "b.py");
    let newer = scene.commit();
    let filtered = scene.filtered(&head, &newer).await;
    assert_eq!(filtered.read_by_nobody, ["run.py"], "of older noise");
}
