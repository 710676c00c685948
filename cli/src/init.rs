//! What a project needs to be reviewed: the files, what is in them, and what is to be done by hand.
//!
//! Nothing here reads or writes: from the answers and from what is there already follows a plan, which is shown before
//! anything is written.

mod files;
pub(crate) mod page;

use files::CI_FILE;

/// Where the pipeline's job comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Job {
    /// A component in a project of the same GitLab: the project's path and the version.
    Component {
        /// As in `platform/conclave`.
        project: String,
        /// A tag, a branch or a commit.
        version: String,
    },
    /// A copy of the component in this repository.
    Copy,
    /// A workflow of GitHub Actions.
    Workflow,
}

/// What a person was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answers {
    /// Where the job comes from.
    pub(crate) job: Job,
    /// The image that it runs in.
    pub(crate) image: String,
    /// True if significant concerns fail the job.
    pub(crate) block: bool,
}

/// A file of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedFile {
    /// Below the repository's root.
    pub(crate) path: &'static str,
    /// What it is for.
    pub(crate) purpose: &'static str,
    /// What would be written.
    pub(crate) content: String,
    /// What is there already is left alone; then this is what to do.
    pub(crate) instead: Option<Instead>,
}

/// What becomes of a file that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Instead {
    /// These lines are to be added by hand.
    Add(String),
    /// It is as it would be written.
    Same,
    /// It is the project's own, and stays.
    Keep,
}

/// What is written, given what is there. `existing` is asked for the content of each file.
pub(crate) fn plan(answers: &Answers, existing: impl Fn(&str) -> Option<String>) -> Vec<PlannedFile> {
    files::all(answers)
        .into_iter()
        .map(|(path, purpose, content)| {
            let instead = existing(path).map(|there| {
                if there == content {
                    Instead::Same
                } else if path == CI_FILE && !files::includes_conclave(&there) {
                    Instead::Add(files::ci_snippet(&there, answers))
                } else {
                    Instead::Keep
                }
            });
            PlannedFile {
                path,
                purpose,
                content,
                instead,
            }
        })
        .collect()
}

/// The steps that are done by hand, in their order.
pub(crate) fn by_hand(answers: &Answers, files: &[PlannedFile]) -> Vec<String> {
    let to_add = files
        .iter()
        .filter(|file| matches!(file.instead, Some(Instead::Add(_))));
    let mut steps: Vec<String> = to_add
        .map(|file| format!("Add the lines above to {}, which runs no review yet.", file.path))
        .collect();
    if let Job::Component { project, .. } = &answers.job {
        steps.push(format!(
            "Have a copy of Conclave's own project at {project} on your GitLab: the component is in it."
        ));
    }
    steps.push(format!(
        "Build the image {} (deploy/Dockerfile) and push it there.",
        answers.image
    ));
    if answers.job == Job::Workflow {
        steps.push(
            "Store a provider's key as a secret of Actions (Settings, Secrets and variables), for example ANTHROPIC_API_KEY; one with a \
             spending limit is best. Store a long random text beside it as CONCLAVE_SECRET."
                .to_owned(),
        );
        steps.push(
            "Commit the files and open a pull request. Then require the check `conclave` in the rules of the target branch, and run \
             `conclave doctor` in its job if something is amiss."
                .to_owned(),
        );
        return steps;
    }
    steps.push(
        "Make a project access token (Settings, Access tokens) with the scope `api` and the role Developer; store it as the \
         CI/CD variable GITLAB_TOKEN: masked, not protected."
            .to_owned(),
    );
    steps.push(
        "Store a provider's key beside it, for example ANTHROPIC_API_KEY; one with a spending limit is best. Store a long random text as \
         CONCLAVE_SECRET."
            .to_owned(),
    );
    steps.push(
        "Commit the files, open a merge request, and run `conclave doctor` in its job if something is amiss."
            .to_owned(),
    );
    steps
}

#[cfg(test)]
#[path = "init/init_tests.rs"]
mod tests;
