//! What `conclave doctor` found, in the terminal.

use std::fmt::Write;

use crate::{
    doctor::{Report, Status},
    output::{
        layout::{clean, columns, hang},
        numbers::plural,
        paint::Paint,
    },
};

/// The whole report: a line a check, the next step below what needs one.
pub(crate) fn doctor(report: &Report) -> String {
    let name_width = report.checks.iter().map(|check| check.name.chars().count()).max();
    let name_width = name_width.unwrap_or_default();
    // Status and name stand in columns only where there is room for them.
    let indent = if columns() < 60 { 2 } else { 9 + name_width + 2 };
    let mut text = String::new();
    for check in &report.checks {
        let status = match check.status {
            Status::Ok => "ok     ".green(),
            Status::Warning => "warning".yellow().bold(),
            Status::Failure => "failure".red().bold(),
        };
        let name = format!("{:<name_width$}", check.name);
        let lines = check.detail.lines().map(|line| hang(&clean(line), indent));
        let detail = lines.collect::<Vec<_>>().join(&format!("\n{}", " ".repeat(indent)));
        if columns() < 60 {
            let _ = writeln!(text, "{status} {}\n  {detail}", check.name.bold());
        } else {
            let _ = writeln!(text, "{status}  {}  {detail}", name.bold());
        }
        if let Some(step) = &check.next_step {
            let step = hang(&format!("Next: {}", clean(step)), indent);
            let _ = writeln!(text, "{}{}", " ".repeat(indent), step.cyan());
        }
    }
    if !report.not_set_up.is_empty() {
        let _ = writeln!(text, "\n{}", "Not set up here".dimmed());
        for absent in &report.not_set_up {
            let _ = writeln!(text, "{}", format!("  {}", hang(&clean(absent), 2)).dimmed());
        }
    }
    let count = |status| report.checks.iter().filter(|check| check.status == status).count();
    let (failures, warnings) = (count(Status::Failure), count(Status::Warning));
    let all = format!(
        "{}, {}, {} ok",
        plural(failures, "failure"),
        plural(warnings, "warning"),
        count(Status::Ok)
    );
    let _ = write!(text, "\n{}", if failures > 0 { all.red().bold() } else { all.green() });
    text
}
