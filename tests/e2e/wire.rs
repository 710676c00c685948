//! What the model gateway builds on, held against the real OpenCode: how it reacts to every answer that a gateway could
//! give it (the tables of errors before and after the first byte), and that through our gateway every fault of a
//! provider ends as it should.
//!
//! Each row is a session of one OpenCode that all rows of a test share, as starting it costs more than all of them.

mod behind_the_gateway;
mod emitter;
mod reactions;
mod runtime;
