//! What the coordinator may remove or lower.
