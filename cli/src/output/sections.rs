//! Collapsible parts of a job's log: sections of GitLab, groups of GitHub.
//!
//! <https://docs.gitlab.com/ci/jobs/job_logs/#custom-collapsible-sections>,
//! <https://docs.github.com/actions/reference/workflow-commands-for-github-actions#grouping-log-lines>

use std::sync::{Mutex, PoisonError};

use super::annotations::data;

/// The marks of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogMarks {
    GitLab,
    GitHub,
}

/// The section that is open, if one is.
#[derive(Debug)]
pub(crate) struct Sections {
    marks: LogMarks,
    open: Mutex<Option<String>>,
    count: Mutex<u32>,
}

impl Sections {
    pub(crate) fn new(marks: LogMarks) -> Self {
        Self {
            marks,
            open: Mutex::default(),
            count: Mutex::default(),
        }
    }

    /// Ends the open section and begins one with this header. `now` is seconds since 1970.
    pub(crate) fn begin(&self, header: &str, now: i64) -> String {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        let name = format!("conclave_{count}");
        let ended = self.end(now);
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.clone());
        match self.marks {
            LogMarks::GitLab => format!("{ended}\x1b[0Ksection_start:{now}:{name}\r\x1b[0K{header}"),
            LogMarks::GitHub => format!("{ended}::group::{}", data(header)),
        }
    }

    /// Ends the open section; nothing if none is.
    pub(crate) fn end(&self, now: i64) -> String {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let end = open.map(|name| match self.marks {
            LogMarks::GitLab => format!("\x1b[0Ksection_end:{now}:{name}\r\x1b[0K\n"),
            LogMarks::GitHub => "::endgroup::\n".to_owned(),
        });
        end.unwrap_or_default()
    }

    /// Prints such marks.
    pub(crate) fn print(&self, marks: &str) {
        match self.marks {
            LogMarks::GitLab => super::raw_line(marks),
            LogMarks::GitHub => super::annotations::print_command(marks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_is_a_section_that_ends_where_the_next_begins() {
        let sections = Sections::new(LogMarks::GitLab);
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

    #[test]
    fn github_has_groups_whose_headers_are_one_line() {
        let sections = Sections::new(LogMarks::GitHub);
        assert_eq!(sections.begin("Reading 100%", 10), "::group::Reading 100%25");
        assert_eq!(sections.begin("Reviewing", 12), "::endgroup::\n::group::Reviewing");
        assert_eq!(
            (sections.end(20).as_str(), sections.end(21).as_str()),
            ("::endgroup::\n", "")
        );
    }
}
