//! The frame around the pages of somebody who is logged in: the pages' names, and the filters, which go along from page to
//! page.

use conclave_worker_common::{
    frame,
    html::{Html, breakable, html},
};

use super::{
    FRAME,
    filter::{Filter, Period, TIERS, WINDOWS},
    findings, format, health, models,
    page::{Asked, Content},
    runs, texts,
};

/// The pages in order.
const PAGES: [(&str, &str); 5] = [
    ("/", texts::OVERVIEW),
    (findings::PATH, texts::FINDINGS),
    (models::PATH, texts::MODELS),
    (runs::PATH, texts::RUNS),
    (health::PATH, texts::HEALTH),
];

/// A page for somebody who is logged in.
pub(crate) fn signed_in(asked: &Asked, title: &str, path: &str, body: &Html, charts: bool) -> Html {
    let pages = PAGES.map(|(target, name)| {
        let href = asked.filter.href(target, &[]);
        if target == path {
            html!(r#"<a href="{}" aria-current="page">{}</a>"#, href, name)
        } else {
            html!(r#"<a href="{}">{}</a>"#, href, name)
        }
    });
    let navigation = html!(
        r#"<nav class="nav" aria-label="{}">{}</nav>"#,
        texts::PAGES,
        Html::join(pages)
    );
    let scripts: &[&str] = if charts { &["charts.js"] } else { &[] };
    let full = asked
        .database
        .filter(|database| database.is_nearly_full())
        .map(|database| html!(r#"<p class="banner" role="alert">{}</p>"#, texts::nearly_full(database)));
    let body = html!("{}{}", full, body);
    FRAME.document(title, scripts, &frame::header(&navigation, &asked.who), &body)
}

/// The heading with the filters. `left_out` are the events that a filter by tier cannot tell apart.
pub(crate) fn heading(asked: &Asked, content: &Content, projects: &[String], left_out: u64) -> Html {
    let filter = &asked.filter;
    let own: Vec<(&str, &str)> = content
        .own
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let windows = WINDOWS.map(|days| {
        let target = filter.with_days(days).href(content.path, &own);
        let name = texts::window(days);
        if filter.period == Period::Last(days) {
            html!(r#"<a href="{}" aria-current="true">{}</a>"#, target, name)
        } else {
            html!(r#"<a href="{}">{}</a>"#, target, name)
        }
    });
    let project = filter
        .project
        .as_deref()
        .map(|project| html!(r#"<p class="of">{}</p>"#, breakable(project)));
    html!(
        r#"<div class="heading"><div><h1>{}</h1>{}</div><nav class="choices" aria-label="{}">{}</nav></div>
<form class="filters" method="get" action="{}" aria-label="{}">{}{}{}<button class="quiet" type="submit">{}</button>{}</form>{}"#,
        content.title,
        project,
        texts::WINDOW,
        Html::join(windows),
        content.path,
        texts::FILTERS,
        content.fields,
        fields(filter, projects),
        dates(asked),
        texts::SHOW,
        reset(filter, content),
        (left_out > 0).then(|| html!(r#"<p class="note left-out">{}</p>"#, texts::left_out(left_out))),
    )
}

fn fields(filter: &Filter, projects: &[String]) -> Html {
    let options = projects.iter().map(|project| html!(r#"<option value="{}">"#, project));
    let tiers = TIERS.map(|tier| option(tier, &format::words(tier), filter.tier == Some(tier)));
    html!(
        r#"<label class="wide">{}<input name="project" list="projects" value="{}" placeholder="{}" maxlength="256" autocomplete="off" spellcheck="false"></label>
<datalist id="projects">{}</datalist><label>{}<select name="tier">{}{}</select></label>"#,
        texts::PROJECT,
        filter.project,
        texts::ALL_PROJECTS,
        Html::join(options),
        texts::TIER,
        option("", texts::ALL_TIERS, filter.tier.is_none()),
        Html::join(tiers),
    )
}

/// An option of a list.
pub(crate) fn option(value: &str, name: &str, chosen: bool) -> Html {
    if chosen {
        html!(r#"<option value="{}" selected>{}</option>"#, value, name)
    } else {
        html!(r#"<option value="{}">{}</option>"#, value, name)
    }
}

fn dates(asked: &Asked) -> Html {
    let query = asked.filter.query(asked.now_ms);
    html!(
        r#"<label>{}<input type="date" name="from" value="{}"></label><label>{}<input type="date" name="to" value="{}"></label>"#,
        texts::FROM,
        format::iso_day(query.first_day),
        texts::TO,
        format::iso_day(query.last_day),
    )
}

fn reset(filter: &Filter, content: &Content) -> Option<Html> {
    let any = filter.project.is_some() || filter.tier.is_some() || !content.own.is_empty();
    any.then(|| html!(r#"<a href="{}">{}</a>"#, content.path, texts::RESET))
}
