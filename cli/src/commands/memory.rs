//! `conclave memory`: what the tracker remembers of a project, for people.

mod page;

use camino::Utf8Path;
use conclave_git::Repository;
use conclave_plugin_telemetry::{TrackerAccess, TrackerClient};
use conclave_shared::{memory::ENOUGH, oidc::github_project};
use secrecy::SecretString;
use serde_json::json;

use super::{confirm::confirm, init::github_host_of};
use crate::{
    args::{ClearMemoryArguments, MemoryCommand, MemoryProject, ShowMemoryArguments},
    context::Context,
    env::{Environment, names, providers::url},
    exit::{Exit, Failure},
};

pub(crate) async fn run(command: MemoryCommand, context: &Context) -> Result<Exit, Failure> {
    match command {
        MemoryCommand::Show(arguments) => show(&arguments, context).await,
        MemoryCommand::Clear(arguments) => clear(&arguments, context).await,
    }
}

async fn show(arguments: &ShowMemoryArguments, context: &Context) -> Result<Exit, Failure> {
    let (env, output) = (&context.env, &context.output);
    let listed = env
        .secret(names::TRACKER_OPERATOR_TOKEN)
        .or_else(|| env.secret(names::TRACKER_TOKEN));
    let access = TrackerAccess::of(listed, env.job_token(names::TRACKER_OIDC_TOKEN)?);
    let missing = format!(
        "{} is not set: set it to one of the Worker's INGEST_TOKENS, or {} to one of its OPERATOR_TOKENS",
        names::TRACKER_TOKEN,
        names::TRACKER_OPERATOR_TOKEN
    );
    let client = client(env, access.ok_or(missing))?;
    let memory = client.memory(&project(&arguments.project, env).await?).await?;
    if arguments.shown.json {
        let rejected = memory.rejected.iter().map(|entry| {
            let mut row = json!(entry);
            row["left_out"] = json!(memory.times_rejected(entry.known()) >= ENOUGH);
            row
        });
        let rejected: Vec<_> = rejected.collect();
        output.print_json(&json!({ "project": memory.project, "rejected": rejected, "hot_spots": memory.hot_spots }));
    } else {
        output.print(&page::memory(&memory));
    }
    Ok(Exit::Reviewed)
}

async fn clear(arguments: &ClearMemoryArguments, context: &Context) -> Result<Exit, Failure> {
    let (env, output) = (&context.env, &context.output);
    let token = env.required(
        names::TRACKER_OPERATOR_TOKEN,
        "set it to one of the Worker's OPERATOR_TOKENS",
    );
    let access = token.map(|token| SecretString::from(token).into());
    let client = client(env, access.map_err(|missing| missing.to_string()))?;
    let project = project(&arguments.project, env).await?;
    let question = match &arguments.finding {
        Some(finding) => format!("Forget that people turned down the finding {finding} in {project}?"),
        None => format!("Forget everything that reviews of {project} have learned?"),
    };
    confirm(&question, arguments.yes, output)?;
    let forgotten = client.forget(&project, arguments.finding.as_deref()).await?;
    let result = json!({ "project": project, "forgotten": forgotten.findings });
    let text = page::forgotten(&project, forgotten.findings);
    output.print_change(text, arguments.shown.json.then_some(&result));
    Ok(Exit::Reviewed)
}

/// A client with this access, or with what is missing for it; an error names all that is missing.
fn client(env: &Environment, access: Result<TrackerAccess, String>) -> Result<TrackerClient, Failure> {
    env.check_proxies()?;
    let name = names::TRACKER_URL;
    let address = env.required(name, "set it to the address of the review-tracker Worker");
    match (address, access) {
        (Ok(address), Ok(access)) => Ok(TrackerClient::new(url(name, address)?, access, &env.certificates()?)?),
        (Err(failure), Ok(_)) => Err(failure),
        (Ok(_), Err(missing)) => Err(Failure::Settings(missing)),
        (Err(failure), Err(missing)) => Err(Failure::Settings(format!("{failure}. {missing}"))),
    }
}

/// Whose memory: as an argument says, else the CI job's project, else that of the repository at hand.
async fn project(named: &MemoryProject, env: &Environment) -> Result<String, Failure> {
    if let Some(project) = named.project.clone().or_else(|| env.project()) {
        return Ok(project.trim().to_owned());
    }
    let origin = match Repository::open(Utf8Path::new(".")).await {
        Ok(repository) => repository.origin().await,
        Err(_) => None,
    };
    origin.as_deref().and_then(name_of).ok_or_else(|| {
        Failure::Settings(
            "whose memory? Name the project with --project, as in --project group/project: this is not a CI job, and not a \
             repository with a remote `origin`"
                .to_owned(),
        )
    })
}

/// The name at the Workers of a project with this remote.
fn name_of(remote: &str) -> Option<String> {
    let path = path_of(remote)?;
    Some(match github_host_of(remote) {
        Some(host) => github_project(&host, &path),
        None => path,
    })
}

/// The path of a project in the address of a remote, over HTTP or SSH.
fn path_of(remote: &str) -> Option<String> {
    let path = match remote.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        // `git@host:group/project.git`
        None => remote.split_once(':')?.1,
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    path.contains('/').then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_that_of_the_remote() {
        for (remote, path) in [
            (
                "https://gitlab.example.com/group/sub/project.git",
                Some("group/sub/project"),
            ),
            (
                "https://me:token@gitlab.example.com:8443/group/project",
                Some("group/project"),
            ),
            ("git@gitlab.example.com:group/project.git", Some("group/project")),
            (
                "ssh://git@gitlab.example.com:2222/group/project.git",
                Some("group/project"),
            ),
            (
                "https://x-access-token:t@github.com/Octo/shop",
                Some("github.com:Octo/shop"),
            ),
            ("git@github.com:octo/shop.git", Some("github.com:octo/shop")),
            (
                "ssh://git@github.example.com:22/octo/shop.git",
                Some("github.example.com:octo/shop"),
            ),
            ("/srv/git/project.git", None),
            ("file:///srv/git/project.git", None),
            ("../project", None),
            ("https://gitlab.example.com/", None),
        ] {
            assert_eq!(name_of(remote).as_deref(), path, "{remote}");
        }
    }
}
