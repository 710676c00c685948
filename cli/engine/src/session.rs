//! Who runs when, for how long, and with which model.

mod altered_uses;
mod answers;
mod clock;
mod context;
mod conversation;
mod coordinator;
mod coordinator_tool;
mod head_start;
mod mailbox;
mod open_session;
mod panel_answer;
mod reading;
mod refuter;
mod reviewers;
mod routing;
mod session_result;
mod submissions;
mod submitted_form;
#[cfg(test)]
mod test_support;
mod turn;

pub use altered_uses::altered_uses;
pub use context::{PanelInput, SessionContext, SessionTask};
pub use coordinator::{JudgedBy, coordinate};
pub use coordinator_tool::{CoordinatorTool, TOOL_SPAWN_REVIEWERS, TOOL_SUBMIT_REVIEW};
pub use head_start::HeadStart;
pub use mailbox::{CoordinatorMailbox, Judgement};
pub(crate) use reading::Reading;
pub use refuter::Refuter;
pub use reviewers::{PanelResult, most_at_once, run_panel};
pub use routing::{LiveRoutes, RouteFacts};
pub use session_result::SessionResult;
