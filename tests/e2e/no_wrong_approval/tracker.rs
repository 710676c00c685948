//! What can teach the memory.
