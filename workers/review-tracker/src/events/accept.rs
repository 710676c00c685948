//! Accepting events: what could not be stored, added up or shown is refused, and what is taken is corrected.

use conclave_shared::{config::hidden_character, project, telemetry::Event};

use super::{
    break_glass,
    limits::{Checked, MAX_COUNT, count, text},
    meaning,
};
use crate::clock::DAY_MS;

/// Maximum lead of a client's clock. An event counts at the time of its arrival then.
const CLOCK_SKEW_MS: i64 = DAY_MS;
/// The clock skew from which on it is counted.
const NOTABLE_SKEW_MS: i64 = 60_000;

/// Checks one event; the error names the field. An event from before `oldest_ms` would be deleted at once, and could then
/// count a second time.
pub(crate) fn check(event: &Event, now_ms: i64, oldest_ms: i64) -> Checked {
    if event.schema == 0 {
        return Err("`schema` starts at 1".to_owned());
    }
    if event.at_ms < oldest_ms {
        return Err(
            "`at_ms` is older than what is kept; is it in milliseconds since 1970, and is the clock right?".to_owned(),
        );
    }
    if event.at_ms > now_ms.saturating_add(CLOCK_SKEW_MS) {
        return Err(
            "`at_ms` is more than a day ahead; is it in milliseconds since 1970, and is the clock right?".to_owned(),
        );
    }
    text("project", event.project.as_str(), 256)?;
    // It would read as another project's name.
    if let Some(fault) = hidden_character(&event.project) {
        return Err(format!("`project` {fault}"));
    }
    if event.project == "*" {
        return Err("`project` may not be `*`, which stands for all projects".to_owned());
    }
    // No forge has such a path, and each of them would be a project of its own beside the one that is meant.
    if event
        .project
        .split('/')
        .any(|segment| matches!(segment, "" | "." | ".."))
    {
        return Err("`project` is a path of names with single slashes between them, as in `group/project`".to_owned());
    }
    count("merge_request", meaning(&event.event).merge_request(), MAX_COUNT)?;
    meaning(&event.event).check()
}

/// Corrects an event before it is stored: its project gets the one name that it is known by, one whose clock was ahead gets the
/// time of its arrival, and what may be a person's name is taken out. Returns whether the clock was ahead by more than can be expected.
pub(crate) fn correct(event: &mut Event, now_ms: i64) -> bool {
    let ahead = event.at_ms - now_ms;
    event.at_ms = event.at_ms.min(now_ms);
    event.project = project::identity(std::mem::take(&mut event.project));
    break_glass::hide_name(&mut event.event);
    ahead > NOTABLE_SKEW_MS
}

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
