//! A machine that gives too little memory, threads or files: the run ends with a documented exit code and says what to do.

use std::time::Duration;

use crate::support::{Conclave, Outcome, Repository, played, provider};

on_both_runtimes! {
    too_few_open_files_end_a_run_with_what_to_do
}

/// A part of the advice of every such end.
const WHAT_TO_DO: &str = "processes and open files";

/// `conclave` with these arguments, in a shell that has set this limit.
fn limited(repository: &Repository, limit: &str, arguments: &str) -> Conclave {
    let script = format!("ulimit {limit}; exec conclave {arguments} --output ../run");
    let directory = repository.path().join("src");
    std::fs::create_dir_all(&directory).unwrap();
    Conclave::script(&directory, &script, "../run")
}

fn is_told(outcome: &Outcome) {
    let words: Vec<&str> = outcome.stderr.split_whitespace().collect();
    let text = words.join(" ");
    assert!(
        text.contains("error:") && text.contains(WHAT_TO_DO),
        "{:?}: {}",
        outcome.code,
        outcome.stderr
    );
}

async fn too_few_open_files_end_a_run_with_what_to_do() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let place = tempfile::tempdir().unwrap();
    for files in played([14, 10, 8, 7, 6, 5, 4]) {
        let job = limited(&repository, &format!("-n {files}"), "local main..feature");
        let job = job.anthropic(&provider).env("TMPDIR", place.path());
        let outcome = job.run().await.expect_code(2);
        is_told(&outcome);
    }
    assert_eq!(provider.requests().len(), 0);
}

/// Kilobytes between two limits that are tried.
const STEP: usize = 6 * 1024;

/// OpenCode reserves more addresses than any such limit.
#[tokio::test]
async fn too_little_memory_ends_a_run_with_what_to_do() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // What a run that aborts leaves there goes with the next one.
    let place = tempfile::tempdir().unwrap();
    let mut told = 0;
    let mut tried = 0;
    // As little as the program itself can be loaded in, and somewhat more each time.
    for kilobytes in (0..200).map(|step| (step + 4) * STEP) {
        let limit = format!("-v {kilobytes}");
        if tried == 0
            && limited(&repository, &limit, "--version; true")
                .run()
                .await
                .stdout
                .is_empty()
        {
            continue;
        }
        tried += 1;
        let outcome = limited(&repository, &limit, "local main..feature --runtime native")
            .anthropic(&provider)
            .env("TMPDIR", place.path())
            .run()
            .await;
        match outcome.code {
            // It was enough, or a review that says what is missing.
            Some(0) => {}
            Some(2) => {
                is_told(&outcome);
                told += 1;
            }
            other => panic!("{limit}: {other:?}\n{}", outcome.stderr),
        }
        if tried == 12 {
            break;
        }
    }
    assert!(told > 0, "none of the limits was too low");
}

/// A script of the shell around `conclave`, with its exit code.
fn shell(repository: &Repository, script: &str) -> Conclave {
    let directory = repository.path().join("src");
    std::fs::create_dir_all(&directory).unwrap();
    let runtime = ["CONCLAVE_RUNTIME", "native"];
    Conclave::script(&directory, &format!("set -o pipefail; {script}"), "../run")
        .without("CONCLAVE_OPENCODE")
        .env(runtime[0], runtime[1])
}

#[tokio::test]
async fn a_result_that_cannot_be_written_is_no_success() {
    let (provider, repository) = (provider().await, Repository::clean());
    for command in [
        "local main --output ../run",
        "plan main",
        "--help",
        "--version",
        "completions bash",
    ] {
        let full = shell(&repository, &format!("conclave {command} >/dev/full"));
        let outcome = full.anthropic(&provider).run().await.expect_code(2);
        let text = outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "error: failed to write to standard output: No space left on device",
            "Free some space",
        ] {
            assert!(text.contains(part), "{command}: {}", outcome.stderr);
        }
        // A reader that has seen enough is none of our business.
        let closed = shell(
            &repository,
            &format!("conclave {command} 2>../err | true; cat ../err >&2"),
        );
        let outcome = closed.anthropic(&provider).run().await.expect_code(0);
        assert!(!outcome.stderr.contains("error:"), "{command}: {}", outcome.stderr);
    }
}

#[tokio::test]
async fn a_limit_on_the_size_of_files_ends_a_run_with_what_to_do() {
    let (provider, repository) = (provider().await, Repository::clean());
    // From a limit at which git can write nothing to one at which the reports are too large.
    let mut told = 0;
    for blocks in [0, 1, 2, 4, 8] {
        let place = tempfile::tempdir().unwrap();
        let script = format!("ulimit -f {blocks}; exec conclave local main --output ../run");
        let outcome = shell(&repository, &script)
            .anthropic(&provider)
            .env("TMPDIR", place.path())
            .run()
            .await;
        match outcome.code {
            Some(0) => assert!(blocks > 0, "{}", outcome.stderr),
            Some(2) => {
                assert!(outcome.stderr.contains("ulimit -f"), "{blocks}: {}", outcome.stderr);
                told += 1;
            }
            other => panic!("{blocks}: {other:?}\n{}", outcome.stderr),
        }
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "{blocks}");
    }
    assert!(told > 1, "none of the limits was too low");
}

/// Programs that this thread starts from now on can start no thread.
#[cfg(target_os = "linux")]
fn without_threads() {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        apply_filter,
    };
    let bit = u64::from(libc::CLONE_THREAD.cast_unsigned());
    let starts_thread = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bit), bit).unwrap();
    let architecture = || std::env::consts::ARCH.try_into().unwrap();
    let apply = |call, rules, error: i32| {
        let refuse = SeccompAction::Errno(u32::try_from(error).unwrap());
        let rules = [(call, rules)].into_iter().collect();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture()).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        apply_filter(&program).unwrap();
    };
    apply(
        libc::SYS_clone,
        vec![SeccompRule::new(vec![starts_thread]).unwrap()],
        libc::EAGAIN,
    );
    // The C library then uses the other call.
    apply(libc::SYS_clone3, Vec::new(), libc::ENOSYS);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn without_threads_a_run_ends_with_what_to_do() {
    let repository = Repository::flawed();
    without_threads();
    let job = Conclave::new(repository.path(), &["local", "main..feature", "--runtime", "native"]);
    let outcome = tokio::time::timeout(Duration::from_mins(1), job.env("ANTHROPIC_API_KEY", "x").run());
    is_told(&outcome.await.expect("it ends").expect_code(2));
}
