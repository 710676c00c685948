//! Finding, checking and ending the child.

use camino::Utf8Path;

use super::{super::watchdog::MAX_END, orphans::MAX_LOOK, *};
use crate::{
    OPENCODE_VERSION,
    test_support::{Bin, bin},
};

fn start(bin: &Bin, home: &Utf8Path) -> Process {
    let settings = LaunchSettings {
        binary: &bin.path.join("opencode"),
        home,
        config: Utf8Path::new("/nonexistent"),
        path: "/usr/bin:/bin",
        environment: &[],
        limit: Duration::from_mins(1),
        sandbox: &Sandbox::Off("a test of something else".into()),
    };
    Process::start(&settings, "p").expect("it starts")
}

/// Waits until the file exists and is not empty, then returns its text.
async fn appears(path: &Utf8Path) -> String {
    tokio::time::timeout(Duration::from_mins(1), async {
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await
    .expect("the child writes its file")
}

#[tokio::test]
async fn a_child_that_ignores_sigterm_is_killed_with_its_children() {
    let bin = bin(&[(
        "opencode",
        "trap '' TERM\nsetsid sleep 600 &\necho $! > $TMPDIR/pid.new\nmv $TMPDIR/pid.new $TMPDIR/pid\nwhile :; do sleep 1; done",
    )]);
    let root = bin.path.join("home");
    let process = start(&bin, &root);
    let grandchild = appears(&root.join("tmp/pid")).await;
    tokio::time::pause();
    process.stop().await;
    tokio::time::resume();
    goes(grandchild.trim()).await;
}

#[test]
fn an_end_takes_ten_seconds_at_most() {
    let together = GRACE + MAX_LOOK.max(MAX_LAST) + MAX_END;
    assert!(together <= Duration::from_secs(10), "{together:?}");
}

/// Waits until this process is gone: killed, and then reaped by its adopter.
async fn goes(pid: &str) {
    let pid = Pid::from_raw(pid.parse().expect("a number"));
    tokio::time::timeout(Duration::from_mins(1), async {
        while nix::sys::signal::kill(pid, None).is_ok() && !is_zombie(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the process is gone");
}

/// A child that starts a child of its own, which ignores SIGTERM, and writes both process ids down.
const FAMILY: &str =
    "(trap '' TERM; exec sleep 600) &\necho $! $$ > $TMPDIR/pid.new\nmv $TMPDIR/pid.new $TMPDIR/pid\nwait";

async fn family(root: &Utf8Path) -> [String; 2] {
    let pids = appears(&root.join("tmp/pid")).await;
    let mut pids = pids.split_whitespace().map(str::to_owned);
    [pids.next().expect("a grandchild"), pids.next().expect("a child")]
}

#[tokio::test]
async fn a_panic_leaves_nothing_running() {
    let bin = bin(&[("opencode", FAMILY)]);
    let root = bin.path.join("home");
    let process = start(&bin, &root);
    let [grandchild, child] = family(&root).await;
    let task = tokio::spawn(async move {
        let _process = process;
        panic!("a fault of the program");
    });
    assert!(task.await.expect_err("it panics").is_panic());
    goes(&grandchild).await;
    goes(&child).await;
}

#[tokio::test]
async fn what_the_child_started_is_killed_when_conclave_is_gone() {
    let bin = bin(&[("opencode", FAMILY)]);
    let root = bin.path.join("home");
    let mut process = start(&bin, &root);
    let [grandchild, child] = family(&root).await;
    // The end of the pipe is all that the watchdog sees of conclave's end.
    process.watchdog.lose_parent();
    goes(&grandchild).await;
    goes(&child).await;
}

#[tokio::test]
async fn the_child_survives_the_thread_that_started_it() {
    let bin = bin(&[("opencode", FAMILY)]);
    let root = bin.path.join("home");
    let runtime = tokio::runtime::Handle::current();
    let mut process = std::thread::scope(|scope| {
        let starting = scope.spawn(|| {
            let _entered = runtime.enter();
            start(&bin, &root)
        });
        starting.join().expect("it starts")
    });
    family(&root).await;
    // The kernel would have killed it with the thread by now.
    assert_eq!(process.exited(), None);
    process.stop().await;
}

/// A group of processes that the kernel holds: not even a signal ends them. `None` where there is no such group.
#[cfg(target_os = "linux")]
struct Freezer(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Freezer {
    fn new() -> Option<Self> {
        let path = format!("/sys/fs/cgroup/freezer/conclave-test-{}", std::process::id());
        std::fs::create_dir(&path).ok().map(|()| Self(path.into()))
    }

    async fn set(&self, state: &str) {
        std::fs::write(self.0.join("freezer.state"), state).expect("a state");
        let reached = || std::fs::read_to_string(self.0.join("freezer.state")).is_ok_and(|now| now.trim() == state);
        tokio::time::timeout(Duration::from_mins(1), async {
            while !reached() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
        .expect("the kernel does it");
    }
}

#[cfg(target_os = "linux")]
impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = std::fs::write(self.0.join("freezer.state"), "THAWED");
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_child_that_the_system_holds_does_not_hold_up_the_end() {
    let Some(freezer) = Freezer::new() else {
        eprintln!("SKIPPED: this machine has no freezer, or only root may use it");
        return;
    };
    let bin = bin(&[("opencode", FAMILY)]);
    let root = bin.path.join("home");
    let process = start(&bin, &root);
    let [grandchild, child] = family(&root).await;
    std::fs::write(freezer.0.join("cgroup.procs"), &child).expect("it is put there");
    freezer.set("FROZEN").await;
    tokio::time::pause();
    process.stop().await;
    tokio::time::resume();
    goes(&grandchild).await;
    let pid = Pid::from_raw(child.parse().expect("a number"));
    assert!(
        nix::sys::signal::kill(pid, None).is_ok() && !is_zombie(pid),
        "it could not be ended"
    );
    freezer.set("THAWED").await;
    goes(&child).await;
}

/// The most memory that this process ever had, in MB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace()
        .nth(1)
        .expect("kB")
        .parse::<u64>()
        .expect("a number")
        / 1024
}

#[tokio::test]
async fn a_gigabyte_of_output_takes_no_memory_and_does_not_block_the_child() {
    let bin = bin(&[(
        "opencode",
        "head -c 1073741824 /dev/zero\nhead -c 104857600 /dev/zero >&2\necho Error: the last words >&2\necho 1 > \
         $TMPDIR/done\nsleep 600",
    )]);
    let root = bin.path.join("home");
    let before = peak_memory();
    let mut process = start(&bin, &root);
    appears(&root.join("tmp/done")).await;
    let grown = peak_memory() - before;
    assert!(grown < 20, "{grown} MB");
    // The end of the pipe may arrive a moment later than the file.
    tokio::time::timeout(Duration::from_mins(1), async {
        while !process.last_words().await.ends_with("Error: the last words") {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the end is kept");
    assert!(process.last_words().await.len() < 2000);
    process.stop().await;
}

fn is_zombie(pid: Pid) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim_start().starts_with('Z'))
    })
}

#[tokio::test]
async fn the_child_sees_only_what_is_listed() {
    let bin = bin(&[(
        "opencode",
        "env > $TMPDIR/env.new\nmv $TMPDIR/env.new $TMPDIR/env\nsleep 600",
    )]);
    let root = bin.path.join("home");
    let process = start(&bin, &root);
    let text = appears(&root.join("tmp/env")).await;
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    names.retain(|name| !name.starts_with("OPENCODE_DISABLE_") && !matches!(*name, "_" | "PWD" | "SHLVL" | "OLDPWD"));
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "BUN_JSC_gcMaxHeapSize",
            "BUN_JSC_useFTLJIT",
            "GIT_CONFIG_NOSYSTEM",
            "HOME",
            "NO_PROXY",
            "OPENCODE_CONFIG",
            "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER",
            "OPENCODE_MODELS_PATH",
            "OPENCODE_PURE",
            "OPENCODE_SERVER_PASSWORD",
            "PATH",
            "TMPDIR",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
        ]
    );
    process.stop().await;
}

#[test]
fn setup_installs_the_version_that_conclave_asks_for() {
    let package = include_str!("../../../../package.json");
    let pinned = format!("\"opencode-linux-x64\": \"{OPENCODE_VERSION}\"");
    assert!(
        package.contains(&pinned),
        "package.json does not pin OpenCode {OPENCODE_VERSION}"
    );
}
