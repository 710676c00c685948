//! Outputs of the tools.

use std::sync::atomic::AtomicBool;

use camino::{Utf8Path, Utf8PathBuf};

use super::*;

struct Tree {
    _directory: tempfile::TempDir,
    root: Utf8PathBuf,
    workspace: Workspace,
}

fn tree() -> Tree {
    let directory = tempfile::tempdir().expect("a directory");
    let root = Utf8Path::from_path(directory.path()).expect("UTF-8").to_owned();
    let workspace = Workspace::open(&root).expect("a workspace");
    Tree {
        _directory: directory,
        root,
        workspace,
    }
}

impl Tree {
    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, content).expect("a file");
    }

    fn run(&self, look: Look, arguments: &Value) -> Outcome {
        let arguments = arguments.as_object().expect("an object");
        look.run(&self.workspace, arguments, &AtomicBool::new(false))
    }

    fn shown(&self, look: Look, arguments: &Value) -> String {
        self.run(look, arguments).expect("an output").text
    }
}

#[test]
fn a_tool_is_known_by_its_name_in_every_spelling() {
    for said in [
        "submit_review",
        "Submit_Review",
        "submit-review",
        "functions.submit_review",
        "functions.submit_review:0",
        "mcp__conclave__submit_review",
        "conclave_submit_review",
    ] {
        assert!(is_name(said, "submit_review"), "{said}");
    }
    for said in ["Read", "functions.read:3", "mcp__files__read"] {
        assert!(is_name(said, "read"), "{said}");
    }
    for said in ["", "thread_read", "spread", "read_file", "submit_review_now"] {
        assert!(!is_name(said, "read") && !is_name(said, "submit_review"), "{said}");
    }
    let call = ToolCall::new("c".to_owned(), "read".to_owned(), "{\"filePath\": \"a\nb\",}");
    assert_eq!(call.arguments.expect("an object")["filePath"], json!("a\nb"));
}

#[test]
fn read_shows_what_the_other_runtime_shows() {
    let tree = tree();
    tree.write("src/a.py", "import os\r\n\nprint(1)");
    assert_eq!(
        tree.shown(Look::Read, &json!({"filePath": "src/a.py"})),
        "<path>src/a.py</path>\n<type>file</type>\n<content>\n1: import os\n2: \n3: print(1)\n\n(End of file - total 3 \
         lines)\n</content>"
    );
    assert_eq!(
        tree.shown(
            Look::Read,
            &json!({"filePath": "./src/a.py", "offset": "2", "limit": 1.0})
        ),
        "<path>src/a.py</path>\n<type>file</type>\n<content>\n2: \n\n(Showing lines 2-2 of 3. Use offset=3 to \
         continue.)\n</content>"
    );
    tree.write("src/empty", "");
    assert!(
        tree.shown(Look::Read, &json!({"filePath": "src/empty"}))
            .contains("total 0 lines")
    );
    assert_eq!(
        tree.shown(Look::Read, &json!({"filePath": "src"})),
        "<path>src</path>\n<type>directory</type>\n<entries>\na.py\nempty\n\n(2 entries)\n</entries>"
    );
    let error = |arguments: Value| tree.run(Look::Read, &arguments).expect_err("an error");
    assert_eq!(
        error(json!({"filePath": "src/a.p"})),
        "File not found: src/a.p\n\nDid you mean one of these?\nsrc/a.py"
    );
    assert_eq!(
        error(json!({"filePath": "src/a.py", "offset": 4})),
        "Offset 4 is out of range for this file (3 lines)"
    );
    tree.write("picture.png", b"\x89PNG\0\0");
    assert!(error(json!({"filePath": "picture.png"})).contains("binary"));
}

#[test]
fn what_is_read_is_what_is_shown() {
    let tree = tree();
    let read = |arguments: Value| {
        let output = tree.run(Look::Read, &arguments).expect("an output");
        let lines = output
            .text
            .lines()
            .filter(|line| line.starts_with(char::is_numeric))
            .count();
        let read = output.reads.first().expect("a read");
        (read.first, read.last, read.cut_lines, lines, output.text.len())
    };
    tree.write("many", "line\n".repeat(2500));
    let (first, last, cut, lines, _) = read(json!({"filePath": "many", "limit": 9000}));
    assert_eq!((first, last, cut, lines), (1, Some(2000), false, 2000));
    assert_eq!(read(json!({"filePath": "many", "offset": 2001})).1, None);
    // Bytes are bounded too, and a line without an end.
    tree.write("wide", format!("{}\n", "w".repeat(1000)).repeat(100));
    let (_, last, _, lines, length) = read(json!({"filePath": "wide"}));
    assert_eq!((last, lines), (Some(51), 51));
    assert!(length < 60_000, "{length}");
    tree.write("endless", "é".repeat(4 << 20));
    let (_, last, cut, lines, length) = read(json!({"filePath": "endless"}));
    assert_eq!((last, cut, lines), (None, true, 1));
    assert!(length < 5_000, "{length}");
    // A line of exactly the limit is whole.
    tree.write("exact", "é".repeat(2000));
    assert!(!read(json!({"filePath": "exact"})).2);
}

#[test]
fn grep_shows_what_the_other_runtime_shows() {
    let tree = tree();
    tree.write("b/two.rs", "fn two() {}\n");
    tree.write("a/one.rs", "use x;\nfn one() { two() }\n");
    tree.write("a/one.txt", "fn prose\n");
    tree.write(".github/ci.yml", "run: fn\n");
    tree.write(".git/config", "fn secret\n");
    tree.write("prod.env", "fn secret\n");
    tree.write("image", b"fn\0fn");
    // Its author would decide what a reviewer finds.
    tree.write(".gitignore", "*.rs\n");
    tree.write(".ignore", "*.rs\n");
    assert_eq!(
        tree.shown(Look::Grep, &json!({"pattern": "fn \\w+\\(", "include": "*.rs"})),
        "Found 2 matches\na/one.rs:\n  Line 2: fn one() { two() }\n\nb/two.rs:\n  Line 1: fn two() {}"
    );
    let everywhere = tree.shown(Look::Grep, &json!({"pattern": "fn"}));
    assert!(
        everywhere.contains(".github/ci.yml:") && everywhere.contains("a/one.txt:"),
        "{everywhere}"
    );
    assert!(!everywhere.contains("secret"), "{everywhere}");
    assert_eq!(
        tree.shown(Look::Grep, &json!({"pattern": "two", "path": "a/one.rs"})),
        "Found 1 matches\na/one.rs:\n  Line 2: fn one() { two() }"
    );
    assert_eq!(tree.shown(Look::Grep, &json!({"pattern": "absent"})), "No files found");
    assert!(tree.run(Look::Grep, &json!({"pattern": "fn", "path": ".git"})).is_err());
    assert!(tree.run(Look::Grep, &json!({"pattern": "fn", "include": "{"})).is_err());
    assert!(
        tree.run(Look::Grep, &json!({"pattern": "(?:a{1000}){1000}"})).is_err(),
        "a pattern has its bound"
    );
}

#[test]
fn lines_that_grep_shows_of_a_patch_are_read() {
    let tree = tree();
    tree.write(".conclave-review/patches/0001-a.patch", "+one\n+two\n");
    tree.write("src/a.rs", "one\n");
    let read = |path: &str| {
        let arguments = json!({"pattern": "one", "path": path});
        tree.run(Look::Grep, &arguments).expect("an output").reads
    };
    let line = FileRead {
        path: ".conclave-review/patches/0001-a.patch".to_owned(),
        first: 1,
        last: Some(1),
        cut_lines: false,
    };
    for path in [".conclave-review/patches", "./.conclave-review/patches/0001-a.patch"] {
        assert_eq!(read(path), std::slice::from_ref(&line), "{path}");
    }
    for path in [".", "src", ".conclave-review"] {
        assert_eq!(read(path), [], "{path}");
    }
}

#[test]
fn searches_are_bounded() {
    let tree = tree();
    for number in 0..150 {
        tree.write(&format!("f/{number:03}.js"), format!("match {}\n", "z".repeat(2000)));
    }
    let found = tree.shown(Look::Grep, &json!({"pattern": "match"}));
    assert!(
        found.starts_with("Found 100 matches (more matches available)\nf/000.js:"),
        "{}",
        &found[..100]
    );
    assert!(found.ends_with("(Results truncated. Consider using a more specific path or pattern.)"));
    assert!(found.len() < 300_000, "{}", found.len());
    let found = tree.shown(Look::Glob, &json!({"pattern": "*.js"}));
    assert_eq!(found.lines().filter(|line| line.starts_with("f/")).count(), 100);
    assert!(found.contains("Results are truncated"));
    tree.write("one.js", "match\n".repeat(1000));
    let found = tree.shown(Look::Grep, &json!({"pattern": "match", "path": "one.js"}));
    assert!(found.starts_with("Found 100 matches (more"), "{found}");
}

#[test]
fn glob_lists_by_name() {
    let tree = tree();
    for path in ["src/a.rs", "src/deep/b.rs", "c.rs", ".git/d.rs", "x.env"] {
        tree.write(path, "");
    }
    for (pattern, path, found) in [
        ("**/*.rs", ".", "c.rs\nsrc/a.rs\nsrc/deep/b.rs"),
        ("src/*.rs", ".", "src/a.rs"),
        ("*.rs", "src/deep", "src/deep/b.rs"),
        ("*.py", ".", "No files found"),
        ("*.env", ".", "No files found"),
    ] {
        assert_eq!(
            tree.shown(Look::Glob, &json!({"pattern": pattern, "path": path})),
            found,
            "{pattern} in {path}"
        );
    }
    assert!(tree.run(Look::Glob, &json!({"pattern": "*", "path": "c.rs"})).is_err());
    assert!(tree.run(Look::Glob, &json!({"pattern": "*", "path": ".."})).is_err());
}

#[test]
fn a_search_where_nothing_is_says_so() {
    let tree = tree();
    tree.write("src/a.rs", "x");
    std::os::unix::fs::symlink("src", tree.root.join("link")).expect("a link");
    for look in [Look::Grep, Look::Glob] {
        for (path, told) in [
            (
                "nowhere",
                "There is no file or directory nowhere in the checkout. Nothing was searched.",
            ),
            (
                "src/b.rs",
                "There is no file or directory src/b.rs in the checkout. Nothing was searched.",
            ),
            ("link", "links are not followed"),
            ("link/a.rs", "links are not followed"),
            ("a\0b", "There is no file or directory a\\0b in the checkout"),
        ] {
            let error = tree.run(look, &json!({"pattern": "x", "path": path}));
            let error = error.expect_err("nothing is there");
            assert!(error.contains(told), "{look:?} {path:?}: {error}");
        }
    }
}

#[test]
fn grep_goes_on_behind_a_line_that_is_too_long() {
    let tree = tree();
    let long = "y".repeat(20 << 20);
    tree.write(
        "a.json",
        format!("needle 1\nneedle 2{long}needle\nneedle 3\n{long}\n{long}needle"),
    );
    tree.write("b.json", "needle\n");
    let found = tree.shown(Look::Grep, &json!({"pattern": "needle"}));
    assert!(
        found.starts_with("Found 4 matches\na.json:\n  Line 1: needle 1\n  Line 2: needle 2yyy"),
        "{}",
        &found[..100]
    );
    assert!(
        found.contains("\n  Line 3: needle 3\n\nb.json:\n  Line 1: needle"),
        "{}",
        found.len()
    );
    let note = "(Searched in part only:\na.json: a line was too long, and its rest was not searched)";
    assert!(found.ends_with(note), "{}", &found[found.len() - 200..]);
    let found = tree.shown(Look::Grep, &json!({"pattern": "absent", "path": "a.json"}));
    assert_eq!(found, format!("No files found\n\n{note}"));
    // A line of exactly the limit is searched whole.
    tree.write("c.json", format!("{}needle\n", "y".repeat((8 << 20) - 6)));
    let found = tree.shown(Look::Grep, &json!({"pattern": "needle", "path": "c.json"}));
    assert!(
        found.starts_with("Found 1 matches") && !found.contains("in part"),
        "{}",
        found.len()
    );
}

struct NoCoordinator;

#[async_trait::async_trait]
impl CoordinatorTools for NoCoordinator {
    async fn spawn_reviewers(&self) -> Result<Value, conclave_engine::ports::ToolError> {
        Err(conclave_engine::ports::ToolError("nobody asks".to_owned()))
    }

    async fn submit_review(&self, _: Value) -> Result<Value, conclave_engine::ports::ToolError> {
        self.spawn_reviewers().await
    }
}

#[tokio::test]
async fn looks_run_where_nothing_but_the_workspace_is_open() {
    let (tree, other) = (tree(), tree());
    tree.write("a.py", "import os");
    let calls = || {
        let arguments = [
            ("read", r#"{"filePath": "a.py"}"#),
            ("grep", r#"{"pattern": "import"}"#),
            ("glob", r#"{"pattern": "*.py"}"#),
        ];
        let calls = arguments.map(|(name, arguments)| ToolCall::new(name.to_owned(), name.to_owned(), arguments));
        calls.to_vec()
    };
    for (confined_to, seen) in [
        (Some(&tree.root), true),
        (None, true),
        // Not even the tools' own workspace, where the rule is for another directory.
        (Some(&other.root), cfg!(not(target_os = "linux"))),
    ] {
        let tools = Tools {
            workspace: Arc::new(Workspace::open(&tree.root).expect("a workspace")),
            threads: Threads::start(confined_to.map(Utf8PathBuf::as_path)).expect("threads"),
            coordinator: Arc::new(NoCoordinator),
        };
        let results = Offer::new(Arc::new(tools), Vec::new()).run(calls(), 100_000).await;
        for result in results {
            assert_eq!(
                result.text.contains("import") || result.text.contains("a.py\n") || result.text == "a.py",
                seen,
                "{}, confined to {confined_to:?}: {}",
                result.id,
                result.text
            );
        }
    }
}
