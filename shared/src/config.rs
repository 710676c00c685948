//! The configuration document, its validation, and the answer to "which models may this reviewer use now".

mod breaker_and_budget;
mod capabilities;
mod changes;
mod document;
mod effort_overrides;
mod efforts;
mod fault;
mod hidden;
mod ineffective_limits;
mod limits;
mod local_preset;
mod names;
mod preset;
mod prices;
mod projects;
mod read;
mod routing;
mod schema;
mod validate;

pub use breaker_and_budget::{BreakerLimits, BudgetLimits};
pub use capabilities::{Capabilities, CapabilityList, CapabilityOverrides, UNKNOWN_CONTEXT};
pub use changes::changes;
pub use document::{
    ConfigDocument, EffectiveConfig, ModelPreferences, ProjectOverride, ProviderSwitch, ReviewerSettings,
    SCHEMA_VERSION, seconds,
};
pub use effort_overrides::EffortOverrides;
pub use efforts::ClassEfforts;
pub use fault::ConfigFault;
pub use hidden::hidden_character;
pub use ineffective_limits::ineffective;
pub use limits::{
    LimitOverrides, Limits, MAX_CALL_SECONDS, MAX_RUN_SECONDS, TIME_LIMITS, TimeLimit, TimeLimitOverrides,
};
pub use names::{provider_spelling, remarks, used_providers};
pub use preset::{ModelTier, Preset, default_failback, model_tier};
pub use prices::{ModelPrice, PriceList};
pub use projects::ProjectRules;
pub use read::{check, read, unknown_fields};
pub use routing::{
    ConsideredModel, ModelReason, ModelRoute, ModelSource, NO_CLASSES, NoModel, RouteExplanation, RouteInput,
    SkippedModel, effort, explain_route, fallback, known_providers, named_models, route,
};
pub use schema::schema;
pub use validate::{MAX_CHAIN, MAX_DOCUMENT_BYTES, MAX_PROJECTS, mixed_cycles, validate};
