//! Who runs when, for how long, and with which model.

mod desk;
mod panel;
mod session;

pub use desk::Desk;
pub use panel::{PanelMember, PanelResult, ReviewerReport, SourceTree, milliseconds, run_panel};
pub use session::{SessionContext, SessionResult, SessionTask, run_session};
