//! Days. Times are milliseconds since 1970 in UTC, as the clients send them.

pub(crate) use conclave_worker_common::now_ms;

/// Milliseconds in a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// The number of a moment's day, counted from 1970 in UTC.
pub(crate) const fn day(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS)
}
