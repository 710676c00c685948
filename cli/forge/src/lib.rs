//! Posts a review on a forge: the order of the steps, what is read again before each, retries with a look before a second post,
//! and one of everything where two jobs post at once.
//!
//! What is to be posted is decided in `conclave_engine::publish`. How a forge is asked is its plugin's: a [`ForgeApi`], on the
//! HTTP client of this crate ([`HttpClient`]). [`Publisher`] is all in between, the same for every forge.

mod address;
mod answers;
mod api;
mod break_glass;
mod change;
mod check;
mod code_link;
mod command;
mod committers;
mod conversation;
mod copies;
mod error;
mod gate;
mod http;
mod meanwhile;
mod model;
mod one_by_one;
mod openings;
mod publish;
mod publisher;
mod rate_limit;
mod review_state;
mod roles;
mod summary;
mod target;
mod thread_changes;
mod unreadable;
mod withdrawal;

pub use address::AddressForm;
pub use api::{ChangeApi, ForgeApi, NotesApi, ReviewStateApi};
pub use change::Change;
pub use check::{Annotation, CheckEnd, Conclusion};
pub use code_link::code_link;
pub use command::{Asked, Command, command_help};
pub use committers::{Committed, Committers};
pub use copies::forge_row;
pub use error::{ApiError, ApiErrorKind};
pub use gate::{Begun, Gate, GateApi, GateRun, GateState, PullState, Reviewed};
pub use http::{ClientTimeouts, HttpClient, HttpDialect, Repeat, client_builder, token_header};
pub use model::{
    Approval, ApprovedCommit, ForgeTraits, ForgeWords, LastRequest, Lifecycle, Lifted, LoadedChange, MergeRequestState,
    Opened, RequestFate, RequestShown, Target, Version,
};
pub use one_by_one::one_by_one;
pub use publisher::Publisher;
pub use rate_limit::asked_wait;
pub use withdrawal::Withdrawal;
