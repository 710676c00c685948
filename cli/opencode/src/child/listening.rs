//! Proof that the server behind a port is the child.
//!
//! The child picks its port and reports it in a line on its standard output. A program that runs as the same or another user can
//! listen on any port before the child does, and text that looks like that line can come from something that the child has
//! started. So the line alone opens nothing: the kernel's tables have to say that the one socket that listens there belongs to
//! the child or to a descendant of it. Afterwards every new connection checks that it is still the same socket, because the
//! port of a child that has crashed is anybody's.
//!
//! Only Linux has these tables. Elsewhere the line, which comes over a pipe that the child inherited, is all there is.

use nix::unistd::Pid;
use tokio::sync::mpsc;

/// Text before the port in the line that reports it.
const LISTENING: &[u8] = b"opencode server listening on http://127.0.0.1:";
/// Maximum length of the report.
const MAX_REPORT: usize = LISTENING.len() + 5;

/// Finds the lines that report a port in a stream of output.
///
/// A line counts that ends with the report: what else writes to the same output, without a newline, can stand before it. Text
/// that is only made to look like a report proves nothing, because the proof is the kernel's.
#[derive(Debug)]
pub(crate) struct ListeningLines {
    /// The end of the current line.
    line: Vec<u8>,
    found: mpsc::Sender<u16>,
}

impl ListeningLines {
    /// Sends each reported port to `found`; those that find no room there are dropped.
    pub(crate) fn new(found: mpsc::Sender<u16>) -> Self {
        Self {
            line: Vec::new(),
            found,
        }
    }

    /// Takes the next piece of output.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.found.is_closed() {
            // The port is proven: a flood of output costs nothing more.
            return;
        }
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        let Some(first) = pieces.next() else { return };
        self.extend(first);
        for piece in pieces {
            if let Some(port) = reported_port(&self.line) {
                let _ = self.found.try_send(port);
            }
            self.line.clear();
            self.extend(piece);
        }
    }

    /// Keeps the end of the line only: it may be endless.
    fn extend(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(MAX_REPORT)..];
        let excess = (self.line.len() + bytes.len()).saturating_sub(MAX_REPORT);
        self.line.drain(..excess.min(self.line.len()));
        self.line.extend_from_slice(bytes);
    }
}

/// The port in the report that the line ends with.
fn reported_port(line: &[u8]) -> Option<u16> {
    if !line.last().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let at = line.windows(LISTENING.len()).rposition(|window| window == LISTENING)?;
    let digits = line.get(at + LISTENING.len()..)?;
    let plain = digits.iter().all(u8::is_ascii_digit) && digits.first().is_some_and(|digit| *digit != b'0');
    std::str::from_utf8(digits)
        .ok()
        .filter(|_| plain)
        .and_then(|text| text.parse().ok())
}

/// A port whose listening socket belongs to the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProvenPort {
    port: u16,
    /// The socket's inode; `None` where the system does not tell it.
    socket: Option<u64>,
}

impl ProvenPort {
    /// Proves that the only socket listening at `port` of the loopback interface belongs to `child` or a descendant of it.
    pub(crate) fn prove(port: u16, child: Pid) -> Option<Self> {
        match table::listeners(port) {
            table::Listeners::Unknown => {
                tracing::warn!(
                    port,
                    "the system does not say whose socket listens at the port that OpenCode reported"
                );
                Some(Self { port, socket: None })
            }
            table::Listeners::Sockets(sockets) => match sockets.as_slice() {
                [socket] if table::holds(child, *socket) => Some(Self {
                    port,
                    socket: Some(*socket),
                }),
                _ => None,
            },
        }
    }

    /// The port.
    pub(crate) fn number(self) -> u16 {
        self.port
    }

    /// Returns whether the socket that listens there is still the same one. Asked after a connection was made, the answer holds for that
    /// connection: a socket that was proven before and listens now has listened all the time.
    pub(crate) fn still_listens(self) -> bool {
        let Some(socket) = self.socket else { return true };
        match table::listeners(self.port) {
            table::Listeners::Unknown => false,
            table::Listeners::Sockets(sockets) => sockets == [socket],
        }
    }
}

#[cfg(target_os = "linux")]
mod table {
    //! The kernel's tables of sockets and of open files.

    use nix::unistd::Pid;

    /// State of a socket that listens.
    const LISTENS: &str = "0A";
    /// Maximum number of generations between the child and the process that listens: a launcher script or two.
    const MAX_GENERATIONS: usize = 8;

    /// Sockets that listen at a port, by inode.
    pub(super) enum Listeners {
        /// There is no such table, or it has no inodes.
        Unknown,
        Sockets(Vec<u64>),
    }

    /// The IPv4 sockets that get what is sent to this port of the loopback interface.
    pub(super) fn listeners(port: u16) -> Listeners {
        let Ok(table) = std::fs::read_to_string("/proc/net/tcp") else {
            return Listeners::Unknown;
        };
        let (loopback, any) = (u32::from_ne_bytes([127, 0, 0, 1]), 0_u32);
        let wanted = [loopback, any].map(|address| format!("{address:08X}:{port:04X}"));
        let sockets: Vec<u64> = table
            .lines()
            .skip(1)
            .filter_map(|line| {
                let mut fields = line.split_ascii_whitespace().skip(1);
                let local = fields.next()?;
                let state = fields.nth(1)?;
                if state != LISTENS || !wanted.iter().any(|wanted| wanted == local) {
                    return None;
                }
                fields.nth(5)?.parse().ok()
            })
            .collect();
        if sockets.contains(&0) {
            return Listeners::Unknown;
        }
        Listeners::Sockets(sockets)
    }

    /// Returns whether this process or a descendant of it has the socket open.
    pub(super) fn holds(process: Pid, socket: u64) -> bool {
        if has_open(process, socket) {
            return true;
        }
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw))
            .any(|other| has_open(other, socket) && descends(other, process))
    }

    fn has_open(process: Pid, socket: u64) -> bool {
        let name = format!("socket:[{socket}]");
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten();
        files
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == name.as_str()))
    }

    fn descends(process: Pid, ancestor: Pid) -> bool {
        let parent = |process: &Pid| {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            // The name before the last `)` may hold anything.
            let (_, rest) = stat.rsplit_once(')')?;
            rest.split_ascii_whitespace().nth(1)?.parse().ok().map(Pid::from_raw)
        };
        std::iter::successors(Some(process), parent)
            .take(MAX_GENERATIONS)
            .any(|process| process == ancestor)
    }
}

#[cfg(not(target_os = "linux"))]
mod table {
    //! Other systems have none.

    use nix::unistd::Pid;

    pub(super) enum Listeners {
        Unknown,
        #[expect(dead_code, reason = "only Linux reports")]
        Sockets(Vec<u64>),
    }

    pub(super) fn listeners(_port: u16) -> Listeners {
        Listeners::Unknown
    }

    pub(super) fn holds(_process: Pid, _socket: u64) -> bool {
        false
    }
}

#[cfg(test)]
#[path = "listening_tests.rs"]
mod tests;
