//! Models that do something else than the scripted ones.

use conclave_scripted_provider::{Answer, DemoModel, Model, ModelRequest, Part, ScriptedProvider};

use super::PROVIDER_KEY;

/// A model that does something else where this function says so.
struct Acting<F>(F);

impl<F: Fn(&ModelRequest) -> Option<Answer> + Send + Sync> Model for Acting<F> {
    fn answer(&self, request: &ModelRequest) -> Answer {
        (self.0)(request).unwrap_or_else(|| DemoModel::new().answer(request))
    }
}

/// A provider of this model.
pub(crate) async fn provider_of(model: impl Model + 'static) -> ScriptedProvider {
    let builder = ScriptedProvider::builder().api_key(PROVIDER_KEY).model(model);
    builder.start().await.expect("a provider")
}

/// A provider whose model answers so where the function says it, and otherwise as the scripted one does.
pub(crate) async fn acting(act: impl Fn(&ModelRequest) -> Option<Answer> + Send + Sync + 'static) -> ScriptedProvider {
    provider_of(Acting(act)).await
}

/// Whether the request says that a content filter stopped the answer before. OpenCode leaves that answer out of what it sends
/// next, so that both messages are one.
pub(crate) fn is_asked_after_a_filter(request: &ModelRequest) -> bool {
    let mut parts = request.messages.iter().flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, Part::Text(text) if text.contains("content filter stopped your answer")))
}
