//! What counts more than the document of all reviews: what the project's settings and the job say. It is laid over every
//! document, the one that a run begins with and those that come while it goes on.

use std::collections::{BTreeMap, BTreeSet};

use conclave_engine::{repo_config::RepoConfig, review::Plan};
use conclave_shared::{
    config::{
        CapabilityOverrides, ConfigDocument, EffortOverrides, ModelTier, Preset, TimeLimitOverrides, known_providers,
    },
    model::ModelId,
    nearest::nearest,
};

use crate::{
    args::PlanningArguments,
    env::{names, providers::COMPATIBLE},
    exit::{Failure, capitalized},
};

/// The next step where no reviewer has a model.
pub(crate) const HOW_TO_NAME_MODELS: &str = "name models of a provider that has credentials with --models or CONCLAVE_MODELS, as in \
     `--models compatible/NAME`, or set the key of a provider of these models";

/// The settings above the document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    /// What the plugins contributed, below the document.
    pub(crate) base: ConfigDocument,
    /// The preset, whose limits stand in for those that are not set.
    pub(crate) preset: Preset,
    /// `--models`; nobody names others then.
    pub(crate) models: Vec<ModelId>,
    /// `--agents`.
    pub(crate) agents: Option<u32>,
    /// `[limits]` of `.conclave.toml`.
    pub(crate) limits_of_project: TimeLimitOverrides,
    /// `--limits`.
    pub(crate) limits_of_job: TimeLimitOverrides,
    /// `[models]` of `.conclave.toml`, and the efforts of the project's own reviewers.
    pub(crate) effort_of_project: EffortOverrides,
    /// `--effort`.
    pub(crate) effort_of_job: EffortOverrides,
    /// `[models.capabilities]` of `.conclave.toml`.
    pub(crate) capabilities: BTreeMap<String, CapabilityOverrides>,
}

impl Overrides {
    /// What the project's settings and the job's arguments say above `base`.
    pub(crate) fn new(
        base: ConfigDocument,
        preset: Preset,
        arguments: &PlanningArguments,
        agents: Option<u32>,
        settings: &RepoConfig,
    ) -> Self {
        Self {
            base,
            preset,
            models: arguments.models.clone(),
            agents,
            limits_of_project: settings.limits.clone(),
            limits_of_job: arguments.limits.clone().unwrap_or_default(),
            effort_of_project: settings.efforts(),
            effort_of_job: arguments.effort.clone().unwrap_or_default(),
            capabilities: settings.models.capabilities.clone(),
        }
    }

    /// Lays what the project and the job say over a configuration.
    pub(crate) fn apply(&self, config: &mut ConfigDocument) {
        self.preset.lay_over(config);
        if let Some(agents) = self.agents {
            config.limits.sessions = agents;
        }
        self.limits_of_project.lay_over(&mut config.limits);
        self.limits_of_job.lay_over(&mut config.limits);
        self.effort_of_project.lay_over(config);
        self.effort_of_job.lay_over(config);
        for (model, over) in &self.capabilities {
            config.capabilities.entry(model.clone()).or_default().amend(*over);
        }
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

/// Returns the reason why no reviewer can run, with the next step where that is for want of models.
pub(crate) fn no_reviewer(plan: &Plan) -> Option<String> {
    let why = plan.why_no_reviewer()?;
    // What an operator has switched off, the job need not correct.
    let lacks_models = !plan.members.is_empty() && !plan.is_switched_off();
    let step = lacks_models.then(|| format!(". {}", capitalized(HOW_TO_NAME_MODELS)));
    Some(format!("no reviewer can run: {why}{}", step.unwrap_or_default()))
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
    if name == COMPATIBLE {
        return Err(Failure::Settings(format!(
            "--models {model}: {} is not set. Set it to the endpoint's address, as in http://localhost:11434/v1",
            names::COMPATIBLE_BASE_URL
        )));
    }
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
    fn a_model_of_an_endpoint_without_an_address_names_its_variable() {
        let said = |model: &str| {
            let models = [model.parse().expect("a model")];
            let error = check_models(&models, &ConfigDocument::default(), &BTreeSet::new()).expect_err("not known");
            error.to_string()
        };
        let compatible = said("compatible/qwen3");
        assert!(
            compatible.contains("CONCLAVE_COMPATIBLE_BASE_URL is not set. Set it"),
            "{compatible}"
        );
        assert!(said("antropic/x").contains("Did you mean `anthropic/x`?"));
    }

    #[test]
    fn the_job_counts_more_than_the_project_and_both_more_than_every_document() {
        let document: ConfigDocument = serde_json::from_str(
            r#"{"schema_version":1,"models":{"top":["b/two"]},"reviewers":{"security":{"models":["b/two"]}},
                "limits":{"idle_seconds":100,"headers_seconds":100,"hold_seconds":300,"sessions":5},
                "effort":{"top":"low","light":"low"},"capabilities":{"a/one":{"context":9000,"max_output":2000}}}"#,
        )
        .expect("valid");
        let overrides = Overrides {
            models: vec!["a/one".parse().expect("a model")],
            agents: Some(2),
            limits_of_project: "idle=200,headers=200".parse().expect("limits"),
            limits_of_job: "headers=400".parse().expect("limits"),
            effort_of_project: "standard=high,top=high,security=low".parse().expect("efforts"),
            effort_of_job: "standard=max".parse().expect("efforts"),
            capabilities: [(
                "a/one".to_owned(),
                CapabilityOverrides {
                    context: Some(8000),
                    ..CapabilityOverrides::default()
                },
            )]
            .into(),
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
        assert_eq!(config.effort.to_string(), "top high, standard max, light low");
        let security = config.reviewers["security"].effort;
        assert_eq!(security, Some(conclave_shared::effort::Effort::Low));
        let one = config.capabilities["a/one"];
        assert_eq!((one.context, one.max_output), (Some(8000), Some(2000)));
        let local = Overrides {
            preset: Preset::Local,
            limits_of_job: "idle=200".parse().expect("limits"),
            ..Overrides::default()
        };
        let slow = local.effective(&ConfigDocument::default()).limits;
        assert_eq!((slow.idle_seconds, slow.headers_seconds, slow.sessions), (200, 900, 2));
        assert!(config.reviewers["security"].models.is_empty());
        assert_eq!(Overrides::default().effective(&document), document);
    }
}
