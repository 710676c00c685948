//! A plan in the terminal.

use std::fmt::Write;

use comfy_table::CellAlignment;
use conclave_engine::{panel::SessionEstimate, review::Presence};
use conclave_opencode::v1::ExplainedLine;
use conclave_shared::{engineering_rule::OnBreach, model::ModelId, pricing::TokenUsage};

use crate::{
    output::{
        layout::{clean, columns, wrap},
        numbers::{plural, rounded},
        paint::Paint,
        table::{rows, section, table},
    },
    run::{
        plan::{ModelChoice, PlanDocument, PlannedModel, PlannedReviewer, PlannedRule},
        prepare::ChosenBy,
    },
};

/// So many files of a rule are named; the JSON has all of them.
const MAX_FILES: usize = 5;

/// The whole plan.
pub(crate) fn plan(plan: &PlanDocument) -> String {
    let width = columns();
    let mut text = String::new();
    headline(&mut text, plan, width);
    files(&mut text, plan);
    section(&mut text, "Estimate");
    text.push_str(&estimate(plan, width));
    section(&mut text, "Panel");
    text.push_str(&rows(on_panel(plan).chain([&plan.coordinator]).map(seat), width));
    section(&mut text, "Not on it");
    let off = plan
        .reviewers
        .iter()
        .filter(|reviewer| reviewer.presence != Presence::OnPanel);
    text.push_str(&rows(off.map(seat), width));
    if !plan.rules.is_empty() {
        section(&mut text, "Engineering rules");
        text.push_str(&rows(plan.rules.iter().map(rule), width));
    }
    section(&mut text, "Models");
    models(&mut text, plan, width);
    section(&mut text, "Assumptions of the estimate");
    for assumption in &plan.estimate.assumptions {
        let _ = writeln!(text, "{}", bullet(assumption, width).dimmed());
    }
    if !plan.approval_holds.is_empty() {
        section(&mut text, "The bot would not approve");
        for hold in &plan.approval_holds {
            let _ = writeln!(
                text,
                "{}",
                bullet(&format!("{}: {}", hold.cause.title(), hold.reason), width)
            );
            for place in &hold.places {
                let _ = writeln!(text, "    {}", clean(place));
            }
        }
    }
    let _ = write!(text, "\n{}", wrap(&settings(plan), width, "").dimmed());
    for warning in &plan.warnings {
        let _ = write!(
            text,
            "\n{} {}",
            "!".yellow().bold(),
            wrap(&clean(warning), width, "  ").trim_start()
        );
    }
    text
}

/// A file line by line, each with the plugin that it comes from.
pub(crate) fn explained(lines: &[ExplainedLine]) -> String {
    let widest = lines.iter().map(|line| line.plugin.len()).max().unwrap_or_default();
    let lines = lines
        .iter()
        .map(|ExplainedLine { line, plugin }| format!("{} {line}", format!("{plugin:<widest$}").dimmed()));
    lines.collect::<Vec<_>>().join("\n")
}

fn headline(text: &mut String, plan: &PlanDocument, width: usize) {
    let _ = writeln!(
        text,
        "{} · {} · {}",
        format!("Tier {}", plan.tier).bold(),
        plural(on_panel(plan).count(), "reviewer"),
        in_all(&sum(plan))
    );
    for reason in &plan.tier_reasons {
        let _ = writeln!(text, "{}", wrap(&clean(reason), width, "  "));
    }
}

fn files(text: &mut String, plan: &PlanDocument) {
    let added: u64 = plan.files.iter().map(|file| file.added).sum();
    let removed: u64 = plan.files.iter().map(|file| file.removed).sum();
    let _ = writeln!(
        text,
        "\n{} to review, +{added} -{removed}",
        plural(plan.files.len(), "file")
    );
    if !plan.filtered.is_empty() {
        let _ = writeln!(text, "{} filtered", plural(plan.filtered.len(), "file"));
        for file in &plan.filtered {
            let _ = writeln!(
                text,
                "  {} {}",
                clean(&file.path),
                format!("({})", file.reason.describe()).dimmed()
            );
        }
    }
}

fn on_panel(plan: &PlanDocument) -> impl Iterator<Item = &PlannedReviewer> {
    let reviewers = plan.reviewers.iter();
    reviewers.filter(|reviewer| reviewer.presence == Presence::OnPanel)
}

/// Tokens and cost by reviewer.
fn estimate(plan: &PlanDocument, width: usize) -> String {
    let mut table = table(width);
    table.set_header(["", "model", "turns", "read", "cached", "written", "cost"]);
    for reviewer in on_panel(plan).chain([&plan.coordinator]) {
        let Some(session) = &reviewer.estimate else { continue };
        // The whole name stands under "Models".
        let model = session.model.as_ref().map_or("none can be used", |model| model.model());
        let model = model.rsplit('/').next().unwrap_or(model);
        let mut row = vec![
            reviewer.name.display_name(),
            model.to_owned(),
            session.turns.to_string(),
        ];
        row.extend(usage(&session.tokens));
        row.push(cost(session));
        table.add_row(row);
    }
    let mut total = vec!["total".to_owned(), String::new(), String::new()];
    total.extend(usage(&plan.estimate.tokens));
    total.push(sum(plan));
    table.add_row(total);
    for column in 2..7 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = format!("{}\n", table.trim_fmt());
    if !plan.estimate.unpriced.is_empty() {
        let models: Vec<&str> = plan.estimate.unpriced.iter().map(ModelId::as_str).collect();
        let line = format!(
            "no price is known of {}: what it costs is unknown, is not in the sum, and no budget in dollars stops it",
            models.join(", ")
        );
        let line = wrap(&line, width, "  ");
        let _ = writeln!(text, "{} {}", "!".yellow().bold(), line.trim_start());
    }
    text
}

/// A cost without a known price.
const UNKNOWN: &str = "unknown";

fn usage(tokens: &TokenUsage) -> [String; 3] {
    let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
    let cached = match prompt {
        0 => "–".to_owned(),
        prompt => format!("{} %", tokens.cache_read * 100 / prompt),
    };
    [rounded(prompt), cached, rounded(tokens.output + tokens.reasoning)]
}

fn cost(session: &SessionEstimate) -> String {
    session.cost_usd.map_or_else(|| UNKNOWN.to_owned(), dollars)
}

/// What the whole review would cost, as far as prices are known.
fn sum(plan: &PlanDocument) -> String {
    match (plan.estimate.unpriced.is_empty(), plan.estimate.cost_usd > 0.0) {
        (true, _) => dollars(plan.estimate.cost_usd),
        (false, true) => format!("{} and more", dollars(plan.estimate.cost_usd)),
        (false, false) => UNKNOWN.to_owned(),
    }
}

/// The sum in the headline.
fn in_all(sum: &str) -> String {
    match sum {
        UNKNOWN => format!("cost {}", sum.bold()),
        sum => format!("about {}", sum.bold()),
    }
}

fn dollars(amount: f64) -> String {
    let digits = if amount > 0.0 && amount < 0.01 { 4 } else { 2 };
    format!("${amount:.digits$}")
}

fn seat(reviewer: &PlannedReviewer) -> [String; 2] {
    let mut reason = reviewer.reason.clone();
    if reviewer.presence == Presence::OnPanel && !reviewer.required && reviewer.name.as_str() != "coordinator" {
        reason.push_str("; the review is complete without it");
    }
    [format!("  {}", reviewer.name.display_name()), reason]
}

/// A rule with its consequence and the files that it would be checked on.
fn rule(rule: &PlannedRule) -> [String; 2] {
    let consequence = match rule.on_breach {
        None => "severity by its reviewer".to_owned(),
        Some(OnBreach::Review) if rule.approvers.is_empty() => "a person has to approve a breach".to_owned(),
        Some(OnBreach::Review) => format!("{} has to approve a breach", rule.approvers.join(", ")),
        Some(on_breach) => format!("a breach: {on_breach} ({})", on_breach.severity()),
    };
    let level = rule.level.map_or_else(String::new, |level| format!("{level}; "));
    let shown: Vec<String> = rule.files.iter().take(MAX_FILES).map(|file| clean(file)).collect();
    let more = match rule.files.len().saturating_sub(MAX_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let words = format!("{level}{consequence}; on {}{more}", shown.join(", "));
    [format!("  {}", clean(&rule.rule)), words]
}

/// Reviewers with the same models stand together.
fn models(text: &mut String, plan: &PlanDocument, width: usize) {
    let mut groups: Vec<(&ModelChoice, Vec<String>)> = Vec::new();
    for reviewer in on_panel(plan).chain([&plan.coordinator]) {
        let Some(choice) = &reviewer.models else { continue };
        let name = reviewer.name.display_name();
        match groups.iter_mut().find(|(known, _)| *known == choice) {
            Some((_, names)) => names.push(name),
            None => groups.push((choice, vec![name])),
        }
    }
    for (choice, names) in groups {
        let line = format!("{}: {}", names.join(", "), source(choice, plan));
        let _ = writeln!(text, "{}", wrap(&line, width, "  "));
        let mut place = 0;
        let lines = choice.considered.iter().map(|model| {
            let used = model.skipped.is_none();
            place += usize::from(used);
            let number = if used { format!("{place}.") } else { "–".to_owned() };
            [format!("    {number}"), model.model.to_string(), remark(model)]
        });
        text.push_str(&rows(lines.collect::<Vec<_>>().into_iter(), width));
    }
}

fn source(choice: &ModelChoice, plan: &PlanDocument) -> String {
    let Some(class) = choice.class else {
        return match choice.source {
            "job" => "named by the job".to_owned(),
            _ => "named by the remote configuration".to_owned(),
        };
    };
    if choice.source == "configured" {
        return format!("{class} models, named by a plugin or the remote configuration");
    }
    let Some(preset) = &plan.preset else {
        return format!("{class} models");
    };
    let by = match preset.chosen_by {
        ChosenBy::Default => "the default",
        ChosenBy::Repo => "chosen by .conclave.toml",
        ChosenBy::Job => "chosen by the job",
    };
    format!("{class} models of the preset {}, {by}", preset.name)
}

fn remark(model: &PlannedModel) -> String {
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(model.skipped.clone());
    if let Some(other) = &model.stands_in_for {
        remarks.push(format!("stands in for {}", other.model()));
    }
    if !model.known {
        let (context, answer) = (rounded(model.context), rounded(model.max_output));
        remarks.push(format!(
            "not in the registry: no price; a context of {context} tokens and answers of {answer} are assumed"
        ));
    }
    if model.skipped.is_none() {
        remarks.push(model.effort.clone());
    }
    remarks.join("; ")
}

fn settings(plan: &PlanDocument) -> String {
    let remote = plan.remote_revision.map_or_else(
        || "no remote configuration".to_owned(),
        |revision| format!("remote configuration of revision {revision}"),
    );
    let repo = if plan.repo_config {
        ".conclave.toml of the target branch"
    } else {
        "no .conclave.toml on the target branch"
    };
    format!("Settings: {remote}; {repo}; on {}", plan.runtime.name.describe())
}

fn bullet(line: &str, width: usize) -> String {
    let options = textwrap::Options::new(width)
        .initial_indent("  · ")
        .subsequent_indent("    ");
    textwrap::fill(line, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_cost_is_not_about_so_much() {
        let shown = |sum: &str| crate::output::door::clean(&in_all(sum), crate::output::door::Keep::Text);
        assert_eq!(shown(UNKNOWN), "cost unknown");
        assert_eq!(shown("$0.10 and more"), "about $0.10 and more");
    }

    #[test]
    fn small_amounts_have_more_digits() {
        for (amount, text) in [(0.0, "$0.00"), (0.0042, "$0.0042"), (0.06, "$0.06"), (1.034, "$1.03")] {
            assert_eq!(dollars(amount), text);
        }
    }
}
