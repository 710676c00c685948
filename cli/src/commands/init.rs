//! `conclave init`: makes a project ready to be reviewed.

use std::{
    fs::OpenOptions,
    io::{IsTerminal, Write},
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_git::Repository;
use tokio::sync::oneshot;

use crate::{
    args::{InitArguments, InitForge},
    exit::{Exit, Failure},
    init::{Answers, Job, PlannedFile, by_hand, page, plan},
    output::Output,
};

/// The image where nobody names one: what `deploy/Dockerfile` is called in the registry of a copy of this project.
fn default_image(job: &Job) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match job {
        Job::Component { project, .. } => format!("$CI_REGISTRY/{project}:{version}"),
        Job::Copy => format!("$CI_REGISTRY/platform/conclave:{version}"),
        Job::Workflow => format!("ghcr.io/platform/conclave:{version}"),
    }
}

/// What a person is told who does not go on.
const NOTHING_WRITTEN: &str = "Nothing was written.";

pub(crate) async fn run(arguments: InitArguments, output: &Output) -> Result<Exit, Failure> {
    let directory = arguments.repo.as_deref().unwrap_or(Utf8Path::new("."));
    let repository = Repository::open(directory).await?;
    if repository.is_bare().await? {
        return Err(Failure::Settings(format!(
            "{} holds a repository without the files of its project: run this in a clone, or in the directory of the files",
            repository.root()
        )));
    }
    let root = repository
        .root()
        .canonicalize_utf8()
        .map_err(Failure::io(format!("find {directory}")))?;
    let asks = !arguments.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let dry_run = arguments.dry_run;
    let own = output.clone();
    let origin = repository.origin().await;
    let Some(answers) = unless_interrupted(move || answers(&arguments, origin.as_deref(), asks, &own)).await else {
        return Ok(interrupted(output));
    };
    let Some(answers) = answers? else {
        output.note(NOTHING_WRITTEN);
        return Ok(Exit::Usage);
    };
    let mut existing = Vec::new();
    for file in plan(&answers, |_| None) {
        reachable(&root, file.path)?;
        existing.push((file.path, there(&root, file.path)?));
    }
    let files = plan(&answers, |path| {
        let found = existing.iter().find(|(known, _)| *known == path);
        found.and_then(|(_, content)| content.clone())
    });
    let new: Vec<&PlannedFile> = files.iter().filter(|file| file.instead.is_none()).collect();
    output.print(&page::init_plan(&root, &files));
    if dry_run {
        return Ok(Exit::Reviewed);
    }
    if !new.is_empty() {
        let own = output.clone();
        match unless_interrupted(move || !asks || own.confirmed("Write these files?")).await {
            None => return Ok(interrupted(output)),
            Some(false) => {
                output.note(NOTHING_WRITTEN);
                return Ok(Exit::Usage);
            }
            Some(true) => {}
        }
        let mut written: Vec<&str> = Vec::new();
        for file in new {
            if let Err(failure) = write(&root, file) {
                if !written.is_empty() {
                    output.layout(&page::init_written(&root, &written));
                }
                return Err(failure);
            }
            written.push(file.path);
        }
        output.print_change(page::init_written(&root, &written), None);
    }
    output.print(&page::init_steps(&by_hand(&answers, &files)));
    Ok(Exit::Reviewed)
}

/// Asks in a thread of its own, which may wait for its answer for ever; nothing if Ctrl-C comes first.
async fn unless_interrupted<Answer: Send + 'static>(ask: impl FnOnce() -> Answer + Send + 'static) -> Option<Answer> {
    let (sender, answer) = oneshot::channel();
    std::thread::spawn(move || sender.send(ask()));
    tokio::select! {
        _ = tokio::signal::ctrl_c() => None,
        answer = answer => answer.ok(),
    }
}

/// Tells a person who has left in the middle of a question.
fn interrupted(output: &Output) -> Exit {
    // The cursor is behind the question.
    output.layout(&format!("\n{NOTHING_WRITTEN}"));
    Exit::Interrupted
}

/// What a person says, or what is taken where nobody is asked; nothing if the person leaves.
fn answers(
    arguments: &InitArguments,
    origin: Option<&str>,
    asks: bool,
    output: &Output,
) -> Result<Option<Answers>, Failure> {
    let dialogue = Dialogue { asks, output };
    let known = arguments.forge.or_else(|| forge_of(origin?));
    let forge = match known.or(arguments.component.as_ref().map(|_| InitForge::Gitlab)) {
        Some(forge) => Some(forge),
        // There is no terminal to ask on, and nothing speaks for the other forge: the note says what was taken.
        None if !asks && origin.is_none() => {
            output.note(
                "The repository has no `origin` that says which forge it is on: these are the files for GitLab. For GitHub run it again \
                 with --forge github.",
            );
            Some(InitForge::Gitlab)
        }
        None => dialogue.answer(None, "Forge of this repository (gitlab or github)", "", forge)?,
    };
    let Some(forge) = forge else { return Ok(None) };
    let job = match forge {
        InitForge::Github => {
            refuse_component(arguments)?;
            Some(Job::Workflow)
        }
        InitForge::Gitlab => dialogue.answer(
            arguments.component.as_deref(),
            "Path of your copy of Conclave's project on this GitLab (empty: copy the job into this repository)",
            "",
            |project| match project.trim().trim_matches('/') {
                "" => Ok(Job::Copy),
                project => component(project),
            },
        )?,
    };
    let Some(job) = job else { return Ok(None) };
    let image = dialogue.answer(
        arguments.image.as_deref(),
        "Image with conclave, opencode, rg and git",
        &default_image(&job),
        image,
    )?;
    let Some(image) = image else { return Ok(None) };
    let block = arguments.block || (asks && output.confirmed("Should significant concerns fail the job?"));
    Ok(Some(Answers { job, image, block }))
}

/// The forge that an address of a remote names, if its host says so.
fn forge_of(origin: &str) -> Option<InitForge> {
    let host = host_of(origin)?;
    let is_github = host.contains("github") || host.ends_with(".ghe.com");
    match (is_github, host.contains("gitlab")) {
        (true, false) => Some(InitForge::Github),
        (false, true) => Some(InitForge::Gitlab),
        // Neither, or both.
        _ => None,
    }
}

/// The host in an address of a remote, over HTTP or SSH.
fn host_of(origin: &str) -> Option<String> {
    let host = match origin.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or(rest, |(host, _)| host),
        None => origin.split_once(':')?.0,
    };
    let host = host.rsplit('@').next()?.split(':').next()?;
    Some(host.to_ascii_lowercase())
}

/// The host in an address of a remote that is on GitHub, as far as its host says that.
pub(super) fn github_host_of(origin: &str) -> Option<String> {
    host_of(origin).filter(|_| forge_of(origin) == Some(InitForge::Github))
}

/// The name of a forge.
fn forge(text: &str) -> Result<InitForge, Failure> {
    match text.trim() {
        "gitlab" => Ok(InitForge::Gitlab),
        "github" => Ok(InitForge::Github),
        "" => Err(Failure::Settings(
            "the address of `origin` does not say whether it is a GitLab or a GitHub: name it with --forge gitlab or --forge github"
                .to_owned(),
        )),
        other => Err(Failure::Settings(format!(
            "`{}` is neither gitlab nor github",
            other.escape_debug()
        ))),
    }
}

/// Questions to whoever is at the terminal.
struct Dialogue<'a> {
    asks: bool,
    output: &'a Output,
}

impl Dialogue<'_> {
    /// What was given on the command line, or what the person answers, who is asked again after a wrong answer; nothing if
    /// the person leaves.
    fn answer<Answer>(
        &self,
        given: Option<&str>,
        question: &str,
        default: &str,
        read: impl Fn(&str) -> Result<Answer, Failure>,
    ) -> Result<Option<Answer>, Failure> {
        if let Some(given) = given {
            return read(given).map(Some);
        }
        if !self.asks {
            return read(default).map(Some);
        }
        while let Some(answer) = self.output.asked(question, default) {
            match read(&answer) {
                Ok(answer) => return Ok(Some(answer)),
                Err(wrong) => self.output.error(wrong),
            }
        }
        Ok(None)
    }
}

/// The name of an image.
fn image(text: &str) -> Result<String, Failure> {
    if text.trim().is_empty() || text.contains(char::is_whitespace) {
        return Err(Failure::Settings(format!(
            "`{}` is not the name of an image: it looks like registry.example.com/platform/conclave:1",
            text.escape_debug()
        )));
    }
    Ok(text.to_owned())
}

/// Refuses a component for a repository on GitHub, where there are none.
fn refuse_component(arguments: &InitArguments) -> Result<(), Failure> {
    if arguments.component.is_none() {
        return Ok(());
    }
    Err(Failure::Settings(
        "--component (CONCLAVE_COMPONENT) is for a repository on GitLab, and this one is on GitHub: leave it out, or add --forge gitlab. \
         Nothing was written"
            .to_owned(),
    ))
}

/// `group/project`, or `group/project@version`.
fn component(text: &str) -> Result<Job, Failure> {
    let (project, version) = text.split_once('@').unwrap_or((text, env!("CARGO_PKG_VERSION")));
    let good = |text: &str| {
        let valid = |character: char| character.is_ascii_alphanumeric() || "-_./~".contains(character);
        !text.is_empty() && text.chars().all(valid)
    };
    if !project.contains('/') || !good(project) || !good(version) {
        return Err(Failure::Settings(format!(
            "`{}` is not the path of a project: it looks like platform/conclave, or platform/conclave@1.0.0",
            text.escape_debug()
        )));
    }
    Ok(Job::Component {
        project: project.to_owned(),
        version: version.to_owned(),
    })
}

/// A file's content, if it is there. What cannot be read is there, too.
fn there(root: &Utf8Path, path: &str) -> Result<Option<String>, Failure> {
    let path = root.join(path);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        Err(error) => Err(Failure::io(format!("read {path}"))(error)),
    }
}

/// Refuses a path that leads through a link to nowhere, before anything is written.
fn reachable(root: &Utf8Path, path: &str) -> Result<(), Failure> {
    let ancestors = Utf8Path::new(path).ancestors().skip(1);
    for directory in ancestors
        .map(|ancestor| root.join(ancestor))
        .filter(|path| path.is_symlink())
    {
        if !directory.is_dir() {
            return Err(Failure::Settings(format!(
                "{directory} is a link that leads to no directory: take it away, or make the directory that it names. Nothing was written"
            )));
        }
    }
    Ok(())
}

/// Writes a file that is not there: whoever was faster wins, and a link leads nowhere else.
fn write(root: &Utf8Path, file: &PlannedFile) -> Result<(), Failure> {
    let path: Utf8PathBuf = root.join(file.path);
    let directory = path.parent().unwrap_or(root);
    let failed = || {
        let path = path.clone();
        move |source: std::io::Error| {
            Failure::Settings(format!(
                "failed to write {path}: {source}. `conclave init --dry-run` shows what would be in it, or run this where the \
                 repository can be written"
            ))
        }
    };
    std::fs::create_dir_all(directory).map_err(failed())?;
    let real = directory.canonicalize_utf8().map_err(failed())?;
    if !real.starts_with(root) {
        return Err(Failure::Settings(format!(
            "{directory} is a link to {real}, outside of the repository: nothing is written there"
        )));
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut opened| opened.write_all(file.content.as_bytes()))
        .map_err(failed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forge_is_known_by_the_host_of_the_remote() {
        for (origin, known) in [
            ("https://github.com/acme/shop.git", Some(InitForge::Github)),
            ("git@github.com:acme/shop.git", Some(InitForge::Github)),
            ("ssh://git@github.example.com:2222/acme/shop", Some(InitForge::Github)),
            ("https://acme.ghe.com/acme/shop", Some(InitForge::Github)),
            ("https://gitlab.com/github/shop.git", Some(InitForge::Gitlab)),
            ("git@gitlab.example.com:acme/github.git", Some(InitForge::Gitlab)),
            ("https://git.example.com/github/shop", None),
            ("https://gitlab-github-mirror.example.com/a/b", None),
            ("/srv/git/github.git", None),
        ] {
            assert_eq!(forge_of(origin), known, "{origin}");
        }
    }

    #[test]
    fn a_component_is_for_gitlab_alone() {
        let answered = |forge, origin| {
            let arguments = InitArguments {
                repo: None,
                forge,
                component: Some("platform/conclave@1.0.0".to_owned()),
                image: Some("registry.example.com/conclave:1".to_owned()),
                block: false,
                dry_run: false,
                yes: true,
            };
            answers(&arguments, origin, false, &Output::default())
        };
        let on_github = Some("https://github.com/acme/shop.git");
        for refused in [answered(Some(InitForge::Github), None), answered(None, on_github)] {
            let said = refused.map(drop).expect_err("there are none").to_string();
            assert!(
                said.contains("--component (CONCLAVE_COMPONENT) is for a repository on GitLab"),
                "{said}"
            );
        }
        for taken in [answered(Some(InitForge::Gitlab), on_github), answered(None, None)] {
            let job = taken.expect("it can be used").expect("an answer").job;
            assert!(matches!(job, Job::Component { .. }));
        }
    }
}
