//! The codex plugin.
