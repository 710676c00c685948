//! A check of a provider's key, with a call that costs nothing.

use std::time::Duration;

use axum::http::HeaderValue;
use conclave_shared::error_chain::with_sources;
use serde_json::Value;

use super::{HttpSettings, Upstream, client, headers::provider_headers};
use crate::{
    errors::{ConfigError, is_page, message},
    wire::Wire,
};

/// Maximum length of an answer in bytes. The longest list of models is a few hundred kilobytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The answer of a provider that was asked about its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyAnswer {
    /// It takes the key. With the names of its models, if it told them.
    Taken(Vec<String>),
    /// It refuses the key, with its own words.
    Refused(u16, String),
    /// It answers, but not to this question: it may have no list of models.
    Unknown(u16),
    /// Something else answers than a provider, such as a page.
    NoProvider(u16),
    /// It does not answer, and why.
    Silent(String),
}

/// Asks a provider for the list of its models. `below` is where the list is, relative to the provider's address: `models`
/// for most.
pub async fn examine(
    upstream: &Upstream,
    below: &str,
    http: &HttpSettings,
    limit: Duration,
) -> Result<KeyAnswer, ConfigError> {
    let client = client(http, limit, [&upstream.base_url])?;
    let wrong = || ConfigError::BaseUrl(upstream.name.clone());
    let mut base = upstream.base_url.clone();
    base.set_path(&format!("{}/", base.path().trim_end_matches('/')));
    let address = base.join(below).map_err(|_| wrong())?;
    let mut headers = provider_headers(upstream)?;
    if upstream.wire == Wire::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let ask = async {
        let mut response = client.get(address).headers(headers).send().await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > MAX_BYTES {
                break;
            }
            body.extend_from_slice(&chunk);
        }
        Ok::<_, reqwest::Error>((response.status().as_u16(), body))
    };
    Ok(match tokio::time::timeout(limit, ask).await {
        Err(_) => KeyAnswer::Silent(format!("it did not answer within {} s", limit.as_secs())),
        Ok(Err(error)) => KeyAnswer::Silent(with_sources(&error.without_url())),
        Ok(Ok((status, body))) => answer(status, &body),
    })
}

fn answer(status: u16, body: &[u8]) -> KeyAnswer {
    // A 401 may be a page of what stands in front of the provider, and asks for a key all the same.
    if status == 403 && is_page(&String::from_utf8_lossy(body)) {
        return KeyAnswer::NoProvider(status);
    }
    let parsed = serde_json::from_slice::<Value>(body);
    let is_json = parsed.is_ok();
    let body = parsed.unwrap_or_default();
    match status {
        200..=299 => match models(&body) {
            Some(models) => KeyAnswer::Taken(models),
            None if is_json => KeyAnswer::Unknown(status),
            None => KeyAnswer::NoProvider(status),
        },
        401 | 403 => {
            let said = message(&body).unwrap_or_else(|| "without a word about why".to_owned());
            KeyAnswer::Refused(status, said)
        }
        status => KeyAnswer::Unknown(status),
    }
}

/// The names in a list of models: `data[].id` of Anthropic and `OpenAI`, `result[].name` of Workers AI, and a bare list of some model
/// servers. `None` for anything else.
fn models(body: &Value) -> Option<Vec<String>> {
    let below = body["data"].as_array().or_else(|| body["result"].as_array());
    let rows = below.or_else(|| body.as_array())?;
    let name = |row: &Value| row["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
    let names = rows.iter().filter_map(|row| {
        row["name"]
            .as_str()
            .filter(|name| name.starts_with("@cf/"))
            .map(str::to_owned)
            .or_else(|| name(row))
    });
    Some(names.collect())
}

#[cfg(test)]
mod tests {
    use conclave_scripted_provider::{DemoModel, ScriptedProvider};

    use super::*;

    async fn ask(provider: &ScriptedProvider, wire: Wire, key: &str) -> KeyAnswer {
        let upstream = Upstream {
            name: "provider".to_owned(),
            wire,
            base_url: format!("{}/v1", provider.url()).parse().expect("an address"),
            credential: Some(key.into()),
            extra_headers: Vec::new(),
        };
        let http = HttpSettings::default();
        examine(&upstream, "models", &http, Duration::from_secs(10))
            .await
            .expect("a good configuration")
    }

    #[tokio::test]
    async fn a_good_key_is_taken_and_a_wrong_one_refused_in_every_format() {
        let provider = ScriptedProvider::builder()
            .api_key("right")
            .models(["one", "two"])
            .model(DemoModel::new());
        let provider = provider.start().await.expect("a provider");
        for wire in [Wire::Anthropic, Wire::OpenAiChat, Wire::OpenAiResponses] {
            let names = vec!["one".to_owned(), "two".to_owned()];
            assert_eq!(ask(&provider, wire, "right").await, KeyAnswer::Taken(names), "{wire:?}");
            let KeyAnswer::Refused(401, said) = ask(&provider, wire, "wrong").await else {
                panic!("{wire:?}: a wrong key is refused")
            };
            assert!(said.contains("key"), "{said}");
        }
        assert_eq!(provider.books().entries.len(), 0, "nothing was paid for");
    }

    #[tokio::test]
    async fn a_provider_that_does_not_answer_is_silent() {
        let upstream = Upstream {
            name: "provider".to_owned(),
            wire: Wire::OpenAiChat,
            base_url: "http://127.0.0.1:9/v1".parse().expect("an address"),
            credential: None,
            extra_headers: Vec::new(),
        };
        let answer = examine(&upstream, "models", &HttpSettings::default(), Duration::from_secs(10)).await;
        assert!(matches!(answer, Ok(KeyAnswer::Silent(why)) if why.contains("refused")));
    }

    #[test]
    fn lists_and_refusals_of_all_providers_are_read() {
        let workers_ai = serde_json::json!({"result": [{"id": "uuid", "name": "@cf/moonshotai/kimi-k2.6"}]});
        assert_eq!(models(&workers_ai), Some(vec!["@cf/moonshotai/kimi-k2.6".to_owned()]));
        let refused = br#"{"errors":[{"code":10000,"message":"Authentication error"}]}"#;
        assert_eq!(
            answer(401, refused),
            KeyAnswer::Refused(401, "Authentication error".to_owned())
        );
        let page = answer(401, b"<html>");
        assert_eq!(page, KeyAnswer::Refused(401, "without a word about why".to_owned()));
        assert_eq!(answer(403, b"\n<!doctype html>"), KeyAnswer::NoProvider(403));
        assert_eq!(answer(404, b"<html>"), KeyAnswer::Unknown(404));
        assert_eq!(answer(200, br#"{"data":[]}"#), KeyAnswer::Taken(Vec::new()));
        let bare = answer(200, br#"[{"id":"qwen3"}]"#);
        assert_eq!(bare, KeyAnswer::Taken(vec!["qwen3".to_owned()]));
        assert_eq!(answer(200, b"{}"), KeyAnswer::Unknown(200));
        for page in [&b"<html>Sign in</html>"[..], b"", b"ok"] {
            assert_eq!(answer(200, page), KeyAnswer::NoProvider(200));
        }
    }
}
