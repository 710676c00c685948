//! A gateway in front of a scripted provider.

use std::time::Duration;

use conclave_engine::ports::{SessionId, UsageLedger};
use conclave_gateway::{Gateway, GatewayConfig, HttpSettings, Limits, Upstream, Wire};
use conclave_resilience::retry::RetryPolicy;
use conclave_scripted_provider::{Answer, Scripted, ScriptedProvider};
use conclave_shared::{model::ModelId, pricing::TokenUsage, telemetry::TokensByModel};
use serde_json::Value;

use crate::client::{Outcome, RUN_KEY, body, call, read};

pub(crate) const CREDENTIAL: &str = "the-real-credential";
pub(crate) const OPUS_NEW: &str = "anthropic/claude-opus-4-7";
pub(crate) const OPUS_OLD: &str = "anthropic/claude-opus-4-6";
pub(crate) const LLAMA: &str = "workers/@cf/meta/llama-4";
pub(crate) const SOL: &str = "openai/gpt-6-sol";
/// The last of the chain: a provider of its own, so that nothing stands in for the models before it.
pub(crate) const OTHER: &str = "other/one";
/// A model of each format.
pub(crate) const FORMATS: [&str; 3] = [OPUS_NEW, LLAMA, SOL];
pub(crate) const TEXT: &str = "The first sentence of a longer answer. The second sentence of it. The third one.";

/// Longer than anything may take; a test that waits so long has failed.
pub(crate) const LONG: Duration = Duration::from_secs(20);
/// Time that a slow answer takes: less than any limit.
pub(crate) const SLOW: Duration = Duration::from_secs(10);

pub(crate) struct Rig {
    pub(crate) provider: ScriptedProvider,
    pub(crate) gateway: Gateway,
}

pub(crate) fn wire_of(provider: &str) -> Wire {
    match provider {
        "anthropic" => Wire::Anthropic,
        "openai" => Wire::OpenAiResponses,
        _ => Wire::OpenAiChat,
    }
}

pub(crate) fn model(name: &str) -> ModelId {
    name.parse().unwrap()
}

pub(crate) fn session(name: &str) -> SessionId {
    SessionId(name.to_owned())
}

pub(crate) fn upstream(name: &str, base: &str) -> Upstream {
    Upstream {
        name: name.to_owned(),
        wire: wire_of(name),
        base_url: format!("{base}/{name}/v1").parse().unwrap(),
        credential: Some(CREDENTIAL.to_owned().into()),
        extra_headers: Vec::new(),
    }
}

/// A configuration with short waits.
pub(crate) fn config(base: &str) -> GatewayConfig {
    let providers = ["anthropic", "workers", "openai"].map(|name| upstream(name, base));
    GatewayConfig {
        limits: Limits {
            retry: RetryPolicy {
                retries: 2,
                base: Duration::from_millis(1),
                longest: Duration::from_millis(4),
                longest_asked: Duration::from_millis(8),
            },
            first_byte: LONG,
            idle: LONG,
            ..Limits::default()
        },
        http: HttpSettings {
            system_proxy: false,
            extra_ca_file: None,
        },
        ..GatewayConfig::new(providers.to_vec(), RUN_KEY.to_owned().into())
    }
}

pub(crate) async fn provider() -> ScriptedProvider {
    let script = Scripted::new().otherwise(Answer::text(TEXT).with_thinking("Let me see what this is about."));
    let builder = ScriptedProvider::builder().api_key(CREDENTIAL).model(script);
    builder.start().await.unwrap()
}

pub(crate) async fn rig() -> Rig {
    rig_with(|_| ()).await
}

pub(crate) async fn rig_with(change: impl FnOnce(&mut GatewayConfig)) -> Rig {
    let provider = provider().await;
    let mut config = config(&provider.url());
    change(&mut config);
    let gateway = Gateway::start(config).await.unwrap();
    gateway.assign(
        &session("ses_a"),
        "security",
        &[OPUS_NEW, OPUS_OLD, LLAMA, SOL, OTHER].map(model),
    );
    Rig { provider, gateway }
}

impl Rig {
    /// A call of the session `ses_a`.
    pub(crate) async fn ask(&self, model_name: &str, text: &str) -> Outcome {
        let model = model(model_name);
        let body = body(wire_of(model.provider()), model.model(), text);
        self.send(model_name, "ses_a", &body).await
    }

    pub(crate) async fn send(&self, model_name: &str, session: &str, body: &Value) -> Outcome {
        let model = model(model_name);
        let (base, wire) = (self.gateway.base_url(model.provider()), wire_of(model.provider()));
        let request = call(&base, wire, RUN_KEY, session, body.to_string());
        read(request.send().await.unwrap()).await
    }

    /// The books of `ses_a` for one model.
    pub(crate) fn booked(&self, name: &str) -> Option<TokensByModel> {
        let usage = self.gateway.usage(&session("ses_a"));
        usage.into_iter().find(|entry| entry.model == model(name))
    }

    /// What the provider has in its books for one model, in our kinds of tokens (reasoning within the output).
    pub(crate) fn provided(&self, name: &str) -> TokenUsage {
        let totals = self.provider.books().model(model(name).model());
        TokenUsage {
            input: totals.usage.input,
            output: totals.usage.output,
            reasoning: 0,
            cache_read: totals.usage.cache_read,
            cache_write: totals.usage.cache_write,
        }
    }

    /// The models that the provider was asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.provider
            .requests()
            .into_iter()
            .map(|request| request.model)
            .collect()
    }
}

/// Lets so much time go by at once, for gateway and provider alike. However busy the machine is, nothing else of a test takes so long.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Waits for something that happens on its own.
pub(crate) async fn until(what: &str, happened: impl Fn() -> bool) {
    let waiting = async {
        while !happened() {
            tokio::task::yield_now().await;
        }
    };
    assert!(
        tokio::time::timeout(LONG, waiting).await.is_ok(),
        "{what} never happened"
    );
}
