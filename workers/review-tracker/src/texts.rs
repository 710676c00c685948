//! Texts for clients of the API that are refused. Those of a page are in its file.

use std::fmt::Display;

use conclave_shared::{problem::Problem, telemetry::DatabaseSize};

/// The body's media type is not JSON.
pub(crate) fn not_json() -> Problem {
    Problem::new(
        415,
        "unsupported-media-type",
        "Unsupported media type",
        "Send the batch as `content-type: application/json`.",
    )
}

/// The body is not a batch.
pub(crate) fn not_a_batch(reason: &str) -> Problem {
    Problem::new(
        400,
        "bad-request",
        "Bad request",
        format!("The body is not a batch of the form {{\"events\":[…]}}: {reason}."),
    )
}

/// The batch has too many events.
pub(crate) fn too_many_events(count: usize, limit: usize) -> Problem {
    Problem::new(
        413,
        "too-large",
        "Batch too large",
        format!("The batch has {count} events; send at most {limit} at once."),
    )
}

/// Entries of the list of tokens have projects in the place of their token.
pub(crate) fn misplaced_projects(secret: &str, places: &[usize]) -> Problem {
    let places: Vec<String> = places.iter().map(ToString::to_string).collect();
    Problem::new(
        503,
        "not-configured",
        "Not configured",
        format!(
            "The secret `{secret}` has projects in the place of a token, in entry {}, which is therefore not valid. Write such an entry as \
             `NAME:TOKEN:PROJECTS`, or `:TOKEN:PROJECTS` without a name.",
            places.join(", ")
        ),
    )
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
    Problem::new(
        429,
        "too-many-projects",
        "Too many new projects",
        format!(
            "This token has named {limit} new projects today, which is its limit. Projects that are known are taken as before; new ones \
             tomorrow (UTC), or when `INGEST_NEW_PROJECTS_PER_DAY` of the Worker is raised."
        ),
    )
}

/// More events than a minute takes.
pub(crate) fn too_many_events_a_minute(limit: u64) -> Problem {
    Problem::new(
        429,
        "too-many-events",
        "Too many events",
        format!(
            "This token may send {limit} events a minute, and the batch goes beyond that. Nothing of it is stored: send it again when \
             the minute is over, in smaller parts if it alone is larger, or raise `INGEST_EVENTS_PER_MINUTE` of the Worker."
        ),
    )
}

/// The memory of a project that the caller may not read.
pub(crate) fn others_memory(project: &str) -> Problem {
    let shown: String = project.chars().take(200).collect();
    Problem::new(
        403,
        "other-project",
        "Another project",
        format!(
            "The token is not good for the project {shown}: a job's token reads the memory of its own project, an ingest token those of \
             the projects that it is bound to."
        ),
    )
}

/// The query does not name a project.
pub(crate) fn no_project() -> Problem {
    Problem::new(
        400,
        "bad-request",
        "Bad request",
        "Say whose memory: `?project=` and the project's path.",
    )
}

/// A parameter of the query is empty, too long, or not one line.
pub(crate) fn bad_parameter(name: &str, longest: usize) -> Problem {
    Problem::new(
        400,
        "bad-request",
        "Bad request",
        format!("`{name}` has to have 1 to {longest} bytes without control characters."),
    )
}

/// The database has no tables.
pub(crate) fn no_tables() -> Problem {
    Problem::new(503, "not-configured", "Not configured", NO_TABLES)
}

/// The remedy for a database without tables.
pub(crate) const NO_TABLES: &str = "The database has no tables yet, or old ones. Run \
    `wrangler d1 migrations apply review-tracker -e review-tracker` with `--local` or `--remote`.";

/// There is no such dead letter.
pub(crate) fn no_letter(id: impl Display) -> Problem {
    Problem::new(
        404,
        "not-found",
        "Not found",
        format!("There is no dead letter {id}; it may have been replayed or discarded. GET /v1/outbox lists all."),
    )
}

/// The database has as many bytes as it may.
pub(crate) fn full(size: DatabaseSize) -> Problem {
    Problem::new(
        507,
        "database-full",
        "The database is full",
        format!(
            "The database is full ({} % of `DATABASE_MAX_MB`), so nothing new is stored. Lower `RETENTION_DAYS` of the Worker, or move to a \
             larger plan and set `DATABASE_MAX_MB` to what it allows.",
            size.percent()
        ),
    )
}

/// The outbox takes nothing now.
pub(crate) fn not_accepted() -> Problem {
    Problem::new(
        503,
        "not-accepted",
        "Not accepted",
        "The events could not be made durable. Send the same batch again: each event counts once.",
    )
}
