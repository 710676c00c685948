//! Environment variables without which something stops.

use conclave_shared::path_kind::{Noise, PathKind, Role};

use crate::{manifest::has_extension, pattern::pattern};

/// Variables that are always there, or that a tool sets.
fn is_given(name: &str) -> bool {
    const GIVEN: &str = "NODE_ENV PATH HOME USER CI PWD SHELL TMPDIR TEMP LANG TERM OUT_DIR PORT MODE \
         DEV PROD SSR BASE_URL";
    GIVEN.split_ascii_whitespace().any(|given| given == name) || name.starts_with("CARGO_")
}

/// Returns whether a file is a test, an example, or a copy of third-party code: what it reads is not for this project to set.
pub(crate) fn is_beside_the_program(path: &str) -> bool {
    let kind = PathKind::of(path);
    let is_beside = |directory: &str| matches!(directory, "dist" | "benches" | "example" | "examples");
    kind.role == Role::Test || kind.noise == Some(Noise::Vendored) || path.to_lowercase().split('/').any(is_beside)
}

/// The variables that a line of code reads without a default.
pub(crate) fn required_variables(path: &str, line: &str) -> Vec<String> {
    let is = |extensions: &[&str]| extensions.iter().any(|extension| has_extension(path, extension));
    let code = line.trim_start();
    if ["//", "#", "*", "/*", "--"]
        .iter()
        .any(|comment| code.starts_with(comment))
    {
        return Vec::new();
    }
    let (reads, optional) = if is(&["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte"]) {
        (
            pattern!(r#"(?:process\.env|import\.meta\.env)(?:\.([A-Z][A-Z0-9_]*)|\[["']([A-Z][A-Z0-9_]*)["']\])"#),
            pattern!(r"^\s*(?:\?\?|\|\||\?[^.]|=[^=]|===?|!==?|\)\s*(?:\?\?|\|\|))"),
        )
    } else if is(&["py"]) {
        (
            pattern!(r#"os\.environ\[["']([A-Z][A-Z0-9_]*)["']\]"#),
            pattern!(r"^\s*=[^=]"),
        )
    } else if is(&["rs"]) {
        (
            pattern!(r#"env::var\("([A-Z][A-Z0-9_]*)"\)|\benv!\("([A-Z][A-Z0-9_]*)"\)"#),
            pattern!(r"^\s*\.(?:ok\(|unwrap_or|is_ok|is_err|map_or|or_else)"),
        )
    } else if is(&["go"]) {
        (
            pattern!(r#"os\.Getenv\("([A-Z][A-Z0-9_]*)"\)"#),
            pattern!(r"^\s*(?:==|!=)"),
        )
    } else if is(&["rb"]) {
        (
            pattern!(r#"ENV\.fetch\(["']([A-Z][A-Z0-9_]*)["']\)"#),
            pattern!(r"^\s*(?:\{|do\b)"),
        )
    } else if is(&["java", "kt"]) {
        (
            pattern!(r#"System\.getenv\("([A-Z][A-Z0-9_]*)"\)"#),
            pattern!(r"^\s*(?:\?:|==|!=)"),
        )
    } else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for groups in reads.captures_iter(line) {
        let end = groups.get(0).map_or(line.len(), |whole| whole.end());
        let name = groups.get(1).or_else(|| groups.get(2)).map(|name| name.as_str());
        if let Some(name) = name
            && !is_given(name)
            && !optional.is_match(&line[end..])
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// The variables that a sample of an environment file asks people to fill in.
pub(crate) fn sample_variables(name: &str, line: &str) -> Vec<String> {
    let is_sample =
        pattern!(r"^\.?env\.(example|sample|template|dist)$|^\.env\.[\w-]+\.(example|sample)$").is_match(name);
    let groups = pattern!(r#"^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)=\s*(?:""|''|#.*)?\s*$"#).captures(line);
    match groups.as_ref().and_then(|groups| groups.get(1)) {
        Some(name) if is_sample && !is_given(name.as_str()) => vec![name.as_str().to_owned()],
        _ => Vec::new(),
    }
}
