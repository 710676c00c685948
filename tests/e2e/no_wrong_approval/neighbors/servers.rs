//! Neighbors that connect to a run's own servers.

use std::time::Duration;

use conclave_scripted_provider::Fault;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{Conclave, Repository, provider};

/// Time that the run may take to have its servers, and a server to close what takes a place.
const SOON: Duration = Duration::from_mins(1);
/// Connections of the neighbor: more than there is room for, less than this process may have.
const CROWD: usize = 300;

/// Limit of core dumps at which a kernel makes none, even where a program takes them.
const NO_CORE: &str = "1";

/// The account of nobody, where the tests run as root.
#[cfg(target_os = "linux")]
const NOBODY: u32 = 65534;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_the_same_user_can_look_into_the_process() {
    use std::{
        os::unix::{fs::MetadataExt, fs::PermissionsExt, process::CommandExt},
        path::Path,
        process::Command,
    };

    // A copy in a place that everybody may look into; the build's own may be below root's home.
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("conclave");
    std::fs::copy(env!("CARGO_BIN_EXE_conclave"), &program).unwrap();
    for path in [place.path(), &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let is_root = nix::unistd::geteuid().is_root();
    let start = |program: &Path, arguments: &[&str], api: &str| {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir("/")
            .env_clear()
            .env("CI_API_V4_URL", api)
            .env("CI_MERGE_REQUEST_PROJECT_ID", "1")
            .env("CI_MERGE_REQUEST_PROJECT_PATH", "group/service")
            .env("CI_MERGE_REQUEST_IID", "1")
            .env("GITLAB_TOKEN", "the-token")
            .stderr(std::process::Stdio::null());
        if is_root {
            command.uid(NOBODY);
        }
        command.spawn().unwrap()
    };
    // The kernel gives what it tells of a process to root where no other process of the user may look into it.
    let owner = |pid: u32| std::fs::metadata(format!("/proc/{pid}/environ")).map(|found| found.uid());
    let user = if is_root {
        NOBODY
    } else {
        nix::unistd::geteuid().as_raw()
    };

    // A server that never answers holds it up.
    let server = super::Neighbor::default();
    let port = server.listen(0).await.unwrap();
    let mut plain = start(Path::new("/bin/sleep"), &["60"], "");
    let mut run = start(&program, &["review"], &format!("http://127.0.0.1:{port}/api/v4"));
    let asked = tokio::time::timeout(SOON, async {
        while server.heard().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    asked.await.expect("it has begun");
    let (of_plain, of_run) = (owner(plain.id()), owner(run.id()));
    for child in [&mut plain, &mut run] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(of_plain.unwrap(), user, "any other program can be looked into");
    assert_eq!(of_run.unwrap(), 0);
}

#[tokio::test]
async fn a_crowd_of_slow_connections_is_shut_out_and_the_review_goes_on() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // The run is not over before the neighbor is done.
    provider.inject(Fault::slow(Duration::from_secs(4), 10_000.0));
    let local = Conclave::new(repository.path(), &["local", "main..feature"]).anthropic(&provider);
    let config = local.records().join("opencode.json");
    let doing = async |pid: u32| {
        let text = tokio::time::timeout(SOON, async {
            loop {
                match std::fs::read_to_string(&config)
                    .ok()
                    .and_then(|text| serde_json::from_str::<Value>(&text).ok())
                {
                    Some(config) => return config,
                    None => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
        let text = text.await.expect("the servers are there").to_string();
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let core = limits
            .lines()
            .find(|line| line.starts_with("Max core file size"))
            .unwrap();
        assert_eq!(core.split_whitespace().nth(4), Some(NO_CORE), "{core}");
        let mut ports: Vec<u16> = text
            .split("http://127.0.0.1:")
            .skip(1)
            .map(|rest| rest.split('/').next().unwrap().parse().unwrap())
            .collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 2, "{ports:?}");
        for port in ports {
            let mut crowd = Vec::new();
            for _ in 0..CROWD {
                let mut slow = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                slow.write_all(b"POST / HTTP/1.1\r\nx: ").await.unwrap();
                crowd.push(slow);
            }
            let mut rest = Vec::new();
            let closed = tokio::time::timeout(SOON, crowd[0].read_to_end(&mut rest)).await;
            assert!(closed.is_ok(), "the oldest is still open at {port}");
            let served = TcpStream::connect(("127.0.0.1", port)).await;
            assert!(served.is_ok(), "it was closed only because the run is over");
        }
    };
    let outcome = local.run_while(doing).await.expect_code(0);
    assert_eq!(outcome.review()["verdict"], "significant_concerns");
}
