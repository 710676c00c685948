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

#[test]
fn the_places_are_the_directories_of_the_changed_files_and_those_above() {
    let changed = ["src/web/a.ts", "src/web/b.ts", "docs/c.md", "d.md"];
    assert_eq!(
        places(changed.into_iter()),
        [
            "AGENTS.md",
            "CLAUDE.md",
            "docs/AGENTS.md",
            "docs/CLAUDE.md",
            "src/AGENTS.md",
            "src/CLAUDE.md",
            "src/web/AGENTS.md",
            "src/web/CLAUDE.md"
        ]
    );
    assert_eq!(places(std::iter::empty()), ["AGENTS.md", "CLAUDE.md"]);
}

fn file(path: &str, text: String) -> Instructions {
    Instructions {
        path: path.to_owned(),
        text,
    }
}

#[test]
fn the_reviewer_is_shown_numbered_lines_and_where_they_end() {
    let (none, warning) = rendered(&[], &[]);
    assert!(none.sanitized().ends_with("There is none.\n"));
    assert_eq!(warning, None);
    let long = |name: &str| format!("First of {name}.\n{}\nLast.\n", "x".repeat(MAX_SHOWN));
    let files = [
        file("a/AGENTS.md", long("a")),
        file("b/AGENTS.md", "All.\n".repeat(100)),
        file("c/AGENTS.md", "y\n".repeat(MAX_SHOWN)),
    ];
    let (text, warning) = rendered(&files, &[]);
    let text = text.sanitized();
    assert!(
        text.contains("=== a/AGENTS.md\n1: First of a.\n(not shown from line 2 on)\n=== b/AGENTS.md\n1: All.\n"),
        "{}",
        &text[..300]
    );
    assert!(
        text.contains("\n100: All.\n=== c/AGENTS.md\n1: y\n"),
        "a long one leaves room for a short one"
    );
    let last = text.lines().last().unwrap();
    assert_eq!(
        last, "(not shown from line 8068 on)",
        "half of what the short one leaves"
    );
    assert_eq!(
        warning.unwrap(),
        "files for agents that the agents_md reviewer was not shown: a/AGENTS.md from line 2 on; c/AGENTS.md from line 8068 on"
    );
}

#[test]
fn files_that_cannot_be_read_are_named_and_many_of_them_are_counted() {
    let unread: Vec<Unread> = (0..8)
        .map(|number| Unread {
            path: format!("a\n{number}/AGENTS.md"),
            reason: "it is not text".to_owned(),
        })
        .collect();
    let (text, warning) = rendered(&[file("AGENTS.md", "Use pnpm.".to_owned())], &unread);
    let (text, warning) = (text.sanitized(), warning.unwrap());
    assert!(
        text.contains("(not shown: it is not text)") && !text.contains("There is none"),
        "{text}"
    );
    assert!(warning.contains("4/AGENTS.md: it is not text; and 3 more"), "{warning}");
    assert!(!warning.contains('\n'), "{warning}");
}
