//! Model providers from the usual variables.

use conclave_engine::plugin::{ProviderSpec, ProviderWire};
use conclave_gateway::{Recording, Upstream, Wire, is_base_url};
use url::{ParseError, Url};

use crate::{
    env::{Environment, names},
    exit::Failure,
};

/// What to do where there is no provider at all.
pub(crate) const NO_CREDENTIALS: &str = "no model provider has credentials. Set ANTHROPIC_API_KEY or OPENAI_API_KEY \
     (with ANTHROPIC_BASE_URL or OPENAI_BASE_URL for any compatible endpoint), CONCLAVE_COMPATIBLE_BASE_URL with --models for \
     a model server of your own, CLOUDFLARE_API_TOKEN with \
     CLOUDFLARE_ACCOUNT_ID, or, for all providers behind an AI Gateway, CLOUDFLARE_GATEWAY_ID with \
     CLOUDFLARE_ACCOUNT_ID and CF_AIG_TOKEN";

/// The address of OpenAI itself.
const OPENAI_ADDRESS: &str = "https://api.openai.com/v1";

/// The name of an endpoint of one's own among the providers.
pub(crate) const COMPATIBLE: &str = "compatible";

/// The name of Workers AI among the providers.
pub(crate) const WORKERS_AI: &str = "cloudflare-workers-ai";

fn provider(name: &str, wire: ProviderWire, base_url: Url, key: &str) -> ProviderSpec {
    ProviderSpec {
        name: name.to_owned(),
        wire,
        base_url,
        credential: Some(key.into()),
        headers: Vec::new(),
    }
}

impl Environment {
    /// All providers for which there are credentials.
    pub(crate) fn providers(&self) -> Result<Vec<ProviderSpec>, Failure> {
        let mut providers = Vec::new();
        if let Some(key) = self.get(names::ANTHROPIC_API_KEY) {
            let base = self
                .get(names::ANTHROPIC_BASE_URL)
                .unwrap_or("https://api.anthropic.com");
            let mut base_url = provider_url(names::ANTHROPIC_BASE_URL, base)?;
            // Tools disagree whether this variable ends in `/v1`; both are meant the same.
            let path = base_url.path().trim_end_matches('/').trim_end_matches("/v1");
            let path = format!("{path}/v1");
            base_url.set_path(&path);
            providers.push(provider("anthropic", ProviderWire::Anthropic, base_url, key));
        }
        if let Some(key) = self.get(names::OPENAI_API_KEY) {
            let base = self.get(names::OPENAI_BASE_URL).unwrap_or(OPENAI_ADDRESS);
            let base_url = provider_url(names::OPENAI_BASE_URL, base)?;
            let wire = self.openai_wire(&base_url)?;
            providers.push(provider("openai", wire, base_url, key));
        }
        providers.extend(self.compatible_provider()?);
        if let (Some(key), Some(account)) = (
            self.get(names::CLOUDFLARE_API_TOKEN),
            self.get(names::CLOUDFLARE_ACCOUNT_ID),
        ) {
            let base = format!("https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1");
            let base_url = provider_url(names::CLOUDFLARE_ACCOUNT_ID, &base)?;
            providers.push(provider(WORKERS_AI, ProviderWire::OpenAiChat, base_url, key));
        }
        Ok(providers)
    }

    /// The endpoint of one's own, if one is set.
    pub(crate) fn compatible_provider(&self) -> Result<Option<ProviderSpec>, Failure> {
        let Some(address) = self.get(names::COMPATIBLE_BASE_URL) else {
            if self.get(names::COMPATIBLE_API_KEY).is_some() {
                return Err(Failure::Settings(format!(
                    "{} is set, but {} is not. Set it to the endpoint's address, as in http://localhost:11434/v1",
                    names::COMPATIBLE_API_KEY,
                    names::COMPATIBLE_BASE_URL
                )));
            }
            return Ok(None);
        };
        Ok(Some(ProviderSpec {
            name: COMPATIBLE.to_owned(),
            wire: self.compatible_wire()?,
            base_url: provider_url(names::COMPATIBLE_BASE_URL, address)?,
            // A model server of one's own may want none.
            credential: self.get(names::COMPATIBLE_API_KEY).map(Into::into),
            headers: Vec::new(),
        }))
    }

    /// The format in which `openai` is asked behind an AI Gateway, which fronts OpenAI itself.
    pub(crate) fn fronted_openai_wire(&self) -> Result<ProviderWire, Failure> {
        self.openai_wire(&url(names::OPENAI_BASE_URL, OPENAI_ADDRESS)?)
    }

    /// The format that an endpoint of `OpenAI` speaks. `OpenAI` itself has models that are to be had with Responses only; what
    /// is merely compatible (a proxy, a model server) speaks Chat Completions, if nothing else is said.
    fn openai_wire(&self, base_url: &Url) -> Result<ProviderWire, Failure> {
        match self.get(names::OPENAI_API) {
            Some("responses") => Ok(ProviderWire::OpenAiResponses),
            Some("chat") => Ok(ProviderWire::OpenAiChat),
            Some(other) => Err(Failure::Settings(format!(
                "{} is `{other}`: it has to be `responses` or `chat`",
                names::OPENAI_API
            ))),
            None if base_url.host_str() == Some("api.openai.com") => Ok(ProviderWire::OpenAiResponses),
            None => Ok(ProviderWire::OpenAiChat),
        }
    }

    /// The format that an endpoint of one's own speaks: Chat Completions, if nothing else is said.
    fn compatible_wire(&self) -> Result<ProviderWire, Failure> {
        match self.get(names::COMPATIBLE_API) {
            None | Some("chat") => Ok(ProviderWire::OpenAiChat),
            Some("responses") => Ok(ProviderWire::OpenAiResponses),
            Some("anthropic") => Ok(ProviderWire::Anthropic),
            Some(other) => Err(Failure::Settings(format!(
                "{} is `{other}`: it has to be `chat`, `responses` or `anthropic`",
                names::COMPATIBLE_API
            ))),
        }
    }
}

/// The providers of a recorded run. They have no credentials and are never asked.
pub(crate) fn recorded(recording: &Recording) -> Result<Vec<ProviderSpec>, Failure> {
    let provider = |recorded: &conclave_gateway::RecordedProvider| {
        Ok(ProviderSpec {
            name: recorded.name.clone(),
            wire: match recorded.wire {
                Wire::Anthropic => ProviderWire::Anthropic,
                Wire::OpenAiChat => ProviderWire::OpenAiChat,
                Wire::OpenAiResponses => ProviderWire::OpenAiResponses,
            },
            base_url: url("the recording", "http://127.0.0.1:9/v1")?,
            credential: None,
            headers: Vec::new(),
        })
    };
    recording.providers().iter().map(provider).collect()
}

/// Reads an address from a variable.
pub(crate) fn url(variable: &str, text: &str) -> Result<Url, Failure> {
    let fault = |what: &str| Failure::Settings(format!("{variable} is not an address: {what}"));
    let no_host = || fault("it has no host behind its //");
    let parts = text.trim().split_once("://");
    let behind = parts.filter(|(scheme, _)| ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()));
    let Some((_, behind)) = behind else {
        return Err(fault("it has to begin with https:// (or http://)"));
    };
    // The beginning of the path would be taken for the host.
    if behind.starts_with(['/', '\\']) {
        return Err(no_host());
    }
    text.parse::<Url>().map_err(|error| match error {
        ParseError::EmptyHost => no_host(),
        ParseError::InvalidPort => fault("its port has to be a number of at most 65535"),
        other => fault(&other.to_string()),
    })
}

/// Reads the address of a provider from a variable, by the rule of the gateway that calls it.
pub(crate) fn provider_url(variable: &str, text: &str) -> Result<Url, Failure> {
    let url = url(variable, text)?;
    if is_base_url(&url) {
        return Ok(url);
    }
    // Not the address itself: it may hold a password.
    Err(Failure::Settings(format!(
        "{variable} cannot be used: the address of a provider has no user, password, query and fragment. Write it as \
         https://HOST/PATH; a key has a variable of its own"
    )))
}

/// A provider as the gateway has to know it.
pub(crate) fn upstream(spec: &ProviderSpec) -> Upstream {
    Upstream {
        name: spec.name.clone(),
        wire: match spec.wire {
            ProviderWire::Anthropic => Wire::Anthropic,
            ProviderWire::OpenAiChat => Wire::OpenAiChat,
            ProviderWire::OpenAiResponses => Wire::OpenAiResponses,
        },
        base_url: spec.base_url.clone(),
        credential: spec.credential.clone(),
        extra_headers: spec.headers.clone(),
    }
}

#[cfg(test)]
#[path = "providers_document_tests.rs"]
mod document;

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from(variables: &[(&str, &str)]) -> Result<Vec<ProviderSpec>, Failure> {
        Environment::new(variables.iter().map(|(name, value)| (name.into(), value.into()))).providers()
    }

    #[test]
    fn a_key_makes_a_provider_and_its_address_can_be_moved() {
        let both = read_from(&[
            ("ANTHROPIC_API_KEY", "a"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/"),
            ("OPENAI_API_KEY", "b"),
            ("CLOUDFLARE_API_TOKEN", "c"),
        ])
        .expect("valid");
        let seen: Vec<_> = both
            .iter()
            .map(|provider| (provider.name.as_str(), provider.base_url.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                ("anthropic", "http://127.0.0.1:1/v1"),
                ("openai", "https://api.openai.com/v1")
            ]
        );
        let with_v1 = read_from(&[("ANTHROPIC_API_KEY", "a"), ("ANTHROPIC_BASE_URL", "https://x/v1")]).expect("valid");
        assert_eq!(with_v1[0].base_url.as_str(), "https://x/v1");
    }

    #[test]
    fn openai_itself_is_spoken_to_in_responses_and_what_is_compatible_in_chat() {
        let wire = |variables: &[(&str, &str)]| {
            let key = [("OPENAI_API_KEY", "x")];
            let variables: Vec<_> = key.iter().chain(variables).copied().collect();
            read_from(&variables).map(|providers| providers[0].wire)
        };
        let (responses, chat) = (ProviderWire::OpenAiResponses, ProviderWire::OpenAiChat);
        assert_eq!(wire(&[]).expect("valid"), responses);
        let base = |url| ("OPENAI_BASE_URL", url);
        assert_eq!(wire(&[base("https://api.openai.com/v1/")]).expect("valid"), responses);
        assert_eq!(wire(&[base("http://localhost:11434/v1")]).expect("valid"), chat);
        assert_eq!(
            wire(&[base("https://api.openai.com.example.org/v1")]).expect("valid"),
            chat
        );
        let api = |api| ("CONCLAVE_OPENAI_API", api);
        assert_eq!(wire(&[api("chat")]).expect("valid"), chat);
        assert_eq!(
            wire(&[base("http://localhost:4000"), api("responses")]).expect("valid"),
            responses
        );
        let error = wire(&[api("completions")]).expect_err("neither").to_string();
        assert!(error.contains("CONCLAVE_OPENAI_API is `completions`"), "{error}");
    }

    #[test]
    fn an_endpoint_of_ones_own_stands_beside_the_others() {
        let base = ("CONCLAVE_COMPATIBLE_BASE_URL", "http://localhost:11434/v1");
        let alone = read_from(&[base]).expect("no key is needed");
        assert_eq!(
            (alone[0].name.as_str(), alone[0].wire),
            ("compatible", ProviderWire::OpenAiChat)
        );
        assert!(alone[0].credential.is_none());
        let beside = read_from(&[
            base,
            ("ANTHROPIC_API_KEY", "a"),
            ("CONCLAVE_COMPATIBLE_API", "anthropic"),
        ]);
        let beside = beside.expect("valid");
        assert_eq!(beside.len(), 2);
        assert_eq!(beside[1].wire, ProviderWire::Anthropic);
        for (variables, said) in [
            (
                vec![("CONCLAVE_COMPATIBLE_API_KEY", "x")],
                "CONCLAVE_COMPATIBLE_BASE_URL is not. Set it",
            ),
            (
                vec![base, ("CONCLAVE_COMPATIBLE_API", "grpc")],
                "CONCLAVE_COMPATIBLE_API is `grpc`",
            ),
        ] {
            let error = read_from(&variables).expect_err(said).to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_empty_is_missing() {
        assert!(read_from(&[("OPENAI_API_KEY", "")]).expect("no fault").is_empty());
        for (address, wrong) in [
            ("localhost:11434", "is not an address: it has to begin with https://"),
            ("ftp://localhost", "is not an address: it has to begin with https://"),
            ("http:/v1", "is not an address: it has to begin with https://"),
            ("http://", "is not an address: it has no host"),
            ("http:///v1", "is not an address: it has no host"),
            ("https://?x", "is not an address: it has no host"),
            ("http://:8080/v1", "is not an address: it has no host"),
            (
                "http://127.0.0.1:99999",
                "is not an address: its port has to be a number of at most 65535",
            ),
            (
                "http://127.0.0.1:http",
                "is not an address: its port has to be a number of at most 65535",
            ),
            ("http://a b/v1", "is not an address: invalid"),
            ("http://me:hidden@localhost", "cannot be used"),
            ("https://localhost/v1?key=hidden", "cannot be used"),
            ("https://localhost/v1#hidden", "cannot be used"),
        ] {
            for (variable, key) in [
                ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
                ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
                ("CONCLAVE_COMPATIBLE_BASE_URL", "CONCLAVE_COMPATIBLE_API_KEY"),
            ] {
                let error = read_from(&[(key, "x"), (variable, address)])
                    .expect_err(address)
                    .to_string();
                assert!(error.starts_with(&format!("{variable} {wrong}")), "{address}: {error}");
                assert!(!error.contains("hidden"), "{address}: {error}");
            }
        }
    }
}
