//! What the resolvers of one request share.

use std::cell::RefCell;

use crate::state::State;
use crate::state::people::Token;

/// The state and the caller of one request.
pub(super) struct Context<'a> {
    state: RefCell<&'a mut State>,
    pub(super) token: &'a Token,
}

impl<'a> Context<'a> {
    pub(super) fn new(state: &'a mut State, token: &'a Token) -> Self {
        Self {
            state: RefCell::new(state),
            token,
        }
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.borrow())
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.borrow_mut())
    }

    pub(super) fn is_missing(&self, type_name: &str, field: &str) -> bool {
        let name = format!("{type_name}.{field}");
        self.read(|state| state.options.missing_fields.contains(&name))
    }
}
