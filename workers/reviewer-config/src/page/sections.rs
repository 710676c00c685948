//! The parts of the page.

use conclave_shared::{
    config::{
        ConfigDocument, ModelReason, ModelSource, NO_CLASSES, Preset, ProjectOverride, ProviderSwitch, RouteInput,
        explain_route, known_providers,
    },
    reviewer::ReviewerName,
};
use conclave_worker_common::html::{Html, html};

use super::{format, texts};
use crate::ledger::HistoryEntry;

/// What is stored and cannot be used.
pub(crate) fn warnings(warnings: &[String]) -> Html {
    if warnings.is_empty() {
        return Html::default();
    }
    let items = warnings.iter().map(|warning| html!("<li>{}</li>", warning));
    html!(
        r#"<section class="card warn" aria-label="{}"><h2>{}</h2><ul>{}</ul></section>"#,
        texts::WARNINGS,
        texts::WARNINGS,
        Html::join(items),
    )
}

/// Every provider that a review may come across, with its switch.
pub(crate) fn providers(config: &ConfigDocument) -> Html {
    let rows = known_providers(config).into_iter().map(|name| {
        let switch = config.providers.get(&name);
        provider(&name, switch)
    });
    html!(
        r#"<section class="card"><div class="title"><h2>{}</h2><span>{}</span></div><ul class="switches">{}</ul></section>"#,
        texts::PROVIDERS,
        texts::PROVIDERS_HINT,
        Html::join(rows),
    )
}

fn provider(name: &str, switch: Option<&ProviderSwitch>) -> Html {
    let enabled = switch.is_none_or(|switch| switch.enabled);
    let reason = switch.and_then(|switch| switch.reason.as_deref());
    let label = texts::switch_label(name, enabled);
    let id = format!("why-{name}");
    let reason_field = html!(
        r#"<label for="{}">{}</label><input id="{}" name="reason" maxlength="500" autocomplete="off" placeholder="{}" required>"#,
        id,
        texts::REASON,
        id,
        texts::REASON_EXAMPLE,
    );
    let action = if enabled {
        html!(
            r#"<details><summary aria-label="{}">{}</summary><form method="post" action="/providers/{}">
<input type="hidden" name="enabled" value="false">{}<button class="off" type="submit">{}</button></form></details>"#,
            label,
            texts::SWITCH_OFF,
            name,
            reason_field,
            texts::SWITCH_OFF,
        )
    } else {
        html!(
            r#"<form method="post" action="/providers/{}"><input type="hidden" name="enabled" value="true">
<button type="submit" aria-label="{}">{}</button></form>"#,
            name,
            label,
            texts::SWITCH_ON,
        )
    };
    let (class, state) = if enabled {
        ("on", texts::ON)
    } else {
        ("off", texts::OFF)
    };
    html!(
        r#"<li class="switch"><span class="name">{}</span><span class="state {}">{}</span><span class="reason">{}</span>{}</li>"#,
        name,
        class,
        state,
        reason,
        action,
    )
}

/// Every reviewer with the models that it would use; those with the same ones stand together.
pub(crate) fn reviewers(config: &ConfigDocument) -> Html {
    let names = ReviewerName::STANDING
        .iter()
        .copied()
        .chain([ReviewerName::COORDINATOR]);
    let mut groups: Vec<(Html, Vec<Html>)> = Vec::new();
    for name in names {
        let (label, models) = (reviewer(name, config), models(name, config));
        match groups.iter_mut().find(|(known, _)| *known == models) {
            Some((_, labels)) => labels.push(label),
            None => groups.push((models, vec![label])),
        }
    }
    let rows = groups.into_iter().map(|(models, labels)| {
        html!(
            r#"<tr role="row"><th role="rowheader" scope="row"><ul>{}</ul></th>{}</tr>"#,
            Html::join(labels),
            models,
        )
    });
    let columns = [texts::REVIEWER, texts::MODELS, texts::CHOSEN_BY];
    section(
        texts::REVIEWERS,
        texts::REVIEWERS_HINT,
        &table("reviewers", &columns, &Html::join(rows)),
    )
}

/// A reviewer's name, and what is set for it besides its models.
fn reviewer(name: &str, config: &ConfigDocument) -> Html {
    let settings = config.reviewers.get(name);
    let disabled = settings
        .filter(|settings| settings.enabled == Some(false))
        .map(|_| html!(r#" <span class="chip warn">{}</span>"#, texts::DISABLED));
    let timeout = settings
        .and_then(|settings| settings.timeout_seconds)
        .map(|seconds| html!(r#" <span class="chip">{}</span>"#, texts::seconds(seconds)));
    let shown = ReviewerName::new(name).map_or_else(|_| name.to_owned(), |name| name.display_name());
    html!("<li>{}{}{}</li>", shown, disabled, timeout)
}

/// The cells with a reviewer's models, and who chose them.
fn models(name: &str, config: &ConfigDocument) -> Html {
    // What a job has keys for, only the job knows.
    let credentials = known_providers(config);
    let input = RouteInput {
        document: config,
        preset: Preset::Current,
        credentials: &credentials,
        trivial: false,
        classes: &NO_CLASSES,
    };
    let explained = explain_route(name, input);
    let left = explained.considered.iter().any(|model| model.skipped.is_none());
    let models = explained.considered.iter().map(|considered| {
        let class = match (&considered.skipped, &considered.reason) {
            (Some(_), _) => "skipped",
            (None, ModelReason::StandsInFor(_)) => "stand-in",
            (None, ModelReason::Preferred) => "preferred",
        };
        let reason = considered
            .skipped
            .as_ref()
            .map(|skip| html!(r#" <span class="note">{}</span>"#, skip.reason));
        html!(
            r#"<li class="{}"><span>{}</span>{}</li>"#,
            class,
            considered.model.as_str(),
            reason
        )
    });
    let none = (!left).then(|| html!(r#"<p class="fault">{}</p>"#, texts::NO_MODEL));
    let by = match explained.source {
        ModelSource::Preset => texts::BUILT_IN,
        ModelSource::Class => texts::BY_CLASS,
        ModelSource::Remote => texts::BY_DOCUMENT,
    };
    html!(
        r#"<td role="cell"><ol class="models">{}</ol>{}</td><td role="cell" class="by">{}</td>"#,
        Html::join(models),
        none,
        by,
    )
}

/// What is otherwise in some projects.
pub(crate) fn projects(config: &ConfigDocument) -> Html {
    if config.projects.is_empty() {
        return Html::default();
    }
    let rows = config.projects.iter().map(|entry| {
        let paths = entry.paths.iter().map(|path| html!("<li><code>{}</code></li>", path));
        html!(
            r#"<tr role="row"><th role="rowheader" scope="row"><ul>{}</ul></th><td role="cell">{}</td></tr>"#,
            Html::join(paths),
            own(entry).join(", "),
        )
    });
    section(
        texts::PROJECTS,
        "",
        &table("projects", &[texts::PATHS, texts::SETTINGS], &Html::join(rows)),
    )
}

/// The names of the parts that an entry has.
fn own(entry: &ProjectOverride) -> Vec<String> {
    let fields = serde_json::to_value(entry).unwrap_or_default();
    let fields = fields.as_object().cloned().unwrap_or_default();
    fields.keys().filter(|name| *name != "paths").cloned().collect()
}

/// An operator's own prices.
pub(crate) fn prices(config: &ConfigDocument) -> Html {
    if config.prices.is_empty() {
        return Html::default();
    }
    let rows = config.prices.iter().map(|(model, price)| {
        html!(
            r#"<tr role="row"><th role="rowheader" scope="row">{}</th><td role="cell" class="number">{}</td><td role="cell" class="number">{}</td><td role="cell">{}</td></tr>"#,
            model,
            format::price(price.input),
            format::price(price.output),
            price.as_of,
        )
    });
    section(
        texts::PRICES,
        texts::PRICES_HINT,
        &table(
            "prices",
            &[texts::MODEL, texts::INPUT, texts::OUTPUT, texts::AS_OF],
            &Html::join(rows),
        ),
    )
}

/// Who changed what, when and why.
pub(crate) fn history(history: &[HistoryEntry]) -> Html {
    if history.is_empty() {
        return section(
            texts::HISTORY,
            "",
            &html!(r#"<p class="none">{}</p>"#, texts::NO_HISTORY),
        );
    }
    let rows = history.iter().map(|entry| {
        let who = if entry.who.is_empty() { texts::NOBODY } else { entry.who.as_str() };
        html!(
            r#"<tr role="row"><th role="rowheader" scope="row">{}</th><td role="cell" class="when"><time datetime="{}">{}</time></td><td role="cell">{}</td><td role="cell">{}</td><td role="cell">{}</td></tr>"#,
            entry.revision,
            format::rfc3339(entry.at_ms),
            format::moment(entry.at_ms),
            who,
            entry.action,
            entry.why,
        )
    });
    let columns = [texts::REVISION, texts::WHEN, texts::WHO, texts::WHAT, texts::WHY];
    section(texts::HISTORY, "", &table("history", &columns, &Html::join(rows)))
}

fn section(title: &str, hint: &str, body: &Html) -> Html {
    html!(
        r#"<section class="card"><div class="title"><h2>{}</h2><span>{}</span></div>{}</section>"#,
        title,
        hint,
        body,
    )
}

fn table(class: &str, columns: &[&str], rows: &Html) -> Html {
    let columns = columns
        .iter()
        .map(|column| html!(r#"<th role="columnheader" scope="col">{}</th>"#, *column));
    html!(
        r#"<table class="{}" role="table"><thead role="rowgroup"><tr role="row">{}</tr></thead><tbody role="rowgroup">{}</tbody></table>"#,
        class,
        Html::join(columns),
        rows,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> ConfigDocument {
        serde_json::from_str(text).expect("readable")
    }

    #[test]
    fn every_provider_has_a_switch_and_what_is_stored_is_escaped() {
        let html = providers(&document(
            r#"{"schema_version":1,"providers":{"openai":{"enabled":false,"reason":"<script>x</script>"},"own\"x":{"enabled":true}},
                "reviewers":{"tests":{"models":["vllm/qwen"]}}}"#,
        ));
        let html = html.as_str();
        for name in ["anthropic", "openai", "cloudflare-workers-ai", "vllm"] {
            assert!(html.contains(&format!("action=\"/providers/{name}\"")), "{name}");
        }
        assert!(html.contains("&lt;script&gt;") && !html.contains("<script>"), "{html}");
        assert!(html.contains("own&quot;x"), "{html}");
        assert_eq!(
            html.matches("value=\"true\"").count(),
            1,
            "only what is off can be switched on"
        );
    }

    #[test]
    fn reviewers_show_what_is_skipped_and_why() {
        let html = reviewers(&document(
            r#"{"schema_version":1,"providers":{"anthropic":{"enabled":false,"reason":"incident 7"}},
                "reviewers":{"security":{"models":["anthropic/claude-opus-4-6"]},"tests":{"enabled":false,"timeout_seconds":9}}}"#,
        ));
        let html = html.as_str();
        assert!(html.contains("anthropic is switched off: incident 7"), "{html}");
        assert_eq!(html.matches(texts::NO_MODEL).count(), 1);
        assert!(html.contains(texts::DISABLED) && html.contains("9 s for one attempt"));
        for name in ["code quality", "AGENTS.md", "coordinator"] {
            assert!(html.contains(&format!("<li>{name}</li>")), "{name}");
        }
        let alike = "<li>correctness</li><li>performance</li><li>code quality</li>";
        assert!(html.contains(alike), "those with the same models stand together");
    }

    #[test]
    fn parts_that_say_nothing_are_left_out() {
        let plain = ConfigDocument::default();
        for part in [warnings(&[]), projects(&plain), prices(&plain)] {
            assert_eq!(part.as_str(), "");
        }
        let some = document(
            r#"{"schema_version":1,"prices":{"a/b":{"as_of":"2026-11-01","input":2.5,"output":10}},
                "projects":[{"paths":["platform/**"],"limits":{"sessions":2},"panels":{"lite":["tests"]}}]}"#,
        );
        assert!(prices(&some).as_str().contains("2026-11-01"));
        assert!(
            projects(&some).as_str().contains("limits, panels"),
            "{}",
            projects(&some).as_str()
        );
    }
}
