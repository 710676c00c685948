//! The operating system's walls around the agents of a run, and what a review says of them.

use std::net::TcpListener;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{
    plugin::{McpLocation, McpServer, Owned},
    review::{Review, RuntimeName, SandboxReport},
};
use conclave_git::places_around;
use conclave_opencode::{Sandbox, SandboxSettings, probe_sandbox};
use conclave_sandbox::SandboxStatus;
use conclave_shared::sandbox::SandboxLevel;

use crate::{
    args::REQUIRED_SANDBOXES,
    env::{Environment, names},
    exit::Failure,
    run::directory::{default_root, temporary},
};

/// The program that puts the sandbox up: this one, whose `main` looks for that first.
const HELPER: &str = "/proc/self/exe";

/// Returns the sandbox that a review here would have around the agents of this runtime, graded by what it opens of these places of
/// the user's too.
pub(crate) async fn sandbox_here(
    env: &Environment,
    places: &[Utf8PathBuf],
    runtime: RuntimeName,
) -> Result<SandboxStatus, Failure> {
    Ok(match (switched_off(env)?, runtime) {
        (Some(why), _) => SandboxStatus::none(why),
        (None, RuntimeName::OpenCode) => {
            let mut settings = child_settings(env, Utf8Path::new("."), Vec::new());
            settings.private.extend(places.iter().cloned());
            let probed = probe_sandbox(&settings).await;
            probed.map_err(Failure::io("try the sandbox"))?
        }
        (None, RuntimeName::Native) => conclave_native::sandbox_here().map_err(conclave_native::StartError::from)?,
    })
}

/// Returns the sandbox that the environment requires of a review.
pub(crate) fn required_here(env: &Environment) -> Result<Option<SandboxLevel>, Failure> {
    let Some(name) = env.get(names::REQUIRE_SANDBOX) else {
        return Ok(None);
    };
    match REQUIRED_SANDBOXES.iter().find(|(known, ..)| *known == name) {
        Some((_, level, _)) => Ok(Some(*level)),
        None => Err(Failure::Settings(format!(
            "{} is `{name}`. Set it to `enforced` or `partial`",
            names::REQUIRE_SANDBOX
        ))),
    }
}

/// Returns the reason for no sandbox, if the environment switches it off.
fn switched_off(env: &Environment) -> Result<Option<String>, Failure> {
    match env.get(names::SANDBOX).unwrap_or("on") {
        "on" => Ok(None),
        "off" => Ok(Some(format!("everything: {} is `off`", names::SANDBOX))),
        other => Err(Failure::Settings(format!(
            "{} is `{other}`. Set it to `on` or `off`",
            names::SANDBOX
        ))),
    }
}

/// The sandbox around a program that is asked one thing before a review, such as its version. An error if it is less than what is
/// required of a review.
pub(crate) async fn around_question(
    env: &Environment,
    places: &[Utf8PathBuf],
    required: Option<SandboxLevel>,
) -> Result<Sandbox, Failure> {
    if required.is_some() {
        compare(sandbox_here(env, places, RuntimeName::OpenCode).await?, required)?;
    }
    around_child(env, Utf8Path::new("."), &[])
}

/// The sandbox that the environment asks for around a child.
pub(super) fn around_child(
    env: &Environment,
    workspace: &Utf8Path,
    listeners: &[TcpListener],
) -> Result<Sandbox, Failure> {
    if let Some(why) = switched_off(env)? {
        return Ok(Sandbox::Off(why));
    }
    let ports = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
    let ports = ports.collect::<Result<_, _>>();
    let ports = ports.map_err(Failure::io("open a port on 127.0.0.1"))?;
    Ok(Sandbox::new(child_settings(env, workspace, ports)))
}

fn child_settings(env: &Environment, workspace: &Utf8Path, ports: Vec<u16>) -> SandboxSettings {
    let programs = env.get(names::SANDBOX_PROGRAMS).unwrap_or_default().split(':');
    let here = std::env::current_dir()
        .ok()
        .and_then(|path| Utf8PathBuf::from_path_buf(path).ok());
    let places = [env.get("HOME"), env.job_checkout()]
        .into_iter()
        .flatten()
        .map(Utf8PathBuf::from);
    // What the repository here borrows may lie anywhere.
    let repository = here.as_deref().map(places_around).unwrap_or_default();
    SandboxSettings {
        helper: HELPER.into(),
        workspace: workspace.to_owned(),
        programs: programs.filter(|path| !path.is_empty()).map(Into::into).collect(),
        private: places
            .chain(here)
            .chain(repository)
            .chain([temporary(), default_root(env)])
            .collect(),
        ports,
    }
}

/// Says what the sandbox is, and refuses one that is less than what is required.
pub(super) fn demand(found: SandboxStatus, required: Option<SandboxLevel>) -> Result<SandboxStatus, Failure> {
    if found.level == SandboxLevel::None {
        tracing::warn!("the agents run without a sandbox: {}", found.describe());
    } else {
        tracing::info!("the agents' sandbox: {}", found.describe());
    }
    compare(found, required)
}

/// Refuses a sandbox that is less than what is required.
pub(super) fn compare(found: SandboxStatus, required: Option<SandboxLevel>) -> Result<SandboxStatus, Failure> {
    match required {
        Some(required) if found.level < required => Err(Failure::Sandbox { required, found }),
        _ => Ok(found),
    }
}

/// Takes the MCP servers of plugins out that the sandbox shuts off, and returns what a person has to know of those on other
/// machines.
pub(super) fn sort_out_servers(sandbox: &SandboxStatus, servers: &mut Vec<Owned<McpServer>>) -> Vec<String> {
    let shut = sandbox.shuts_other_addresses();
    let mut notes = Vec::new();
    servers.retain(|server| {
        if matches!(server.value.location, McpLocation::ToolServer(_)) {
            return true;
        }
        let (name, plugin) = (&server.value.name, server.plugin);
        notes.push(if shut {
            format!(
                "the MCP server `{name}` of the plugin {plugin} is not used: agents reach nothing but this run's own servers from \
                 inside of the sandbox"
            )
        } else {
            format!(
                "agents reach the MCP server `{name}` of the plugin {plugin}, past the run's own servers: a model that is steered \
                 can send it what it reads"
            )
        });
        !shut
    });
    for note in &notes {
        tracing::warn!("{note}");
    }
    notes
}

/// Says in the review what the sandbox held back, and what tried to get out of it.
pub(super) fn account_for(sandbox: &SandboxStatus, refused: &[String], review: &mut Review) {
    review
        .coverage
        .notes
        .push(format!("Sandbox around the agents: {}", sandbox.describe()));
    review.coverage.sandbox = Some(SandboxReport {
        level: sandbox.level,
        open: sandbox.open.clone(),
    });
    if !refused.is_empty() {
        review.warnings.push(format!(
            "the agents' process tried to reach {}, which the sandbox refused: look for what in the change may have led it there",
            refused.join(", ")
        ));
    }
}

#[cfg(test)]
mod tests {
    use conclave_sandbox::Walls;

    use super::*;

    fn server(name: &str, location: McpLocation) -> Owned<McpServer> {
        let token_variable = "TOKEN";
        Owned {
            plugin: "tickets",
            value: McpServer {
                name: name.to_owned(),
                location,
                token_variable,
            },
        }
    }

    #[test]
    fn a_level_that_cannot_be_read_is_refused_with_those_that_can() {
        let required = |value: &str| required_here(&Environment::default().with(names::REQUIRE_SANDBOX, value));
        for (value, level) in [
            ("", None),
            ("partial", Some(SandboxLevel::Partial)),
            ("enforced", Some(SandboxLevel::Enforced)),
        ] {
            assert_eq!(required(value).expect(value), level);
        }
        for value in ["true", "none"] {
            let error = required(value).expect_err(value).to_string();
            assert!(
                error.ends_with(&format!(" is `{value}`. Set it to `enforced` or `partial`")),
                "{error}"
            );
        }
    }

    #[test]
    fn servers_elsewhere_are_named_whether_the_sandbox_shuts_them_off_or_not() {
        let walls = |landlock, watch| {
            SandboxStatus::of(Walls {
                landlock,
                filter: true,
                watch,
                limits: true,
            })
        };
        for (sandbox, shut) in [
            (walls(7, true), true),
            (walls(3, true), true),
            (walls(4, false), true),
            (walls(3, false), false),
            (walls(0, false), false),
            (SandboxStatus::none("it is off"), false),
        ] {
            let mut servers = vec![
                server("spawn", McpLocation::ToolServer("/spawn".to_owned())),
                server(
                    "tickets",
                    McpLocation::Url("https://tickets.example.com/mcp".to_owned()),
                ),
            ];
            let notes = sort_out_servers(&sandbox, &mut servers);
            let left: Vec<&str> = servers.iter().map(|server| server.value.name.as_str()).collect();
            assert_eq!(left, if shut { vec!["spawn"] } else { vec!["spawn", "tickets"] });
            let wanted = if shut {
                "is not used"
            } else {
                "past the run's own servers"
            };
            assert_eq!(notes.len(), 1);
            assert!(notes[0].contains("`tickets`") && notes[0].contains(wanted), "{notes:?}");
        }
    }
}
