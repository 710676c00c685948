//! The sandbox's cost: starts with and without it, alternately, in one run.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_opencode::{LaunchSettings, Sandbox, SandboxSettings, v1::Launched};
use conclave_sandbox::{Launch, Policy, new_mark, system_files};
use serde_json::json;

/// Starts of a program that ends at once, each way.
const SMALL_ROUNDS: usize = 100;
/// Milliseconds that the sandbox may add to a start.
const MAX_ADDED: f64 = 20.0;
const HELPER: &str = "/proc/self/exe";

/// Measures, and returns the result as JSON and whether the bar holds.
pub(crate) fn run(opencode: &str, rounds: usize) -> (String, bool) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _entered = runtime.enter();
    let (mut plain, mut confined) = (Vec::new(), Vec::new());
    for _ in 0..SMALL_ROUNDS {
        plain.push(timed(|| {
            assert!(
                Command::new("/bin/sh")
                    .args(["-c", "exit 0"])
                    .status()
                    .expect("it starts")
                    .success()
            );
        }));
        confined.push(timed(small));
    }
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(runtime.block_on(start(opencode, false)));
        with.push(runtime.block_on(start(opencode, true)));
    }
    let [plain, confined, without, with] = [plain, confined, without, with].map(median);
    let added = confined - plain;
    let holds = added <= MAX_ADDED;
    let result = json!({
        "program_ms": {"without": plain, "with": confined, "added": added, "at_most": MAX_ADDED},
        "opencode_ms": {"without": without, "with": with, "ratio": with / without, "rounds": rounds},
        "holds": holds,
    });
    (format!("{result:#}"), holds)
}

/// Starts a program that ends at once behind all walls.
fn small() {
    let policy = Policy {
        files: system_files(),
        connect: vec![1],
        bind: Vec::new(),
    };
    let mark = new_mark().expect("random numbers");
    let (launch, mut command) = Launch::prepare(Utf8Path::new(HELPER), "/bin/sh", policy, mark).expect("a socket");
    let mut child = command.args(["-c", "exit 0"]).spawn().expect("it starts");
    drop(command);
    launch.started(child.id()).expect("a thread");
    assert!(child.wait().expect("it ends").success());
}

/// Milliseconds until `OpenCode` answers.
async fn start(opencode: &str, sandboxed: bool) -> f64 {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| Utf8PathBuf::from_path_buf(directory.path().join(name)).expect("UTF-8");
    for name in ["workspace", "runtime"] {
        std::fs::create_dir(at(name)).expect("a directory");
    }
    let sandbox = if sandboxed {
        Sandbox::new(SandboxSettings {
            helper: HELPER.into(),
            workspace: at("workspace"),
            programs: Vec::new(),
            private: Vec::new(),
            ports: vec![1, 2],
        })
    } else {
        Sandbox::Off("to compare with".to_owned())
    };
    let began = Instant::now();
    let mut launched = Launched::start(&LaunchSettings {
        binary: Utf8Path::new(opencode),
        home: &at("home"),
        config: &at("runtime/opencode.json"),
        path: &std::env::var("PATH").expect("PATH"),
        environment: &[],
        limit: Duration::from_mins(1),
        sandbox: &sandbox,
    })
    .expect("it starts");
    launched.answers().await.expect("it answers");
    let time = began.elapsed();
    launched.stop().await;
    milliseconds(time)
}

fn timed(run: impl FnOnce()) -> f64 {
    let began = Instant::now();
    run();
    milliseconds(began.elapsed())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
