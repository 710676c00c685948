//! A sandbox that is required: judged before anything of OpenCode runs, and where a machine has half of one.

use std::path::Path;

use tempfile::TempDir;

use crate::support::{Conclave, Repository, executable, opencode, provider};

/// The real OpenCode behind a script that leaves a file when it runs.
struct Witness(TempDir);

impl Witness {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ran = directory.path().join("ran");
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> '{}'\nexec '{}' \"$@\"\n",
            ran.display(),
            opencode().display()
        );
        executable(&directory.path().join("opencode"), &script);
        Self(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns whether it has run since this was last asked.
    fn ran(&self) -> bool {
        std::fs::remove_file(self.path().join("ran")).is_ok()
    }
}

#[tokio::test]
async fn nothing_of_opencode_runs_in_less_than_is_required() {
    let (provider, repository, witness) = (provider().await, Repository::flawed(), Witness::new());
    let path = format!("{}:{}", witness.path().display(), std::env::var("PATH").unwrap());
    let job = |arguments: &[&str]| {
        let job = Conclave::new(repository.path(), arguments).anthropic(&provider);
        job.env("CONCLAVE_SANDBOX", "off")
    };
    // Once by its name, and once found on PATH, where it is asked for its version.
    let named = |job: Conclave| job.env("CONCLAVE_OPENCODE", witness.path().join("opencode"));
    let found = |job: Conclave| job.without("CONCLAVE_OPENCODE").env("PATH", &path);
    let ways: [&dyn Fn(Conclave) -> Conclave; 2] = [&named, &found];
    for way in ways {
        way(job(&["local", "main..feature"])).run().await.expect_code(0);
        assert!(witness.ran(), "it runs where nothing is required");
        for required in ["enforced", "partial"] {
            let flag = format!("--require-sandbox={required}");
            way(job(&["local", "main..feature", &flag])).run().await.expect_code(6);
            assert!(!witness.ran(), "{required}");
            for command in ["plan", "doctor"] {
                let required = way(job(&[command])).env("CONCLAVE_REQUIRE_SANDBOX", required);
                required.run().await;
                assert!(!witness.ran(), "{command}");
            }
        }
    }
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write(".conclave.toml", "[review]\nrequire_sandbox = \"partial\"\n");
    repository.commit("Require a sandbox");
    for way in ways {
        let refused = way(job(&["local", "main..feature"])).run().await.expect_code(6);
        assert!(refused.stderr.contains("has to be `partial`"), "{}", refused.stderr);
        assert!(!witness.ran());
        let plan = way(job(&["plan", "main..feature"])).run().await.expect_code(0);
        assert!(!witness.ran(), "{}", plan.stdout);
        let doctor = way(job(&["doctor"])).run().await.expect_code(1);
        assert!(!witness.ran(), "{}", doctor.stdout);
    }
    // The refusal comes before the download: nothing listens at this registry.
    for required in ["enforced", "partial"] {
        let install = job(&["runtime", "install", "--registry", "http://127.0.0.1:9/"]);
        install
            .env("CONCLAVE_REQUIRE_SANDBOX", required)
            .run()
            .await
            .expect_code(6);
    }
}

/// A container may refuse every look at limits. OpenCode itself gives up there.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn where_limits_are_refused_a_review_ends_with_what_is_wrong() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let limits = [libc::SYS_prlimit64, libc::SYS_setrlimit, libc::SYS_getrlimit];
    crate::support::without(&limits, libc::EPERM);
    let job = |arguments: &[&str]| Conclave::new(repository.path(), arguments).anthropic(&provider);
    let refused = job(&["local", "main..feature", "--require-sandbox"])
        .run()
        .await
        .expect_code(6);
    let failed = job(&["local", "main..feature"]).run().await.expect_code(2);
    assert!(provider.requests().is_empty(), "no model was asked");
    let doctor = job(&["doctor", "--json"]).run().await;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (text, wanted) in [
        (
            words(&refused.stderr),
            "here it is partial, open: memory, file sizes and processes",
        ),
        (words(&failed.stderr), "it ended without an answer"),
        (words(&doctor.stdout), "the limits cannot be set here"),
    ] {
        assert!(text.contains(wanted) && !text.contains("panicked at cli"), "{text}");
    }
}
