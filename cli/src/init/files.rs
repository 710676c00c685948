//! The files that `conclave init` writes.

use std::fmt::Write;

use super::{Answers, Job};

/// The project's pipeline.
pub(crate) const CI_FILE: &str = ".gitlab-ci.yml";
/// The copy of the component, where there is no project with it.
pub(crate) const JOB_FILE: &str = ".gitlab/conclave.yml";
/// The repository's settings.
pub(crate) const SETTINGS_FILE: &str = ".conclave.toml";
/// The command `/fullreview` of OpenCode's terminal interface.
pub(crate) const TUI_FILE: &str = ".opencode/command/fullreview.md";

/// The workflow of a repository on GitHub.
pub(crate) const WORKFLOW_FILE: &str = ".github/workflows/conclave.yml";

/// The component, as this version of the program goes with it.
const COMPONENT: &str = include_str!("../../../templates/conclave/template.yml");
const WORKFLOW: &str = include_str!("../../../templates/github/conclave.yml");
const FULLREVIEW: &str = include_str!("../assets/fullreview.md");
const SETTINGS: &str = include_str!("../assets/conclave.toml");

/// All of them: path, purpose, content.
pub(super) fn all(answers: &Answers) -> Vec<(&'static str, &'static str, String)> {
    let mut files = match &answers.job {
        Job::Workflow => vec![(
            WORKFLOW_FILE,
            "the review as a job of pull requests",
            workflow_file(answers),
        )],
        Job::Component { .. } | Job::Copy => vec![(
            CI_FILE,
            "the review as a job of merge-request pipelines",
            ci_file(answers),
        )],
    };
    if answers.job == Job::Copy {
        files.push((JOB_FILE, "that job", COMPONENT.to_owned()));
    }
    files.push((
        SETTINGS_FILE,
        "how this repository is reviewed; everything in it is commented out",
        SETTINGS.to_owned(),
    ));
    files.push((TUI_FILE, "/fullreview in OpenCode's terminal", FULLREVIEW.to_owned()));
    files
}

/// The workflow with the image, and with a job that fails where that is wanted.
fn workflow_file(answers: &Answers) -> String {
    let gate = if answers.block {
        "conclave review --gate block "
    } else {
        "conclave review "
    };
    WORKFLOW
        .replace("image: IMAGE", &format!("image: {}", scalar(&answers.image)))
        .replace("conclave review ", gate)
}

/// A pipeline of nothing but the review.
fn ci_file(answers: &Answers) -> String {
    format!("include:\n{}", entry(answers, "  "))
}

/// The list item of the include.
fn entry(answers: &Answers, indent: &str) -> String {
    let source = match &answers.job {
        Job::Component { project, version } => format!("component: $CI_SERVER_FQDN/{project}/conclave@{version}"),
        Job::Copy | Job::Workflow => format!("local: {JOB_FILE}"),
    };
    let mut text = format!(
        "{indent}- {source}\n{indent}  inputs:\n{indent}    image: {}\n",
        scalar(&answers.image)
    );
    if answers.block {
        let _ = write!(text, "{indent}    gate: block\n{indent}    allow_failure: false\n");
    }
    text
}

/// A text as a YAML scalar. JSON's strings are YAML's.
fn scalar(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// What to add to a pipeline that is there.
pub(super) fn ci_snippet(there: &str, answers: &Answers) -> String {
    let includes = there.lines().any(|line| line.starts_with("include:"));
    if includes {
        format!(
            "# below the `include:` that is there, as one more item of its list:\n{}",
            entry(answers, "  ")
        )
    } else {
        ci_file(answers)
    }
}

/// Returns whether a pipeline has the review already.
pub(super) fn includes_conclave(there: &str) -> bool {
    there
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with('#'))
        .any(|line| {
            line.contains("/conclave@")
                || line.contains(JOB_FILE)
                || line.starts_with("conclave:")
                || line.contains("conclave review")
        })
}
