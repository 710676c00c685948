//! The parts of the page.

use conclave_shared::{
    config::{
        ConfigDocument, ModelReason, ModelSource, NO_CLASSES, Preset, ProjectOverride, ProviderSwitch, RouteInput,
        explain_route, known_providers,
    },
    reviewer::ReviewerName,
};
use conclave_worker_common::html::{Html, html};
use maud::PreEscaped;

use super::{format, texts};
use crate::ledger::HistoryEntry;

/// Values that are stored and cannot be used.
pub(crate) fn warnings(warnings: &[String]) -> Html {
    html! {
        @if !warnings.is_empty() {
            section class="card warn" aria-label=(texts::WARNINGS) {
                h2 { (texts::WARNINGS) }
                ul { @for warning in warnings { li { (warning) } } }
            }
        }
    }
}

/// Every provider that a review may come across, with its switch.
pub(crate) fn providers(config: &ConfigDocument) -> Html {
    let switches = html! {
        ul.switches {
            @for name in known_providers(config) { (provider(&name, config.providers.get(&name))) }
        }
    };
    section(texts::PROVIDERS, texts::PROVIDERS_HINT, &switches)
}

fn provider(name: &str, switch: Option<&ProviderSwitch>) -> Html {
    let enabled = switch.is_none_or(|switch| switch.enabled);
    let reason = switch.and_then(|switch| switch.reason.as_deref());
    let label = texts::switch_label(name, enabled);
    let action = format!("/providers/{name}");
    let id = format!("why-{name}");
    let (class, state) = if enabled {
        ("on", texts::ON)
    } else {
        ("off", texts::OFF)
    };
    html! {
        li.switch {
            span.name { (name) }
            span class={ "state " (class) } { (state) }
            span.reason { (reason.unwrap_or_default()) }
            @if enabled {
                details {
                    summary aria-label=(label) { (texts::SWITCH_OFF) }
                    form method="post" action=(action) {
                        input type="hidden" name="enabled" value="false";
                        label for=(id) { (texts::REASON) }
                        input id=(id) name="reason" maxlength="500" autocomplete="off" placeholder=(texts::REASON_EXAMPLE) required;
                        button.off type="submit" { (texts::SWITCH_OFF) }
                    }
                }
            } @else {
                form method="post" action=(action) {
                    input type="hidden" name="enabled" value="true";
                    button type="submit" aria-label=(label) { (texts::SWITCH_ON) }
                }
            }
        }
    }
}

/// Every reviewer with the models that it would use; those with the same ones stand together.
pub(crate) fn reviewers(config: &ConfigDocument) -> Html {
    let names = ReviewerName::STANDING
        .iter()
        .copied()
        .chain([ReviewerName::COORDINATOR]);
    let mut groups: Vec<(String, Vec<Html>)> = Vec::new();
    for name in names {
        let (label, models) = (reviewer(name, config), models(name, config).0);
        match groups.iter_mut().find(|(known, _)| *known == models) {
            Some((_, labels)) => labels.push(label),
            None => groups.push((models, vec![label])),
        }
    }
    let rows = groups.into_iter().map(|(models, labels)| {
        let names = html! { ul { @for label in labels { (label) } } };
        row(&names, &PreEscaped(models))
    });
    let columns = [texts::REVIEWER, texts::MODELS, texts::CHOSEN_BY];
    section(
        texts::REVIEWERS,
        texts::REVIEWERS_HINT,
        &table("reviewers", &columns, rows),
    )
}

/// A reviewer's name, and what is set for it besides its models.
fn reviewer(name: &str, config: &ConfigDocument) -> Html {
    let settings = config.reviewers.get(name);
    let disabled = settings.is_some_and(|settings| settings.enabled == Some(false));
    let timeout = settings.and_then(|settings| settings.timeout_seconds);
    let shown = ReviewerName::new(name).map_or_else(|_| name.to_owned(), |name| name.display_name());
    html! {
        li {
            (shown)
            @if disabled { " " span class="chip warn" { (texts::DISABLED) } }
            @if let Some(seconds) = timeout { " " span.chip { (texts::seconds(seconds)) } }
        }
    }
}

/// The cells with a reviewer's models, and with what chose them.
fn models(name: &str, config: &ConfigDocument) -> Html {
    // The providers that a job has keys for, only the job knows.
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
    let by = match explained.source {
        ModelSource::Preset => texts::BUILT_IN,
        ModelSource::Class => texts::BY_CLASS,
        ModelSource::Remote => texts::BY_DOCUMENT,
    };
    html! {
        td role="cell" {
            ol.models {
                @for considered in &explained.considered {
                    @let class = match (&considered.skipped, &considered.reason) {
                        (Some(_), _) => "skipped",
                        (None, ModelReason::StandsInFor(_)) => "stand-in",
                        (None, ModelReason::Preferred) => "preferred",
                    };
                    li class=(class) {
                        span { (considered.model.as_str()) }
                        @if let Some(skip) = &considered.skipped { " " span.note { (skip.reason) } }
                    }
                }
            }
            @if !left { p.fault { (texts::NO_MODEL) } }
        }
        td.by role="cell" { (by) }
    }
}

/// The settings that are otherwise in some projects.
pub(crate) fn projects(config: &ConfigDocument) -> Html {
    if config.projects.is_empty() {
        return Html::default();
    }
    let rows = config.projects.iter().map(|entry| {
        let paths = html! { ul { @for path in &entry.paths { li { code { (path) } } } } };
        row(&paths, &html! { td role="cell" { (own(entry).join(", ")) } })
    });
    section(
        texts::PROJECTS,
        "",
        &table("projects", &[texts::PATHS, texts::SETTINGS], rows),
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
        let cells = html! {
            td.number role="cell" { (format::price(price.input)) }
            td.number role="cell" { (format::price(price.output)) }
            td role="cell" { (price.as_of) }
        };
        row(&html! { (model) }, &cells)
    });
    let columns = [texts::MODEL, texts::INPUT, texts::OUTPUT, texts::AS_OF];
    section(texts::PRICES, texts::PRICES_HINT, &table("prices", &columns, rows))
}

/// Revisions: the person, the change, the moment and the reason.
pub(crate) fn history(history: &[HistoryEntry]) -> Html {
    if history.is_empty() {
        return section(texts::HISTORY, "", &html! { p.none { (texts::NO_HISTORY) } });
    }
    let rows = history.iter().map(|entry| {
        let who = if entry.who.is_empty() {
            texts::UNNAMED
        } else {
            entry.who.as_str()
        };
        let cells = html! {
            td.when role="cell" { time datetime=(format::rfc3339(entry.at_ms)) { (format::moment(entry.at_ms)) } }
            td role="cell" { (who) }
            td role="cell" { (entry.action) }
            td role="cell" { (entry.why.as_deref().unwrap_or_default()) }
        };
        row(&html! { (entry.revision) }, &cells)
    });
    let columns = [texts::REVISION, texts::WHEN, texts::WHO, texts::WHAT, texts::WHY];
    section(texts::HISTORY, "", &table("history", &columns, rows))
}

fn section(title: &str, hint: &str, body: &Html) -> Html {
    html! {
        section.card { div.title { h2 { (title) } span { (hint) } } (body) }
    }
}

fn table(class: &str, columns: &[&str], rows: impl Iterator<Item = Html>) -> Html {
    html! {
        table class=(class) role="table" {
            thead role="rowgroup" {
                tr role="row" { @for column in columns { th role="columnheader" scope="col" { (column) } } }
            }
            tbody role="rowgroup" { @for row in rows { (row) } }
        }
    }
}

/// A row: its header, and its cells.
fn row(header: &Html, cells: &Html) -> Html {
    html! { tr role="row" { th role="rowheader" scope="row" { (header) } (cells) } }
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
        let html = html.0.as_str();
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
        let html = html.0.as_str();
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
            assert_eq!(part.0, "");
        }
        let some = document(
            r#"{"schema_version":1,"prices":{"a/b":{"as_of":"2026-11-01","input":2.5,"output":10}},
                "projects":[{"paths":["platform/**"],"limits":{"sessions":2},"panels":{"lite":["tests"]}}]}"#,
        );
        assert!(prices(&some).0.contains("2026-11-01"));
        assert!(projects(&some).0.contains("limits, panels"), "{}", projects(&some).0);
    }
}
