//! What every page is: filters, a head of its own, and tables. One description for the page and for its tables as CSV.

use conclave_shared::telemetry::DatabaseSize;
use conclave_worker_common::{
    Outcome, Refusal,
    html::{Html, html},
    not_found, page as answer, problem,
};
use worker::{Env, Request, Response, ResponseBuilder};

use super::{
    filter::{Filter, parameter},
    layout, require_reader,
    table::Table,
};
use crate::{clock, store};

/// What a page is asked for.
pub(crate) struct Asked {
    /// Whoever asks; empty if that is not known.
    pub(crate) who: String,
    /// Its filters.
    pub(crate) filter: Filter,
    /// When.
    pub(crate) now_ms: i64,
    /// The whole address.
    pub(crate) url: worker::Url,
    /// How full the database is, if that is known.
    pub(crate) database: Option<DatabaseSize>,
}

impl Asked {
    /// Reads a request of somebody who is logged in.
    pub(crate) async fn of(request: &Request, env: &Env) -> Outcome<Self> {
        let who = require_reader(request, env).await?;
        let url = request.url()?;
        let now_ms = clock::now_ms();
        Ok(Self {
            who,
            filter: Filter::of(&url, now_ms),
            now_ms,
            url,
            database: store::size_if_known(env).await,
        })
    }
}

/// What a page shows.
pub(crate) struct Content {
    /// Its heading.
    pub(crate) title: &'static str,
    /// Its path.
    pub(crate) path: &'static str,
    /// What stands above its tables.
    pub(crate) lead: Html,
    /// Its tables.
    pub(crate) tables: Vec<Table>,
    /// What stands below its tables.
    pub(crate) tail: Html,
    /// Filters of its own, as fields of the form.
    pub(crate) fields: Html,
    /// Their values as parameters of its address.
    pub(crate) own: Vec<(&'static str, String)>,
}

/// Answers with a page, or with one of its tables as CSV.
pub(crate) async fn finished(asked: &Asked, env: &Env, content: Content) -> Outcome<Response> {
    let own: Vec<(&str, &str)> = content
        .own
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    if let Some(answer) = csv_of(asked, content.path, &content.tables)? {
        return Ok(answer);
    }
    let sections = content.tables.iter().map(|table| {
        let with_csv: Vec<(&str, &str)> = own.iter().copied().chain([("csv", table.id)]).collect();
        table.section(&asked.filter.href(content.path, &with_csv), asked.now_ms)
    });
    let projects = store::projects(env).await?;
    let left_out = store::unclassified(env, &asked.filter.query(asked.now_ms)).await?;
    let body = html!(
        r#"{}{}<div class="sections">{}</div>{}"#,
        layout::heading(asked, &content, &projects, left_out),
        content.lead,
        Html::join(sections),
        content.tail,
    );
    let charts = content
        .tables
        .iter()
        .any(|table| table.chart.is_some() && !table.rows.is_empty());
    Ok(answer(
        200,
        &layout::signed_in(asked, content.title, content.path, &body, charts),
    )?)
}

/// The answer with the table that the address asks for as CSV, if it asks for one.
pub(crate) fn csv_of(asked: &Asked, path: &str, tables: &[Table]) -> Outcome<Option<Response>> {
    let Some(id) = parameter(&asked.url, "csv") else {
        return Ok(None);
    };
    match tables.iter().find(|table| table.id == id) {
        Some(table) => Ok(Some(csv(table)?)),
        None => Err(Refusal::Answer(problem(&not_found(&format!("{path}?csv={id}")))?)),
    }
}

fn csv(table: &Table) -> worker::Result<Response> {
    let name = format!("attachment; filename=\"conclave-{}.csv\"", table.id);
    Ok(ResponseBuilder::new()
        .with_header("content-type", "text/csv; charset=utf-8; header=present")?
        .with_header("content-disposition", &name)?
        .with_header("cache-control", "no-store")?
        .fixed(table.csv().into_bytes()))
}
