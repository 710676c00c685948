//! Tells the program what it is built from, for `--version`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=CONCLAVE_BUILD_COMMIT");
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let target = variable("TARGET").unwrap_or_default();
    // While somebody works on it, every commit would compile the program anew to be told in a version that nobody reads.
    let commit = variable("CONCLAVE_BUILD_COMMIT").or_else(|| {
        let release = variable("PROFILE").is_some_and(|profile| profile == "release");
        release.then(commit_of_clone).flatten()
    });
    let built_from = match commit {
        Some(commit) => format!("commit {}, {target}", commit.chars().take(12).collect::<String>()),
        None => target,
    };
    println!("cargo::rustc-env=CONCLAVE_BUILT_FROM={built_from}");
}

/// The commit of the clone that is built, if it is one and git is there.
fn commit_of_clone() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if std::path::Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "HEAD"])
}
