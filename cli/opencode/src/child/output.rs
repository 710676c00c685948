//! The output of the child: read to its end in bounded memory, and the last of it kept.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    task::JoinHandle,
    time::timeout,
};

/// Length of the end of a stream that is kept.
const LAST: usize = 2048;
/// Maximum length of a stream in the debug log. A child that floods must not flood the job's log.
const MAX_LOGGED: u64 = 1 << 20;

/// Time that the last words of a child that has ended may still be on their way. What it started may keep the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The output of one child.
#[derive(Debug, Default)]
pub(super) struct Output {
    last: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Output {
    /// Reads a stream until it ends, and shows each piece of it to `look`.
    pub(super) fn drain(
        &mut self,
        name: &'static str,
        stream: Option<impl AsyncRead + Unpin + Send + 'static>,
        mut look: impl FnMut(&[u8]) + Send + 'static,
    ) {
        let Some(mut stream) = stream else { return };
        let last = Arc::clone(&self.last);
        self.readers.push(tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            let mut logged = 0;
            while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                let bytes = &buffer[..length];
                look(bytes);
                if logged < MAX_LOGGED {
                    tracing::debug!(stream = name, "{}", String::from_utf8_lossy(bytes).trim_end());
                    logged += length as u64;
                }
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                last.extend_from_slice(&bytes[length.saturating_sub(LAST)..]);
                let excess = last.len().saturating_sub(LAST);
                last.drain(..excess);
            }
        }));
    }

    /// The last lines of a child that has ended, without what a terminal would act on.
    pub(super) async fn last_words(&mut self) -> String {
        let ended = async {
            for reader in self.readers.drain(..) {
                let _ = reader.await;
            }
        };
        let _ = timeout(LAST_WORDS, ended).await;
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&last);
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.chars().filter(|c| !c.is_control()).take(300).collect::<String>())
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(3)..].join(" / ")
    }
}
