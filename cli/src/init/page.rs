//! What `conclave init` says.

use std::fmt::Write;

use camino::Utf8Path;

use crate::{
    init::{Instead, PlannedFile},
    output::{
        layout::{clean, hang},
        paint::Paint,
    },
};

/// What will be written, with its content; what stays; and what to add by hand.
pub(crate) fn init_plan(root: &Utf8Path, files: &[PlannedFile]) -> String {
    let mut text = format!("{} {root}\n", "Conclave for".bold());
    for file in files {
        let _ = match &file.instead {
            None => writeln!(
                text,
                "\n{} {}: {}\n",
                "new ".green().bold(),
                file.path.bold(),
                file.purpose
            ),
            Some(Instead::Same) => writeln!(text, "\n{} {}: is as it has to be", "same".dimmed(), file.path.bold()),
            Some(Instead::Keep) => {
                writeln!(
                    text,
                    "\n{} {}: is there, and is left as it is",
                    "kept".dimmed(),
                    file.path.bold()
                )
            }
            Some(Instead::Add(_)) => writeln!(
                text,
                "\n{} {}: is there, and is left as it is. Add this to it:\n",
                "add ".yellow().bold(),
                file.path.bold()
            ),
        };
        match &file.instead {
            None => text.push_str(&quoted(&file.content)),
            Some(Instead::Add(lines)) => text.push_str(&quoted(lines)),
            Some(Instead::Same | Instead::Keep) => {}
        }
    }
    text.trim_end().to_owned()
}

/// A file's lines, the first of them where it is long.
fn quoted(content: &str) -> String {
    const MAX_LINES: usize = 40;
    let count = content.lines().count();
    let mut text = String::new();
    for line in content.lines().take(MAX_LINES) {
        let _ = writeln!(text, "    {}", clean(line).dimmed());
    }
    if count > MAX_LINES {
        let _ = writeln!(
            text,
            "    {}",
            format!("… and {} more lines", count - MAX_LINES).dimmed()
        );
    }
    text
}

/// What was written, and how that is undone.
pub(crate) fn init_written(root: &Utf8Path, written: &[&str]) -> String {
    let mut text = format!("\n{}\n", "Written".bold());
    for path in written {
        let _ = writeln!(text, "  {path}");
    }
    let _ = write!(text, "To undo it: cd {root} && rm {}", written.join(" "));
    text
}

/// What is left to do.
pub(crate) fn init_steps(steps: &[String]) -> String {
    let mut text = format!("\n{}\n", "Next".bold());
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "  {}. {}", number + 1, hang(step, 5));
    }
    text.trim_end().to_owned()
}
