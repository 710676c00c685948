//! What the sessions read: patches, context, each reviewer's message, and the coordinator's.

use std::collections::BTreeMap;

use camino::Utf8Path;
use conclave_engine::{
    diff::FileDiff,
    memory::hot_spots,
    panel::assign,
    prompt::{
        ContextFile, Field, NarrowestWindow, PatchEntry, PatchSize, Share, SharedText, add_to_reviewer, brief,
        choose_patch_texts, fitting, fold, given, may_stand_in_prompt, patch_budget, patch_text, render_context,
        render_coordinator, render_index, render_patch_texts, share_out, window_warning,
    },
    review::{CutFile, GivenPatch, Plan},
    untrusted::{Nonce, Untrusted},
};
use conclave_shared::{
    config::{CapabilityList, ModelRoute, NoModel, UNKNOWN_CONTEXT},
    memory::RepositoryMemory,
    path_globs::PathGlobs,
    reviewer::ReviewerName,
    risk::SecurityPaths,
};

use crate::{
    diff::{Spool, Written, patches},
    exit::Failure,
    run::{
        directory::RunDirectory,
        prepare::{Prepared, change::Job, own_reviewers},
    },
};

/// What the runtime adds to a prompt, in bytes: its tools and its words about the surroundings, rounded up.
const RUNTIME_BYTES: u64 = 16_000;

/// The texts, and where each file's patch is.
pub(crate) struct Inputs {
    pub(crate) context: String,
    pub(crate) coordinator: String,
    /// The whole index of patches.
    pub(crate) index: String,
    /// The patch of each file, in the diff's order.
    pub(crate) patches: Vec<GivenPatch>,
    /// Patches that were too large to be given whole.
    pub(crate) cut: Vec<CutFile>,
    /// The gap that they leave in the review, with what to do about it; nothing without any.
    pub(crate) too_large: Option<String>,
    /// Notes of the review on its inputs.
    pub(crate) warnings: Vec<String>,
}

/// Writes patches and context into the run directory and where the agent reads them, and completes the messages of the
/// plan's reviewers.
pub(crate) async fn write(
    prepared: &mut Prepared,
    boundary: &Nonce,
    directory: &RunDirectory,
    workspace: &Utf8Path,
) -> Result<Inputs, Failure> {
    let memory = prepared.memory.now();
    let inputs = render(prepared, boundary, &memory, |files, spool, shares| {
        patches::write(directory.path(), workspace, files, spool, shares)
    })
    .await?;
    patches::write_context(directory.path(), workspace, &inputs.context, &inputs.index)?;
    directory.write("prompts/coordinator-message.md", inputs.coordinator.as_bytes())?;
    Ok(inputs)
}

/// What the sessions read, and the complete messages of the plan's reviewers. `give` writes the patches, as much of each
/// as its share allows.
pub(crate) async fn render(
    prepared: &mut Prepared,
    boundary: &Nonce,
    memory: &RepositoryMemory,
    give: impl FnOnce(&[(&FileDiff, &str)], &Spool, &[Share]) -> Result<Vec<Written>, Failure>,
) -> Result<Inputs, Failure> {
    let Prepared {
        job,
        diff,
        spool,
        security,
        plan,
        runtime: contributed,
        library,
        repo,
        config,
        ..
    } = prepared;
    let capabilities = &CapabilityList::new(&config.capabilities);
    let (job, diff, spool, contributed, library) = (&*job, &*diff, &*spool, &*contributed, &*library);
    let repo_config = &repo.in_force.config;
    let agents_md = agents_md(job).await?;
    let filtered: Vec<(String, &'static str)> = diff
        .filtered
        .iter()
        .map(|file| (file.path.clone(), file.reason.describe()))
        .collect();
    let panel = plan.reviewers();
    let hot_spots = hot_spots(memory, diff.files.iter().map(|file| file.path.as_str()));
    let uncut: Vec<PatchEntry> = (0..)
        .zip(&diff.files)
        .map(|(at, file)| PatchEntry::new(at, file))
        .collect();
    let file = |entries| ContextFile {
        subject: &job.subject,
        patches: entries,
        filtered: &filtered,
        panel: &panel,
        agents_md: agents_md.as_ref(),
        repo_config,
        contributed,
        hot_spots: hot_spots.as_deref(),
    };

    let message = render_context(&file(&uncut), boundary).text.len() + library.shared()?.len();
    let message = bytes(message) + RUNTIME_BYTES;
    let sizes = patches::sizes(&diff.files);
    let narrowest = narrowest_window(plan, capabilities);
    let budget = patch_budget(narrowest.tokens, message);
    let shares = share_out(&sizes, budget);
    let files: Vec<(&FileDiff, &str)> = diff
        .files
        .iter()
        .zip(uncut.iter().map(|entry| entry.patch.as_str()))
        .collect();
    let written = give(&files, spool, &shares)?;
    let texts = patch_texts(&files, spool, security, &shares, plan)?;
    let entries: Vec<PatchEntry> = uncut
        .iter()
        .zip(&written)
        .map(|(entry, written)| PatchEntry {
            lines_left_out: written.left_out,
            is_left_out: written.is_left_out,
            ..entry.clone()
        })
        .collect();

    let context = render_context(&file(&entries), boundary);
    let coordinator = render_coordinator(&file(&entries), boundary);
    for member in &mut plan.members {
        add_to_reviewer(&mut member.parts, contributed, member.name.as_str(), boundary);
    }
    let in_prompt = (1..)
        .zip(&texts)
        .filter_map(|(number, text)| Some((number, text.as_deref()?)));
    let in_prompt = render_patch_texts(in_prompt, boundary);
    let reading = Reading {
        shared: SharedText {
            context: &context.text,
            patches: in_prompt.as_deref(),
        },
        entries: &entries,
        sizes: &given(&sizes, &shares),
        message,
        own: own_reviewers::fields(repo_config),
        capabilities,
    };
    brief_reviewers(plan, &reading);

    let mut warnings: Vec<String> = context
        .left_out
        .iter()
        .map(|what| format!("not given to the reviewers, because it is too long: {what}"))
        .collect();
    let message = coordinator.text.len() + library.get(ReviewerName::COORDINATOR)?.len();
    warnings.extend(coordinator_warning(&plan.coordinator, capabilities, bytes(message)));
    Ok(Inputs {
        cut: cut_files(&entries),
        too_large: narrowest.describe(&entries, budget),
        index: render_index(&entries),
        patches: given_patches(entries, &written, &texts),
        context: context.text,
        coordinator: coordinator.text,
        warnings,
    })
}

/// The files whose patches are not given whole.
fn cut_files(entries: &[PatchEntry]) -> Vec<CutFile> {
    let cut = entries.iter().filter(|entry| entry.lines_left_out > 0);
    cut.map(|entry| CutFile {
        path: entry.path.clone(),
        lines_left_out: entry.lines_left_out,
    })
    .collect()
}

/// The text of each patch that stands in the prompt.
fn patch_texts(
    files: &[(&FileDiff, &str)],
    spool: &Spool,
    security: &SecurityPaths,
    shares: &[Share],
    plan: &Plan,
) -> Result<Vec<Option<String>>, Failure> {
    let length = |(file, _): &(&FileDiff, &str)| usize::try_from(file.patch.length).unwrap_or(usize::MAX);
    // A patch that was cut is too large for that in any case.
    let is_whole = shares.iter().all(|share| *share == Share::Whole);
    let lengths: Vec<usize> = files.iter().map(length).collect();
    let mut patch = Vec::new();
    let mut texts = Vec::with_capacity(files.len());
    for ((file, _), is_chosen) in files.iter().zip(choose_patch_texts(plan.assessment.tier, &lengths)) {
        if !(is_chosen && is_whole && may_stand_in_prompt(file, security)) {
            texts.push(None);
            continue;
        }
        spool.patch(file, &mut patch)?;
        let folded = fold(std::mem::take(&mut patch));
        texts.push(patch_text(&folded).map(str::to_owned));
    }
    Ok(texts)
}

/// The patches as reviewers are given them.
fn given_patches(entries: Vec<PatchEntry>, written: &[Written], texts: &[Option<String>]) -> Vec<GivenPatch> {
    let given = entries.into_iter().zip(written).zip(texts);
    given
        .map(|((entry, written), text)| GivenPatch {
            path: entry.patch,
            lines: Some(written.lines),
            in_prompt: text.is_some(),
            is_left_out: written.is_left_out,
        })
        .collect()
}

/// What to say if the coordinator is given more than is good for it.
fn coordinator_warning(
    route: &Result<ModelRoute, NoModel>,
    capabilities: &CapabilityList,
    message: u64,
) -> Option<String> {
    let route = route.as_ref().ok()?;
    window_warning(
        route.first().as_str(),
        window(route, capabilities),
        message + RUNTIME_BYTES,
    )
}

/// AGENTS.md at the root of the target branch. What the merge request makes of it is for the reviewers to judge, and a
/// file deeper down speaks to other tools.
pub(crate) async fn agents_md(job: &Job) -> Result<Option<Untrusted>, Failure> {
    let bytes = job.repository.file(job.subject.settings_commit(), "AGENTS.md").await?;
    Ok(bytes.map(|bytes| Untrusted::from(String::from_utf8_lossy(&bytes).into_owned())))
}

/// What there is to read for reviewers.
struct Reading<'a> {
    shared: SharedText<'a>,
    entries: &'a [PatchEntry],
    /// As much of each patch as is given.
    sizes: &'a [PatchSize],
    /// What everybody is given besides patches, in bytes.
    message: u64,
    /// The fields of the project's own reviewers.
    own: BTreeMap<ReviewerName, PathGlobs>,
    capabilities: &'a CapabilityList,
}

fn brief_reviewers(plan: &mut Plan, reading: &Reading<'_>) {
    let paths: Vec<&str> = reading.entries.iter().map(|entry| entry.path.as_str()).collect();
    let panel: Vec<(ReviewerName, bool)> = plan
        .members
        .iter()
        .map(|member| (member.name.clone(), member.required))
        .collect();
    let fields = assign(&panel, &paths, &reading.own);
    for member in &mut plan.members {
        let whole = fields.get(&member.name).map_or(&[][..], Vec::as_slice).iter().copied();
        // The others have no lines to read.
        let has_lines = |at: &usize| reading.entries.get(*at).is_some_and(|entry| !entry.is_left_out);
        let whole: Vec<usize> = whole.filter(has_lines).collect();
        // The patches were shared out for the narrowest window of the required; an optional reviewer's may be narrower.
        let window = member
            .route
            .as_ref()
            .map_or(UNKNOWN_CONTEXT, |route| window(route, reading.capabilities));
        let patches = fitting(&whole, reading.sizes, patch_budget(window, reading.message));
        let field = Field {
            files: paths.len(),
            left_out: whole.len() - patches.len(),
            patches: &patches,
        };
        brief(&mut member.parts, reading.shared, &field);
        member.patches = patches;
    }
}

/// The smallest context window among the reviewers without whom there is no review.
fn narrowest_window(plan: &Plan, capabilities: &CapabilityList) -> NarrowestWindow {
    let required = plan.members.iter().filter(|member| member.required);
    let routes = required.filter_map(|member| member.route.as_ref().ok());
    let narrowest = routes.min_by_key(|route| window(route, capabilities));
    NarrowestWindow {
        model: narrowest.map(|route| route.first().clone()),
        tokens: narrowest.map_or(UNKNOWN_CONTEXT, |route| window(route, capabilities)),
        is_assumed: narrowest.is_some_and(|route| !capabilities.knows_context(route.first())),
    }
}

fn window(route: &ModelRoute, capabilities: &CapabilityList) -> u64 {
    capabilities.of(route.first()).context
}

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coordinators_window_is_that_of_its_first_model() {
        let route = |models: &[&str]| {
            Ok(ModelRoute {
                models: models.iter().map(|model| model.parse().expect("a model")).collect(),
                skipped: Vec::new(),
                effort: conclave_shared::effort::Effort::High,
            })
        };
        let built_in = CapabilityList::default();
        let coordinator_warning = |route: &_, message| coordinator_warning(route, &built_in, message);
        // Half of 200,000 tokens is 300,000 bytes.
        let small = route(&["anthropic/claude-haiku-4-5", "anthropic/claude-opus-5-5"]);
        assert_eq!(coordinator_warning(&small, 300_000 - RUNTIME_BYTES), None);
        let warning = coordinator_warning(&small, 300_003 - RUNTIME_BYTES).expect("more than half");
        assert!(warning.contains("anthropic/claude-haiku-4-5 (200000)"), "{warning}");
        assert_eq!(
            coordinator_warning(&route(&["anthropic/claude-opus-5-5"]), 300_003),
            None
        );
        assert!(coordinator_warning(&route(&["anthropic/unheard-of"]), 192_003).is_some());
    }
}
