//! The provider over real HTTP, and the demo model's rules.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken fixture must stop the test")]

mod ai_gateway;
mod binary;
mod books;
mod client;
mod conversation;
mod coordinator;
mod demo_quiet;
mod demo_repository;
mod demo_rules;
mod faults;
mod review;
mod scripted;
mod strictness;
mod wire;
