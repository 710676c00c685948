//! A verdict becomes milder only by evidence that code checked or by a person who may decide: never by a model's word, a
//! failure, a stop, or something that nobody read. Each test drives the whole program against a hostile merge request.

mod answers;
mod decisions;
mod judge;
mod neighbors;
mod races;
mod scene;
mod secrets;
mod settings;
pub(crate) mod stances;
mod texts;
mod tracker;
mod unread;
