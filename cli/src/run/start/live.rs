//! What acts while a review runs: the configuration that is followed, the budget, and what the gateway tells.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use conclave_engine::{
    ports::{Progress, ProgressEvent, TelemetrySink},
    report::duration,
    session::{LiveRoutes, RouteFacts},
};
use conclave_gateway::{
    BreakerSettings, Budget, Circuit, FallbackReason, Gateway, GatewayEvent, Limits, Observer, stricter,
};
use conclave_plugin_reviewer_config::{Following, Trouble};
use conclave_shared::{
    config::{self, Capabilities, CapabilityList, ConfigDocument, PriceList, seconds},
    model::ModelId,
    pricing::ModelFacts,
    risk::RiskTier,
    telemetry::{self, CircuitChanged, CircuitState, EventBody, Failback},
};
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    args::CommonArguments,
    run::{
        Run,
        prepare::{Prepared, change::Job, overrides::Overrides},
    },
};

/// The budget of a run with these limits.
pub(crate) type BudgetOf = Arc<dyn Fn(&config::BudgetLimits) -> Budget + Send + Sync>;

/// The budget of this job: of the flags and the configuration the stricter one counts, so that a job cannot give itself more
/// than an operator allows.
pub(crate) fn budget_of(job: &Job, arguments: &CommonArguments) -> BudgetOf {
    let (usd, tokens, calls) = (arguments.max_cost_usd, arguments.max_tokens, arguments.max_calls);
    let has_merge_request = job.subject.merge_request.is_some();
    let spent_before_usd = job.spent_before_usd;
    Arc::new(move |limits| Budget {
        run_usd: stricter(usd, limits.run_usd),
        run_tokens: stricter(tokens, limits.run_tokens),
        run_calls: stricter(calls, limits.run_calls),
        merge_request_usd: limits.merge_request_usd.filter(|_| has_merge_request),
        spent_before_usd,
    })
}

/// Prices and capabilities of models in force, which an operator may change while a run goes on.
#[derive(Debug, Clone)]
pub(crate) struct LiveModels(Arc<RwLock<(PriceList, CapabilityList)>>);

impl LiveModels {
    pub(crate) fn new(config: &ConfigDocument) -> Self {
        Self(Arc::new(RwLock::new(Self::of(config))))
    }

    fn of(config: &ConfigDocument) -> (PriceList, CapabilityList) {
        (
            PriceList::new(&config.prices),
            CapabilityList::new(&config.capabilities),
        )
    }

    /// The prices as they are.
    pub(crate) fn prices(&self) -> PriceList {
        self.0.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// The facts of one model, if it is known.
    pub(crate) fn facts(&self, model: &ModelId) -> Option<ModelFacts> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).0.facts(model)
    }

    /// The capabilities of one model.
    pub(crate) fn capabilities(&self, model: &ModelId) -> Capabilities {
        self.0.read().unwrap_or_else(PoisonError::into_inner).1.of(model)
    }

    fn set(&self, config: &ConfigDocument) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Self::of(config);
    }
}

/// The gateway's limits as the configuration has them.
pub(crate) fn gateway_limits(limits: &config::Limits) -> Limits {
    let breaker = limits.breaker;
    let open = seconds(breaker.open_seconds);
    Limits {
        connect: seconds(limits.connect_seconds),
        first_byte: seconds(limits.headers_seconds),
        idle: seconds(limits.idle_seconds),
        hold: seconds(limits.hold_seconds),
        breaker: BreakerSettings {
            failures: breaker.failures,
            window: usize::try_from(breaker.window).unwrap_or(usize::MAX),
            failure_percent: breaker.failure_percent,
            open,
        },
        // A session comes back to its model when that may be tried again.
        keep_fallback: open,
        ..Limits::default()
    }
}

/// Tells the person and the tracker what the gateway does on its own, as it happens.
pub(crate) fn observer(progress: Arc<dyn Progress>, sink: Arc<dyn TelemetrySink>) -> Observer {
    let told: Mutex<BTreeSet<(ModelId, ModelId)>> = Mutex::default();
    Arc::new(move |event: &GatewayEvent| match event {
        GatewayEvent::CircuitChanged { model, change } => {
            progress.report(ProgressEvent::Warning(&format!("{model}: {change}")));
            sink.record(EventBody::CircuitChanged(CircuitChanged {
                model: model.clone(),
                state: match change.circuit() {
                    Circuit::Closed => CircuitState::Closed,
                    Circuit::Open => CircuitState::Open,
                    Circuit::HalfOpen => CircuitState::HalfOpen,
                },
            }));
        }
        GatewayEvent::Waiting { model, wait } => {
            progress.report(ProgressEvent::Warning(&waiting(model, *wait)));
        }
        GatewayEvent::FallbackUsed {
            reviewer,
            from,
            to,
            reason,
            ..
        } => {
            // Seven reviewers need not say the same seven times.
            let pair = (from.clone(), to.clone());
            if told.lock().unwrap_or_else(PoisonError::into_inner).insert(pair) {
                progress.report(ProgressEvent::Warning(&format!("{to} stands in for {from} ({reason})")));
            }
            sink.record(EventBody::Failback(Failback {
                reviewer: reviewer.clone(),
                from: from.clone(),
                to: to.clone(),
                reason: match reason {
                    FallbackReason::Failed(_) => telemetry::FailbackReason::Failed,
                    FallbackReason::CircuitOpen => telemetry::FailbackReason::CircuitOpen,
                },
            }));
        }
        GatewayEvent::ProviderSwitched { .. }
        | GatewayEvent::BudgetUsed { .. }
        | GatewayEvent::ConcessionMade { .. } => {
            progress.report(ProgressEvent::Warning(&event.to_string()));
        }
        _ => {}
    })
}

/// What the person who waits is told: why nothing happens, and until when.
fn waiting(model: &ModelId, wait: Duration) -> String {
    format!(
        "{model} does not answer and there is no other model to ask: the next attempt is in {}",
        duration(wait.as_secs_f64().ceil())
    )
}

/// The configuration while the run goes on.
pub(crate) struct Live {
    pub(crate) routes: LiveRoutes,
    following: Option<Following>,
    /// True if the service had no answer at the start, or one without its document: the account says the cause on top.
    unanswered: bool,
    applying: Option<JoinHandle<()>>,
    changes: Arc<Mutex<Vec<String>>>,
}

impl Live {
    /// Follows the configuration from now on, if there is a service: what changes reaches the gateway and the sessions.
    pub(crate) fn start(
        run: &Run<'_>,
        prepared: &Prepared,
        gateway: &Arc<Gateway>,
        models: &LiveModels,
        run_limit: watch::Sender<Duration>,
    ) -> Self {
        let Some(following) = prepared.follower.follow() else {
            return Self {
                routes: LiveRoutes::fixed(),
                following: None,
                unanswered: false,
                applying: None,
                changes: Arc::default(),
            };
        };
        let providers = prepared.runtime.providers.iter();
        let credentials: BTreeSet<String> = providers.map(|owned| owned.value.name.clone()).collect();
        let in_force = watch::Sender::new(None);
        let facts = RouteFacts {
            preset: prepared.preset.0,
            credentials: credentials.clone(),
            trivial: prepared.plan.assessment.tier == RiskTier::Trivial,
            classes: prepared.plan.classes.clone(),
        };
        let routes = LiveRoutes::new(in_force.subscribe(), facts);
        let changes: Arc<Mutex<Vec<String>>> = Arc::default();
        let applying = Applying {
            gateway: Arc::clone(gateway),
            known: prepared.config.clone(),
            credentials,
            overrides: prepared.overrides.clone(),
            budget: budget_of(&prepared.job, run.arguments),
            models: models.clone(),
            run_limit,
            progress: Arc::clone(&run.progress),
            in_force,
            changes: Arc::clone(&changes),
        };
        Self {
            routes,
            applying: Some(tokio::spawn(applying.follow(following.document()))),
            following: Some(following),
            unanswered: prepared.follower.unanswered().is_some(),
            changes,
        }
    }

    /// What changed while the run went on, a line each.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes for the reader of the review.
    pub(crate) fn warning(&self) -> Option<String> {
        let trouble = self.following.as_ref()?.trouble()?;
        Some(trouble_in_words(&trouble, self.unanswered))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(task) = &self.applying {
            task.abort();
        }
    }
}

/// What the review says about the service's last answer. What was explained on top is not explained again.
fn trouble_in_words(trouble: &Trouble, unanswered: bool) -> String {
    let trouble = match trouble {
        Trouble::Unanswered(_) if unanswered => "could still not be used",
        Trouble::Unanswered(cause) => cause.as_str(),
        Trouble::WithoutDocument(_) if unanswered => {
            return "the configuration service had no document that can be used until the end of the run".to_owned();
        }
        Trouble::WithoutDocument(fault) => {
            return format!(
                "the configuration service left its document out during the run ({fault}); here the document from before stayed in \
                 force, and only providers that were switched off since then were followed"
            );
        }
    };
    format!("the configuration service {trouble} towards the end of the run; a switch flipped then was not seen")
}

/// Applies documents as they come.
struct Applying {
    gateway: Arc<Gateway>,
    /// The configuration in force.
    known: ConfigDocument,
    credentials: BTreeSet<String>,
    overrides: Overrides,
    budget: BudgetOf,
    models: LiveModels,
    run_limit: watch::Sender<Duration>,
    progress: Arc<dyn Progress>,
    in_force: watch::Sender<Option<Arc<ConfigDocument>>>,
    changes: Arc<Mutex<Vec<String>>>,
}

impl Applying {
    async fn follow(mut self, mut document: watch::Receiver<Option<Arc<ConfigDocument>>>) {
        while document.changed().await.is_ok() {
            let changed = document.borrow_and_update().clone();
            if let Some(changed) = changed {
                self.apply(&changed);
            }
        }
    }

    fn apply(&mut self, document: &ConfigDocument) {
        let now = self.overrides.effective(document);
        if now == self.known {
            return;
        }
        self.models.set(&now);
        if now.limits != self.known.limits {
            self.gateway.set_limits(gateway_limits(&now.limits));
            self.run_limit.send_replace(seconds(now.limits.run_seconds));
        }
        if now.limits.budget != self.known.limits.budget {
            self.gateway.set_budget((self.budget)(&now.limits.budget));
        }
        self.gateway.update(&now);
        self.in_force.send_replace(Some(Arc::new(now.clone())));
        let lines = self.lines(&now);
        for line in &lines {
            self.progress.report(ProgressEvent::Warning(line));
        }
        self.changes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(lines);
        self.known = now;
    }

    /// What is different now, and what of it has no effect.
    fn lines(&self, now: &ConfigDocument) -> Vec<String> {
        let named: BTreeSet<&ModelId> = config::named_models(&self.known).collect();
        let new: BTreeSet<&ModelId> = config::named_models(now)
            .filter(|model| !named.contains(model) && !self.credentials.contains(model.provider()))
            .collect();
        let unusable = new.into_iter().map(|model| {
            format!(
                "{model} cannot be used: this run has no credentials for {}",
                model.provider()
            )
        });
        let lines = config::changes(&self.known, now).into_iter().chain(unusable);
        lines
            .map(|line| format!("the configuration was changed during the review: {line}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateway_waits_as_long_as_the_configuration_says() {
        let text = r#"{"connect_seconds":11,"headers_seconds":900,"idle_seconds":901,"hold_seconds":902}"#;
        let limits = gateway_limits(&serde_json::from_str(text).unwrap());
        let seconds = [limits.connect, limits.first_byte, limits.idle, limits.hold].map(|limit| limit.as_secs());
        assert_eq!(seconds, [11, 900, 901, 902]);
        let defaults = gateway_limits(&config::Limits::default());
        let built_in = Limits::default();
        assert_eq!(
            (defaults.connect, defaults.first_byte, defaults.idle, defaults.hold),
            (built_in.connect, built_in.first_byte, built_in.idle, built_in.hold),
            "one default in both places"
        );
    }

    #[test]
    fn a_document_that_broke_during_the_run_is_said() {
        let broken = Trouble::WithoutDocument("config/document: cannot be read".to_owned());
        let said = trouble_in_words(&broken, false);
        assert!(
            said.contains("(config/document: cannot be read); here the document from before stayed in force"),
            "{said}"
        );
        let still = trouble_in_words(&broken, true);
        assert!(!still.contains("cannot be read"), "it is said on top: {still}");
        let late = Trouble::Unanswered("answered 502".to_owned());
        assert!(trouble_in_words(&late, false).starts_with("the configuration service answered 502 towards the end"));
        assert!(trouble_in_words(&late, true).contains("could still not be used"));
    }

    #[test]
    fn a_wait_is_told_with_its_end() {
        let model: ModelId = "anthropic/claude-opus-5-5".parse().unwrap();
        assert_eq!(
            waiting(&model, Duration::from_millis(99_300)),
            "anthropic/claude-opus-5-5 does not answer and there is no other model to ask: the next attempt is in 1 min 40 s"
        );
    }
}
