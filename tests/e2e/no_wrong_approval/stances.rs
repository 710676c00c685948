//! What becomes of an approval or a block at each ending of a run.
