//! Finding what the child has started outside of its process group.
//!
//! `OpenCode` starts its searches in groups of their own, where a signal to its group does not reach them. In the sandbox they all
//! have the run's mark, which none of them can take off. Without one they have the child's home in their environment, unless they
//! hide it.
//!
//! An environment is in its process's memory, and reading it can take as long as that process likes. So it is read of none that
//! cannot be the child's, and the end of the run waits for no look longer than a few seconds.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

use camino::Utf8PathBuf;
use conclave_sandbox::kill_marked;
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, geteuid},
};

use super::sandbox::Confinement;

/// Time that the end of a run waits for the look at all processes.
pub(super) const MAX_LOOK: Duration = Duration::from_secs(4);
/// Maximum length of an environment that is read, in bytes.
const MAX_ENVIRONMENT: u64 = 8 << 20;

/// Marks of everything that the child has started.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    /// The home, in the environment.
    pub(super) home: Utf8PathBuf,
    /// The sandbox's mark.
    pub(super) mark: Option<u64>,
    /// The time at which the child began; 0 where that is not known.
    pub(super) began: Ticks,
}

/// A time in ticks since the machine's start, as `/proc` has it.
pub(super) type Ticks = u64;

impl Trace {
    /// Kills every process that carries it, and in the sandbox lets none start another one. Where there is no `/proc`, none is
    /// found. This blocks for as long as [`MAX_LOOK`].
    pub(super) fn kill_all(&self, confinement: &Confinement) {
        let found = within(MAX_LOOK, {
            let (trace, confinement) = (self.clone(), confinement.clone());
            move || trace.find_and_kill(&confinement)
        });
        // Where there is no room for a thread, it takes as long as it takes.
        match found.unwrap_or_else(|_| Some(self.find_and_kill(confinement))) {
            Some(survivors) if survivors.is_empty() => {}
            Some(survivors) => tracing::warn!(
                "something that OpenCode has started still runs, and could not be killed: process {}",
                survivors.join(", process ")
            ),
            None => tracing::warn!(
                "the look for what OpenCode has started did not end within {} s, because a process does not let itself be read; \
                 look for processes of this user",
                MAX_LOOK.as_secs()
            ),
        }
    }

    /// Returns what could not be killed, for people.
    fn find_and_kill(&self, confinement: &Confinement) -> Vec<String> {
        let mut survivors = Vec::new();
        if let (Some(mark), Confinement::On { guard, .. }) = (self.mark, confinement) {
            guard.forbid_new();
            survivors = kill_marked(mark, || guard.is_empty());
            if guard.is_marked() {
                // Then there is nothing without it.
                return survivors;
            }
        }
        for pid in self.living_in_its_home(Path::new("/proc")) {
            // It may have ended by itself.
            let _ = kill(pid, Signal::SIGKILL);
        }
        survivors
    }

    /// Processes of this user that began with the child or later, and have its home in their environment.
    fn living_in_its_home(&self, proc: &Path) -> Vec<Pid> {
        let variable = format!("HOME={}", self.home);
        let user = geteuid().as_raw();
        let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
                if entry.metadata().ok()?.uid() != user || beginning(&entry.path())? < self.began {
                    return None;
                }
                let mut environment = Vec::new();
                let file = File::open(entry.path().join("environ")).ok()?;
                file.take(MAX_ENVIRONMENT).read_to_end(&mut environment).ok()?;
                let ours = environment
                    .split(|byte| *byte == 0)
                    .any(|entry| entry == variable.as_bytes());
                ours.then(|| Pid::from_raw(pid))
            })
            .collect()
    }
}

/// The time at which a process began; 0 where that is not known.
pub(super) fn began(process: Pid) -> Ticks {
    beginning(Path::new(&format!("/proc/{process}"))).unwrap_or_default()
}

fn beginning(directory: &Path) -> Option<Ticks> {
    let stat = std::fs::read_to_string(directory.join("stat")).ok()?;
    // The name before the last `)` may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Does this on a thread of its own, and returns what comes of it in time.
fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Option<T>> {
    let (done, result) = mpsc::channel();
    let work = move || {
        // The caller may have given up.
        let _ = done.send(work());
    };
    thread::Builder::new().name("orphans".to_owned()).spawn(work)?;
    Ok(result.recv_timeout(limit).ok())
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;

    use super::*;

    /// A process as `/proc` shows it, whose environment cannot be read to its end before a writer comes.
    fn process(proc: &Path, pid: u32, began: Ticks) {
        let directory = proc.join(pid.to_string());
        std::fs::create_dir(&directory).expect("a directory");
        let stat = format!("{pid} (a) b) S{} {began} 0 0", " 1".repeat(18));
        std::fs::write(directory.join("stat"), stat).expect("a file");
        nix::unistd::mkfifo(&directory.join("environ"), Mode::S_IRWXU).expect("a pipe");
    }

    fn trace() -> Trace {
        Trace {
            home: "/tmp/home".into(),
            mark: None,
            began: 100,
        }
    }

    #[test]
    fn a_process_that_does_not_let_itself_be_read_holds_nothing_up() {
        let proc = tempfile::tempdir().expect("a directory");
        process(proc.path(), 12, 99);
        let look = |limit| {
            let proc = proc.path().to_owned();
            within(limit, move || trace().living_in_its_home(&proc)).expect("a thread")
        };
        assert_eq!(
            look(Duration::from_mins(1)),
            Some(Vec::new()),
            "one that is older than the child is not read"
        );
        process(proc.path(), 13, 100);
        assert_eq!(look(Duration::from_millis(50)), None);
        // Its environment after all.
        std::fs::write(proc.path().join("13/environ"), "A=1\0HOME=/tmp/home\0").expect("it is read");
    }

    #[test]
    fn what_has_the_home_in_its_environment_is_found() {
        let proc = tempfile::tempdir().expect("a directory");
        for (pid, environment) in [
            (12, "A=1\0HOME=/tmp/home\0"),
            (13, "HOME=/tmp/home2\0"),
            (14, "XHOME=/tmp/home\0"),
        ] {
            process(proc.path(), pid, 100);
            let file = proc.path().join(format!("{pid}/environ"));
            std::fs::remove_file(&file).expect("removed");
            std::fs::write(file, environment).expect("a file");
        }
        assert_eq!(trace().living_in_its_home(proc.path()), [Pid::from_raw(12)]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_knows_when_it_began() {
        let own = began(Pid::this());
        assert!(own > 0 && own >= began(Pid::parent()));
        assert_eq!(began(Pid::from_raw(i32::MAX)), 0);
    }
}
