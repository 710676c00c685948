//! What clients of the API read when they are refused. The dashboard's texts are in `dashboard/texts.rs`.

use conclave_shared::problem::Problem;

use crate::outbox::LetterId;

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

/// Nobody says whose memory.
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

/// What to do about a database without tables.
pub(crate) const NO_TABLES: &str = "The database has no tables yet, or old ones. Run \
    `wrangler d1 migrations apply review-tracker -e review-tracker` with `--local` or `--remote`.";

/// There is no such dead letter.
pub(crate) fn no_letter(id: LetterId) -> Problem {
    Problem::new(
        404,
        "not-found",
        "Not found",
        format!("There is no dead letter {id}; it may have been replayed or discarded. GET /v1/outbox lists all."),
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
