//! What the demo shows: the findings in the repository that `scripts/demo-repository` makes.

use crate::demo_rules::review_patches;
use std::path::Path;
use std::process::Command;

/// Runs a program in a directory; what it printed.
fn run(program: &str, arguments: &[&str], directory: &Path) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let failure = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {failure}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_planted_problem_is_found_and_the_rest_is_left_alone() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/demo-repository");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("demo-repository-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    run(script, &["."], &directory);
    let range = "main...feature/order-export";
    let patches: Vec<(String, String)> = run("git", &["diff", "--name-only", range], &directory)
        .lines()
        .map(|path| {
            let patch = run(
                "git",
                &["diff", "--no-ext-diff", "--no-color", range, "--", path],
                &directory,
            );
            (path.to_owned(), patch)
        })
        .collect();
    let agents_md = run("git", &["show", "feature/order-export:AGENTS.md"], &directory);
    std::fs::remove_dir_all(&directory).unwrap();

    let categories = |reviewer: &str| -> Vec<String> {
        let found = review_patches(reviewer, &patches, &agents_md);
        found.into_iter().map(|found| found.category).collect()
    };
    assert_eq!(categories("security"), ["secret-in-log", "sql-injection"]);
    assert_eq!(
        categories("correctness"),
        ["dropped-remainder", "division-by-zero", "sql-injection"],
        "the last one is the agreement of two reviewers"
    );
    assert_eq!(categories("performance"), ["n-plus-one"]);
    assert_eq!(categories("code_quality"), ["debug-output"]);
    for reviewer in ["documentation", "release", "agents_md", "codex", "tests"] {
        assert!(
            categories(reviewer).is_empty(),
            "{reviewer}: {:?}",
            categories(reviewer)
        );
    }
}
