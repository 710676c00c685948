//! Words of a schema in configuration: names of attributes, keys and instructions, which stand in every file of a kind.

use conclave_shared::path_kind::file_name;

/// The instructions of a Dockerfile, in lower case.
const INSTRUCTIONS: [&str; 18] = [
    "add",
    "arg",
    "cmd",
    "copy",
    "entrypoint",
    "env",
    "expose",
    "from",
    "healthcheck",
    "label",
    "maintainer",
    "onbuild",
    "run",
    "shell",
    "stopsignal",
    "user",
    "volume",
    "workdir",
];

/// The language of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Terraform and its relatives.
    Hcl,
    /// Instructions for an image.
    Dockerfile,
    /// Statements.
    Sql,
    /// Keys with values.
    Keys,
}

impl Language {
    /// The one of a file.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = file_name(path).to_ascii_lowercase();
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name.as_str(), ""));
        let is_image = |part: &str| matches!(part, "dockerfile" | "containerfile");
        Some(match extension {
            "tf" | "tofu" | "hcl" => Self::Hcl,
            "sql" | "psql" | "pgsql" | "ddl" => Self::Sql,
            "yaml" | "yml" | "json" | "toml" | "ini" | "properties" | "env" | "tfvars" => Self::Keys,
            _ if is_image(extension) || is_image(stem) || name.starts_with("dockerfile.") => Self::Dockerfile,
            _ => return None,
        })
    }
}

/// A line's words of the schema, if it is one of a configuration, and the rest of it.
pub(super) fn parts<'c>(path: &str, line: &'c str) -> (&'c str, &'c str) {
    let all = ("", line);
    match Language::of(path) {
        None | Some(Language::Sql) => all,
        Some(Language::Hcl) => line.split_once('=').unwrap_or(if line.trim_end().ends_with('{') {
            (line, "")
        } else {
            all
        }),
        Some(Language::Keys) => line.split_once([':', '=']).unwrap_or(all),
        Some(Language::Dockerfile) => {
            let line = line.trim_start();
            let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if is_one_of(&INSTRUCTIONS, first) {
                (first, rest)
            } else {
                all
            }
        }
    }
}

/// Returns whether a list has this word, in either case.
pub(super) fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}
