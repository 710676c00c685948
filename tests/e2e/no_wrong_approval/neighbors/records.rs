//! What a branch has committed in the places of our records and reports.

use std::{
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use crate::support::{Conclave, Repository, played, provider};

on_both_runtimes! {
    links_that_a_branch_has_committed_lead_nowhere
    reports_that_a_branch_has_committed_are_gone_when_a_run_fails
}

const FLAGS: [&str; 6] = [
    "local",
    "main..feature",
    "--output",
    "run/records",
    "--reports",
    "out/reports",
];

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

/// The program in a job that has this checkout.
fn in_job(repository: &Repository, arguments: &[&str]) -> Conclave {
    Conclave::new(repository.path(), arguments).env("CI_PROJECT_DIR", repository.path())
}

async fn links_that_a_branch_has_committed_lead_nowhere() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let elsewhere = tempfile::tempdir().unwrap();
    let (precious, kept) = (elsewhere.path().join("precious"), elsewhere.path().join("kept"));
    std::fs::write(&precious, "precious").unwrap();
    std::fs::create_dir_all(kept.join("patches")).unwrap();
    std::fs::write(kept.join("patches/file"), "kept").unwrap();
    let at = |name: &str| repository.path().join(name);
    std::fs::create_dir_all(at("run/records")).unwrap();
    std::fs::create_dir_all(at("out/reports")).unwrap();
    for name in [
        "run/records/review.md",
        "run/records/events.jsonl",
        "run/records/progress.jsonl",
        "out/reports/review.sarif",
    ] {
        symlink(&precious, at(name)).unwrap();
    }
    symlink(kept.join("patches"), at("run/records/patches")).unwrap();
    repository.commit("Prepared");
    let local = || Conclave::new(repository.path(), &FLAGS).anthropic(&provider);
    local().run().await.expect_code(0);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(std::fs::read_to_string(kept.join("patches/file")).unwrap(), "kept");
    assert_eq!(std::fs::read_dir(kept.join("patches")).unwrap().count(), 1);
    for name in [
        "run/records/review.md",
        "run/records/events.jsonl",
        "run/records/progress.jsonl",
        "out/reports/review.sarif",
    ] {
        assert!(at(name).symlink_metadata().unwrap().is_file(), "{name}");
        assert_eq!(mode(&at(name)), 0o600, "{name}");
    }
    for name in ["run/records", "run/records/patches", "out/reports"] {
        assert_eq!(mode(&at(name)), 0o700, "{name}");
    }

    // A directory itself, and one above it.
    for (link, flag) in played([
        ("out/reports", "--reports"),
        ("out", "--reports"),
        ("run/records", "--output"),
        ("run", "--output"),
    ]) {
        let place = at(link);
        if place.is_dir() && !place.is_symlink() {
            std::fs::remove_dir_all(&place).unwrap();
        }
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(&kept, &place).unwrap();
        let outcome = local().run().await.expect_code(2);
        assert!(
            outcome.stderr.contains("is a link") && outcome.stderr.contains(flag),
            "{}",
            outcome.stderr
        );
        assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 1, "{link}");
        assert_eq!(std::fs::read_dir(kept.join("patches")).unwrap().count(), 1, "{link}");
        std::fs::remove_file(&place).unwrap();
    }
}

async fn reports_that_a_branch_has_committed_are_gone_when_a_run_fails() {
    let repository = Repository::flawed();
    for name in [
        "run/records/review.json",
        "out/reports/junit.xml",
        "out/reports/code-quality.json",
        "out/reports/README.md",
    ] {
        repository.write(name, "forged\n");
    }
    repository.commit("Forged reports");
    let forged = [
        "run/records/review.json",
        "out/reports/junit.xml",
        "out/reports/code-quality.json",
    ];
    // No provider's key: it fails before anything is made. And wrong arguments: it ends before anything is read.
    let wrong = [&FLAGS[..], &["--agents", "many"]].concat();
    let of_job = in_job(&repository, &["review", "--agents", "many"])
        .env("CONCLAVE_OUTPUT", "run/records")
        .env("CONCLAVE_REPORTS", "out/reports");
    let local = Conclave::new(repository.path(), &FLAGS);
    for call in [local, in_job(&repository, &FLAGS), in_job(&repository, &wrong), of_job] {
        repository.git(&["checkout", "--quiet", "--force", "HEAD"]);
        repository.git(&["checkout", "--quiet", "--", "."]);
        call.run().await.expect_code(2);
        for name in forged {
            assert!(!repository.path().join(name).exists(), "{name}");
        }
    }
    assert!(
        repository.path().join("out/reports/README.md").exists(),
        "it is not a report's name"
    );
    // Git cannot give back what a person has edited: the run is refused, and nothing is touched.
    repository.git(&["checkout", "--quiet", "--", "."]);
    repository.write("run/records/review.json", "mine\n");
    let stderr = Conclave::new(repository.path(), &FLAGS)
        .run()
        .await
        .expect_code(2)
        .stderr;
    assert!(stderr.contains("run/records/review.json is in the way"), "{stderr}");
    assert_eq!(
        repository.git(&["status", "--porcelain"]).trim(),
        "M run/records/review.json"
    );
}
