//! Texts for clients of the API that are refused. Those of a page are in its file.

use std::fmt::Display;

use conclave_shared::{problem::Problem, telemetry::DatabaseSize};
use conclave_worker_common::{BAD_REQUEST, NOT_CONFIGURED, NOT_FOUND, OTHER_PROJECT, ProblemKind};

const TOO_LARGE: ProblemKind = ProblemKind(413, "too-large", "Batch too large");
const UNSUPPORTED_MEDIA_TYPE: ProblemKind = ProblemKind(415, "unsupported-media-type", "Unsupported media type");
const TOO_MANY_EVENTS: ProblemKind = ProblemKind(429, "too-many-events", "Too many events");
const TOO_MANY_PROJECTS: ProblemKind = ProblemKind(429, "too-many-projects", "Too many new projects");
const NOT_ACCEPTED: ProblemKind = ProblemKind(503, "not-accepted", "Not accepted");
const DATABASE_FULL: ProblemKind = ProblemKind(507, "database-full", "The database is full");

/// The body's media type is not JSON.
pub(crate) fn not_json() -> Problem {
    UNSUPPORTED_MEDIA_TYPE.with("Send the batch as `content-type: application/json`.")
}

/// The body is not a batch.
pub(crate) fn not_a_batch(reason: &str) -> Problem {
    BAD_REQUEST.with(format!(
        "The body is not a batch of the form {{\"events\":[…]}}: {reason}."
    ))
}

/// The batch has too many events.
pub(crate) fn too_many_events(count: usize, limit: usize) -> Problem {
    TOO_LARGE.with(format!("The batch has {count} events; send at most {limit} at once."))
}

/// Entries of the list of tokens have projects in the place of their token.
pub(crate) fn misplaced_projects(secret: &str, places: &[usize]) -> Problem {
    let places: Vec<String> = places.iter().map(ToString::to_string).collect();
    NOT_CONFIGURED.with(format!(
        "The secret `{secret}` has projects in the place of a token, in entry {}, which is therefore not valid. Write such an entry as \
         `NAME:TOKEN:PROJECTS`, or `:TOKEN:PROJECTS` without a name.",
        places.join(", ")
    ))
}

/// The ingest token beside a good token of the job is not on the list.
pub(crate) fn refused_token(secret: &str) -> String {
    format!("it is not one of the Worker's {secret}")
}

/// An event is of a project that the caller may not speak for.
pub(crate) fn other_project(project: &str) -> String {
    let shown: String = project.chars().take(100).collect();
    format!(
        "the token is not good for the project `{shown}`: a job's token is for its own project, an ingest token for those it is bound to"
    )
}

/// An event is of a project that is new, and there were too many of those.
pub(crate) fn project_beyond_quota(limit: u64) -> String {
    format!(
        "the project is new, and the token has named {limit} new projects today, which is its limit \
         (`INGEST_NEW_PROJECTS_PER_DAY`); send it again tomorrow"
    )
}

/// All projects of a batch are new, and there were too many of those.
pub(crate) fn too_many_projects_a_day(limit: u64) -> Problem {
    TOO_MANY_PROJECTS.with(format!(
        "This token has named {limit} new projects today, which is its limit. Projects that are known are taken as before; new ones \
         tomorrow (UTC), or when `INGEST_NEW_PROJECTS_PER_DAY` of the Worker is raised."
    ))
}

/// More events than a minute takes.
pub(crate) fn too_many_events_a_minute(limit: u64) -> Problem {
    TOO_MANY_EVENTS.with(format!(
        "This token may send {limit} events a minute, and the batch goes beyond that. Nothing of it is stored: send it again when \
         the minute is over, in smaller parts if it alone is larger, or raise `INGEST_EVENTS_PER_MINUTE` of the Worker."
    ))
}

/// The memory of a project that the caller may not read.
pub(crate) fn others_memory(project: &str) -> Problem {
    let shown: String = project.chars().take(200).collect();
    OTHER_PROJECT.with(format!(
        "The token is not good for the project {shown}: a job's token reads the memory of its own project, an ingest token those of \
         the projects that it is bound to."
    ))
}

/// The query does not name a project.
pub(crate) fn no_project() -> Problem {
    BAD_REQUEST.with("Say whose memory: `?project=` and the project's path.")
}

/// A parameter of the query is empty, too long, or not one line.
pub(crate) fn bad_parameter(name: &str, longest: usize) -> Problem {
    BAD_REQUEST.with(format!(
        "`{name}` has to have 1 to {longest} bytes without control characters."
    ))
}

/// The database has no tables.
pub(crate) fn no_tables() -> Problem {
    NOT_CONFIGURED.with(NO_TABLES)
}

/// The remedy for a database without tables.
pub(crate) const NO_TABLES: &str = "The database has no tables yet, or old ones. Run \
    `wrangler d1 migrations apply review-tracker -e review-tracker` with `--local` or `--remote`.";

/// There is no such dead letter.
pub(crate) fn no_letter(id: impl Display) -> Problem {
    NOT_FOUND.with(format!(
        "There is no dead letter {id}; it may have been replayed or discarded. GET /v1/outbox lists all."
    ))
}

/// The database has as many bytes as it may.
pub(crate) fn full(size: DatabaseSize) -> Problem {
    DATABASE_FULL.with(format!(
        "The database is full ({} % of `DATABASE_MAX_MB`), so nothing new is stored. Lower `RETENTION_DAYS` of the Worker, or move to a \
         larger plan and set `DATABASE_MAX_MB` to what it allows.",
        size.percent()
    ))
}

/// The outbox takes nothing now.
pub(crate) fn not_accepted() -> Problem {
    NOT_ACCEPTED.with("The events could not be made durable. Send the same batch again: each event counts once.")
}
