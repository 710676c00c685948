//! Which models a session may use, as the configuration says it now.
//!
//! A run begins with the routes of its plan. When the document changes while it goes on, sessions that are not yet
//! started take the new routes, and running ones leave a provider that was switched off.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use conclave_shared::{
    config::{ConfigDocument, Limits, ModelRoute, ModelTier, NoModel, Preset, RouteInput, effort, route, seconds},
    reviewer::ReviewerName,
};
use tokio::sync::watch;

/// What decides about a new route besides the document.
#[derive(Debug, Clone, Default)]
pub struct RouteFacts {
    /// Built-in preferences.
    pub preset: Preset,
    /// Providers for which there are credentials.
    pub credentials: BTreeSet<String>,
    /// True if the merge request's tier is `trivial`.
    pub trivial: bool,
    /// The classes of models of the project's own reviewers.
    pub classes: BTreeMap<String, ModelTier>,
}

/// The routes of a run while it goes on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LiveRoutes {
    document: watch::Receiver<Option<Arc<ConfigDocument>>>,
    facts: Arc<RouteFacts>,
}

impl LiveRoutes {
    /// Routes that follow a document; `None` in the channel is the one that the plan was made with.
    pub fn new(document: watch::Receiver<Option<Arc<ConfigDocument>>>, facts: RouteFacts) -> Self {
        Self {
            document,
            facts: Arc::new(facts),
        }
    }

    /// The routes of the plan, for good.
    pub fn fixed() -> Self {
        Self::new(watch::Sender::new(None).subscribe(), RouteFacts::default())
    }

    /// The route of a session now. Behind the models that the document names now come those of the plan which are still
    /// allowed: a change must not leave a session with less than it could use.
    pub fn current(&self, name: &str, planned: &ModelRoute) -> Result<ModelRoute, NoModel> {
        let Some(document) = self.document.borrow().clone() else {
            return Ok(planned.clone());
        };
        let input = RouteInput {
            document: &document,
            preset: self.facts.preset,
            credentials: &self.facts.credentials,
            trivial: self.facts.trivial,
            classes: &self.facts.classes,
        };
        let (mut models, skipped) = match route(name, input) {
            Ok(route) => (route.models, route.skipped),
            Err(none) => (Vec::new(), none.skipped),
        };
        for model in &planned.models {
            if !models.contains(model) && off(&document, model.provider()).is_none() {
                models.push(model.clone());
            }
        }
        if models.is_empty() {
            return Err(NoModel {
                reviewer: name.to_owned(),
                skipped,
            });
        }
        Ok(ModelRoute {
            models,
            skipped,
            effort: effort(name, input),
        })
    }

    /// The limits in force, once the document has changed; `None` as long as those of the plan are.
    pub(super) fn limits(&self) -> Option<Limits> {
        self.document.borrow().as_ref().map(|document| document.limits.clone())
    }

    /// Returns how long one attempt of this reviewer, or of the coordinator, may take by the changed document.
    pub(super) fn attempt(&self, name: &str) -> Option<Duration> {
        let document = self.document.borrow().clone()?;
        Some(if name == ReviewerName::COORDINATOR {
            seconds(document.limits.coordinator_seconds)
        } else {
            document.limits.reviewer(name, document.reviewers.get(name))
        })
    }

    /// The changes of the document from now on.
    pub(super) fn changes(&self) -> Changes {
        let mut document = self.document.clone();
        document.mark_unchanged();
        Changes(document)
    }

    /// Comes back with the reason when the provider is switched off.
    pub(super) async fn switched_off(&self, provider: &str) -> String {
        let mut document = self.document.clone();
        let is_off = |document: &Option<Arc<ConfigDocument>>| {
            document
                .as_ref()
                .is_some_and(|document| off(document, provider).is_some())
        };
        if document.wait_for(is_off).await.is_err() {
            std::future::pending::<()>().await;
        }
        self.off(provider).unwrap_or_default()
    }

    /// Says in words that the provider is switched off now; nothing if it is not.
    pub(super) fn off(&self, provider: &str) -> Option<String> {
        self.document
            .borrow()
            .as_ref()
            .and_then(|document| off(document, provider))
    }
}

/// The changes of a document from a moment on.
pub(super) struct Changes(watch::Receiver<Option<Arc<ConfigDocument>>>);

impl Changes {
    /// Comes back at the next change; never if there can be none any more.
    pub(super) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// That the provider is switched off, in words; nothing if it is not.
fn off(document: &ConfigDocument, provider: &str) -> Option<String> {
    let switch = document.providers.get(provider).filter(|switch| !switch.enabled)?;
    Some(match &switch.reason {
        Some(reason) => format!("{provider} was switched off: {reason}"),
        None => format!("{provider} was switched off"),
    })
}

#[cfg(test)]
#[path = "routing_tests.rs"]
mod tests;
