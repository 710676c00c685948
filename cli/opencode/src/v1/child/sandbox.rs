//! Rights of `OpenCode` in the operating system's sandbox.

use std::{io, process::Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_sandbox::{Access, FileRule, Guard, Launch, Policy, SandboxStatus, missing_here, new_mark, system_files};
use tokio::process::Command;

use super::settings::{LaunchSettings, SERVE, SandboxSettings};
use crate::binary::on_path;

/// The port that `OpenCode` tries first when it is asked for any.
const USUAL_PORT: u16 = 4096;
/// The remedy where a place of the user's is open.
const MOVE: &str = "keep homes, checkouts and TMPDIR out of the system's directories, name single programs in CONCLAVE_SANDBOX_PROGRAMS, and mount \
     /proc without hidepid";

/// The sandbox around a child.
#[derive(Debug, Clone)]
pub(crate) enum Confinement {
    /// There is none, for this reason.
    Off(String),
    /// It is being put up, or stands.
    On {
        /// Its state.
        guard: Guard,
        /// Places of the user's that are open in it.
        opened: Opened,
    },
}

impl Confinement {
    /// Waits until it is known what holds, also of `places` of the user's that were not known at the start. `None` if the child
    /// has ended before.
    pub(crate) async fn status(&self, places: &[Utf8PathBuf]) -> Option<SandboxStatus> {
        match self {
            Self::Off(why) => Some(SandboxStatus::none(why)),
            Self::On { guard, opened } => Some(guard.status().await?.also_open(&opened.list(places), MOVE)),
        }
    }

    /// Addresses that the child tried to reach and that are not the run's own.
    pub(crate) fn refused(&self) -> Vec<String> {
        match self {
            Self::Off(_) => Vec::new(),
            Self::On { guard, .. } => guard.refused().into_iter().collect(),
        }
    }
}

/// Places that the rules of a start open.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    /// The rules that are not for directories of the run.
    rules: Vec<FileRule>,
    /// Places of the user's.
    private: Vec<Utf8PathBuf>,
}

impl Opened {
    /// The user's places that are open, these included.
    fn list(&self, more: &[Utf8PathBuf]) -> Vec<String> {
        let private = [self.private.as_slice(), more].concat();
        let mut open = exposed(self.rules.iter(), &private);
        open.extend(hidden_processes());
        open
    }
}

/// Prepares a confined start. The child's home has to be there already.
pub(super) fn prepare(
    settings: &LaunchSettings<'_>,
    sandbox: &SandboxSettings,
    mark: u64,
) -> io::Result<(Launch, std::process::Command, Opened)> {
    let files = files(settings, sandbox);
    let own = [
        sandbox.workspace.as_path(),
        settings.home,
        settings.config.parent().unwrap_or(settings.config),
    ];
    let others = files.iter().filter(|rule| !own.contains(&rule.path.as_path()));
    let opened = Opened {
        rules: others.cloned().collect(),
        private: sandbox.private.clone(),
    };
    let policy = Policy {
        files,
        connect: sandbox.ports.clone(),
        bind: vec![0, USUAL_PORT],
    };
    let (launch, mut command) = Launch::prepare(&sandbox.helper, settings.binary, policy, mark)?;
    command.args(SERVE);
    Ok((launch, command, opened))
}

/// A `/proc` that hides processes from this user would hide what outlives the run.
fn hidden_processes() -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let hides = !nix::unistd::geteuid().is_root() && hides_processes(&mounts);
    hides.then(|| "processes that outlive the run: /proc is mounted with `hidepid`".to_owned())
}

/// Returns whether the last mount at `/proc` has the option.
fn hides_processes(mounts: &str) -> bool {
    let at_proc = |line: &&str| line.split(' ').nth(4) == Some("/proc");
    let options = mounts.lines().rfind(at_proc).and_then(|line| line.rsplit(' ').next());
    let value = options.and_then(|options| options.split(',').find_map(|option| option.strip_prefix("hidepid=")));
    value.is_some_and(|value| !matches!(value, "0" | "off"))
}

/// The places that a rule opens with everything below them.
fn exposed<'a>(rules: impl Iterator<Item = &'a FileRule>, private: &[Utf8PathBuf]) -> Vec<String> {
    let open: Vec<Utf8PathBuf> = rules.map(|rule| real(&rule.path)).collect();
    let mut exposed: Vec<String> = private
        .iter()
        .filter_map(|place| {
            let place = real(place);
            let rule = open.iter().find(|open| place.starts_with(open))?;
            Some(format!("files below {place}, which {rule} opens"))
        })
        .collect();
    exposed.sort();
    exposed.dedup();
    exposed
}

/// The path without links. What is not there yet is taken as it will be made.
fn real(path: &Utf8Path) -> Utf8PathBuf {
    let absolute = camino::absolute_utf8(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find_map(|there| {
        let rest = absolute.strip_prefix(there).ok()?;
        let there = there.canonicalize_utf8().ok()?;
        Some(if rest == "" { there } else { there.join(rest) })
    });
    found.unwrap_or(absolute)
}

/// Puts the sandbox up around a program that does nothing, and returns what would hold around `OpenCode`.
pub async fn probe_sandbox(settings: &SandboxSettings) -> io::Result<SandboxStatus> {
    if let Some(why) = missing_here() {
        return Ok(SandboxStatus::none(why));
    }
    let policy = Policy {
        files: system_files(),
        connect: Vec::new(),
        bind: Vec::new(),
    };
    let programs = settings
        .programs
        .iter()
        .map(|path| FileRule::optional(path, Access::Run));
    let opened = Opened {
        rules: programs.chain(system_files()).collect(),
        private: settings.private.clone(),
    };
    let (launch, command) = Launch::prepare(&settings.helper, "/bin/sh", policy, new_mark()?)?;
    let mut command = Command::from(command);
    command
        .args(["-c", "exit 0"])
        .env_clear()
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let child = command.spawn()?;
    drop(command);
    let guard = launch.started(child.id().ok_or_else(|| io::Error::other("it ended at once"))?)?;
    if let Some(status) = guard.status().await {
        return Ok(status.also_open(&opened.list(&[]), MOVE));
    }
    let output = child.wait_with_output().await?;
    Err(io::Error::other(
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    ))
}

/// The files of a start: the machine's programs, the checkout, the configuration, a home. None of the user's.
fn files(settings: &LaunchSettings<'_>, sandbox: &SandboxSettings) -> Vec<FileRule> {
    let runtime = settings.config.parent().unwrap_or(settings.config);
    let required = [
        (settings.binary, Access::Run),
        (&sandbox.workspace, Access::Read),
        (runtime, Access::Read),
        (settings.home, Access::Write),
    ];
    // What it searches with, and what it finds the root of the project with.
    let tools = ["rg", "git"]
        .into_iter()
        .filter_map(|name| on_path(name, settings.path).next());
    let programs = tools.chain(sandbox.programs.iter().cloned());
    required
        .into_iter()
        .map(|(path, access)| FileRule::required(path, access))
        .chain(programs.map(|path| FileRule::optional(path, Access::Run)))
        .chain(system_files())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proc_that_hides_processes_is_seen() {
        let line = |options: &str| {
            format!("22 1 0:20 / /sys rw - sysfs sysfs rw\n24 1 0:21 / /proc rw,nosuid - proc proc rw{options}\n")
        };
        for (options, hides) in [
            ("", false),
            (",hidepid=0", false),
            (",hidepid=off", false),
            (",hidepid=2", true),
            (",gid=4,hidepid=invisible", true),
        ] {
            assert_eq!(hides_processes(&line(options)), hides, "{options}");
        }
        assert!(
            !hides_processes(&(line(",hidepid=2") + &line(""))),
            "the last mount counts"
        );
    }

    #[test]
    fn places_of_the_user_that_a_rule_opens_are_named() {
        let root = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(root.path())
            .expect("UTF-8")
            .canonicalize_utf8()
            .expect("real");
        for place in ["usr/app/.git", "home/.local/bin"] {
            std::fs::create_dir_all(root.join(place)).expect("a directory");
        }
        std::os::unix::fs::symlink(root.join("usr/app"), root.join("checkout")).expect("a link");
        let rules = |paths: &[&str]| {
            let rule = |path: &&str| FileRule::optional(root.join(path), Access::Run);
            paths.iter().map(rule).collect::<Vec<_>>()
        };
        let private = ["checkout", "home", "home"].map(|place| root.join(place));
        let of = |paths: &[&str]| exposed(rules(paths).iter(), &private);
        assert_eq!(
            of(&["usr/lib", "home/.local/bin", "missing"]),
            [""; 0],
            "below a place is the user's choice"
        );
        let app = root.join("usr/app");
        assert_eq!(
            of(&["usr"]),
            [format!("files below {app}, which {} opens", root.join("usr"))]
        );
        assert_eq!(of(&[""]).len(), 2, "each place once");
        assert_eq!(of(&["home"]).len(), 1);
    }
}
