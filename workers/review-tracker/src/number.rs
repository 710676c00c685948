//! Variables with numbers, and the log's word about those that are none.

use std::{cell::RefCell, collections::BTreeSet};

use conclave_worker_common::setting;
use worker::{Env, console_error};

thread_local! {
    /// Variables cannot change while an isolate lives, so that each is named once.
    static NAMED: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// The value of a variable, if it is a whole number. Another value counts as none, and the log says so.
pub(crate) fn number(env: &Env, name: &'static str) -> Option<u64> {
    let set = setting(env, name)?;
    let number = set.parse().ok();
    if number.is_none() && NAMED.with_borrow_mut(|named| named.insert(name)) {
        console_error!("{name} is `{set}`: set a whole number; until then the default counts");
    }
    number
}
