//! `conclave init`: makes a project ready to be reviewed.

use std::{
    fs::OpenOptions,
    io::{IsTerminal, Write},
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_git::Repository;
use conclave_shared::redact::Redactor;

use crate::{
    args::InitArguments,
    exit::{Exit, Failure},
    init::{Answers, Job, PlannedFile, by_hand, plan},
    output,
};

/// The image where nobody names one: what `deploy/Dockerfile` is called in the registry of a copy of this project.
fn default_image(job: &Job) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match job {
        Job::Component { project, .. } => format!("$CI_REGISTRY/{project}:{version}"),
        Job::Copy => format!("$CI_REGISTRY/platform/conclave:{version}"),
    }
}

pub(crate) async fn run(arguments: InitArguments, redactor: &Redactor) -> Result<Exit, Failure> {
    let directory = arguments.repo.as_deref().unwrap_or(Utf8Path::new("."));
    let repository = Repository::open(directory).await?;
    let root = repository
        .root()
        .canonicalize_utf8()
        .map_err(Failure::io(format!("find {directory}")))?;
    let asks = !arguments.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let answers = answers(&arguments, asks, redactor)?;
    let mut existing = Vec::new();
    for file in plan(&answers, |_| None) {
        existing.push((file.path, there(&root, file.path)?));
    }
    let files = plan(&answers, |path| {
        let found = existing.iter().find(|(known, _)| *known == path);
        found.and_then(|(_, content)| content.clone())
    });
    let new: Vec<&PlannedFile> = files.iter().filter(|file| file.instead.is_none()).collect();
    output::print(&redactor.redact(&output::init_plan(&root, &files)));
    if arguments.dry_run {
        return Ok(Exit::Reviewed);
    }
    if !new.is_empty() {
        if asks && !output::confirmed("Write these files?", redactor) {
            output::note("Nothing was written.", redactor);
            return Ok(Exit::Usage);
        }
        let mut written: Vec<&str> = Vec::new();
        for file in new {
            if let Err(failure) = write(&root, file) {
                if !written.is_empty() {
                    output::note(&output::init_written(&root, &written), redactor);
                }
                return Err(failure);
            }
            written.push(file.path);
        }
        output::print(&redactor.redact(&output::init_written(&root, &written)));
    }
    output::print(&redactor.redact(&output::init_steps(&by_hand(&answers))));
    Ok(Exit::Reviewed)
}

/// What a person says, or what is taken where nobody is asked.
fn answers(arguments: &InitArguments, asks: bool, redactor: &Redactor) -> Result<Answers, Failure> {
    let ask = |question: &str, default: &str| {
        if asks {
            output::asked(question, default, redactor)
        } else {
            default.to_owned()
        }
    };
    let project = match &arguments.component {
        Some(project) => project.clone(),
        None => ask(
            "Path of your copy of Conclave's project on this GitLab (empty: copy the job into this repository)",
            "",
        ),
    };
    let job = match project.trim().trim_matches('/') {
        "" => Job::Copy,
        project => component(project)?,
    };
    let image = match &arguments.image {
        Some(image) => image.clone(),
        None => ask("Image with conclave, opencode, rg and git", &default_image(&job)),
    };
    if image.trim().is_empty() || image.contains(char::is_whitespace) {
        return Err(Failure::Settings(format!(
            "`{}` is not the name of an image: it looks like registry.example.com/platform/conclave:1",
            image.escape_debug()
        )));
    }
    let block = arguments.block || (asks && output::confirmed("Should significant concerns fail the job?", redactor));
    Ok(Answers { job, image, block })
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

/// Writes a file that is not there: whoever was faster wins, and a link leads nowhere else.
fn write(root: &Utf8Path, file: &PlannedFile) -> Result<(), Failure> {
    let path: Utf8PathBuf = root.join(file.path);
    let directory = path.parent().unwrap_or(root);
    let failed = || Failure::io(format!("write {path}"));
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
