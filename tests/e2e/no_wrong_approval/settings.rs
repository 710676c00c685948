//! Whose settings are in force.
