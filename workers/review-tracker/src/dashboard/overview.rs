//! `GET /`: how reviews are doing, and the latest of them.

use conclave_worker_common::{
    Outcome,
    html::{Html, breakable, html},
};
use worker::{Env, Request, Response};

use super::{
    chart,
    filter::{Filter, TIERS, WINDOWS},
    format, page as finished, require_login, runs_table, summary, texts,
};
use crate::{
    clock,
    store::{self, Overview, RunPage},
};

/// Answers with the overview.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    require_login(request, env)?;
    let filter = Filter::of(&request.url()?);
    let now_ms = clock::now_ms();
    let query = filter.query(now_ms);
    let overview = store::overview(env, &query).await?;
    let runs = store::runs(env, &query, filter.after).await?;
    let body = if overview.projects.is_empty() {
        empty()
    } else {
        html!(
            r#"{}<section aria-label="{}"><dl class="figures">{}</dl></section>{}{}"#,
            heading(&filter, &overview),
            texts::FIGURES,
            summary::figures(&overview, filter.days),
            charts(&filter, &overview, now_ms),
            table(&filter, &runs, now_ms),
        )
    };
    finished(texts::OVERVIEW, &body)
}

fn charts(filter: &Filter, overview: &Overview, now_ms: i64) -> Html {
    if overview.days.is_empty() {
        return Html::default();
    }
    let days = (filter.days > 1).then(|| {
        html!(
            r#"<section class="card wide"><h2>{}</h2>{}</section>"#,
            texts::REVIEWS_A_DAY,
            chart::days(&filter.query(now_ms), &overview.days),
        )
    });
    html!(
        r#"<div class="panels">{}<section class="card"><h2>{}</h2>{}</section></div>"#,
        days,
        texts::VERDICTS,
        chart::verdicts(&overview.verdicts),
    )
}

fn table(filter: &Filter, page: &RunPage, now_ms: i64) -> Html {
    if page.runs.is_empty() {
        return html!(
            r#"<section class="card nothing"><h2>{}</h2><p>{} <a href="/">{}</a></p></section>"#,
            texts::NOTHING_HERE_TITLE,
            texts::NOTHING_HERE_DETAIL,
            texts::RESET,
        );
    }
    let newest = filter.after.map(|_| {
        html!(
            r#"<a href="{}" rel="prev">{}</a>"#,
            filter.first_page().href(),
            texts::NEWEST
        )
    });
    let older = page.next.map(|next| {
        let next = Filter {
            after: Some(next),
            ..filter.clone()
        };
        html!(r#"<a href="{}" rel="next">{}</a>"#, next.href(), texts::OLDER)
    });
    html!(
        r#"<section class="card" aria-labelledby="runs"><div class="title"><h2 id="runs">{}</h2><span>{}</span></div>{}
<nav class="pages" aria-label="{}">{}{}</nav></section>"#,
        texts::RUNS,
        texts::TIMES_ARE_UTC,
        runs_table::table(&page.runs, now_ms),
        texts::RUNS,
        newest,
        older,
    )
}

fn heading(filter: &Filter, overview: &Overview) -> Html {
    let windows = WINDOWS.map(|days| {
        let target = Filter {
            days,
            ..filter.first_page()
        };
        choice(&target, &texts::window(days), filter.days == days)
    });
    let tiers = [None].into_iter().chain(TIERS.map(Some)).map(|tier| {
        let target = Filter {
            tier,
            ..filter.first_page()
        };
        let name = tier.map_or_else(|| texts::ALL_TIERS.to_owned(), format::words);
        choice(&target, &name, filter.tier == tier)
    });
    html!(
        r#"<div class="heading"><h1>{}</h1><div class="filters">{}
<nav class="choices" aria-label="{}">{}</nav><nav class="choices" aria-label="{}">{}</nav></div></div>"#,
        breakable(filter.project.as_deref().unwrap_or(texts::OVERVIEW)),
        projects(filter, overview),
        texts::TIER,
        Html::join(tiers),
        texts::WINDOW,
        Html::join(windows),
    )
}

fn choice(target: &Filter, name: &str, current: bool) -> Html {
    if current {
        html!(r#"<a href="{}" aria-current="true">{}</a>"#, target.href(), name)
    } else {
        html!(r#"<a href="{}">{}</a>"#, target.href(), name)
    }
}

fn projects(filter: &Filter, overview: &Overview) -> Html {
    let options = overview.projects.iter().map(|project| {
        if filter.project.as_ref() == Some(project) {
            html!(r#"<option value="{}" selected>{}</option>"#, project, project)
        } else {
            html!(r#"<option value="{}">{}</option>"#, project, project)
        }
    });
    let tier = filter
        .tier
        .map(|tier| html!(r#"<input type="hidden" name="tier" value="{}">"#, tier));
    html!(
        r#"<form class="project" method="get" action="/"><label class="hidden" for="project">{}</label>
<select id="project" name="project"><option value="">{}</option>{}</select>{}
<input type="hidden" name="days" value="{}"><button class="quiet" type="submit">{}</button></form>"#,
        texts::PROJECT,
        texts::ALL_PROJECTS,
        Html::join(options),
        tier,
        u32::from(filter.days),
        texts::SHOW,
    )
}

fn empty() -> Html {
    let steps = texts::EMPTY_STEPS.map(|(title, detail, code)| {
        let code = (!code.is_empty()).then(|| html!("<pre><code>{}</code></pre>", code));
        html!("<li><h2>{}</h2><p>{}</p>{}</li>", title, detail, code)
    });
    html!(
        r#"<section class="card empty">{}<h1>{}</h1><p class="lead">{}</p><ol>{}</ol></section>"#,
        super::layout::logo(),
        texts::EMPTY_TITLE,
        texts::EMPTY_LEAD,
        Html::join(steps),
    )
}
