//! Threads on which nothing but the workspace can be opened.
//!
//! A look reads files at the word of a model that may be steered. That its path stays in the workspace is code of this crate; a
//! fault in it leads nowhere, because the operating system refuses the thread everything else.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use camino::Utf8Path;
use conclave_sandbox::{Access, FileRule, FilesError, SandboxStatus, confine_thread};
use tokio::sync::oneshot;

/// Number of threads: as many as calls of one answer that run at the same time.
const THREADS: usize = super::AT_ONCE;

type Job = Box<dyn FnOnce() + Send>;

/// The cause why there are no such threads.
#[derive(Debug, thiserror::Error)]
pub enum ThreadsError {
    /// The system has no thread left.
    #[error("failed to start a thread: {0}")]
    Start(#[from] std::io::Error),
    /// The kernel refused a rule.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A thread ended at once.
    #[error("a thread ended before it could be used")]
    Ended,
}

/// Returns the sandbox that looks have on this machine.
pub fn sandbox_here() -> Result<SandboxStatus, ThreadsError> {
    let landlock = thread::Builder::new()
        .spawn(|| confine_thread(&[]))?
        .join()
        .map_err(|_| ThreadsError::Ended)??;
    Ok(SandboxStatus::of_threads(landlock))
}

/// The threads. They end when this is dropped and what they do is done.
pub(crate) struct Threads {
    jobs: mpsc::Sender<Job>,
}

impl Threads {
    /// Starts them; where only one directory may be read, every one of them is under that rule before it does anything.
    pub(crate) fn start(confined_to: Option<&Utf8Path>) -> Result<Self, ThreadsError> {
        let (jobs, waiting) = mpsc::channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        let rules: Arc<[FileRule]> = confined_to
            .map(|path| FileRule::required(path, Access::Read))
            .into_iter()
            .collect();
        let is_confined = confined_to.is_some();
        let (ready, started) = mpsc::channel();
        for _ in 0..THREADS {
            let (waiting, rules, ready) = (Arc::clone(&waiting), Arc::clone(&rules), ready.clone());
            thread::Builder::new().name("look".to_owned()).spawn(move || {
                let confined = if is_confined {
                    confine_thread(&rules).map(drop)
                } else {
                    Ok(())
                };
                let may_work = confined.is_ok();
                // Who started them waits for this.
                let _ = ready.send(confined);
                drop(ready);
                while may_work && work(&waiting) {}
            })?;
        }
        for _ in 0..THREADS {
            started.recv().map_err(|_| ThreadsError::Ended)??;
        }
        Ok(Self { jobs })
    }

    /// Runs this on one of them; nothing if it failed.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let job = move || {
            // The caller may be gone.
            let _ = answer.send(work());
        };
        self.jobs.send(Box::new(job)).ok()?;
        answered.await.ok()
    }
}

/// Does the next job; returns whether there may be another one.
fn work(waiting: &Mutex<mpsc::Receiver<Job>>) -> bool {
    let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
    let Ok(job) = job else { return false };
    // Work that fails costs its own call and no thread.
    let _ = catch_unwind(AssertUnwindSafe(job));
    true
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        net::{TcpListener, TcpStream},
    };

    use super::*;

    /// The place, what is tried there, and how that ended.
    async fn attempts(threads: &Threads, root: &Utf8Path) -> Vec<(&'static str, io::Result<()>)> {
        let root = root.to_owned();
        let served = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = served.local_addr().expect("an address");
        let attempts = move || {
            let inside = root.join("workspace");
            vec![
                ("read inside", std::fs::read(inside.join("a.txt")).map(drop)),
                ("list inside", std::fs::read_dir(&inside).map(drop)),
                ("read outside", std::fs::read(root.join("secret")).map(drop)),
                ("read by a link", std::fs::read(inside.join("link")).map(drop)),
                ("list outside", std::fs::read_dir(&root).map(drop)),
                ("read the environment", std::fs::read("/proc/self/environ").map(drop)),
                ("read a program", std::fs::read("/bin/sh").map(drop)),
                (
                    "run a program",
                    std::process::Command::new("/bin/true").status().map(drop),
                ),
                ("write inside", std::fs::write(inside.join("new"), "x")),
                ("write outside", std::fs::write(root.join("new"), "x")),
                ("remove", std::fs::remove_file(inside.join("spare"))),
                ("connect", TcpStream::connect(address).map(drop)),
            ]
        };
        threads.run(attempts).await.expect("an end")
    }

    fn tree() -> (tempfile::TempDir, camino::Utf8PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(directory.path()).expect("UTF-8").to_owned();
        std::fs::create_dir(root.join("workspace")).expect("a directory");
        for (name, text) in [("workspace/a.txt", "a"), ("workspace/spare", "b"), ("secret", "c")] {
            std::fs::write(root.join(name), text).expect("a file");
        }
        std::os::unix::fs::symlink("../secret", root.join("workspace/link")).expect("a link");
        (directory, root)
    }

    #[tokio::test]
    async fn a_look_opens_nothing_but_the_workspace() {
        if cfg!(not(target_os = "linux")) {
            assert!(sandbox_here().expect("a grade").describe().contains("Linux only"));
            return;
        }
        let (_keep, root) = tree();
        let confined = Threads::start(Some(&root.join("workspace"))).expect("threads");
        for (name, ended) in attempts(&confined, &root).await {
            let expected = name.ends_with(" inside") && !name.starts_with("write");
            assert_eq!(ended.is_ok(), expected, "{name}: {ended:?}");
            if let Err(error) = ended {
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}: {error}");
            }
        }
        // Each attempt is one that only the rule holds back, and the rule is that thread's alone.
        let free = Threads::start(None).expect("threads");
        for (name, ended) in attempts(&free, &root).await {
            assert!(ended.is_ok(), "{name}: {ended:?}");
        }
        assert!(std::fs::read(root.join("secret")).is_ok());
    }

    #[tokio::test]
    async fn every_thread_is_confined_and_none_is_lost() {
        let (_keep, root) = tree();
        let threads = Threads::start(Some(&root.join("workspace"))).expect("threads");
        for _ in 0..THREADS {
            let failed: Option<()> = threads.run(|| panic!("a fault in a look")).await;
            assert_eq!(failed, None);
        }
        let secret = root.join("secret");
        let looks = (0..4 * THREADS).map(|_| {
            let secret = secret.clone();
            threads.run(move || std::fs::read(secret).is_err())
        });
        let refused = futures_util::future::join_all(looks).await;
        assert_eq!(refused, vec![Some(cfg!(target_os = "linux")); 4 * THREADS]);
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        if cfg!(target_os = "linux") {
            assert!(Threads::start(Some(Utf8Path::new("/nowhere/at/all"))).is_err());
        }
    }

    #[test]
    fn the_grade_names_what_stays_open() {
        let here = sandbox_here().expect("a grade");
        assert!(
            here.describe().contains("the memory of conclave itself"),
            "{}",
            here.describe()
        );
    }
}
