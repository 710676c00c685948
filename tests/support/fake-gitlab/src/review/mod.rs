//! The rules behind the routes: where notes may stand, what they set off, and the review state of a merge request.

pub(crate) mod merge_status;
pub(crate) mod notes;
pub(crate) mod opening;
pub(crate) mod placement;
pub(crate) mod quick_actions;
pub(crate) mod retrace;
pub(crate) mod states;
pub(crate) mod suggestions;
pub(crate) mod versions;
