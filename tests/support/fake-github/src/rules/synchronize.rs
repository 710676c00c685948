//! Pushes: a branch that moved gives its pull requests a new head.

use crate::ids::PullRef;
use crate::rules::placement::Move;
use crate::state::State;
use crate::state::pull::{PullState, ReviewState};

/// Looks at the branches of all open pull requests, because anybody may have pushed.
pub(crate) fn all(state: &mut State) {
    let open: Vec<(PullRef, String)> = state
        .pulls()
        .filter(|(_, pull)| pull.state == PullState::Open)
        .filter_map(|(at, pull)| {
            let source = state.repository(pull.head_repository);
            let head = (!source.deleted)
                .then(|| source.git.branch_head(&pull.head_branch))
                .flatten()?;
            (head != pull.head).then_some((at, head))
        })
        .collect();
    for (at, head) in open {
        refresh(state, at, &head);
    }
}

/// Gives a pull request a head, and compares it with the newest target branch: after a push, or with a new target.
pub(crate) fn refresh(state: &mut State, at: PullRef, head: &str) {
    let repository = state.repository(at.repository);
    let git = repository.git.clone();
    let pull = state.pull(at).clone();
    if pull.head_repository != at.repository {
        let source = state.repository(pull.head_repository).git.path().to_owned();
        git.fetch(
            &source,
            &format!("+refs/heads/{}:refs/pull/{}/head", pull.head_branch, at.number),
        );
    }
    git.set_reference(&format!("refs/pull/{}/head", at.number), head);
    let base = git.branch_head(&pull.base_branch).expect("the target branch exists");
    let merge_base = git.merge_base(&base, head).unwrap_or_else(|| base.clone());
    let merge_commit = git.merge(&base, head);
    if let Some(merge) = &merge_commit {
        git.set_reference(&format!("refs/pull/{}/merge", at.number), merge);
    }
    let protection = repository
        .protections
        .get(&pull.base_branch)
        .cloned()
        .unwrap_or_default();
    let is_new = pull.head.is_empty();
    let files = if is_new {
        Vec::new()
    } else {
        git.diff(&merge_base, head)
    };
    let is_force_push = !is_new && head != pull.head && !git.is_ancestor(&pull.head, head);
    // GitHub compares diffs, not commits.
    let has_changed = !is_new && git.patch(&pull.merge_base, &pull.head) != git.patch(&merge_base, head);
    let now = state.tick();
    let unmergeable_reads = state.options.unmergeable_reads;
    let pull = state.pull_mut(at);
    if !is_new {
        let step = Move {
            git: &git,
            from: (&pull.merge_base, &pull.head),
            to: (&merge_base, head),
            files: &files,
        };
        for thread in &mut pull.threads {
            step.apply(&mut thread.place);
        }
    }
    for review in &mut pull.reviews {
        if is_force_push {
            head.clone_into(&mut review.commit);
        }
        if has_changed && protection.dismiss_stale_approvals && review.state == ReviewState::Approved {
            review.dismiss(pull.author, now.clone());
        }
    }
    let former = std::mem::replace(&mut pull.head, head.to_owned());
    if !is_new && former != head {
        pull.former_heads.push(former);
    }
    pull.base = base;
    pull.merge_base = merge_base;
    pull.merge_commit = merge_commit;
    pull.unmergeable_reads = unmergeable_reads;
    pull.updated_at = now;
}
