//! Lines for the review's notes on what the gateway did on its own: one a cause, however many models it has met.

use conclave_gateway::{GatewayEvent, Rejection};
use conclave_shared::model::ModelId;

/// One line: these models, and what happened to them.
struct Line {
    /// In the order in which it happened.
    models: Vec<ModelId>,
    /// The model that the first of them stood in for, the second for the first, and so on.
    stood_in_for: Option<ModelId>,
    said: String,
    count: usize,
}

/// The events in words, for the review's notes.
pub(crate) fn gateway_lines(events: &[GatewayEvent]) -> Vec<String> {
    let mut lines: Vec<Line> = Vec::new();
    for event in events {
        match event {
            // The review's account says what became of the call; only a refused key is a person's to mend.
            GatewayEvent::Rejected { model, reason, .. }
                if model.is_none() || *reason != Rejection::CredentialsRejected => {}
            // The open circuit was reported already, and by now the wait is over.
            GatewayEvent::Waiting { .. } => {}
            GatewayEvent::FallbackUsed { from, to, reason, .. } => {
                add_fallback(&mut lines, from, to, reason.to_string());
            }
            GatewayEvent::Retried { model, fault, .. } => add(&mut lines, model, format!("asked again ({fault})")),
            GatewayEvent::CircuitChanged { model, change } => add(&mut lines, model, change.to_string()),
            event => {
                let said = event.to_string();
                match lines
                    .iter_mut()
                    .find(|line| line.models.is_empty() && line.said == said)
                {
                    Some(line) => line.count += 1,
                    None => lines.push(Line {
                        models: Vec::new(),
                        stood_in_for: None,
                        said,
                        count: 1,
                    }),
                }
            }
        }
    }
    lines.iter().map(Line::text).collect()
}

/// Adds what happened to a model, to the line of the others of its provider to which the same happened.
fn add(lines: &mut Vec<Line>, model: &ModelId, said: String) {
    let is_same = |line: &&mut Line| {
        let known = line.models.first();
        line.stood_in_for.is_none()
            && line.said == said
            && known.is_some_and(|known| known.provider() == model.provider())
    };
    match lines.iter_mut().find(is_same) {
        Some(line) => {
            line.count += 1;
            if !line.models.contains(model) {
                line.models.push(model.clone());
            }
        }
        None => lines.push(Line {
            models: vec![model.clone()],
            stood_in_for: None,
            said,
            count: 1,
        }),
    }
}

/// Adds a move to another model, to the line of those that led to it.
fn add_fallback(lines: &mut Vec<Line>, from: &ModelId, to: &ModelId, reason: String) {
    let leads_here = |line: &&mut Line| {
        let is_first = line.stood_in_for.as_ref() == Some(from) && line.models.first() == Some(to);
        let is_next = line.stood_in_for.is_some() && line.models.contains(from);
        line.said == reason && (is_first || is_next)
    };
    match lines.iter_mut().find(leads_here) {
        Some(line) => {
            line.count += usize::from(line.stood_in_for.as_ref() == Some(from));
            if !line.models.contains(to) {
                line.models.push(to.clone());
            }
        }
        None => lines.push(Line {
            models: vec![to.clone()],
            stood_in_for: Some(from.clone()),
            said: reason,
            count: 1,
        }),
    }
}

impl Line {
    fn text(&self) -> String {
        let said = &self.said;
        let names: Vec<&str> = self.models.iter().map(ModelId::as_str).collect();
        let text = match &self.stood_in_for {
            Some(from) => format!("{} stood in for {from} ({said})", names.join(", then ")),
            None if names.is_empty() => said.clone(),
            None if said.starts_with("asked again") => {
                let verb = if names.len() == 1 { "was" } else { "were" };
                format!("{} {verb} {said}", names.join(", "))
            }
            None => format!("{}: {said}", names.join(", ")),
        };
        let once = match self.stood_in_for {
            Some(_) => 1,
            None => self.models.len().max(1),
        };
        if self.count <= once {
            text
        } else {
            format!("{text}, {} times", self.count)
        }
    }
}

#[cfg(test)]
mod tests {
    use conclave_engine::ports::SessionId;
    use conclave_gateway::{FailureClass, FallbackReason, ProviderFault};

    use super::*;

    fn model(name: &str) -> ModelId {
        name.parse().expect("a model")
    }

    #[test]
    fn a_refused_key_is_told_once_with_what_to_do() {
        let refused = GatewayEvent::Rejected {
            session: None,
            model: Some(model("anthropic/claude-sonnet-5")),
            reason: Rejection::CredentialsRejected,
        };
        let lines = gateway_lines(&[refused.clone(), refused]);
        assert_eq!(
            lines,
            [
                "anthropic refused the key for anthropic/claude-sonnet-5 (mistyped, expired, or without the right; `conclave \
                 doctor` shows its words), 2 times"
            ]
        );
    }

    #[test]
    fn a_dead_provider_is_a_line_for_each_thing_that_was_tried() {
        let fault = ProviderFault::Network;
        let retried = |name: &str| GatewayEvent::Retried {
            session: SessionId("ses_a".to_owned()),
            model: model(name),
            fault,
            failed: 1,
        };
        let moved = |from: &str, to: &str| GatewayEvent::FallbackUsed {
            session: SessionId("ses_a".to_owned()),
            reviewer: "security".to_owned(),
            from: model(from),
            to: model(to),
            reason: FallbackReason::Failed(FailureClass::Retryable(fault)),
        };
        let of_a_session = [
            retried("a/one"),
            moved("a/one", "a/two"),
            retried("a/two"),
            moved("a/two", "a/three"),
            retried("a/three"),
        ];
        let events = [of_a_session.clone(), of_a_session].concat();
        assert_eq!(
            gateway_lines(&events),
            [
                "a/one, a/two, a/three were asked again (network), 6 times",
                "a/two, then a/three stood in for a/one (network), 2 times"
            ]
        );
        assert_eq!(
            gateway_lines(&[moved("a/one", "a/two"), retried("b/one")]),
            ["a/two stood in for a/one (network)", "b/one was asked again (network)"]
        );
    }
}
