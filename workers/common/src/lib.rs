//! Common parts of both Workers: problem documents as answers, bearer tokens, limits of guesses, bodies with a limit, allowed
//! methods, pages with their frame, log-in and sessions, tokens of other services, and the outermost catch that turns an
//! unexpected error into a plain 500.
//!
//! Handlers return [`Outcome`]: an answer that ends the request early (a refusal) is an `Err`, so that `?` reads as
//! "or else answer that".

mod asset;
mod auth;
mod body;
mod clock;
pub mod entity_tag;
pub mod frame;
pub mod html;
pub mod jwt;
pub mod limit;
mod login;
mod method;
pub mod oidc;
mod page;
mod reply;
mod session;
mod texts;

pub use asset::{Asset, BASE_STYLE, ICON, asset};
pub use auth::{Access, authorize, configured, denied, holder, judge, listed, presented, setting, unconfigured};
pub use body::{is_json, read_capped};
pub use clock::now_ms;
pub use frame::Frame;
pub use login::{Login, LoginWords};
pub use method::{allow, health, nothing_here};
pub use page::{page, same_origin, see_other};
pub use reply::{Outcome, Refusal, detail, finish, harden, json, problem, refusal};
pub use session::Sessions;
pub use texts::{BAD_REQUEST, FAILED, NOT_CONFIGURED, NOT_FOUND, OTHER_PROJECT, ProblemKind, not_found, unauthorized};
