//! What becomes of an approval or a block at each ending of a run.

mod scene;
pub(crate) mod table;
