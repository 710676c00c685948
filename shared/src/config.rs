//! The configuration document, its validation, and the answer to "which models may this reviewer use now".

mod changes;
mod document;
mod policy;
mod preset;
mod prices;
mod projects;
mod read;
mod routing;
mod schema;
mod time_limits;
mod validate;

pub use changes::changes;
pub use document::{
    ConfigDocument, EffectiveConfig, Limits, ModelPreferences, ProviderSwitch, ReviewerSettings, SCHEMA_VERSION,
    seconds,
};
pub use policy::{BreakerLimits, BudgetLimits};
pub use preset::{ModelTier, Preset, default_failback, model_tier};
pub use prices::{ModelPrice, PriceList};
pub use projects::{LimitOverrides, MAX_PROJECTS, ProjectOverride, ProjectRules};
pub use read::{read, unknown_fields};
pub use routing::{
    ConsideredModel, ModelReason, ModelRoute, ModelSource, NO_CLASSES, NoModel, RouteExplanation, RouteInput,
    SkippedModel, explain_route, fallback, known_providers, named_models, route,
};
pub use schema::schema;
pub use time_limits::{MAX_CALL_SECONDS, MAX_RUN_SECONDS, TIME_LIMITS, TimeLimit, TimeLimitOverrides, ineffective};
pub use validate::{ConfigFault, MAX_CHAIN, validate};
