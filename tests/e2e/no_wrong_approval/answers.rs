//! What a reviewer's answer may hide.
