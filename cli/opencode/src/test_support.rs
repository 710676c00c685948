//! Helpers that tests of this crate share.

use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use flate2::{Compression, write::GzEncoder};

use crate::{
    child::{LaunchSettings, Sandbox},
    machine::Machine,
    v1::Launched,
};

/// A machine that has everything.
pub(crate) const USUAL: Machine = Machine {
    system: "linux",
    processor: "x86_64",
    avx2: true,
    glibc: true,
};

/// A directory of executables, as long as it lives.
pub(crate) struct Bin {
    _directory: tempfile::TempDir,
    pub(crate) path: Utf8PathBuf,
}

/// A directory with executables of these names and shell bodies.
pub(crate) fn bin(programs: &[(&str, &str)]) -> Bin {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8PathBuf::from_path_buf(directory.path().to_owned()).expect("UTF-8");
    for (name, body) in programs {
        program(&path.join(name), body);
    }
    Bin {
        _directory: directory,
        path,
    }
}

/// Writes an executable with this shell body, in a directory that is made.
pub(crate) fn program(file: &Utf8Path, body: &str) {
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    std::fs::write(file, format!("#!/bin/sh\n{body}\n")).expect("a file");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("executable");
}

/// A compressed archive with these members.
pub(crate) fn tarball(members: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (member, content) in members {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..member.len()].copy_from_slice(member.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, content.as_bytes()).expect("an entry");
    }
    archive.into_inner().expect("whole").finish().expect("whole")
}

/// No sandbox, for a test of something else.
pub(crate) fn no_sandbox() -> Sandbox {
    Sandbox::Off("a test of something else".into())
}

/// A child that is this script.
pub(crate) fn launched(directory: &Utf8Path, script: &str) -> Launched {
    let binary = directory.join("opencode");
    program(&binary, script);
    Launched::start(&LaunchSettings {
        binary: &binary,
        home: &directory.join("home"),
        config: &directory.join("opencode.json"),
        path: "/usr/bin:/bin",
        environment: &[],
        limit: std::time::Duration::from_mins(1),
        sandbox: &no_sandbox(),
    })
    .expect("it starts")
}
