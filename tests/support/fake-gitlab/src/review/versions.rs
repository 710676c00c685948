//! Versions of a merge request: made when it is created and on every push to its source branch.

use crate::MergeRequestRef;
use crate::git::Repository;
use crate::review::retrace::retrace;
use crate::review::states;
use crate::state::State;
use crate::state::merge_request::{MergeRequestState, Version};

/// The diff of `head` against the target branch as it stands now.
pub(crate) fn build(state: &mut State, project: u64, target_branch: &str, head: &str) -> Version {
    let repository = state.project(project).repository.clone();
    let start = repository.branch_head(target_branch).expect("the target branch exists");
    let base = repository
        .merge_base(&start, head)
        .expect("source and target branch share history");
    let patch_id = patch_id(&repository, &base, head);
    Version {
        id: state.take_id(),
        diffs: repository.diff(&base, head),
        commits: repository.commits(&format!("{base}..{head}")),
        head: head.to_owned(),
        base,
        start,
        patch_id,
        created_at: state.now(),
    }
}

/// Brings the source branch's objects into the target project and returns the branch's head.
pub(crate) fn fetch_source(state: &State, target: u64, source: u64, branch: &str, iid: u64) -> Option<String> {
    let head = state.project(source).repository.branch_head(branch)?;
    let repository = &state.project(target).repository;
    let reference = format!("refs/merge-requests/{iid}/head");
    if source == target {
        repository.set_reference(&reference, &head);
    } else {
        let from = state.project(source).repository.path().to_owned();
        repository.fetch(&from, &format!("+refs/heads/{branch}:{reference}"));
    }
    Some(head)
}

/// Gives every open merge request whose source branch moved a new version.
pub(crate) fn synchronise(state: &mut State, pusher: Option<u64>) {
    let open: Vec<MergeRequestRef> = state
        .projects
        .values()
        .flat_map(|project| {
            project
                .merge_requests
                .values()
                .map(move |merge_request| (project.id, merge_request))
        })
        .filter(|(_, merge_request)| merge_request.state == MergeRequestState::Opened)
        .map(|(project, merge_request)| MergeRequestRef {
            project: crate::ProjectId(project),
            iid: merge_request.iid,
        })
        .collect();
    for key in open {
        let merge_request = state.merge_request(key);
        let (source, branch) = (merge_request.source_project, merge_request.source_branch.clone());
        let moved = state
            .project(source)
            .repository
            .branch_head(&branch)
            .is_some_and(|head| head != merge_request.head());
        if moved {
            add_version(state, key, source, &branch, pusher);
        }
    }
}

fn add_version(state: &mut State, key: MergeRequestRef, source: u64, branch: &str, pusher: Option<u64>) {
    let project = key.project.0;
    let Some(head) = fetch_source(state, project, source, branch, key.iid) else {
        return;
    };
    let target_branch = state.merge_request(key).target_branch.clone();
    let version = build(state, project, &target_branch, &head);
    let repository = state.project(project).repository.clone();
    let reset = state.project(project).settings.approvals.reset_on_push;
    let author = state.merge_request(key).author;
    let merge_request = state.merge_request_mut(key);
    let known: Vec<&str> = merge_request
        .version()
        .commits
        .iter()
        .map(|commit| commit.sha.as_str())
        .collect();
    let added = version
        .commits
        .iter()
        .filter(|commit| !known.contains(&commit.sha.as_str()))
        .count();
    let previous = merge_request.version().clone();
    for note in merge_request
        .discussions
        .iter_mut()
        .flat_map(|discussion| discussion.notes.iter_mut())
    {
        let current = note
            .position
            .as_ref()
            .filter(|position| position.head_sha == previous.head);
        if let Some(moved) = current.and_then(|position| retrace(&repository, &previous, &version, position)) {
            note.position = Some(moved);
        }
    }
    merge_request.versions.push(version);
    if reset {
        merge_request.approvals.clear();
    }
    let plural = if added == 1 { "" } else { "s" };
    states::add_system_note(
        state,
        key,
        pusher.unwrap_or(author),
        &format!("added {added} commit{plural}"),
    );
}

/// The stable hash of a diff, the same after a rebase.
fn patch_id(repository: &Repository, base: &str, head: &str) -> String {
    let hunks: Vec<String> = repository
        .diff(base, head)
        .iter()
        .map(|file| {
            let lines = file.patch.lines().filter(|line| !line.starts_with("@@"));
            format!(
                "{}\n{}\n{}",
                file.old_path,
                file.new_path,
                lines.collect::<Vec<_>>().join("\n")
            )
        })
        .collect();
    crate::state::sha1_hex(&hunks.join("\n"))
}
