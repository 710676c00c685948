//! The finished review as data and as text.

mod code_quality;
mod identity;
mod inline;
mod junit;
mod markdown;
mod own;
mod sarif;
mod suggestion;

pub use code_quality::render_code_quality;
pub use inline::{InlinePlace, SuggestionSyntax, render_inline};
pub use junit::render_junit;
pub use markdown::{duration, headline, render_markdown};
pub use own::{is_code_quality, is_junit, is_markdown, is_review, is_sarif};
pub use sarif::{render_code_scanning, render_sarif};
pub use suggestion::{Suggestion, committable};

use crate::review::Review;

/// The JSON Schema of `review.json`.
pub fn review_schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let mut schema = settings.into_generator().into_root_schema_for::<Review>();
    schema.insert("title".to_owned(), "review.json of Conclave".into());
    schema.to_value()
}
