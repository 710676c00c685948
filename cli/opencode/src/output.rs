//! What the child writes: read to its end in bounded memory, and the last of it kept.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// How much of a stream's end is kept.
const LAST: usize = 2048;
/// How much of a stream goes to the debug log. A child that floods must not flood the job's log.
const MOST_LOGGED: u64 = 1 << 20;

/// The output of one child.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    /// Reads a stream until it ends.
    pub(crate) fn drain(&self, name: &'static str, stream: Option<impl AsyncRead + Unpin + Send + 'static>) {
        let Some(mut stream) = stream else { return };
        let last = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            let mut logged = 0;
            while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                let bytes = &buffer[..length];
                if logged < MOST_LOGGED {
                    tracing::debug!(stream = name, "{}", String::from_utf8_lossy(bytes).trim_end());
                    logged += length as u64;
                }
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                last.extend_from_slice(&bytes[length.saturating_sub(LAST)..]);
                let excess = last.len().saturating_sub(LAST);
                last.drain(..excess);
            }
        });
    }

    /// The last lines, without what a terminal would act on.
    pub(crate) fn last_words(&self) -> String {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&last);
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.chars().filter(|c| !c.is_control()).take(300).collect::<String>())
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(3)..].join(" / ")
    }
}
