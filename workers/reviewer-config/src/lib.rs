//! The control plane Worker: shows every running review which models and providers it may use now.
//!
//! Operators write Workers KV: one key for the whole document and one key a provider switch, so that taking a broken
//! provider out is a single `wrangler kv key put`. Reviews read the merged result with `GET /v1/config`. Whatever is
//! stored, the answer is usable: a value that cannot be read is left out and named in the answer's warnings, because
//! a typing error in the store must not stop the reviews of a whole company.

mod admin;
mod current;
mod keys;
mod ledger;
mod merge;
mod page;
mod read;
mod reader;
mod revision;
mod store;
mod texts;

use conclave_shared::routes;
use conclave_worker_common::{Outcome, Refusal, allow, finish, harden, health, nothing_here};
use worker::{Context, Env, Request, Response, ResponseBuilder, Result, Router, event};

/// The description of the API, as it is served.
const OPENAPI: &str = include_str!("../openapi.json");
/// The JSON Schema of the document, as it is published.
const SCHEMA: &str = include_str!("../../../docs/schema/config-document.schema.json");

/// Answers a request. Never an `Err`: faults are logged and answered as a problem document.
#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> Result<Response> {
    let response = if request.path() == routes::CONFIG {
        // What every running review asks every two seconds does not wait until the router has learnt all other routes.
        finish(read::handle(&request, &env).await)?
    } else {
        finish(routes().run(request, env).await.map_err(Refusal::from))?
    };
    harden(&response)?;
    Ok(response)
}

fn routes() -> Router<'static, ()> {
    page::routes(Router::new())
        .on_async(routes::CONFIG_DOCUMENT, |request, context| async move {
            finish(admin::document(request, &context.env).await)
        })
        .on_async(routes::CONFIG_VALIDATE, |request, context| async move {
            finish(admin::validate(request, &context.env).await)
        })
        .on_async(&format!("{}/:id", routes::PROVIDERS), |request, context| async move {
            finish(admin::provider(request, &context).await)
        })
        .on_async(routes::FAILBACK, |request, context| async move {
            finish(admin::failback(request, &context.env).await)
        })
        .on_async(routes::HISTORY, |request, context| async move {
            finish(admin::history(&request, &context.env).await)
        })
        .on_async(
            &format!("{}/:revision", routes::HISTORY),
            |request, context| async move { finish(admin::revision(&request, &context).await) },
        )
        .on_async(
            &format!("{}/:revision", routes::ROLLBACK),
            |request, context| async move { finish(admin::rollback(&request, &context).await) },
        )
        .on(routes::CONFIG_OPENAPI, |request, _| {
            finish(published(&request, "application/json", OPENAPI))
        })
        .on(routes::CONFIG_SCHEMA, |request, _| {
            finish(published(&request, "application/schema+json", SCHEMA))
        })
        .on(routes::HEALTH, |request, _| health(&request))
        .or_else_any_method("/*path", nothing_here)
}

fn published(request: &Request, content_type: &str, text: &str) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    Ok(ResponseBuilder::new()
        .with_header("content-type", content_type)?
        .fixed(text.as_bytes().to_vec()))
}
