//! Keeping the providers' prompt caches useful: the same beginnings, and one call that fills a cache before others read it.

mod prefix;
mod warming;

pub(crate) use prefix::{Canonical, canonical};
pub(crate) use warming::{Warming, WarmingPermit};
