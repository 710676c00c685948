//! The log on standard error, without secrets.

use std::io::Write;

use conclave_shared::redact::Redactor;
use tracing_subscriber::{EnvFilter, filter::LevelFilter, fmt::MakeWriter};

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

/// The filter where none is asked for. Libraries tell half of a failure; our own lines tell all of it, and what to do.
const USUAL: &str = "conclave=warn";
/// The library of the tool server complains at the end of every review that the last call was answered to nobody: it is, as
/// the runtime has ended by then. Who asks for what it says gets it.
const NEVER: &str = "rmcp=off";

/// Returns the fault of a filter that was asked for, which then counts as not asked for. Any other word than a level is the name of a
/// part of the program; where no part has that name, nothing would be logged at all.
fn fault(filter: &str) -> Option<String> {
    let is_odd = |directive: &&str| {
        let is_name = !directive.is_empty() && !directive.contains(['=', '[']);
        is_name && !directive.starts_with("conclave") && directive.parse::<LevelFilter>().is_err()
    };
    let odd = match EnvFilter::try_new(filter) {
        Ok(_) => filter.split(',').map(str::trim).find(is_odd)?,
        Err(_) => filter,
    };
    Some(format!(
        "{} is not used, because `{odd}` is not a filter: write `error`, `warn`, `info`, `debug` or `trace`, or `TARGET=LEVEL`, as in \
         `conclave_gateway=trace`",
        names::LOG
    ))
}

/// Starts logging. A second call, as in tests, changes nothing.
pub(crate) fn start(environment: &Environment, redactor: Redactor) {
    let wanted = |filter: &str| EnvFilter::try_new(format!("{NEVER},{filter}"));
    let asked = environment.get(names::LOG);
    let fault = asked.and_then(fault);
    if let Some(fault) = &fault {
        output::log_line(&redactor.redact(&format!("Warning: {fault}")));
    }
    let filter = asked.filter(|_| fault.is_none()).unwrap_or(USUAL);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_no_filter() {
        for filter in [
            "debug",
            "OFF",
            "conclave_gateway",
            "conclave_gateway=trace,warn",
            "hyper=info",
            USUAL,
        ] {
            assert_eq!(fault(filter), None, "{filter}");
        }
        for (filter, named) in [("shout", "`shout`"), ("info,loud", "`loud`"), ("a=b=c", "`a=b=c`")] {
            let fault = fault(filter).expect(filter);
            assert!(
                fault.starts_with("CONCLAVE_LOG is not used") && fault.contains(named),
                "{fault}"
            );
        }
    }
}
