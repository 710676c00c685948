//! The project's settings: what they leave open of what an approval or a failed job is worth.

use conclave_plugin_gitlab::ProjectSettings;

use super::Check;

/// A check for each setting that GitLab tells.
pub(super) fn settings(settings: &ProjectSettings) -> Vec<Check> {
    let target = settings.target_branch.as_deref().unwrap_or("the target branch");
    let judged = |name: &str, is_good: Option<bool>, good: String, open: String, step: &str| {
        is_good.map(|is_good| {
            if is_good {
                Check::ok(name, good)
            } else {
                Check::warning(name, open).next(step)
            }
        })
    };
    [
        judged(
            "approvals-reset",
            settings.approvals_reset_on_push,
            "a push removes all approvals".to_owned(),
            "approvals stay when commits are pushed: the bot takes its own back when its next run begins, and until then it stands on \
             code that nobody reviewed"
                .to_owned(),
            "set \"Remove all approvals\" under Settings, Merge requests, Approval settings, \"When a commit is added\"",
        ),
        judged(
            "author-approval",
            settings.author_may_approve.map(|may| !may),
            "authors may not approve their own merge requests".to_owned(),
            "authors may approve their own merge requests: where the bot leaves an approval to a person, that may be the author"
                .to_owned(),
            "set \"Prevent approval by merge request creator\" under Settings, Merge requests, Approval settings",
        ),
        judged(
            "committer-approval",
            settings.committers_may_approve.map(|may| !may),
            "who wrote a commit of a merge request may not approve it".to_owned(),
            "who pushes a commit to a merge request may approve it: where the bot leaves an approval to a person, that may be who \
             wrote the code"
                .to_owned(),
            "set \"Prevent approvals by users who add commits\" under Settings, Merge requests, Approval settings",
        ),
        judged(
            "target-branch",
            settings.target_is_protected,
            format!("{target} is protected"),
            format!(
                "{target} is not protected: anyone who may push to it needs no merge request, and can change the settings of reviews"
            ),
            "protect it under Settings, Repository, Protected branches",
        ),
        judged(
            "pipeline-must-succeed",
            settings.pipeline_must_succeed,
            "a merge needs a pipeline that succeeded".to_owned(),
            "a merge needs no pipeline that succeeded: `--gate block` fails the job, and no person has to wait for it".to_owned(),
            "set \"Pipelines must succeed\" under Settings, Merge requests, Merge checks",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
