//! The size of the database: what `D1` says after a statement, and what it may hold.

use std::cell::RefCell;

use conclave_shared::telemetry::DatabaseSize;
use worker::{Env, Result, console_error};

use crate::clock;

/// The variable with the most that the database may hold, in megabytes: what the account's plan says.
const MAX_MEGABYTES: &str = "DATABASE_MAX_MB";
/// The limit of a database on Cloudflare's paid plan.
const DEFAULT_MEGABYTES: u64 = 10_000;
const MEGABYTE: u64 = 1_000_000;
/// A measurement is good for so long: every page asks.
const FRESH_MS: i64 = 30_000;

thread_local! {
    static MEASURED: RefCell<Option<(i64, u64)>> = const { RefCell::new(None) };
}

/// Returns how full it is.
async fn size(env: &Env) -> Result<DatabaseSize> {
    let set = env
        .var(MAX_MEGABYTES)
        .ok()
        .map(|set| set.to_string())
        .unwrap_or_default();
    let max_bytes = megabytes(&set).unwrap_or(DEFAULT_MEGABYTES) * MEGABYTE;
    let now_ms = clock::now_ms();
    let fresh = MEASURED.with_borrow(|measured| measured.filter(|(at_ms, _)| now_ms - at_ms < FRESH_MS));
    let used_bytes = if let Some((_, bytes)) = fresh {
        bytes
    } else {
        if megabytes(&set).is_none() && !set.trim().is_empty() {
            console_error!(
                "{MAX_MEGABYTES} is `{set}`: set a number of megabytes; until then {DEFAULT_MEGABYTES} counts"
            );
        }
        let bytes = measure(env).await?;
        MEASURED.set(Some((now_ms, bytes)));
        bytes
    };
    Ok(DatabaseSize { used_bytes, max_bytes })
}

/// Returns how full the database is; one that cannot be asked has other pages and alarms.
pub(crate) async fn size_if_known(env: &Env) -> Option<DatabaseSize> {
    size(env)
        .await
        .inspect_err(|error| console_error!("the database's size cannot be read: {error}"))
        .ok()
}

async fn measure(env: &Env) -> Result<u64> {
    let result = env.d1("DB")?.prepare("SELECT 1 AS one").all().await?;
    let bytes = result.meta()?.and_then(|meta| meta.size_after);
    bytes
        .and_then(|bytes| u64::try_from(bytes).ok())
        .ok_or_else(|| "D1 does not say how large the database is".into())
}

/// The megabytes of a setting, if it is a number of them.
fn megabytes(set: &str) -> Option<u64> {
    let set = set.trim().parse().ok().filter(|set| *set > 0);
    set.map(|set: u64| set.min(u64::MAX / MEGABYTE))
}

#[cfg(test)]
mod tests {
    use super::megabytes;

    #[test]
    fn a_limit_is_a_whole_number_of_megabytes() {
        assert_eq!(megabytes(" 500 "), Some(500));
        for set in ["", "0", "-1", "500MB", "10 GB"] {
            assert_eq!(megabytes(set), None, "{set:?}");
        }
    }
}
