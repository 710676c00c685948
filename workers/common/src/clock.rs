//! Time.

/// Now, in milliseconds since 1970 in UTC, by the runtime's clock. It stands still between two I/O operations.
pub fn now_ms() -> i64 {
    i64::try_from(worker::Date::now().as_millis()).unwrap_or(i64::MAX)
}
