//! The process that stands for Conclave: it starts the intruder as Conclave starts `OpenCode`, beside a victim, servers and files
//! of the user.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram, UnixListener},
    },
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_opencode::{LaunchSettings, Sandbox, SandboxSettings, v1::Launched};

use crate::{
    attempts::{self, Outside},
    facts::{Facts, LEFT_OPEN, SECRET, VARIABLE},
    kernel::{call, pointer},
};

/// Looks for what was left.
const LOOKS: usize = 20;
/// Time limit for all attempts of a group.
const MAX_TIME: Duration = Duration::from_mins(3);

/// Result of one attempt.
#[derive(serde::Serialize)]
struct Outcome {
    outside: bool,
    inside: bool,
    /// True if it had to succeed outside.
    expected_outside: bool,
    unless: &'static str,
}

/// Runs a group without and with the sandbox. The result is JSON: the status of the sandbox, and the attempts.
pub(crate) fn run(options: &[&str]) -> String {
    let [group] = options else { panic!("host GROUP") };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (_, outside, _) = runtime.block_on(one(group, false));
    let (status, inside, left) = runtime.block_on(one(group, true));
    let root = rustix::process::getuid().is_root();
    let attempts = attempts::of_group(group).iter().map(|(name, needs, _)| {
        let (expected_outside, unless) = match needs {
            Outside::Always => (true, ""),
            Outside::Root => (root, "only root can"),
            Outside::Depends(on) => (false, *on),
        };
        let outcome = Outcome {
            outside: outside[*name],
            inside: inside[*name],
            expected_outside,
            unless,
        };
        ((*name).to_owned(), serde_json::to_value(outcome).expect("JSON"))
    });
    let attempts: serde_json::Map<String, serde_json::Value> = attempts.collect();
    serde_json::json!({"status": status, "attempts": attempts, "left": left}).to_string()
}

/// The surroundings of one start. They end with this.
struct Scene {
    directory: tempfile::TempDir,
    facts: Facts,
    victim: Child,
    _servers: Vec<Box<dyn std::any::Any>>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let _ = std::fs::remove_file(format!("/tmp/intruder-{}", std::process::id()));
    }
}

impl Scene {
    fn new(group: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |path: &str| directory.path().join(path);
        for path in [
            "user/.ssh",
            "user/checkout/.git",
            "scratch/workspace",
            "scratch/runtime",
            "scratch/home",
        ] {
            std::fs::create_dir_all(at(path)).expect("a directory");
        }
        let files = [
            "user/.ssh/id",
            "user/checkout/file",
            "user/checkout/.git/config",
            "user/notes",
            "user/to-remove",
            "user/to-move",
        ];
        for path in files.into_iter().chain([
            "scratch/workspace/file",
            "scratch/workspace/to-remove",
            "scratch/runtime/opencode.json",
        ]) {
            std::fs::write(at(path), SECRET).expect("a file");
        }
        let name = std::ffi::CString::new(at("user/.ssh/id").into_os_string().into_encoded_bytes()).expect("no NUL");
        let (path, key) = (name.as_ptr().addr() as u64, attempts::ATTRIBUTE.as_ptr().addr() as u64);
        // Not every file system has attributes.
        let _ = call(libc::SYS_setxattr, &[path, key, pointer(b"secret"), 6, 0]);
        let victim = Command::new(std::env::current_exe().expect("a path"))
            .arg("victim")
            .env("A_SECRET", SECRET)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a victim");
        let gateway = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = gateway.local_addr().expect("an address").port();
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let datagrams = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let abstract_name = format!("intruder-{}", std::process::id());
        let name = SocketAddr::from_abstract_name(&abstract_name).expect("a name");
        let facts = Facts {
            group: group.to_owned(),
            parent: i32::try_from(std::process::id()).expect("a number"),
            victim: i32::try_from(victim.id()).expect("a number"),
            user: at("user"),
            workspace: at("scratch/workspace"),
            runtime: at("scratch/runtime"),
            home: at("scratch/home"),
            gateway: port,
            other: other.local_addr().expect("an address").port(),
            datagrams: datagrams.local_addr().expect("an address").port(),
            socket_file: at("user/socket"),
            datagram_file: at("user/datagrams"),
            abstract_name,
        };
        let mut servers: Vec<Box<dyn std::any::Any>> = vec![
            Box::new(UnixListener::bind(&facts.socket_file).expect("a socket")),
            Box::new(UnixDatagram::bind(&facts.datagram_file).expect("a socket")),
            Box::new(UnixListener::bind_addr(&name).expect("a socket")),
            Box::new(TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), port)).expect("the port at another address")),
            Box::new(datagrams),
        ];
        // A machine may have no IPv6.
        servers.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).map(|server| Box::new(server) as _));
        for server in [gateway, other] {
            std::thread::spawn(move || server.incoming().for_each(drop));
        }
        Self {
            directory,
            facts,
            victim,
            _servers: servers,
        }
    }

    fn path(&self, path: &str) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.directory.path().join(path)).expect("UTF-8")
    }
}

/// Starts the intruder once, and returns what the sandbox was, which attempts succeeded, and whether what it hid lives on.
async fn one(group: &str, sandboxed: bool) -> (serde_json::Value, BTreeMap<String, bool>, bool) {
    let scene = Scene::new(group);
    let left_open = std::fs::File::open(scene.facts.user.join(".ssh/id")).expect("a file");
    let _left_open = leave_open(&left_open);
    let own = Utf8PathBuf::from_path_buf(std::env::current_exe().expect("a path")).expect("UTF-8");
    let sandbox = if sandboxed {
        Sandbox::new(SandboxSettings {
            helper: "/proc/self/exe".into(),
            workspace: scene.path("scratch/workspace"),
            programs: Vec::new(),
            private: Vec::new(),
            ports: vec![scene.facts.gateway],
        })
    } else {
        Sandbox::Off("to compare with".to_owned())
    };
    let environment = [(VARIABLE.to_owned(), serde_json::to_string(&scene.facts).expect("JSON"))];
    let mut launched = Launched::start(&LaunchSettings {
        binary: &own,
        home: &scene.path("scratch/home"),
        config: &scene.path("scratch/runtime/opencode.json"),
        path: "/usr/local/bin:/usr/bin:/bin",
        environment: &environment,
        limit: MAX_TIME,
        sandbox: &sandbox,
    })
    .expect("it starts");
    let status = launched.sandbox(&[]).await.expect("a status");
    let results = results(&scene.path("scratch/home/tmp/results.json")).await;
    launched.stop().await;
    let hidden = ["hide", "thread", "hop"].map(|way| {
        let file = scene.path("scratch/home").join(attempts::HIDDEN).with_extension(way);
        std::fs::read_to_string(file).unwrap_or_default()
    });
    let mut left = lives_on(&hidden[0]);
    // One that changes all the time is not there at each look.
    for _ in 0..LOOKS {
        left |= something_lives_in(&scene.facts.home);
    }
    if !sandboxed {
        for leader in hidden
            .iter()
            .filter_map(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?))
        {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
    (serde_json::to_value(status).expect("JSON"), results, left)
}

/// Returns whether something that an intruder has left lives.
fn something_lives_in(home: &Path) -> bool {
    let variable = format!("{}={}", attempts::LEFT, home.display());
    // A test may have shut it.
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    // Of a process whose first thread has ended, only the others still have it.
    let threads = processes.flat_map(|process| {
        std::fs::read_dir(process.path().join("task"))
            .into_iter()
            .flatten()
            .flatten()
    });
    let mut environments = threads.filter_map(|thread| std::fs::read(thread.path().join("environ")).ok());
    environments.any(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == variable.as_bytes())
    })
}

/// Returns whether the process is anything but dead. What a test without the sandbox has left is ended here.
fn lives_on(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    let lives = state.is_some_and(|state| !matches!(state, "Z" | "X"));
    if let (true, Some(pid)) = (lives, process.parse().ok().and_then(rustix::process::Pid::from_raw)) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    lives
}

async fn results(file: &Utf8Path) -> BTreeMap<String, bool> {
    let written = async {
        while !Path::new(file).exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(MAX_TIME, written).await.expect("the attempts end");
    serde_json::from_str(&std::fs::read_to_string(file).expect("results")).expect("results")
}

/// Leaves a descriptor open for what is started, as a shell may.
fn leave_open(file: &std::fs::File) -> rustix::fd::OwnedFd {
    let copy = rustix::io::fcntl_dupfd_cloexec(file, LEFT_OPEN).expect("a descriptor");
    rustix::io::fcntl_setfd(&copy, rustix::io::FdFlags::empty()).expect("its flag");
    copy
}
