//! `glob`: files by their names.

use std::sync::atomic::AtomicBool;

use serde_json::{Map, Value};

use super::{
    optional_text, text,
    walk::Files,
    workspace::{Kind, Workspace},
};

/// Maximum number of files that are shown.
const MAX_FILES: usize = 100;

pub(super) fn run(workspace: &Workspace, arguments: &Map<String, Value>, stop: &AtomicBool) -> Result<String, String> {
    let pattern = text(arguments, "pattern")?;
    let place = workspace.place(optional_text(arguments, "path")?.unwrap_or("."))?;
    match workspace.kind(&place) {
        Ok(Kind::Directory) => {}
        Ok(Kind::File) => return Err(format!("glob path must be a directory: {}", place.path())),
        Err(_) => return Err(workspace.missing(&place)),
    }
    let mut files = Files::below(workspace, &place, Some(pattern), stop)?;
    let mut found: Vec<String> = files.by_ref().take(MAX_FILES + 1).map(Into::into).collect();
    let more = found.len() > MAX_FILES || files.is_late();
    found.truncate(MAX_FILES);
    let mut output = if found.is_empty() {
        "No files found".to_owned()
    } else {
        found.join("\n")
    };
    if more {
        output.push_str("\n\n(Results are truncated. Consider using a more specific path or pattern.)");
    }
    Ok(output)
}
