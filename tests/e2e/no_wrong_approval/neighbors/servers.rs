//! Neighbors that connect to a run's own servers.

use std::time::Duration;

use conclave_scripted_provider::Fault;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{Conclave, Repository, provider};

/// How long the run may take to have its servers, and a server to close what takes a place.
const SOON: Duration = Duration::from_mins(1);
/// Connections of the neighbor: more than there is room for, less than this process may have.
const CROWD: usize = 300;

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
        assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
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
