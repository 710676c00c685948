use std::{os::unix::fs::symlink, process::Command};

use super::*;

const REVIEW: &str = include_str!("../../../../tests/fixtures/runs/version-1/review.json");
const PROGRESS: &str = include_str!("../../../../tests/fixtures/runs/version-1/progress.jsonl");
const EXCERPTS: &str = include_str!("../../../../tests/fixtures/runs/version-1/excerpts.json");

fn scratch() -> (tempfile::TempDir, Utf8PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8PathBuf::from_path_buf(directory.path().to_owned()).expect("UTF-8");
    let path = path.canonicalize_utf8().expect("a path");
    (directory, path)
}

/// The environment of a job with this checkout, or of no job.
fn environment(checkout: Option<&Utf8Path>) -> Environment {
    let variables = checkout.map(|path| ("CI_PROJECT_DIR".into(), path.as_str().into()));
    Environment::new(variables)
}

fn write(directory: &Utf8Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
}

/// Everything that a directory holds, in order.
fn held(directory: &Utf8Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in directory.read_dir_utf8().expect("readable") {
        let path = entry.expect("an entry").path().to_owned();
        if path.is_dir() && !path.is_symlink() {
            names.extend(held(&path));
        }
        names.push(path.to_string());
    }
    names.sort();
    names
}

/// The records that an earlier run has left, as it was killed while it wrote its reports.
fn leave_records(directory: &Utf8Path) {
    write(
        directory,
        &[
            ("review.json", REVIEW),
            ("code-quality.json", "[]\n"),
            ("junit.xml", ""),
            ("progress.jsonl", PROGRESS),
            ("excerpts.json", EXCERPTS),
            ("shared-mr-context.txt", "<review_panel_1>\nsecurity\n"),
            (
                "events.jsonl",
                "{\"type\":\"session.created\",\"properties\":{}}\n{\"type\":",
            ),
            ("opencode.json", "{\"apiKey\": \"{env:CONCLAVE_RUN_KEY}\"}\n"),
            ("patches/INDEX.txt", "- a.py\n"),
            ("patches/0001-a-py.patch", "diff --git a/a.py b/a.py\n"),
            ("prompts/coordinator-message.md", "m"),
            ("prompts/coordinator.md", "c"),
            ("prompts/REVIEWER_SHARED.md", "s"),
        ],
    );
}

#[tokio::test]
async fn what_an_earlier_run_has_left_goes_and_another_begins() {
    let (_keep, root) = scratch();
    let environment = environment(None);
    leave_records(&root.join("run"));
    write(&root, &[("reports/review.json", REVIEW), ("reports/notes.txt", "mine")]);
    let (run, reports) = (root.join("run"), root.join("reports"));
    clear(Some(&run), Some(&reports), &environment)
        .await
        .expect("all is ours");
    assert_eq!(held(&run), [""; 0]);
    assert_eq!(held(&reports), [reports.join("notes.txt").to_string()]);
    // And where it came meanwhile.
    leave_records(&run);
    RunDirectory::create(Some(&run), "1", &environment).expect("made");
    assert!(!run.join("review.json").exists() && run.join("patches").is_dir());
}

#[tokio::test]
async fn what_a_user_has_under_our_names_is_refused_before_anything_goes() {
    let environment = environment(None);
    let patch = "From 1 Mon Sep 17 00:00:00 2001\ndiff --git a/a b/a\n";
    for (name, text) in [
        ("review.json", "{}"),
        ("review.md", "# My review\n"),
        ("review.sarif", "{\"version\": \"2.1.0\"}"),
        ("code-quality.json", "[{\"check_name\": \"no-unused-vars\"}]"),
        ("junit.xml", "<testsuites name=\"jest tests\"/>"),
        ("events.jsonl", "{\"event\": \"mine\"}\n"),
        ("progress.jsonl", "{\"progress\": 1}\n"),
        ("opencode.json", "{\"model\": \"anthropic/claude\"}"),
        ("excerpts.json", "[1]"),
        ("patches/fix.patch", "diff --git a/a b/a\n"),
        ("patches/0001-fix.patch", patch),
        ("patches/below/x", "x"),
        ("prompts/security.md", "mine"),
    ] {
        let (_keep, root) = scratch();
        leave_records(&root);
        write(&root, &[(name, text)]);
        let before = held(&root);
        let refused = clear(Some(&root), None, &environment).await.expect_err("refused");
        let refused = refused.to_string();
        let place = name.split("/x").next().unwrap_or(name);
        assert!(
            refused.contains(&format!("{place} is in the way")) && refused.ends_with("another directory with --output"),
            "{name}: {refused}"
        );
        assert!(RunDirectory::create(Some(&root), "1", &environment).is_err(), "{name}");
        assert_eq!(held(&root), before, "{name}");
    }
    // Prompts of the user's own have our names. And a link may lead to something of worth.
    let (_keep, root) = scratch();
    write(&root, &[("prompts/coordinator.md", "mine"), ("kept.md", "kept")]);
    symlink(root.join("kept.md"), root.join("review.md")).expect("a link");
    let before = held(&root);
    assert!(clear(Some(&root), None, &environment).await.is_err());
    assert!(clear(None, Some(&root), &environment).await.is_err());
    assert!(prepare_reports(Some(&root), &environment).is_err());
    assert_eq!(held(&root), before);
}

#[tokio::test]
async fn what_is_committed_goes_with_ours_and_in_a_job_even_where_the_run_is_refused() {
    let (_keep, root) = scratch();
    let git = |arguments: &[&str]| {
        let git = Command::new("git").current_dir(&root).args(arguments).output();
        assert!(git.expect("git").status.success(), "{arguments:?}");
    };
    let reports = root.join("out/reports");
    git(&["init", "--quiet"]);
    write(&root, &[("out/reports/junit.xml", "forged\n")]);
    symlink("/etc/passwd", reports.join("review.sarif")).expect("a link");
    git(&["add", "."]);
    write(
        &root,
        &[
            ("out/reports/review.json", REVIEW),
            ("out/reports/review.md", "made by a tool"),
        ],
    );
    let all = held(&reports);
    let line = |reports: &Utf8Path| {
        ["conclave", "review", "--agents", "many", "--reports", reports.as_str()].map(OsString::from)
    };

    // Outside of a job nothing was begun, and nothing is uploaded.
    clear_refused(&line(&reports), &environment(None)).await;
    assert!(clear(None, Some(&reports), &environment(None)).await.is_err());
    assert_eq!(held(&reports), all);

    // Git still has what is committed.
    std::fs::remove_file(reports.join("review.md")).expect("it was there");
    clear(None, Some(&reports), &environment(None))
        .await
        .expect("all can go");
    assert_eq!(held(&reports), [""; 0]);
    git(&["checkout", "--quiet", "."]);
    write(&root, &[("out/reports/junit.xml", "edited\n")]);
    let edited = held(&reports);
    assert!(clear(None, Some(&reports), &environment(None)).await.is_err());
    assert_eq!(held(&reports), edited);
    write(
        &root,
        &[
            ("out/reports/review.json", REVIEW),
            ("out/reports/review.md", "made by a tool"),
        ],
    );

    let job = environment(Some(&root));
    let refused = clear(None, Some(&reports), &job)
        .await
        .expect_err("refused")
        .to_string();
    assert!(refused.contains("review.md is in the way"), "{refused}");
    assert_eq!(held(&reports), [reports.join("review.md").to_string()]);
    std::fs::remove_file(reports.join("review.md")).expect("it was there");
    git(&["checkout", "--quiet", "."]);
    clear_refused(&line(&reports), &job).await;
    assert_eq!(held(&reports), [""; 0]);
    git(&["checkout", "--quiet", "."]);
    assert!(clear(Some(&reports), Some(&reports), &job).await.is_err());
    assert_eq!(held(&reports), [""; 0]);
}

#[test]
fn records_are_kept_out_of_the_reports() {
    let (_keep, root) = scratch();
    std::fs::create_dir(root.join("real")).expect("a directory");
    symlink(root.join("real"), root.join("link")).expect("a link");
    let apart = |output: &str, reports: &str| keep_apart(Some(&root.join(output)), Some(&root.join(reports)));
    for (output, reports) in [
        ("new", "new"),
        ("new", "./new/../new"),
        ("link/run", "real/run"),
        ("real", "link"),
        ("reports/run", "reports"),
    ] {
        let refused = apart(output, reports).expect_err("refused").to_string();
        assert!(refused.contains("outside of it with --output"), "{output}: {refused}");
    }
    for (output, reports) in [("run", "reports"), ("run", "run/reports"), ("run-2", "run")] {
        assert!(apart(output, reports).is_ok(), "{output} {reports}");
    }
    // The project's directory is not an artifact as a whole.
    let here = Some(Utf8Path::new("."));
    assert!(keep_apart(Some(Utf8Path::new("target/run")), here).is_ok());
    assert!(keep_apart(here, here).is_err());
}
