//! What counts more than the document of all reviews: what the project's settings and the job say. It is laid over every
//! document, the one that a run begins with and those that come while it goes on.

use std::collections::BTreeSet;

use conclave_engine::repo_config::RepoConfig;
use conclave_shared::{
    config::{ConfigDocument, ModelTier, TimeLimitOverrides, known_providers},
    model::ModelId,
    nearest::nearest,
};

use crate::{args::PlanningArguments, exit::Failure};

/// The settings above the document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    /// What the plugins contributed, below the document.
    pub(crate) base: ConfigDocument,
    /// `--models`; nobody names others then.
    pub(crate) models: Vec<ModelId>,
    /// `--agents`.
    pub(crate) agents: Option<u32>,
    /// `[limits]` of `.conclave.toml`.
    pub(crate) limits_of_project: TimeLimitOverrides,
    /// `--limits`.
    pub(crate) limits_of_job: TimeLimitOverrides,
}

impl Overrides {
    /// What the project's settings and the job's arguments say above `base`.
    pub(crate) fn new(
        base: ConfigDocument,
        arguments: &PlanningArguments,
        agents: Option<u32>,
        settings: &RepoConfig,
    ) -> Self {
        Self {
            base,
            models: arguments.models.clone(),
            agents,
            limits_of_project: settings.limits.clone(),
            limits_of_job: arguments.limits.clone().unwrap_or_default(),
        }
    }

    /// Lays what the project and the job say over a configuration.
    pub(crate) fn apply(&self, config: &mut ConfigDocument) {
        if let Some(agents) = self.agents {
            config.limits.sessions = agents;
        }
        self.limits_of_project.lay_over(&mut config.limits);
        self.limits_of_job.lay_over(&mut config.limits);
        if self.models.is_empty() {
            return;
        }
        for tier in ModelTier::ALL {
            self.models.clone_into(config.models.of_mut(tier));
        }
        for settings in config.reviewers.values_mut() {
            settings.models.clear();
        }
    }

    /// The configuration in force with this document of all reviews.
    pub(crate) fn effective(&self, document: &ConfigDocument) -> ConfigDocument {
        let mut config = self.base.clone();
        config.amend(document.clone());
        self.apply(&mut config);
        config
    }
}

/// Returns whether every model of the job has a known provider, so that a typing error is found before anything is paid for.
pub(crate) fn check_models(
    models: &[ModelId],
    config: &ConfigDocument,
    credentials: &BTreeSet<String>,
) -> Result<(), Failure> {
    let mut known = known_providers(config);
    known.extend(credentials.iter().cloned());
    let Some(model) = models.iter().find(|model| !known.contains(model.provider())) else {
        return Ok(());
    };
    let name = model.provider();
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("Did you mean `{near}/{}`?", model.model()),
        None => format!("Known are {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    };
    Err(Failure::Settings(format!(
        "--models {model}: no provider is called `{name}`. {hint}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_counts_more_than_the_project_and_both_more_than_every_document() {
        let document: ConfigDocument = serde_json::from_str(
            r#"{"schema_version":1,"models":{"top":["b/two"]},"reviewers":{"security":{"models":["b/two"]}},
                "limits":{"idle_seconds":100,"headers_seconds":100,"hold_seconds":300,"sessions":5}}"#,
        )
        .expect("valid");
        let overrides = Overrides {
            models: vec!["a/one".parse().expect("a model")],
            agents: Some(2),
            limits_of_project: "idle=200,headers=200".parse().expect("limits"),
            limits_of_job: "headers=400".parse().expect("limits"),
            ..Overrides::default()
        };
        let config = overrides.effective(&document);
        let limits = &config.limits;
        assert_eq!(
            (
                limits.headers_seconds,
                limits.idle_seconds,
                limits.hold_seconds,
                limits.sessions
            ),
            (400, 200, 300, 2)
        );
        assert_eq!(config.models.top, overrides.models);
        assert!(config.reviewers["security"].models.is_empty());
        assert_eq!(Overrides::default().effective(&document), document);
    }
}
