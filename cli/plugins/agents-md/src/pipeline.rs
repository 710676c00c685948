//! Pipelines that AGENTS.md may describe.

use conclave_engine::diff::ChangeKind;

use crate::{ChangedFile, Hint, Kind, Materiality::High, patch::Lines, pattern::pattern};

/// A pipeline that is gone or has another name, and jobs and commands that are gone from one.
pub(crate) fn pipeline(file: &ChangedFile, lines: &Lines) -> Vec<Hint> {
    let mut hints = Vec::new();
    let path = &file.path;
    let mut add = |materiality, kind, line, text| hints.push(Hint::new(materiality, kind, path, line, text));
    match file.kind {
        ChangeKind::Deleted => {
            add(High, Kind::CiWorkflow, None, "the pipeline is gone".to_owned());
            return hints;
        }
        ChangeKind::Renamed => {
            let text = format!("the pipeline {} has another name", file.old_path);
            add(High, Kind::CiWorkflow, None, text);
        }
        _ if file.is_new() => return hints,
        _ => {}
    }
    // A job's name stands at the margin of GitLab's file, and two spaces from it in GitHub's.
    let job = |text: &str| {
        let groups = pattern!(r"^(?:  )?([A-Za-z][\w.:/ -]*):\s*$").captures(text)?;
        let name = groups.get(1)?.as_str();
        (!NO_JOBS.split_ascii_whitespace().any(|key| key == name)).then(|| name.to_owned())
    };
    let command = |text: &str| {
        let groups = pattern!(r#"^\s*(?:-\s+)?(?:run:\s*)?["']?((?:npm|npx|pnpm|yarn|bun|make|just|cargo|go|python3?|pytest|tox|nox|uv|poetry|bundle|rake|mvn|gradle|\./\w[\w./-]*)\s+[^"'#]+)"#)
            .captures(text)?;
        let words: Vec<&str> = groups.get(1)?.as_str().split_whitespace().take(3).collect();
        Some(words.join(" "))
    };
    for (what, read) in [("job", &job as &dyn Fn(&str) -> Option<String>), ("command", &command)] {
        for old in lines.removed.iter().filter_map(|line| read(line)) {
            if !lines.added.iter().any(|line| read(&line.text).as_ref() == Some(&old)) {
                add(
                    High,
                    Kind::CiWorkflow,
                    None,
                    format!("the {what} `{old}` is gone from the pipeline"),
                );
            }
        }
    }
    hints
}

/// Keys of pipelines that are no jobs.
const NO_JOBS: &str = "stages default include variables workflow image services cache before_script after_script script rules on \
    jobs env permissions steps with needs strategy matrix push pull_request schedule artifacts paths branches \
    concurrency defaults";
