//! The settings of plugins, from the environment.

use conclave_certificates::ExtraCertificates;
use conclave_job_token::JobToken;
use conclave_plugin_cloudflare::{AiGateway, anonymous_user, gateway_url};
use conclave_plugin_reviewer_config::{ConfigAccess, ConfigSource};
use conclave_plugin_telemetry::{TelemetrySettings, TrackerAccess};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::{
    env::{
        Environment, names,
        providers::{provider_url, url},
    },
    exit::Failure,
};

impl Environment {
    /// The certificates that the user names, to trust besides the system's.
    pub(crate) fn certificates(&self) -> Result<ExtraCertificates, Failure> {
        ExtraCertificates::read(self.get(names::CA_FILE))
            .map_err(|error| Failure::Settings(format!("{error}. Correct {}, or what --ca-file names", names::CA_FILE)))
    }

    /// The job's own token: the one that this variable has, else those that a job of GitHub may ask for.
    pub(crate) fn job_token(&self, name: &str) -> Result<Option<JobToken>, Failure> {
        match self.secret(name) {
            Some(token) => Ok(Some(token.into())),
            None => self.workflow_token(),
        }
    }

    /// The line that gives a job a token of its own.
    pub(crate) fn own_token_advice(&self, variable: &str) -> String {
        if self.is_github_job() {
            "add `id-token: write` to the `permissions` of the job, which then has tokens of its own".to_owned()
        } else {
            format!("have the job ask for {variable} (`id_tokens` of the CI component)")
        }
    }

    /// Where the configuration service is, if one is set. Without a credential it is not asked, and the review says so.
    pub(crate) fn config_source(&self, project: &str) -> Result<Option<ConfigSource>, Failure> {
        let Some(address) = self.get(names::CONFIG_URL) else {
            return Ok(None);
        };
        // A token that ends with its job is the better one to show.
        let job = self.job_token(names::CONFIG_OIDC_TOKEN)?.map(ConfigAccess::Job);
        let listed = self.secret(names::CONFIG_TOKEN).map(ConfigAccess::Token);
        Ok(Some(ConfigSource {
            access: job.into_iter().chain(listed).collect(),
            url: url(names::CONFIG_URL, address)?,
            project: project.to_owned(),
            certificates: self.certificates()?,
        }))
    }
}

impl Environment {
    /// The advice where nothing opens the tracker.
    pub(crate) fn no_tracker_token(&self) -> String {
        let advice = self.own_token_advice(names::TRACKER_OIDC_TOKEN);
        format!(
            "CONCLAVE_TRACKER_URL is set, but CONCLAVE_TRACKER_TOKEN is not: set it to one of the Worker's INGEST_TOKENS, or {advice}"
        )
    }

    /// The note for a run whose tracker nothing opens.
    pub(crate) fn without_tracker_token(&self) -> Option<String> {
        let set = |name| self.get(name).is_some();
        let own = || self.job_token(names::TRACKER_OIDC_TOKEN).ok().flatten().is_some();
        let is_closed = set(names::TRACKER_URL) && !set(names::TRACKER_TOKEN) && !own();
        is_closed.then(|| format!("no telemetry is sent: {}", self.no_tracker_token()))
    }

    /// Where the tracker is, if one is set and a credential for it.
    pub(crate) fn telemetry(&self, run_id: Uuid, project: &str) -> Result<Option<TelemetrySettings>, Failure> {
        let Some(address) = self.get(names::TRACKER_URL) else {
            return Ok(None);
        };
        let url = url(names::TRACKER_URL, address)?;
        let (listed, job) = (
            self.secret(names::TRACKER_TOKEN),
            self.job_token(names::TRACKER_OIDC_TOKEN)?,
        );
        let Some(access) = TrackerAccess::of(listed, job) else {
            return Ok(None);
        };
        Ok(Some(TelemetrySettings {
            access,
            // The installation's own one: what is made of the forge's token or a key is not known to the Worker.
            secret: self.secret(names::SECRET),
            url,
            run_id,
            project: project.to_owned(),
            certificates: self.certificates()?,
        }))
    }

    /// The AI Gateway, if one is set.
    pub(crate) fn ai_gateway(
        &self,
        project: &str,
        secret: Option<&SecretString>,
    ) -> Result<Option<AiGateway>, Failure> {
        let own = self.get(names::AI_GATEWAY_URL);
        let gateway = self.get(names::CLOUDFLARE_GATEWAY_ID);
        let (named_by, address) = match (own, gateway) {
            (None, None) => return Ok(None),
            (Some(address), _) => (names::AI_GATEWAY_URL, provider_url(names::AI_GATEWAY_URL, address)?),
            (None, Some(gateway)) => {
                let name = names::CLOUDFLARE_GATEWAY_ID;
                let account = self.get(names::CLOUDFLARE_ACCOUNT_ID).ok_or_else(|| {
                    Failure::Settings(format!(
                        "{name} is set, but {} is not: set it to the account that the gateway belongs to",
                        names::CLOUDFLARE_ACCOUNT_ID
                    ))
                })?;
                let address = gateway_url(account, gateway).map_err(|error| {
                    Failure::Settings(format!("{} or {name}: {error}", names::CLOUDFLARE_ACCOUNT_ID))
                })?;
                (name, address)
            }
        };
        let token = self.secret(names::CF_AIG_TOKEN).ok_or_else(|| {
            Failure::Settings(format!(
                "{named_by} is set, but {} is not: set it to a token of the gateway with the permission Run",
                names::CF_AIG_TOKEN
            ))
        })?;
        // Without an installation's secret the gateway's own token is one: as stable, and as unknown to everybody else.
        let key = secret.unwrap_or(&token).expose_secret().as_bytes().to_vec();
        Ok(Some(AiGateway {
            url: address,
            user: anonymous_user(&key, project),
            openai: self.fronted_openai_wire()?,
            token,
        }))
    }

    /// A note about variables of providers that have no effect beside an AI Gateway. An endpoint of one's own stays in use; its
    /// key has no effect if the endpoint is one of the gateway's.
    pub(crate) fn unused_variables(&self, is_compatible_fronted: bool) -> Option<String> {
        let mut names = vec![
            names::ANTHROPIC_API_KEY,
            names::ANTHROPIC_BASE_URL,
            names::OPENAI_API_KEY,
            names::OPENAI_BASE_URL,
            names::CLOUDFLARE_API_TOKEN,
        ];
        names.extend(is_compatible_fronted.then_some(names::COMPATIBLE_API_KEY));
        names.retain(|name| self.get(name).is_some());
        let (last, others) = names.split_last()?;
        let subject = if others.is_empty() {
            format!("{last} is")
        } else {
            format!("{} and {last} are", others.join(", "))
        };
        Some(format!(
            "{subject} not used: these providers are asked through AI Gateway, at its addresses and with the keys that it holds"
        ))
    }

    /// Where traces go, if a collector is set.
    #[cfg(feature = "otlp")]
    pub(crate) fn tracing(&self, run_id: Uuid) -> Result<Option<conclave_plugin_tracing::TracingSettings>, Failure> {
        let Some(address) = self.get(names::OTLP_ENDPOINT) else {
            return Ok(None);
        };
        let headers = self.get(names::OTLP_HEADERS).unwrap_or_default();
        let headers = crate::env::header_list(headers).ok_or_else(|| {
            Failure::Settings(format!(
                "{} is not a list of headers: write `name=value`, several with commas between them",
                names::OTLP_HEADERS
            ))
        })?;
        Ok(Some(conclave_plugin_tracing::TracingSettings {
            endpoint: url(names::OTLP_ENDPOINT, address)?,
            headers: headers
                .into_iter()
                .map(|(name, value)| (name, SecretString::from(value)))
                .collect(),
            parent: self.get(names::TRACEPARENT).map(str::to_owned),
            run_id,
            version: env!("CARGO_PKG_VERSION"),
            certificates: self.certificates()?,
        }))
    }
}
