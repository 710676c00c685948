//! The owner of a port.

use std::net::TcpListener;

use super::*;

fn ports(pieces: &[&[u8]]) -> Vec<u16> {
    let (sender, mut found) = mpsc::channel(8);
    let mut lines = ListeningLines::new(sender);
    for piece in pieces {
        lines.take(piece);
    }
    std::iter::from_fn(|| found.try_recv().ok()).collect()
}

#[test]
fn a_port_is_reported_by_a_line_that_ends_with_exactly_that_form() {
    let line = b"opencode server listening on http://127.0.0.1:4096\n".as_slice();
    assert_eq!(ports(&[b"Warning: x\n", line]), [4096]);
    assert_eq!(
        ports(&[b"opencode server listening on http://127.", b"0.0.1:40", b"96\nmore"]),
        [4096]
    );
    // Something else writes to the same output.
    let long = [b"\0".repeat(100_000), line.to_vec()].concat();
    assert_eq!(ports(&[&long]), [4096]);
    assert_eq!(ports(&[b"all is w", line]), [4096]);
    assert_eq!(
        ports(&[&long[..99_000], &long[99_000..100_010], &long[100_010..]]),
        [4096]
    );
    for other in [
        b"opencode server listening on http://127.0.0.1:4096".as_slice(),
        b"opencode server listening on http://127.0.0.1:4096 \n",
        b"opencode server listening on http://127.0.0.1:04096\n",
        b"opencode server listening on http://127.0.0.1:\n",
        b"opencode server listening on http://127.0.0.1:70000\n",
        b"opencode server listening on http://127.0.0.1:+4096\n",
        b"opencode server listening on http://127.0.0.2:4096\n",
    ] {
        assert_eq!(ports(&[other]), [] as [u16; 0], "{}", String::from_utf8_lossy(other));
    }
}

fn listener(port: u16) -> (TcpListener, u16) {
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

#[test]
fn only_a_socket_of_the_child_proves_a_port() {
    let (_listener, port) = listener(0);
    let mut beside = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .expect("a process");
    let (own, other) = (
        Pid::this(),
        Pid::from_raw(i32::try_from(beside.id()).expect("a process id")),
    );
    let (of_own, of_other) = (ProvenPort::prove(port, own), ProvenPort::prove(port, other));
    beside.kill().expect("ended");
    beside.wait().expect("reaped");
    assert!(of_own.is_some_and(ProvenPort::still_listens));
    assert_eq!(of_other, None, "it does not listen there");
    // What a launcher started is the launcher's.
    assert!(ProvenPort::prove(port, Pid::parent()).is_some());
    let (closed, free) = listener(0);
    drop(closed);
    assert_eq!(ProvenPort::prove(free, own), None, "nobody listens there");
}
