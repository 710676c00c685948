//! Every page behind the log-in: navigation, filters, a head of its own, and tables. One description for the page and for
//! its tables as CSV.

use conclave_shared::telemetry::DatabaseSize;
use conclave_worker_common::{
    Outcome, frame,
    html::{Html, breakable, html},
    not_found, page as answer, refusal,
};
use worker::{Env, Request, Response, ResponseBuilder};

use super::{
    FRAME,
    filter::{Filter, Period, TIERS, WINDOWS, parameter},
    format, require_reader,
    table::Table,
};
use crate::{clock, store};

/// A page of the navigation.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: &'static str,
    /// Its name, and its heading.
    pub(crate) title: &'static str,
}

/// The first page.
pub(crate) const OVERVIEW: Place = place("/", "Overview");
/// Findings and what becomes of them.
pub(crate) const FINDINGS: Place = place("/findings", "Findings");
/// Models and what they cost.
pub(crate) const MODELS: Place = place("/models", "Models");
/// Reviews one by one.
pub(crate) const RUNS: Place = place("/runs", "Reviews");
/// The tracker itself. `/healthz`, for machines, needs no log-in.
pub(crate) const HEALTH: Place = place("/health", "Health");

const fn place(path: &'static str, title: &'static str) -> Place {
    Place { path, title }
}

/// A request for a page.
pub(crate) struct Asked {
    /// The name of the person; empty if that is not known.
    pub(crate) who: String,
    /// Its filters.
    pub(crate) filter: Filter,
    pub(crate) now_ms: i64,
    /// The whole address.
    pub(crate) url: worker::Url,
    /// The size of the database, if that is known.
    pub(crate) database: Option<DatabaseSize>,
}

impl Asked {
    /// Reads a request of a person who is logged in.
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

    /// The whole document around a page's body, with the script of the charts if it has some.
    pub(crate) fn document(&self, title: &str, path: &str, body: &Html, charts: bool) -> Html {
        let navigation = html! {
            nav.nav aria-label="Pages" {
                @for place in [OVERVIEW, FINDINGS, MODELS, RUNS, HEALTH] {
                    @let current = (place.path == path).then_some("page");
                    a href=(self.filter.href(place.path, &[])) aria-current=[current] { (place.title) }
                }
            }
        };
        let full = self.database.filter(|database| database.is_nearly_full());
        let body = html! {
            @if let Some(database) = full { p.banner role="alert" { (nearly_full(database)) } }
            (body)
        };
        let scripts: &[&str] = if charts { &["charts.js"] } else { &[] };
        FRAME.document(title, scripts, &frame::header(&navigation, &self.who), &body)
    }
}

/// The content of a page.
pub(crate) struct Content {
    /// The page.
    pub(crate) place: Place,
    /// The markup above its tables.
    pub(crate) lead: Html,
    /// Its tables.
    pub(crate) tables: Vec<Table>,
    /// Filters of its own, as fields of the form.
    pub(crate) fields: Html,
    /// Their values as parameters of its address.
    pub(crate) own: Vec<(&'static str, String)>,
}

impl Content {
    /// A page without filters of its own.
    pub(crate) fn new(place: Place, lead: Html, tables: Vec<Table>) -> Self {
        Self {
            place,
            lead,
            tables,
            fields: Html::default(),
            own: Vec::new(),
        }
    }
}

/// Answers with a page, or with one of its tables as CSV.
pub(crate) async fn finished(asked: &Asked, env: &Env, content: Content) -> Outcome<Response> {
    let Content { place, tables, own, .. } = &content;
    let own: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    if let Some(answer) = csv_of(asked, place.path, tables)? {
        return Ok(answer);
    }
    let csv = |table: &Table| {
        let with_csv: Vec<(&str, &str)> = own.iter().copied().chain([("csv", table.id)]).collect();
        asked.filter.href(place.path, &with_csv)
    };
    let projects = store::projects(env).await?;
    let left_out = store::unclassified(env, &asked.filter.query(asked.now_ms)).await?;
    let body = html! {
        (heading(asked, &content, &own, &projects))
        @if left_out > 0 {
            p class="note left-out" {
                "Left out: " (format::counted(left_out, "event")) " of reviews whose tier is not known. What was counted before \
                 tiers were kept has none."
            }
        }
        (content.lead)
        div.sections { @for table in tables { (table.section(&csv(table), asked.now_ms)) } }
    };
    let charts = tables.iter().any(Table::is_drawn);
    Ok(answer(200, asked.document(place.title, place.path, &body, charts))?)
}

/// The answer with the table that the address asks for as CSV, if it asks for one.
pub(crate) fn csv_of(asked: &Asked, path: &str, tables: &[Table]) -> Outcome<Option<Response>> {
    let Some(id) = parameter(&asked.url, "csv") else {
        return Ok(None);
    };
    let Some(table) = tables.iter().find(|table| table.id == id) else {
        return Err(refusal(&not_found(&format!("{path}?csv={id}")))?);
    };
    let name = format!("attachment; filename=\"conclave-{}.csv\"", table.id);
    let answer = ResponseBuilder::new()
        .with_header("content-type", "text/csv; charset=utf-8; header=present")?
        .with_header("content-disposition", &name)?
        .with_header("cache-control", "no-store")?
        .fixed(table.csv().into_bytes());
    Ok(Some(answer))
}

/// The heading with the filters, which go along from page to page.
fn heading(asked: &Asked, content: &Content, own: &[(&str, &str)], projects: &[String]) -> Html {
    let Filter { project, tier, period } = &asked.filter;
    let Place { path, title } = content.place;
    let query = asked.filter.query(asked.now_ms);
    html! {
        div.heading {
            div {
                h1 { (title) }
                @if let Some(project) = project { p.of { (breakable(project)) } }
            }
            nav.choices aria-label="Period" {
                @for days in WINDOWS {
                    @let current = (*period == Period::Last(days)).then_some("true");
                    a href=(asked.filter.with_days(days).href(path, own)) aria-current=[current] {
                        @if days == 1 { "Today" } @else { (days) " days" }
                    }
                }
            }
        }
        form.filters method="get" action=(path) aria-label="Filters" {
            (content.fields)
            label.wide {
                "Project"
                input name="project" list="projects" value=[project.as_deref().or(Some(""))] placeholder="All projects"
                    maxlength="256" autocomplete="off" spellcheck="false";
            }
            datalist #projects { @for project in projects { option value=(project); } }
            label {
                "Tier"
                select name="tier" {
                    (option("", "All tiers", tier.is_none()))
                    @for name in TIERS { (option(name, &format::words(name), *tier == Some(name))) }
                }
            }
            label { "From" input type="date" name="from" value=(format::iso_day(query.first_day)); }
            label { "To" input type="date" name="to" value=(format::iso_day(query.last_day)); }
            button.quiet type="submit" { "Show" }
            @if project.is_some() || tier.is_some() || !own.is_empty() { a href=(path) { "Clear the filters" } }
        }
    }
}

/// An option of a list.
pub(crate) fn option(value: &str, name: &str, chosen: bool) -> Html {
    html! { option value=(value) selected[chosen] { (name) } }
}

/// The warning on every page of a tracker that has little room left.
fn nearly_full(database: DatabaseSize) -> String {
    let consequence = if database.is_full() {
        "Nothing new is stored"
    } else {
        "When it is full, nothing new is stored"
    };
    format!(
        "The database is {} % full ({}). {consequence}: lower RETENTION_DAYS, or move to a larger plan and set DATABASE_MAX_MB to what it \
         allows.",
        database.percent(),
        format::database_size(database),
    )
}
