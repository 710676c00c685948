//! Good instructions, and those that help no agent.

use super::*;

const GOOD: &str = "# Working here\n\nRun `npm ci`, then `npm test`; ESLint with `npm run lint`.\n\n```sh\npytest -q tests\nprettier --check .\n```\n\n\
                    Pytest finds tests by name. Formatting is Prettier's. Write clean-up code in `finally`.\n";

fn marks(text: &str, changed: bool) -> Vec<(Materiality, &'static str, Option<u32>)> {
    let file = Instructions {
        path: "AGENTS.md".into(),
        text: text.into(),
    };
    let hints = faults(&file, changed);
    hints
        .into_iter()
        .map(|hint| (hint.materiality, hint.kind.as_str(), hint.line))
        .collect()
}

#[test]
fn good_instructions_have_no_marks() {
    assert_eq!(marks(GOOD, true), []);
}

#[test]
fn filler_length_and_tools_without_a_command() {
    let medium = |kind, line| (Materiality::Medium, kind, line);
    for sentence in [
        "Always write clean code.",
        "Please write clean, readable code!",
        "Follow best practices.",
        "Follow industry best practices",
        "Use meaningful variable names.",
        "You are an expert engineer.",
        "Keep it simple.",
    ] {
        let text = format!("# Rules\n{sentence}\n");
        assert_eq!(marks(&text, true), [medium("agents-md-filler", Some(2))], "{sentence}");
    }
    assert_eq!(
        marks("We lint with ESLint and format with prettier.\n", true),
        [
            medium("agents-md-no-command", Some(1)),
            medium("agents-md-no-command", Some(1)),
        ]
    );
    assert_eq!(marks(&"line\n".repeat(200), true), []);
    assert_eq!(marks(&"line\n".repeat(201), true), [medium("agents-md-length", None)]);
}

#[test]
fn a_long_or_vague_file_is_worth_a_suggestion_also_where_the_change_leaves_it_alone() {
    assert_eq!(
        marks("Follow best practices.", false),
        [(Materiality::Medium, "agents-md-filler", Some(1))]
    );
    assert_eq!(
        marks(&"line\n".repeat(201), false),
        [(Materiality::Medium, "agents-md-length", None)]
    );
    assert_eq!(
        marks("We lint with ESLint.\n", false),
        [(Materiality::Low, "agents-md-no-command", Some(1))]
    );
}

#[test]
fn code_is_no_prose() {
    assert_eq!(
        marks("```\n# write clean code\nblack .\n```\nFormatted by black.\n", true),
        []
    );
    assert_eq!(marks("The blacklist and the tox-free build.\n", true), []);
}

#[test]
fn which_files_are_instructions() {
    assert!(is_instructions("AGENTS.md") && is_instructions("web/CLAUDE.md"));
    assert!(!is_instructions("docs/AGENTS.md.bak") && !is_instructions("agents.md/x"));
}
