//! A program that is asked one thing, and ends.
//!
//! It may be any program, so it gets the sandbox that `OpenCode` itself gets, and neither its time nor what is read of it is
//! without a limit.

use std::{io, process::Stdio, time::Duration};

use camino::Utf8Path;
use conclave_sandbox::{Guard, HELPER_FAILED, kill_marked, new_mark};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    time::timeout,
};

use super::{sandbox, settings::Sandbox, spawn_thread};

/// Maximum length of an answer, in bytes.
const MAX_ANSWER: usize = 16 * 1024;

/// Maximum number of characters of what it says of errors.
const MAX_WORDS: usize = 300;

/// Returns what a program prints for this argument within the limit, in an environment with nothing of the user's but `PATH`, with a home of its own, and in this sandbox.
///
/// # Errors
/// It does not start, does not end, or prints without end.
pub(crate) async fn ask(
    binary: &Utf8Path,
    argument: &str,
    limit: Duration,
    path: &str,
    sandbox: &Sandbox,
) -> io::Result<String> {
    let binary = camino::absolute_utf8(binary)?;
    // OpenCode makes directories in its home before it answers anything, and ends if it cannot. Others need none. An
    // unusable `TMPDIR` is not the program's fault.
    let places = [std::env::temp_dir(), "/tmp".into(), "/dev/shm".into()];
    let home = places.iter().find_map(|place| {
        let home = tempfile::Builder::new().prefix("conclave-question-").tempdir_in(place);
        home.ok()
    });
    let home = home.as_ref().and_then(|home| Utf8Path::from_path(home.path()));
    let place = home.unwrap_or(Utf8Path::new("/nonexistent"));
    let (mut command, launch) = match sandbox {
        Sandbox::On(settings) => {
            let mark = new_mark()?;
            let (launch, command) = sandbox::prepare_question(&binary, path, home, settings, mark)?;
            (Command::from(command), Some((launch, mark)))
        }
        Sandbox::Off(_) => {
            let mut command = Command::new(&binary);
            command.stdin(Stdio::null());
            (command, None)
        }
    };
    command
        .arg(argument)
        .env_clear()
        .env("PATH", path)
        .env("HOME", place)
        .env("TMPDIR", place)
        .current_dir("/")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let (mut child, _anchor) = spawn_thread::spawn(command)?;
    let id = child.id().ok_or_else(|| io::Error::other("it ended at once"))?;
    let mut asked = Asked {
        group: Pid::from_raw(i32::try_from(id).map_err(io::Error::other)?),
        confined: None,
    };
    if let Some((launch, mark)) = launch {
        asked.confined = Some((launch.started(id)?, mark));
    }
    let answer = timeout(limit, answer(&mut child)).await;
    answer.map_err(|_| {
        // A part of the time may be gone: what is left of 8 s is 8 s, not 7.
        let seconds = limit.as_millis().div_ceil(1000);
        let late = format!("it did not answer `{argument}` within {seconds} s");
        io::Error::new(io::ErrorKind::TimedOut, late)
    })?
}

/// A program that was asked. When this is dropped, nothing is left of it.
struct Asked {
    group: Pid,
    confined: Option<(Guard, u64)>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        // It has mostly ended by itself.
        let _ = killpg(self.group, Signal::SIGKILL);
        if let Some((guard, mark)) = &self.confined {
            guard.forbid_new();
            let survivors = kill_marked(*mark, || guard.is_empty());
            if !survivors.is_empty() {
                tracing::warn!(
                    "something still runs that could not be killed: process {}",
                    survivors.join(", process ")
                );
            }
        }
    }
}

async fn answer(child: &mut Child) -> io::Result<String> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let answer = async {
        let printed = beginning(stdout).await?;
        if printed.len() > MAX_ANSWER {
            let endless = format!("it printed more than {} KB", MAX_ANSWER >> 10);
            return Err(io::Error::new(io::ErrorKind::InvalidData, endless));
        }
        Ok(printed)
    };
    let (printed, words) = tokio::try_join!(answer, beginning(stderr))?;
    let status = child.wait().await?;
    let printed = String::from_utf8_lossy(&printed).trim().to_owned();
    if printed.is_empty() && !status.success() {
        let words: String = String::from_utf8_lossy(&words).trim().chars().take(MAX_WORDS).collect();
        if status.code() == Some(HELPER_FAILED) {
            return Err(io::Error::other(words));
        }
        let words = if words.is_empty() { words } else { format!(": {words}") };
        let ended = format!("it ended without an answer ({status}){words}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, ended));
    }
    Ok(printed)
}

/// Reads a stream up to a byte more than an answer may have; what comes after that has nowhere to go.
async fn beginning(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    if let Some(stream) = stream {
        stream.take(MAX_ANSWER as u64 + 1).read_to_end(&mut read).await?;
    }
    Ok(read)
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
