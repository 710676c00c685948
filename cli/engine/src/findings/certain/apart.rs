//! Code that does not run together with other code, by the paths of both files: what only tests or examples use, what only declares types,
//! and what is written in another language.

use conclave_shared::path_kind::{PathKind, Role, file_name};

use super::Language;

const IN_TEST: &str = "the judge's code is in a test, and that of the finding is not";
const IN_EXAMPLE: &str = "the judge's code is in an example, and that of the finding is not";
const IN_STUB: &str = "the judge's code only declares types";
const IN_LANGUAGE: &str = "the judge's code is in another language than that of the finding";

/// Directories of what shows how a program is used.
const EXAMPLES: [&str; 6] = ["demo", "demos", "example", "examples", "sample", "samples"];

/// The ends of the names of files that only declare types.
const STUBS: [&str; 4] = [".pyi", ".d.ts", ".d.mts", ".d.cts"];

/// Why code of a file in this language may not run where that of the accused file does.
pub(super) fn doubt(accused: &str, path: &str, language: Language) -> Option<&'static str> {
    aside(path).filter(|_| aside(accused).is_none()).or_else(|| {
        // Configuration and templates are about code of every language.
        let own = Language::of(accused, "").and_then(Language::family)?;
        let family = language.family()?;
        (own != family).then_some(IN_LANGUAGE)
    })
}

/// Why a file is none of the program itself.
fn aside(path: &str) -> Option<&'static str> {
    let lower = path.to_ascii_lowercase();
    if STUBS.iter().any(|end| lower.ends_with(end)) {
        return Some(IN_STUB);
    }
    if PathKind::of(path).role == Role::Test {
        return Some(IN_TEST);
    }
    let directories = lower.strip_suffix(file_name(&lower)).unwrap_or_default();
    let is_example = directories.split('/').any(|directory| EXAMPLES.contains(&directory));
    is_example.then_some(IN_EXAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(accused: &str, path: &str) -> Option<&'static str> {
        doubt(accused, path, Language::of(path, "").expect("a known language"))
    }

    #[test]
    fn what_does_not_run_where_the_finding_is_leaves_the_approval_to_a_person() {
        for (accused, path, expected) in [
            ("app.py", "tests/test_app.py", IN_TEST),
            ("app.py", "conftest.py", IN_TEST),
            ("app.py", "app_test.py", IN_TEST),
            ("app.py", "tests/fixtures/app.py", IN_TEST),
            ("web/a.ts", "web/__tests__/a.ts", IN_TEST),
            ("app.py", "examples/app.py", IN_EXAMPLE),
            ("app.py", "app.pyi", IN_STUB),
            ("src/a.ts", "types/A.d.ts", IN_STUB),
            ("app.py", "web/orders.ts", IN_LANGUAGE),
            ("app.py", "x/o.go", IN_LANGUAGE),
            ("app.py", "x.rb", IN_LANGUAGE),
            ("Dockerfile", "tests/run.sh", IN_TEST),
        ] {
            assert_eq!(between(accused, path), Some(expected), "{accused}: {path}");
        }
    }

    #[test]
    fn code_of_one_program_runs_together() {
        for (accused, path) in [
            ("app.py", "lib/guard.py"),
            ("app.py", "example.py"),
            ("tests/test_app.py", "tests/conftest.py"),
            ("tests/test_app.py", "app.py"),
            ("app.pyi", "other.pyi"),
            ("web/a.tsx", "server/a.ts"),
            ("web/a.js", "server/a.ts"),
            ("A.java", "B.kt"),
            // Configuration, and templates.
            ("deploy.yml", "app.py"),
            ("app.py", "deploy.yml"),
            ("Dockerfile", "entrypoint.sh"),
            ("schema.sql", "app.py"),
            ("page.vue", "server/a.ts"),
        ] {
            assert_eq!(between(accused, path), None, "{accused}: {path}");
        }
    }
}
