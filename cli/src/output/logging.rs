//! The log on standard error, without secrets.

use std::io::Write;

use conclave_shared::redact::Redactor;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::{
    env::{Environment, names},
    output,
};

struct RedactingStderr(Redactor);

struct Line<'a> {
    redactor: &'a Redactor,
    buffer: Vec<u8>,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let text = self.redactor.redact(&String::from_utf8_lossy(&self.buffer));
        output::log_line(&text);
    }
}

impl<'a> MakeWriter<'a> for RedactingStderr {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line {
            redactor: &self.0,
            buffer: Vec::new(),
        }
    }
}

/// What is told if nobody asks for more.
const USUAL: &str = "warn";
/// The library of the tool server complains at the end of every review that the last call was answered to nobody: it is, as
/// the runtime has ended by then. Who asks for what it says gets it.
const NEVER: &str = "rmcp=off";

/// Starts logging. A second call, as in tests, changes nothing.
pub(crate) fn start(environment: &Environment, redactor: Redactor) {
    let wanted = |filter: &str| EnvFilter::try_new(format!("{NEVER},{filter}"));
    let filter = environment.get(names::LOG).unwrap_or(USUAL);
    let filter = wanted(filter)
        .or_else(|_| wanted(USUAL))
        .unwrap_or_else(|_| EnvFilter::new(USUAL));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .with_writer(RedactingStderr(redactor));
    let _ = subscriber.try_init();
}
