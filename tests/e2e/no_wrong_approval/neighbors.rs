//! What other programs and users of the machine can reach or fake.

mod runtime;
