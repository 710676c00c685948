//! Starting what a run needs: the inputs, the servers, the agent runtime.

pub(crate) mod choice;
pub(crate) mod inputs;
pub(crate) mod live;
pub(crate) mod opencode;
pub(crate) mod runtime;
pub(crate) mod sandbox;
pub(crate) mod section_mark;
