//! Every attempt of a hostile program in `OpenCode`'s place, without and with the sandbox: as the user who runs the tests, and,
//! where that is root, as a plain user too.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken fixture must stop the test"
)]

use std::{os::unix::process::CommandExt, path::Path, process::Command};

use landlock::{ABI, Access, AccessFs, RulesetAttr, RulesetCreatedAttr, path_beneath_rules};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::Value;

/// The user of the image.
const PLAIN_USER: u32 = 10_001;

/// Runs a group, and holds that each attempt succeeds without the sandbox, where it can on this machine, and fails with it.
fn nothing_of(group: &str) {
    for user in users() {
        let found = host(group, user);
        let attempts = found["attempts"].as_object().unwrap();
        assert!(attempts.len() >= 20, "{group}: {}", attempts.len());
        let faults: Vec<String> = attempts
            .iter()
            .filter_map(|(name, outcome)| {
                let is = |field: &str| outcome[field].as_bool().unwrap();
                if is("inside") {
                    Some(format!("{name} succeeds in the sandbox"))
                } else if is("expected_outside") && !is("outside") {
                    Some(format!("{name} proves nothing: it fails without the sandbox too"))
                } else {
                    None
                }
            })
            .collect();
        assert!(faults.is_empty(), "as {user:?}: {faults:#?}\n{}", found["status"]);
    }
}

/// This user; and a plain one if this is root.
fn users() -> Vec<Option<u32>> {
    let root = std::fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0);
    if root { vec![None, Some(PLAIN_USER)] } else { vec![None] }
}

fn host(group: &str, user: Option<u32>) -> Value {
    let found = host_anywhere(group, user, &std::env::temp_dir());
    let level = found["status"]["level"].as_str().unwrap();
    let wanted = std::env::var("CONCLAVE_TEST_SANDBOX").unwrap_or_else(|_| "enforced".to_owned());
    assert_eq!(
        level, wanted,
        "what this machine gives (CONCLAVE_TEST_SANDBOX says what it has to): {}",
        found["status"]
    );
    found
}

/// The same without a look at the grade; the scratch space is below `place`.
fn host_anywhere(group: &str, user: Option<u32>, place: &Path) -> Value {
    host_on(None, group, user, place)
}

/// The same on a kernel whose Landlock has this version.
fn host_on(landlock: Option<&str>, group: &str, user: Option<u32>, place: &Path) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("intruder");
    // The build directory may be in a place that only its owner reads.
    std::fs::copy(env!("CARGO_BIN_EXE_conclave-intruder"), &program).unwrap();
    let mut command = Command::new(&program);
    if let Some(version) = landlock {
        command.args(["on-landlock", version]).arg(&program);
    }
    command.args(["host", group]).current_dir("/").env_clear();
    let scratch = tempfile::tempdir_in(place).unwrap();
    command.env("TMPDIR", scratch.path());
    if let Some(user) = user {
        for path in [directory.path(), scratch.path()] {
            std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
        }
        command.uid(user).gid(user);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn an_intruder_reads_nothing_of_the_user() {
    nothing_of("reads");
}

#[test]
fn an_intruder_writes_only_in_its_home() {
    nothing_of("writes");
}

#[test]
fn an_intruder_connects_to_the_gateway_only() {
    nothing_of("connects");
}

#[test]
fn an_intruder_reaches_no_other_process() {
    nothing_of("processes");
}

#[test]
fn what_opencode_needs_works_in_the_sandbox() {
    for user in users() {
        let found = host("legitimate", user);
        let attempts = found["attempts"].as_object().unwrap();
        let broken: Vec<&String> = attempts
            .iter()
            .filter(|(_, outcome)| outcome["inside"] != true)
            .map(|(name, _)| name)
            .collect();
        assert!(broken.is_empty(), "as {user:?}: {broken:?}");
    }
}

/// Programs that this thread starts from now on get this error from these calls.
fn refuse(calls: &[i64], error: i32) {
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let answer = SeccompAction::Errno(u32::try_from(error).unwrap());
    let architecture = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

fn inside(found: &Value, name: &str) -> bool {
    found["attempts"][name]["inside"].as_bool().unwrap()
}

#[test]
fn without_landlock_files_are_open_and_the_other_walls_stand() {
    for error in [libc::ENOSYS, libc::EOPNOTSUPP, libc::EPERM] {
        // A filter is for good, and the strictest answer wins: one thread for each.
        let in_thread = std::thread::spawn(move || {
            refuse(&[libc::SYS_landlock_create_ruleset], error);
            ["reads", "processes"].map(|group| host_anywhere(group, None, &std::env::temp_dir()))
        });
        let [reads, processes] = in_thread.join().unwrap();
        assert_eq!(reads["status"]["level"], "none", "{error}: {}", reads["status"]);
        assert!(reads["status"]["open"][0].as_str().unwrap().contains("no Landlock"));
        assert!(inside(&reads, "ssh_key"), "the grade says what is so");
        for shut in [
            "debugging_the_victim",
            "a_signal_to_the_parent",
            "taking_off_the_mark",
            "mounting",
        ] {
            assert!(!inside(&processes, shut), "{error}: {shut}");
        }
    }
}

/// Attempts succeed on an old Landlock exactly where its grade says so.
#[cfg(target_arch = "x86_64")]
#[test]
fn an_old_landlock_leaves_open_what_its_grade_says() {
    for version in ["1", "3", "5", "6"] {
        for group in ["reads", "writes", "connects", "processes"] {
            let found = host_on(Some(version), group, None, &std::env::temp_dir());
            let status = &found["status"];
            assert_eq!(status["walls"]["landlock"].to_string(), version, "{status}");
            let signals = version != "6";
            assert_eq!(
                status["level"],
                if signals { "partial" } else { "enforced" },
                "{version}: {status}"
            );
            let attempts = found["attempts"].as_object().unwrap();
            let succeed: Vec<&String> = attempts
                .iter()
                .filter(|(_, outcome)| outcome["inside"] == true)
                .map(|(name, _)| name)
                .collect();
            let open: &[&str] = if signals && group == "processes" {
                &["a_signal_to_the_victim"]
            } else {
                &[]
            };
            assert_eq!(succeed, open, "Landlock {version}, {group}: {status}");
        }
    }
}

#[test]
fn without_seccomp_files_and_signals_are_shut() {
    for error in [libc::ENOSYS, libc::EPERM, libc::EINVAL] {
        let in_thread = std::thread::spawn(move || {
            refuse(&[libc::SYS_seccomp], error);
            ["reads", "connects"].map(|group| host_anywhere(group, None, &std::env::temp_dir()))
        });
        let [reads, connects] = in_thread.join().unwrap();
        assert_eq!(reads["status"]["level"], "partial", "{error}: {}", reads["status"]);
        assert_eq!(reads["status"]["walls"]["filter"], false);
        for shut in ["ssh_key", "real_checkout", "parents_environment", "all_processes"] {
            assert!(!inside(&reads, shut), "{error}: {shut}");
        }
        assert!(!inside(&connects, "another_port"), "Landlock knows ports");
        assert!(
            inside(&connects, "another_address_at_the_port"),
            "and no addresses, as the grade says"
        );
    }
}

#[test]
fn where_limits_are_refused_the_grade_says_so_and_the_other_walls_stand() {
    let limits = [libc::SYS_prlimit64, libc::SYS_setrlimit, libc::SYS_getrlimit];
    for error in [libc::EPERM, libc::ENOSYS] {
        let in_thread = std::thread::spawn(move || {
            refuse(&limits, error);
            ["reads", "legitimate"].map(|group| host_anywhere(group, None, &std::env::temp_dir()))
        });
        let [reads, legitimate] = in_thread.join().unwrap();
        let status = &reads["status"];
        assert_eq!(
            (&status["level"], &status["walls"]["limits"]),
            (&"partial".into(), &false.into()),
            "{status}"
        );
        assert!(
            status["open"].to_string().contains("the limits cannot be set here"),
            "{status}"
        );
        assert!(!inside(&reads, "ssh_key"), "{error}");
        assert!(inside(&legitimate, "ok_reaches_the_gateway"), "{legitimate:#}");
    }
}

#[test]
fn an_unreadable_child_is_not_watched_and_still_connects() {
    let in_thread = std::thread::spawn(|| {
        // All that a host needs, but /proc: no memory of another process can be opened.
        let all = AccessFs::from_all(ABI::V1);
        let program = Path::new(env!("CARGO_BIN_EXE_conclave-intruder"));
        let system = ["/usr", "/lib", "/lib64", "/bin", "/etc", "/dev", "/tmp", "/var/tmp"].map(Path::new);
        let places = system.into_iter().chain(program.parent());
        landlock::Ruleset::default()
            .handle_access(all)
            .unwrap()
            .create()
            .unwrap()
            .add_rules(path_beneath_rules(places, all))
            .unwrap()
            .restrict_self()
            .unwrap();
        host_anywhere("legitimate", None, &std::env::temp_dir())
    });
    let found = in_thread.join().unwrap();
    assert_eq!(found["status"]["level"], "partial", "{}", found["status"]);
    assert_eq!(found["status"]["walls"]["watch"], false);
    assert!(
        found["status"]["open"]
            .to_string()
            .contains("any host at the two ports")
    );
    assert!(inside(&found, "ok_reaches_the_gateway"), "{found:#}");
}

#[test]
fn scratch_space_on_another_file_system_is_as_shut() {
    let place = Path::new("/dev/shm");
    for group in ["writes", "legitimate"] {
        let found = host_anywhere(group, None, place);
        assert_eq!(found["status"]["level"], "enforced", "{}", found["status"]);
        let expected = group == "legitimate";
        let attempts = found["attempts"].as_object().unwrap();
        for (name, outcome) in attempts {
            assert_eq!(outcome["inside"], expected, "{name}");
        }
    }
}

#[test]
fn who_leaves_the_group_is_found_by_the_mark() {
    for user in users() {
        let found = host("escape", user);
        for way in ["hides", "leaves_a_thread_behind", "changes_all_the_time"] {
            assert_eq!(found["attempts"][way]["inside"], true, "it ran, and hid: {found}");
        }
        assert_eq!(found["left"], Value::Bool(false), "as {user:?}: it outlived the run");
    }
}

#[test]
fn a_bomb_of_tasks_is_stopped_for_users_and_for_root_it_is_not() {
    for user in users() {
        let found = host("bomb", user);
        let root = users().len() == 2 && user.is_none();
        let outcome = &found["attempts"]["tasks_without_end"];
        assert_eq!(outcome["outside"], true, "this machine has room for it: {found}");
        assert_eq!(outcome["inside"], root, "as {user:?}: {found}");
    }
}

#[test]
fn its_one_server_is_reached_from_this_machine_only() {
    let found = host("serves", None);
    for (name, outcome) in found["attempts"].as_object().unwrap() {
        assert_eq!(outcome["inside"], false, "{name}");
        assert!(
            outcome["outside"] == true || outcome["expected_outside"] == false,
            "{name}"
        );
    }
}
