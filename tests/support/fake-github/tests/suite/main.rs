//! The stand-in from outside, over HTTP, as its users see it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step fails the test")]

mod access;
mod checks;
mod graphql;
mod jobs;
mod program;
mod protocol;
mod pushes;
mod python_client;
mod repository;
mod reviews;
mod stage;
