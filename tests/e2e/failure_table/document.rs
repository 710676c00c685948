//! `docs/failures.md`, made of the expected outcomes and of what was measured.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use super::{Measured, Row};
use crate::no_wrong_approval::stances::table::Table;

const HEAD: &str = "# What happens when something breaks

Each row is a test (`tests/e2e/failure_table.rs`) that breaks the thing for real in a whole review: the real OpenCode, real git,
and stand-ins for GitLab, GitHub and the model provider over real HTTP. The merge request is a clean one of one file, which a healthy run
approves; so the worst that a failure could do would be to approve it all the same. One provider is configured, and one
reviewer and the coordinator are at work.

The expected outcomes are in `tests/failures/outcomes.json`; this file is made of them and of the figures that were measured when it
was last renewed, on a machine that other work shared. \"Calls\" are requests that reached the provider. Silence is measured with
limits of a few seconds instead of the usual one and three minutes.
";

/// The document.
pub(super) fn render(rows: &[Row], measured: &BTreeMap<String, Measured>) -> String {
    let mut text = String::from(HEAD);
    let mut part = "";
    for row in rows {
        if row.part != part {
            part = &row.part;
            let _ = write!(
                text,
                "\n## {part}\n\n| what breaks | verdict | posted | approved | exit code | calls | seconds | USD |\n|---|---|---|---|---|---|---|---|\n"
            );
        }
        let figures = measured.get(&row.name).map_or_else(
            || "– | – | –".to_owned(),
            |found| format!("{} | {} | {}", found.calls, found.seconds, found.cost_usd),
        );
        let yes = |flag: bool| if flag { "yes" } else { "no" };
        let verdict = row
            .verdict
            .as_deref()
            .map_or_else(|| "none".to_owned(), |verdict| format!("`{verdict}`"));
        let _ = writeln!(
            text,
            "| {} | {verdict} | {} | {} | {} | {figures} |",
            row.breaks,
            yes(row.posted),
            yes(row.approved),
            row.exit
        );
    }
    text.push_str(STANCES);
    text.push_str(&stances(&Table::read()));
    text
}

const STANCES: &str = "
## What the merge request shows of the bot afterwards

Each cell is a whole run in the mode `gate` with `--gate block` (where nothing else is said) on a merge request of its own
(`tests/e2e/no_wrong_approval/stances/`): what the bot showed before stands above, how the run ended on the left, and what it shows
then, with the exit code, where both meet. The expected outcomes are in `tests/failures/stances.json`. The rule: an approval is for one
commit, one target branch and its settings, and goes with every run that does not give it anew; a request for changes goes only with a
finished review that finds nothing that blocks, by a person's decision, or by break glass.

";

/// The table of states and endings.
fn stances(table: &Table) -> String {
    let shown = |mark: &str| match mark {
        "A" => "approved",
        "R" => "changes requested",
        _ => "neither",
    };
    let states: Vec<&str> = table.states.iter().map(|state| state.was.as_str()).collect();
    let mut text = format!(
        "| the run ends: | {} |\n|---{}|\n",
        states.join(" | "),
        "|---".repeat(states.len())
    );
    for ending in &table.endings {
        let cells = ending.then.iter().zip(&ending.exits);
        let cell = |(mark, exit): (&String, &i32)| match mark.as_str() {
            "=" => "as before".to_owned(),
            mark => format!("{}, {exit}", shown(mark)),
        };
        let cells: Vec<String> = cells.map(cell).collect();
        let _ = writeln!(text, "| {} | {} |", ending.end, cells.join(" | "));
    }
    text
}

/// Puts the figures that the rows' tests have left into one file.
pub(super) fn collect(data: &Path) {
    let mut all = super::measured();
    let directory = data.join("measured");
    for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
        let name = entry.path().file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.path()).unwrap();
        all.insert(name, serde_json::from_str(&text).unwrap());
    }
    let text = serde_json::to_string_pretty(&all).unwrap();
    std::fs::write(data.join("measured.json"), format!("{text}\n")).unwrap();
    // Gone when there was nothing to collect.
    let _ = std::fs::remove_dir_all(directory);
}
