//! The publisher over real HTTP, against a GitLab that keeps state.
#![expect(clippy::unwrap_used, reason = "a broken fixture must stop the test")]

mod address;
mod approving;
mod beside;
mod certificates;
mod failures;
mod gating;
mod glass;
mod loading;
mod manual;
mod plugin;
mod posting;
mod races;
mod refusals;
mod sample;
mod stage;
mod text;
