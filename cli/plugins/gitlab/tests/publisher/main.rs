//! The publisher over real HTTP, against a GitLab that keeps state.
#![expect(clippy::unwrap_used, reason = "a broken fixture must stop the test")]

mod address;
mod approving;
mod beside;
mod certificates;
#[path = "../../../../forge/tests/conformance/mod.rs"]
mod conformance;
mod earlier;
mod failures;
mod gating;
mod glass;
mod loading;
mod manual;
mod posting;
mod refusals;
mod scenarios;
mod stage;
mod text;
