//! Who runs when, for how long, and with which model.

mod answers;
mod clock;
mod coordinator;
mod desk;
mod head_start;
mod panel;
mod refuter;
mod routing;
mod session;
mod turn;

#[cfg(test)]
mod test_support;

pub use answers::{RepairKind, UnprovenFinding};
pub use coordinator::{JudgedBy, coordinate};
pub use desk::{Desk, Submitted};
pub use head_start::HeadStart;
pub(crate) use panel::most_at_once;
pub use panel::{PanelInput, PanelMember, PanelResult, ReviewerReport, SourceTree, milliseconds, run_panel};
pub use refuter::Refuter;
pub use routing::{LiveRoutes, RouteFacts};
pub use session::{SessionContext, SessionResult, SessionTask};
