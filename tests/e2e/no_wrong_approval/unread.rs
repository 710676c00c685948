//! What nobody read is never approved.
