//! Refusals as pages.

use conclave_worker_common::{Outcome, Refusal, page};
use worker::Response;

use super::{layout, texts};

/// Refusals as people read them. A redirect stays one; a problem document becomes a page that says the same.
pub(crate) fn page_or_problem(outcome: Outcome<Response>) -> Outcome<Response> {
    match outcome {
        Err(Refusal::Answer(response)) if response.status_code() == 503 => {
            let html = layout::signed_out(
                texts::NOT_READY,
                &layout::notice(texts::NOT_READY, crate::texts::NO_TABLES),
            );
            Ok(page(503, &html)?)
        }
        Err(Refusal::Fault(error)) => {
            worker::console_error!("page failed: {error}");
            let html = layout::signed_out(texts::FAILED, &layout::notice(texts::FAILED, texts::FAILED_DETAIL));
            Ok(page(500, &html)?)
        }
        other => other,
    }
}
