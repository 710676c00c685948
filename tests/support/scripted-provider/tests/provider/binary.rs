//! The program `conclave-demo-provider`.

use crate::client::{ask, body, said};
use conclave_scripted_provider::{Format, LABEL};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_conclave-demo-provider");

#[tokio::test]
async fn it_prints_its_address_serves_and_can_be_killed() {
    let mut child = Command::new(PROGRAM)
        .args(["--api-key", crate::client::KEY, "--delay-ms", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let url = line
        .trim_end()
        .strip_prefix("conclave-demo-provider listening on ")
        .unwrap();
    assert!(url.starts_with("http://127.0.0.1:"), "{line}");
    let outcome = ask(
        url,
        Format::Messages,
        &body(Format::Messages, "m", "s", &["a title, please"], &[]),
    )
    .await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(said(Format::Messages, &outcome.events).text, LABEL);
}

#[test]
fn help_says_what_it_is() {
    let output = Command::new(PROGRAM).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(
        help.contains("scripted stand-in") && help.contains("costs") && help.contains("--port"),
        "{help}"
    );
}
