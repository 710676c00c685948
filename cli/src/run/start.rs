//! Starting what a run needs: the inputs, the servers, the agent runtime.

pub(crate) mod inputs;
pub(crate) mod live;
pub(crate) mod runtime;
pub(crate) mod section_mark;
