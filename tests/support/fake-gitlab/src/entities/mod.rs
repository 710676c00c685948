//! The JSON that the API shows.

pub(crate) mod merge_request;
pub(crate) mod note;
pub(crate) mod people;
pub(crate) mod project;
pub(crate) mod repository;
