//! The thread that writes to standard output and standard error.
//!
//! A terminal takes nothing for as long as it likes (Ctrl-S, a connection that stalls). Only this thread waits for it, so that what
//! ends a run is not held up.

use std::{
    io::Write,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

/// Bytes that wait to be written from which on a terminal counts as one that does not keep up.
const MAX_BACKLOG: usize = 16_384;

/// Bytes of the thread's stack: it only hands texts on.
const STACK: usize = 256 * 1024;

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
    /// Standard error, with its escape sequences kept even if it is not a terminal.
    Raw,
}

enum Work {
    Write(Place, String),
    /// Called when all that came before is written.
    Reached(Box<dyn FnOnce() + Send>),
}

/// Writes texts, one after the other, in a thread of its own.
pub(super) struct Writer {
    /// Nothing where no thread could be started: a text is then written where it comes from.
    queue: Option<mpsc::Sender<Work>>,
    sink: Arc<Sink>,
}

/// Writes a text where it belongs.
type Writing = dyn Fn(Place, &str) + Send + Sync;

struct Sink {
    write: Box<Writing>,
    /// Bytes that are not written yet.
    backlog: AtomicUsize,
}

impl Writer {
    pub(super) fn start(write: impl Fn(Place, &str) + Send + Sync + 'static) -> Self {
        let sink = Arc::new(Sink {
            write: Box::new(write),
            backlog: AtomicUsize::new(0),
        });
        let (queue, waiting) = mpsc::channel();
        let of_thread = Arc::clone(&sink);
        let started = thread::Builder::new()
            .name("output".to_owned())
            .stack_size(STACK)
            .spawn(move || waiting.into_iter().for_each(|work| of_thread.act(work)));
        Self {
            queue: started.is_ok().then_some(queue),
            sink,
        }
    }

    /// Writes a text, without waiting for it.
    pub(super) fn write(&self, place: Place, text: String) {
        self.sink.backlog.fetch_add(text.len(), Ordering::Relaxed);
        self.hand_over(Work::Write(place, text));
    }

    /// Calls this when all that came before is written.
    pub(super) fn when_written(&self, tell: impl FnOnce() + Send + 'static) {
        self.hand_over(Work::Reached(Box::new(tell)));
    }

    /// Returns whether more waits than a terminal that takes anything leaves waiting.
    pub(super) fn lags(&self) -> bool {
        self.sink.backlog.load(Ordering::Relaxed) > MAX_BACKLOG
    }

    fn hand_over(&self, work: Work) {
        let left = match &self.queue {
            Some(queue) => queue.send(work).err().map(|mpsc::SendError(work)| work),
            None => Some(work),
        };
        if let Some(work) = left {
            self.sink.act(work);
        }
    }
}

impl Sink {
    fn act(&self, work: Work) {
        match work {
            Work::Write(place, text) => {
                (self.write)(place, &text);
                self.backlog.fetch_sub(text.len(), Ordering::Relaxed);
            }
            Work::Reached(tell) => tell(),
        }
    }
}

/// The writer of this process.
pub(super) fn writer() -> &'static Writer {
    static WRITER: OnceLock<Writer> = OnceLock::new();
    WRITER.get_or_init(|| Writer::start(write_out))
}

fn write_out(place: Place, text: &str) {
    let text = text.as_bytes();
    match place {
        Place::Output => {
            let mut output = anstream::stdout();
            super::note_lost(output.write_all(text).and_then(|()| output.flush()));
        }
        // There is nowhere to report that standard error cannot be written.
        Place::Error => drop(anstream::stderr().write_all(text)),
        Place::Raw => drop(std::io::stderr().write_all(text)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// A writer to a terminal that takes nothing until this is sent, and all that it has taken then.
    pub(in crate::output) fn stalled() -> (Writer, mpsc::Sender<()>, Arc<Mutex<String>>) {
        let (resume, resumed) = mpsc::channel();
        let (resumed, taken) = (Mutex::new(Some(resumed)), Arc::new(Mutex::new(String::new())));
        let sink = Arc::clone(&taken);
        let writer = Writer::start(move |_, text| {
            if let Some(resumed) = resumed.lock().unwrap_or_else(PoisonError::into_inner).take() {
                resumed.recv().expect("the test goes on");
            }
            sink.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        });
        (writer, resume, taken)
    }

    /// Waits until all is written.
    pub(in crate::output) fn written(writer: &Writer) {
        let (tell, reached) = mpsc::channel();
        writer.when_written(move || tell.send(()).expect("it is waited for"));
        reached.recv().expect("it is written");
    }

    #[test]
    fn nothing_waits_for_a_terminal_that_takes_nothing_and_all_arrives_in_order_once_it_does() {
        let (writer, resume, taken) = stalled();
        writer.write(Place::Error, "a".to_owned());
        assert!(!writer.lags());
        let long = "b".repeat(MAX_BACKLOG);
        writer.write(Place::Output, long.clone());
        assert!(writer.lags());
        writer.write(Place::Raw, "c".to_owned());
        assert_eq!(*taken.lock().expect("a lock"), "");
        resume.send(()).expect("it waits");
        written(&writer);
        assert!(!writer.lags());
        assert_eq!(*taken.lock().expect("a lock"), format!("a{long}c"));
    }
}
