//! What a command has besides its arguments.

pub(crate) mod signals;
