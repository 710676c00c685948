//! Helpers that tests of this crate share.

use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;

use crate::{LaunchSettings, Launched, Sandbox};

/// A child that is this script.
pub(crate) fn launched(directory: &Utf8Path, script: &str) -> Launched {
    let binary = directory.join("opencode");
    std::fs::write(&binary, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).expect("executable");
    Launched::start(&LaunchSettings {
        binary: &binary,
        home: &directory.join("home"),
        config: &directory.join("opencode.json"),
        path: "/usr/bin:/bin",
        environment: &[],
        limit: std::time::Duration::from_mins(1),
        sandbox: &Sandbox::Off("a test of something else".into()),
    })
    .expect("it starts")
}
