//! Landlock: files, TCP ports, signals.

use std::collections::BTreeSet;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::policy::{Access, FileRule};

/// The newest version that the rules are written for. An older kernel gets what it knows.
const NEWEST: ABI = ABI::V10;

/// A rule that the kernel knows and that could not be set.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A path cannot be opened.
    #[error("failed to open {0} for its rule: {1}")]
    Path(camino::Utf8PathBuf, #[source] std::io::Error),
    /// The kernel refused a rule.
    #[error("the kernel refused a rule for files and ports: {0}")]
    Rule(#[from] RulesetError),
}

/// Rules for connections and signals, besides those for files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports<'a> {
    pub(super) connect: &'a [u16],
    pub(super) bind: &'a [u16],
}

/// Puts the calling thread, and all that it starts, under these rules for good. Returns the version of Landlock in force; 0 if
/// there is none.
pub(super) fn restrict(files: &[FileRule], ports: Option<Ports<'_>>) -> Result<u8, FilesError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?;
    if ports.is_some() {
        rules = rules.scope(Scope::from_all(NEWEST))?;
    }
    let mut created = rules.create()?;
    for rule in files {
        let Some(rule) = beneath(rule)? else { continue };
        created = created.add_rule(rule)?;
    }
    let Ports { connect, bind } = ports.unwrap_or(Ports {
        connect: &[],
        bind: &[],
    });
    for (ports, access) in [(connect, AccessNet::ConnectTcp), (bind, AccessNet::BindTcp)] {
        for port in ports.iter().collect::<BTreeSet<_>>() {
            created = created.add_rule(NetPort::new(*port, access))?;
        }
    }
    let status = created.restrict_self()?;
    Ok(match status.landlock {
        // Its number is only in its text.
        LandlockStatus::Available { effective_abi, .. } => effective_abi.to_string().parse().unwrap_or(1),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    })
}

fn beneath(rule: &FileRule) -> Result<Option<PathBeneath<PathFd>>, FilesError> {
    let failed = |error| FilesError::Path(rule.path.clone(), error);
    let is_directory = match rule.path.metadata() {
        Ok(found) => found.is_dir(),
        Err(_) if !rule.required => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let opened = match PathFd::new(&rule.path) {
        Ok(opened) => opened,
        Err(_) if !rule.required => return Ok(None),
        Err(error) => return Err(failed(std::io::Error::other(error))),
    };
    let mut rights = rights(rule.access);
    if !is_directory {
        rights &= AccessFs::from_file(NEWEST);
    }
    Ok(Some(PathBeneath::new(opened, rights)))
}

fn rights(access: Access) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    match access {
        Access::Run => read | AccessFs::Execute,
        Access::Read => read,
        Access::Write => {
            read | AccessFs::WriteFile
                | AccessFs::Truncate
                | AccessFs::Refer
                | AccessFs::RemoveFile
                | AccessFs::RemoveDir
                | AccessFs::MakeReg
                | AccessFs::MakeDir
                | AccessFs::MakeSym
        }
        Access::Device => AccessFs::ReadFile | AccessFs::WriteFile,
    }
}
