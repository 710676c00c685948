//! Collapsible sections of a GitLab job's log.
//!
//! <https://docs.gitlab.com/ci/jobs/job_logs/#custom-collapsible-sections>

use std::sync::{Mutex, PoisonError};

/// The section that is open, if one is.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    open: Mutex<Option<String>>,
    count: Mutex<u32>,
}

impl Sections {
    /// Ends the open section and begins one with this header. `now` is seconds since 1970.
    pub(crate) fn begin(&self, header: &str, now: i64) -> String {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        let name = format!("conclave_{count}");
        let ended = self.end(now);
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.clone());
        format!("{ended}\x1b[0Ksection_start:{now}:{name}\r\x1b[0K{header}")
    }

    /// Ends the open section; nothing if none is.
    pub(crate) fn end(&self, now: i64) -> String {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        open.map(|name| format!("\x1b[0Ksection_end:{now}:{name}\r\x1b[0K\n"))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_is_a_section_that_ends_where_the_next_begins() {
        let sections = Sections::default();
        assert_eq!(
            sections.begin("Reading", 10),
            "\x1b[0Ksection_start:10:conclave_1\r\x1b[0KReading"
        );
        assert_eq!(
            sections.begin("Reviewing", 12),
            "\x1b[0Ksection_end:12:conclave_1\r\x1b[0K\n\x1b[0Ksection_start:12:conclave_2\r\x1b[0KReviewing"
        );
        assert_eq!(sections.end(20), "\x1b[0Ksection_end:20:conclave_2\r\x1b[0K\n");
        assert_eq!(sections.end(21), "");
    }
}
