//! The child's own home: nothing of the user's is in it.

use camino::Utf8Path;

use crate::{OPENCODE_VERSION, errors::ProcessError};

/// The list of models that the child reads in place of its built-in one. It is empty: the configuration says all of a
/// run's models, and taking in those of a hundred other providers costs a third of the time until the first prompt.
const NO_MODELS: &str = "models.json";

/// Makes the directories, and the stub that keeps OpenCode from installing packages at its start.
pub(super) fn create(root: &Utf8Path) -> Result<(), ProcessError> {
    let io = |error| ProcessError::Home(root.to_owned(), error);
    for directory in ["config/opencode/node_modules", "data", "cache", "state", "tmp", "cwd"] {
        std::fs::create_dir_all(root.join(directory)).map_err(io)?;
    }
    let dependencies = format!(r#"{{"@opencode-ai/plugin":"{OPENCODE_VERSION}"}}"#);
    let config = root.join("config/opencode");
    let package = format!(r#"{{"dependencies":{dependencies}}}"#);
    std::fs::write(config.join("package.json"), package).map_err(io)?;
    let lock = format!(r#"{{"lockfileVersion":3,"packages":{{"":{{"dependencies":{dependencies}}}}}}}"#);
    std::fs::write(config.join("package-lock.json"), lock).map_err(io)?;
    std::fs::write(root.join(NO_MODELS), "{}").map_err(io)
}

/// The variables that lead everything there.
pub(super) fn environment(root: &Utf8Path) -> [(&'static str, String); 7] {
    let at = |name: &str| root.join(name).into_string();
    [
        ("OPENCODE_MODELS_PATH", at(NO_MODELS)),
        ("HOME", root.to_string()),
        ("XDG_CONFIG_HOME", at("config")),
        ("XDG_DATA_HOME", at("data")),
        ("XDG_CACHE_HOME", at("cache")),
        ("XDG_STATE_HOME", at("state")),
        ("TMPDIR", at("tmp")),
    ]
}
