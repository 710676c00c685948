//! Answers: problem documents, JSON, and what every answer carries.

use conclave_shared::problem::{CONTENT_TYPE, Problem};
use serde::Serialize;
use worker::{Response, ResponseBuilder, Result, console_error};

use crate::texts;

/// Why a handler stops early.
#[derive(Debug)]
pub enum Refusal {
    /// With this answer.
    Answer(Response),
    /// By an error of the runtime or of a binding, whose text stays in the log.
    Fault(worker::Error),
}

impl From<worker::Error> for Refusal {
    fn from(error: worker::Error) -> Self {
        Self::Fault(error)
    }
}

/// The result of a step of a handler.
pub type Outcome<T> = Result<T, Refusal>;

/// A problem document as an answer.
pub fn problem(problem: &Problem) -> Result<Response> {
    encode(problem.status, CONTENT_TYPE, problem)
}

/// A problem document as a refusal.
pub fn refusal(why: &Problem) -> Result<Refusal> {
    problem(why).map(Refusal::Answer)
}

/// Returns the explanation of a refusal, if it is a problem document.
pub async fn detail(refusal: Refusal) -> Result<Option<String>> {
    match refusal {
        Refusal::Answer(mut response) => {
            let body = response.bytes().await?;
            Ok(serde_json::from_slice::<Problem>(&body)
                .ok()
                .map(|problem| problem.detail))
        }
        Refusal::Fault(error) => Err(error),
    }
}

/// A value as a JSON answer that no cache stores.
pub fn json(status: u16, value: &impl Serialize) -> Result<Response> {
    encode(status, "application/json", value)
}

fn encode(status: u16, content_type: &str, value: &impl Serialize) -> Result<Response> {
    Ok(ResponseBuilder::new()
        .with_status(status)
        .with_header("content-type", content_type)?
        .with_header("cache-control", "no-store")?
        .fixed(serde_json::to_vec(value)?))
}

/// The last step of every handler: a refusal becomes its answer, and a fault is logged once and becomes a 500 that
/// tells the caller nothing about the inside.
pub fn finish(outcome: Outcome<Response>) -> Result<Response> {
    match outcome {
        Ok(response) | Err(Refusal::Answer(response)) => Ok(response),
        Err(Refusal::Fault(error)) => {
            console_error!("request failed: {error}");
            problem(&texts::internal())
        }
    }
}

/// Sets what every answer of a Worker carries.
pub fn harden(response: &Response) -> Result<()> {
    response.headers().set("x-content-type-options", "nosniff")
}
