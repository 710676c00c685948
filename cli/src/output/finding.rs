//! A finding in the terminal: severity and place, the claim, the code, and what else is known.

use std::fmt::Write;

use conclave_engine::{look_alike::shown_name, review::JudgedFinding};
use conclave_shared::{reviewer::ReviewerName, severity::Severity};
use textwrap::core::display_width;

use crate::output::{
    excerpts::{self, Excerpts},
    layout::{Page, clean, clip, prose, wrap},
    paint::Paint,
};

/// The indentation of what stands below a finding's head.
const INDENT: &str = "  ";

/// A text in the color of a severity.
fn in_color(severity: Severity, text: &str) -> String {
    let text = match severity {
        Severity::Critical => text.red(),
        Severity::Warning => text.yellow(),
        Severity::Suggestion => text.blue(),
    };
    text.bold()
}

/// The whole finding.
pub(crate) fn finding(entry: &JudgedFinding, excerpts: &Excerpts, page: &Page) -> String {
    let (finding, width) = (&entry.finding, page.width);
    let mut text = head(entry, page);
    let _ = write!(text, "\n{}", wrap(&prose(&finding.claim), width, INDENT));
    if let Some(excerpt) = excerpt(excerpts, entry, page.code_width) {
        let _ = write!(text, "\n{excerpt}");
    }
    if !finding.scenario.trim().is_empty() {
        let _ = write!(text, "\n{}", wrap(&prose(&finding.scenario), width, INDENT));
    }
    if let Some(second) = &finding.second {
        let place = format!("{}:{}", clean(&shown_name(&second.file)), second.line);
        let rows = rows(&place, width, "see also ".len() + INDENT.len());
        let rows: Vec<String> = rows
            .iter()
            .map(|row| page.links.place(row, &second.file, second.line))
            .collect();
        let _ = write!(text, "\n{INDENT}{} {}", "see also".dimmed(), rows.join("\n    "));
    }
    if let Some(fix) = &finding.fix {
        let fix = prose(fix);
        let lines = fix.trim_end().lines();
        let fix: Vec<String> = lines
            .map(|line| format!("    {}", clip(line, page.code_width.saturating_sub(4)).green()))
            .collect();
        let _ = write!(text, "\n{INDENT}{}\n{}", "possible fix".dimmed(), fix.join("\n"));
    }
    if let Some(rule) = &finding.rule {
        let shown = wrap(&clean(&format!("rule {}: {}", rule.id, rule.link)), width, INDENT);
        let _ = write!(text, "\n{}", page.links.web(&shown, &rule.link).dimmed());
    }
    if let Some(overruled) = &entry.overruled {
        let _ = write!(
            text,
            "\n{}",
            wrap(&clean(&overruled.describe()), width, INDENT).yellow()
        );
    }
    let _ = write!(text, "\n{}", wrap(&clean(&origin(entry)), width, INDENT).dimmed());
    text
}

/// Severity and place; on two lines or more where one does not take both.
fn head(entry: &JudgedFinding, page: &Page) -> String {
    let finding = &entry.finding;
    let risk = entry.production_risk && finding.severity != Severity::Critical;
    let severity = finding.severity.as_str().to_uppercase();
    let severity = if risk {
        format!("{severity} (endangers production)")
    } else {
        severity
    };
    let place = format!("{}:{}", clean(&shown_name(&finding.file)), finding.line);
    let together = display_width(&severity) + 1 + display_width(&place) <= page.width;
    let link = |row: &str| page.links.place(row, &finding.file, finding.line).bold();
    let styled = in_color(finding.severity, &severity);
    if together {
        return format!("{styled} {}", link(&place));
    }
    let mut text = styled;
    for row in rows(&place, page.width, INDENT.len()) {
        let _ = write!(text, "\n{INDENT}{}", link(&row));
    }
    text
}

/// A place in pieces that fit: paths have no spaces to break at.
fn rows(place: &str, width: usize, indent: usize) -> Vec<String> {
    let rows = textwrap::wrap(place, width.saturating_sub(indent).max(10));
    rows.into_iter().map(std::borrow::Cow::into_owned).collect()
}

fn origin(entry: &JudgedFinding) -> String {
    let finding = &entry.finding;
    let names: Vec<String> = finding.found_by.iter().map(ReviewerName::display_name).collect();
    let names = names.join(", ");
    let found_by = match finding.found_by.len() {
        0 | 1 => names,
        // That several found it independently is the strongest sign that it is true.
        several => format!("found by {several}: {names}"),
    };
    format!("{} · {found_by}", finding.category)
}

/// The lines of the finding with one line around them, in this width.
fn excerpt(excerpts: &Excerpts, entry: &JudgedFinding, width: usize) -> Option<String> {
    let (path, severity) = (&entry.finding.file, entry.finding.severity);
    let (first, last) = excerpts::shown(entry.finding.line, entry.finding.end_line);
    excerpts.line(path, first)?;
    let rows: Vec<String> = (first.saturating_sub(1)..=last + 1)
        .filter_map(|number| {
            let code = clean(&excerpts.line(path, number)?.replace('\t', "    "));
            let code = clip(&code, width.saturating_sub(9));
            let shown = format!("{number:>6}");
            Some(if (first..=last).contains(&number) {
                format!("{} {} {code}", shown.bold(), in_color(severity, "▌"))
            } else {
                format!("{} {} {}", shown.dimmed(), "│".dimmed(), code.dimmed())
            })
        })
        .collect();
    Some(rows.join("\n"))
}
