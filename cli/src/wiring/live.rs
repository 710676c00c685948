//! What acts while a review runs: the configuration that is followed, the budget, and what the gateway tells.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use conclave_engine::{
    pipeline::Plan,
    ports::{Progress, ProgressEvent, TelemetrySink},
    report::duration,
    scheduler::{LiveRoutes, RouteFacts},
};
use conclave_gateway::{
    BreakerSettings, Budget, Circuit, FailbackReason, Gateway, GatewayEvent, Limits, Observer, stricter,
};
use conclave_plugin_reviewer_config::{Follower, Following};
use conclave_shared::{
    config::{self, Preset, seconds},
    model::ModelId,
    risk::RiskTier,
    telemetry::{self, CircuitChanged, CircuitState, EventBody, Failback},
};
use tokio::task::JoinHandle;

use super::Job;
use crate::args::CommonArguments;

/// The budget of a run: of the flags and the configuration the stricter one counts, so that a job cannot give itself
/// more than an operator allows.
pub(super) fn budget(job: &Job, arguments: &CommonArguments, limits: &config::BudgetLimits) -> Budget {
    Budget {
        run_usd: stricter(arguments.max_cost_usd, limits.run_usd),
        run_tokens: stricter(arguments.max_tokens, limits.run_tokens),
        run_calls: stricter(arguments.max_calls, limits.run_calls),
        merge_request_usd: limits.merge_request_usd.filter(|_| job.subject.merge_request.is_some()),
        spent_before_usd: job.spent_before_usd,
    }
}

/// The gateway's limits as the configuration has them.
pub(super) fn gateway_limits(limits: &config::Limits) -> Limits {
    let breaker = limits.breaker;
    let open = seconds(breaker.open_seconds);
    Limits {
        breaker: BreakerSettings {
            failures: breaker.failures,
            window: usize::try_from(breaker.window).unwrap_or(usize::MAX),
            failure_percent: breaker.failure_percent,
            open,
        },
        tool_calls: usize::try_from(limits.tool_calls).unwrap_or(usize::MAX),
        // A session comes back to its model when that may be tried again.
        stand_in: open,
        ..Limits::default()
    }
}

/// Tells the person and the tracker what the gateway does on its own, as it happens.
pub(super) fn observer(progress: Arc<dyn Progress>, sink: Arc<dyn TelemetrySink>) -> Observer {
    let told: Mutex<BTreeSet<(ModelId, ModelId)>> = Mutex::default();
    Observer::new(move |event| match event {
        GatewayEvent::CircuitChanged { model, change } => {
            progress.report(ProgressEvent::Warning(&format!("{model} {change}")));
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
        GatewayEvent::FailedBack {
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
                    FailbackReason::Failed(_) => telemetry::FailbackReason::Failed,
                    FailbackReason::CircuitOpen => telemetry::FailbackReason::CircuitOpen,
                },
            }));
        }
        GatewayEvent::ProviderSwitched { .. } | GatewayEvent::BudgetUsed { .. } => {
            for line in crate::output::gateway_lines(std::slice::from_ref(event)) {
                progress.report(ProgressEvent::Warning(&line));
            }
        }
        _ => {}
    })
}

/// What the person who waits is told: why nothing happens, and until when.
fn waiting(model: &ModelId, wait: Duration) -> String {
    format!(
        "{model} does not answer and there is nobody else to ask: the next attempt is in {}",
        duration(wait.as_secs_f64().ceil())
    )
}

/// All models of a plan, those included that only a switch keeps from being used: it may be flipped back.
pub(super) fn models(plan: &Plan) -> BTreeSet<ModelId> {
    let routes = plan
        .members
        .iter()
        .map(|member| &member.route)
        .chain([&plan.coordinator]);
    routes
        .flat_map(|route| {
            let (models, skipped) = match route {
                Ok(route) => (route.models.as_slice(), &route.skipped),
                Err(none) => (&[][..], &none.skipped),
            };
            let off = skipped.iter().filter(|skip| skip.switched_off).map(|skip| &skip.model);
            models.iter().chain(off)
        })
        .cloned()
        .collect()
}

/// The configuration while the run goes on.
pub(super) struct Live {
    pub(super) routes: LiveRoutes,
    following: Option<Following>,
    gateway: Option<JoinHandle<()>>,
}

impl Live {
    /// Follows the configuration from now on, if there is a service: new switches reach the gateway and the sessions.
    pub(super) fn start(
        remote: &Follower,
        plan: &Plan,
        preset: Preset,
        credentials: BTreeSet<String>,
        gateway: &Arc<Gateway>,
    ) -> Self {
        let Some(following) = remote.follow() else {
            return Self {
                routes: LiveRoutes::fixed(),
                following: None,
                gateway: None,
            };
        };
        let facts = RouteFacts {
            preset,
            credentials,
            trivial: plan.assessment.tier == RiskTier::Trivial,
            classes: plan.classes.clone(),
            models: models(plan),
        };
        let routes = LiveRoutes::new(following.document(), facts);
        let (gateway, mut document) = (Arc::clone(gateway), following.document());
        let telling = tokio::spawn(async move {
            while document.changed().await.is_ok() {
                let changed = document.borrow_and_update().clone();
                if let Some(changed) = changed {
                    gateway.update(&changed);
                }
            }
        });
        Self {
            routes,
            following: Some(following),
            gateway: Some(telling),
        }
    }

    /// What the reader of the review should know.
    pub(super) fn warning(&self) -> Option<String> {
        let trouble = self.following.as_ref()?.trouble()?;
        Some(format!(
            "the configuration service {trouble} towards the end of the run; a switch flipped then was not seen"
        ))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(task) = &self.gateway {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_with_its_end() {
        let model: ModelId = "anthropic/claude-opus-5-5".parse().unwrap();
        assert_eq!(
            waiting(&model, Duration::from_millis(99_300)),
            "anthropic/claude-opus-5-5 does not answer and there is nobody else to ask: the next attempt is in 1 min 40 s"
        );
    }
}
