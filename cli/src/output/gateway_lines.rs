//! Lines for the review's notes on what the gateway did on its own: one a cause, however many models it has met.

use conclave_gateway::{GatewayEvent, Rejection};
use conclave_shared::model::ModelId;

/// One line: these models, and what happened to them.
#[derive(Default)]
struct Line {
    /// In the order in which it happened.
    models: Vec<ModelId>,
    /// The model that the first of them stood in for, the second for the first, and so on.
    stood_in_for: Option<ModelId>,
    said: String,
    /// The model that was refused, and with which status, in a line about a refusal.
    refused: Option<(ModelId, u16)>,
    count: usize,
}

/// The events in words, for the review's notes.
pub(crate) fn gateway_lines(events: &[GatewayEvent]) -> Vec<String> {
    let mut lines: Vec<Line> = Vec::new();
    for event in events {
        match event {
            // Words that differ in a number from call to call are one cause.
            GatewayEvent::Rejected {
                model: Some(model),
                refusal: Some(refusal),
                ..
            } => add_event(&mut lines, event, Some((model.clone(), refusal.status))),
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
            event => add_event(&mut lines, event, None),
        }
    }
    lines.iter().map(Line::text).collect()
}

/// Adds an event, to the line of those that say the same or are about the same refusal.
fn add_event(lines: &mut Vec<Line>, event: &GatewayEvent, refused: Option<(ModelId, u16)>) {
    let said = event.to_string();
    let is_same = |line: &&mut Line| {
        line.models.is_empty() && line.refused == refused && (refused.is_some() || line.said == said)
    };
    match lines.iter_mut().find(is_same) {
        Some(line) => line.count += 1,
        None => lines.push(Line {
            said,
            refused,
            count: 1,
            ..Line::default()
        }),
    }
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
            said,
            count: 1,
            ..Line::default()
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
            ..Line::default()
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
    use conclave_gateway::{FailureClass, FallbackReason, ProviderFault, Refusal, RefusalAnswer};

    use super::*;

    fn model(name: &str) -> ModelId {
        name.parse().expect("a model")
    }

    #[test]
    fn a_refusal_is_told_once_with_the_providers_words_and_what_to_do() {
        let refused = |status, words: &str, reason| GatewayEvent::Rejected {
            session: None,
            model: Some(model("anthropic/claude-sonnet-5")),
            reason,
            refusal: Some(Refusal {
                status,
                answer: RefusalAnswer::Words(words.to_owned()),
                keyless: false,
            }),
        };
        let key = |words| refused(401, words, Rejection::CredentialsRejected);
        let nothing_to_say = GatewayEvent::Rejected {
            session: None,
            model: Some(model("anthropic/claude-sonnet-5")),
            reason: Rejection::RequestRejected,
            refusal: None,
        };
        let lines = gateway_lines(&[
            key("invalid key, request 1"),
            nothing_to_say,
            key("invalid key, request 2"),
            refused(400, "no such role", Rejection::RequestRejected),
        ]);
        assert_eq!(
            lines,
            [
                "anthropic refused the key for anthropic/claude-sonnet-5 (401: \"invalid key, request 1\"): it is mistyped, expired, \
                 or without the right, 2 times",
                "anthropic refused a call of anthropic/claude-sonnet-5 (400: \"no such role\"): correct what it names; `conclave \
                 doctor` checks the address and the key"
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
