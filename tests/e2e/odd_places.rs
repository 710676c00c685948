//! Repositories and machines that are not as usual: a review works there, or says why not.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::support::{AgentRuntime, Conclave, Repository, executable, nothing_left_running, on, opencode, provider};

on_both_runtimes! {
    what_is_staged_is_reviewed_without_the_rest_and_by_the_default_branchs_settings
    without_a_default_branch_or_a_branch_at_all
    worktrees_submodules_and_bare_repositories
    histories_apart_and_damaged_objects
    without_a_home_and_with_nowhere_to_write
    scratch_space_with_an_umlaut_a_space_and_characters_of_chinese
    a_hundred_thousand_files
    a_directory_that_gitignore_forgot
    what_a_review_writes_into_the_repository_is_no_change_of_it
    what_git_status_hides_from_this_user_is_not_new
    a_hook_of_git_commit_reviews_what_is_committed
    a_line_longer_than_is_shown_at_once_is_read_to_its_end
    a_repository_with_sha_256_names
}

/// The plan of what is in this directory; no model is asked.
async fn plan(directory: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["plan", "--format", "json"];
    all.extend(arguments);
    let outcome = Conclave::new(directory, &all).run().await.expect_code(0);
    serde_json::from_str(&outcome.stdout).expect("JSON")
}

/// The paths that would be reviewed.
fn paths(plan: &Value) -> Vec<&str> {
    let files = plan["files"].as_array().unwrap().iter();
    files.map(|file| file["path"].as_str().unwrap()).collect()
}

async fn says(directory: &Path, arguments: &[&str], code: i32) -> String {
    let outcome = Conclave::new(directory, arguments).run().await.expect_code(code);
    assert_eq!(outcome.stdout, "");
    outcome.stderr
}

async fn what_is_staged_is_reviewed_without_the_rest_and_by_the_default_branchs_settings() {
    let repository = Repository::new();
    repository.write(".conclave.toml", "[review]\npreset = \"yardstick\"\n");
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(".conclave.toml", "[review]\npreset = \"current\"\n");
    repository.write("committed.py", "x = 1\n");
    repository.commit("On the branch");
    repository.write("staged.py", "y = 1\n");
    repository.git(&["add", "staged.py"]);
    repository.write("unstaged.py", "z = 1\n");
    let staged = plan(repository.path(), &["--staged"]).await;
    assert_eq!(paths(&staged), ["staged.py"]);
    assert_eq!(
        staged["preset"]["name"], "yardstick",
        "the branch does not decide how it is reviewed"
    );
    let all = plan(repository.path(), &[]).await;
    assert_eq!(
        paths(&all),
        [".conclave.toml", "committed.py", "staged.py", "unstaged.py"]
    );

    repository.git(&["reset", "--quiet"]);
    let text = says(repository.path(), &["plan", "--staged"], 0).await;
    assert!(text.contains("nothing is staged; `git add` stages"), "{text}");
    let text = says(repository.path(), &["plan", "main", "--staged"], 2).await;
    assert!(text.contains("cannot be used with"), "{text}");
}

async fn without_a_default_branch_or_a_branch_at_all() {
    let repository = Repository::flawed();
    repository.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(paths(&plan(repository.path(), &[]).await), ["src/users.py"]);
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.git(&["branch", "--quiet", "-D", "main"]);
    let text = says(repository.path(), &["plan"], 2).await;
    assert!(
        text.contains("no default branch was found to compare with") && text.contains("`conclave local develop`"),
        "{text}"
    );
    repository.write("more.py", "x = 1\n");
    let uncommitted = plan(repository.path(), &[]).await;
    assert_eq!(paths(&uncommitted), ["more.py"]);
    let warnings = uncommitted["warnings"].to_string();
    assert!(
        warnings.contains("only what is not committed is reviewed"),
        "{warnings}"
    );
}

async fn worktrees_submodules_and_bare_repositories() {
    let repository = Repository::flawed();
    let other = tempfile::tempdir().unwrap();
    let worktree = other.path().join("tree");
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        worktree.to_str().unwrap(),
        "feature",
    ]);
    std::fs::write(worktree.join("more.py"), "x = 1\n").unwrap();
    assert_eq!(paths(&plan(&worktree, &[]).await), ["more.py", "src/users.py"]);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");

    let outer = Repository::new();
    let source = repository.path().to_str().unwrap();
    outer.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "-b",
        "feature",
        source,
        "vendor/users",
    ]);
    outer.commit("With a submodule");
    outer.write("vendor/users/more.py", "x = 1\n");
    // As the repository at hand, and as a part of another.
    let inside = plan(&outer.path().join("vendor/users"), &["origin/main"]).await;
    assert_eq!(paths(&inside), ["src/users.py"]);
    let inside = plan(&outer.path().join("vendor/users"), &[]).await;
    assert!(paths(&inside).contains(&"more.py"), "{inside}");
    outer.write("own.py", "x = 1\n");
    let around = plan(outer.path(), &[]).await;
    assert_eq!(paths(&around), ["own.py"]);
    let warnings = around["warnings"].to_string();
    assert!(
        warnings.contains("the submodule vendor/users has uncommitted changes"),
        "{warnings}"
    );
    outer.git(&["init", "--quiet", "begun"]);
    outer.write("begun/a.py", "x = 1\n");
    let around = plan(outer.path(), &[]).await;
    assert_eq!(paths(&around), ["own.py"]);
    let warnings = around["warnings"].to_string();
    assert!(
        warnings.contains("begun/ is a repository without a commit"),
        "{warnings}"
    );

    let bare = other.path().join("bare.git");
    repository.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let text = says(&bare, &["plan"], 2).await;
    assert!(
        text.contains("is a bare repository, without a working tree: name a range"),
        "{text}"
    );
    assert_eq!(paths(&plan(&bare, &["main..feature"]).await), ["src/users.py"]);
    let inside = repository.path().join(".git");
    let text = says(&inside, &["plan"], 2).await;
    assert!(
        text.contains("is where git keeps its own files: change to") && !text.contains("bare"),
        "{text}"
    );
    assert_eq!(paths(&plan(&inside, &["main..feature"]).await), ["src/users.py"]);
}

async fn histories_apart_and_damaged_objects() {
    let repository = Repository::flawed();
    repository.git(&["checkout", "--quiet", "--orphan", "apart"]);
    repository.commit("Another beginning");
    let text = says(repository.path(), &["plan", "feature..apart"], 2).await;
    assert!(
        text.contains("`feature` and `apart` have no common ancestor. Name a base that the work grew from"),
        "{text}"
    );
    let text = says(repository.path(), &["plan"], 2).await;
    assert!(text.contains("`main` and `apart` have no common ancestor"), "{text}");

    let object = repository.git(&["rev-parse", "feature:src/users.py"]);
    let (directory, file) = object.split_at(2);
    let object = repository.path().join(".git/objects").join(directory).join(file);
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, "bad").unwrap();
    let text = says(repository.path(), &["plan", "main..feature"], 2).await;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("an object of the repository is damaged (fatal: ") && text.contains("`git fsck` lists what is"),
        "{text}"
    );
}

async fn without_a_home_and_with_nowhere_to_write() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let (mut child, home) = Conclave::new(repository.path(), &["local", "main"])
        .anthropic(&provider)
        .without("HOME")
        .without("CONCLAVE_OUTPUT")
        .start();
    let ended = tokio::time::timeout(std::time::Duration::from_mins(3), child.wait()).await;
    assert_eq!(ended.expect("it ends").unwrap().code(), Some(0));
    // The records are where temporary files are.
    let runs = home.path().join("tmp/conclave/runs");
    let run = std::fs::read_dir(&runs).unwrap().next().expect("a run").unwrap().path();
    assert!(run.join("review.json").is_file());
    nothing_left_running(&run).await;

    // Below /proc nobody can make a file, not even root.
    let job = |arguments: &[&str]| Conclave::new(repository.path(), arguments).anthropic(&provider);
    let asked = provider.requests().len();
    let text = job(&["local", "main"])
        .env("TMPDIR", "/proc")
        .run()
        .await
        .expect_code(2)
        .stderr;
    assert!(
        text.contains("failed to make a temporary directory in /proc") && text.contains("Set TMPDIR to a directory"),
        "{text}"
    );
    let text = job(&["local", "main", "--output", "/proc/run"])
        .run()
        .await
        .expect_code(2)
        .stderr;
    assert!(text.contains("failed to make the run directory /proc/run"), "{text}");
    assert_eq!(provider.requests().len(), asked, "nothing was paid for");
    // A home that cannot be written is no home for records, and no obstacle.
    let plan = job(&["plan", "main"]).env("HOME", "/proc").run().await.expect_code(0);
    assert!(plan.stdout.contains("Tier trivial"), "{}", plan.stdout);
}

async fn scratch_space_with_an_umlaut_a_space_and_characters_of_chinese() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let place = tempfile::tempdir().unwrap();
    let scratch = place.path().join("ümlaut 漢字");
    std::fs::create_dir(&scratch).unwrap();
    let review = Conclave::new(repository.path(), &["local", "main..feature", "--quiet"])
        .anthropic(&provider)
        .env("TMPDIR", &scratch)
        .run()
        .await
        .expect_code(0)
        .review();
    assert_eq!(review["coverage"]["gaps"], serde_json::json!([]));
    assert_eq!(review["verdict"], "significant_concerns");
}

#[tokio::test]
async fn where_opencode_does_not_find_its_way_it_is_refused_by_name_or_replaced() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let place = tempfile::tempdir().unwrap();
    let binary = opencode();
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    for name in ["back\\slash", "two\nlines", "100%20"] {
        let scratch = place.path().join(name);
        std::fs::create_dir(&scratch).unwrap();
        let job = |runtime: &str| {
            Conclave::new(repository.path(), &["local", "main..feature", "--runtime", runtime])
                .anthropic(&provider)
                .without("CONCLAVE_OPENCODE")
                .env("PATH", &path)
                .env("TMPDIR", &scratch)
        };
        let refused = job("opencode").run().await.expect_code(2).stderr;
        assert!(
            refused.contains("OpenCode cannot work below") && refused.contains("Set TMPDIR to a directory"),
            "{refused}"
        );
        let review = job("auto").run().await.expect_code(0).review();
        assert_eq!(review["runtime"], "native", "{name}");
        assert!(
            review["warnings"].to_string().contains("OpenCode cannot work below"),
            "{review:#}"
        );
    }
}

#[tokio::test]
async fn in_a_locale_without_unicode_signs_are_ascii_and_code_stays_as_it_is() {
    let repository = Repository::new();
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write("src/müller.py", "x = 1\n");
    repository.commit("Change");
    let shown = |locale: &'static str| {
        let job = Conclave::new(repository.path(), &["plan", "main"]).env("LC_ALL", locale);
        async move { job.run().await.expect_code(0).stdout }
    };
    let (latin, unicode) = (shown("de_DE.ISO-8859-1").await, shown("C.UTF-8").await);
    assert!(unicode.contains("Tier trivial · 1 reviewer"), "{unicode}");
    assert!(latin.contains("Tier trivial - 1 reviewer"), "{latin}");
    let review = Conclave::new(repository.path(), &["local", "main"])
        .env("LC_ALL", "C")
        .env("ANTHROPIC_API_KEY", "x");
    let text = review
        .env("CONCLAVE_OPENCODE", "/nowhere")
        .run()
        .await
        .expect_code(2)
        .stderr;
    assert!(text.is_ascii(), "{text}");
}

/// A repository of this many files, of which the last commit changes one.
fn large(files: usize) -> Repository {
    let repository = Repository::new();
    let mut child = Command::new("git")
        .args(["fast-import", "--quiet", "--force", "--done"])
        .current_dir(repository.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stream = std::io::BufWriter::new(child.stdin.take().unwrap());
    let who = "committer A Developer <developer@example.org> 1700000000 +0000\ndata 1\nx";
    write!(
        stream,
        "blob\nmark :1\ndata 6\nx = 1\n\ncommit refs/heads/main\nmark :2\n{who}\n"
    )
    .unwrap();
    for file in 0..files {
        writeln!(stream, "M 100644 :1 src/part{:03}/file{file}.py", file / 500).unwrap();
    }
    write!(
        stream,
        "\ncommit refs/heads/feature\nmark :3\n{who}\nfrom :2\nM 100644 inline src/part000/file0.py\ndata 30\n\
         x = 1\nprint(\"DEBUG\", x)  # x\n\ndone\n"
    )
    .unwrap();
    drop(stream);
    assert!(child.wait().unwrap().success());
    repository
}

async fn a_hundred_thousand_files() {
    let (provider, repository) = (provider().await, large(100_000));
    let outcome = Conclave::new(repository.path(), &["local", "main..feature", "--quiet"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert_eq!(outcome.stderr, "", "quiet means no progress");
    let review = outcome.review();
    assert_eq!(
        review["coverage"]["reviewed"],
        serde_json::json!(["src/part000/file0.py"])
    );
    assert_eq!(review["coverage"]["gaps"], serde_json::json!([]));
}

async fn a_directory_that_gitignore_forgot() {
    let repository = Repository::new();
    for file in 0..600 {
        repository.write(&format!("out/part{}/file{file}.py", file % 7), "x = 1\n");
    }
    let plan = Conclave::new(repository.path(), &["plan"]).run().await.expect_code(0);
    let words: Vec<&str> = plan.stdout.split_whitespace().collect();
    let told = "600 files are new and in no commit, 600 of them below out/: what is not to be reviewed belongs into .gitignore";
    assert!(words.join(" ").contains(told), "{}", plan.stdout);
}

async fn what_a_review_writes_into_the_repository_is_no_change_of_it() {
    let (provider, repository) = (provider().await, Repository::flawed());
    repository.write("reports/own.txt", "x\n");
    for _ in 0..2 {
        let arguments = ["local", "--output", "run", "--reports", "made", "--record", "calls"];
        let review = Conclave::new(repository.path(), &arguments)
            .anthropic(&provider)
            .without("CONCLAVE_OUTPUT")
            .run()
            .await
            .expect_code(0);
        assert!(review.stdout.contains("Significant concerns"), "{}", review.stdout);
        assert!(repository.path().join("made/review.json").is_file());
        let changed = plan(repository.path(), &[]).await;
        assert_eq!(paths(&changed), ["reports/own.txt", "src/users.py"]);
    }
    assert_eq!(repository.git(&["status", "--porcelain"]).trim(), "?? reports/");
}

#[tokio::test]
async fn scratch_space_in_the_repository_is_no_change_of_it() {
    on(AgentRuntime::Native, async {
        let (provider, repository) = (provider().await, Repository::flawed());
        repository.write("tmp/own.txt", "x\n");
        for arguments in [["plan", "--format", "json"], ["local", "--format", "json"]] {
            let told = Conclave::new(repository.path(), &arguments)
                .anthropic(&provider)
                .env("TMPDIR", repository.path().join("tmp"))
                .run()
                .await
                .expect_code(0);
            assert!(told.stdout.contains("tmp/own.txt"), "{}", told.stdout);
            assert!(!told.stdout.contains("tmp/conclave-"), "{}", told.stdout);
        }
        assert_eq!(repository.git(&["status", "--porcelain"]).trim(), "?? tmp/");
    })
    .await;
}

async fn what_git_status_hides_from_this_user_is_not_new() {
    let repository = Repository::new();
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    for path in ["xdg/git", ".config/git"] {
        std::fs::create_dir_all(at(path)).unwrap();
    }
    std::fs::write(at(".config/git/ignore"), "home.py\n").unwrap();
    std::fs::write(at("xdg/git/ignore"), "xdg.py\n").unwrap();
    std::fs::write(at("patterns"), "named.py\n/src/by*\n").unwrap();
    std::fs::write(at("own"), "own.py\n").unwrap();
    std::fs::write(at("named"), "[core]\n\texcludesFile = ~/patterns\n").unwrap();
    repository.write(".gitignore", "shared.py\n");
    repository.commit("What everybody ignores");
    repository.write(".git/info/exclude", "here.py\n");
    for name in ["home", "xdg", "named", "own", "shared", "here", "src/by", "src/other"] {
        repository.write(&format!("{name}.py"), "x = 1\n");
    }
    let xdg_home = at("xdg");
    let xdg = ("XDG_CONFIG_HOME", xdg_home.as_path());
    let compared = async |variables: &[(&str, &Path)], hidden: &[&str]| {
        let mut job = Conclave::new(repository.path(), &["plan", "--format", "json"]).env("HOME", home.path());
        let mut git = Command::new("git");
        git.args(["status", "--porcelain", "--untracked-files=all"])
            .current_dir(repository.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("GIT_CONFIG_GLOBAL")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", home.path());
        for (name, value) in variables {
            job = job.env(name, value);
            git.env(name, value);
        }
        let plan: Value = serde_json::from_str(&job.run().await.expect_code(0).stdout).expect("JSON");
        let mut told = paths(&plan);
        told.sort_unstable();
        let status = String::from_utf8(git.output().unwrap().stdout).unwrap();
        let mut shown: Vec<&str> = status.lines().filter_map(|line| line.strip_prefix("?? ")).collect();
        shown.sort_unstable();
        assert_eq!(told, shown, "{variables:?}");
        for name in hidden {
            assert!(!told.contains(name), "{name}: {told:?}");
        }
    };
    compared(&[], &["home.py", "shared.py", "here.py"]).await;
    compared(&[xdg], &["xdg.py"]).await;
    std::fs::copy(at("named"), at(".gitconfig")).unwrap();
    compared(&[xdg], &["named.py", "src/by.py"]).await;
    repository.git(&["config", "core.excludesFile", at("own").to_str().unwrap()]);
    compared(&[], &["own.py"]).await;
}

async fn a_hook_of_git_commit_reviews_what_is_committed() {
    let repository = Repository::new();
    let out = tempfile::tempdir().unwrap();
    let plan = out.path().join("plan.json");
    let script = format!(
        "#!/bin/sh\nexec '{}' plan --staged --format json > '{}'\n",
        env!("CARGO_BIN_EXE_conclave"),
        plan.display()
    );
    std::fs::create_dir_all(repository.path().join(".git/hooks")).unwrap();
    executable(&repository.path().join(".git/hooks/pre-commit"), &script);
    for name in ["one.py", "two.py", "three.py"] {
        repository.write(name, "x = 1\n");
    }
    repository.git(&["add", "--all"]);
    let planned = || -> Vec<String> {
        let plan: Value = serde_json::from_slice(&std::fs::read(&plan).unwrap()).expect("JSON");
        paths(&plan).into_iter().map(str::to_owned).collect()
    };
    repository.git(&["commit", "--quiet", "-m", "One of three", "two.py"]);
    assert_eq!(planned(), ["two.py"]);
    repository.git(&["commit", "--quiet", "-m", "What is staged"]);
    assert_eq!(planned(), ["one.py", "three.py"]);
    repository.write("two.py", "x = 2\n");
    repository.git(&["commit", "--quiet", "-a", "-m", "What has changed"]);
    assert_eq!(planned(), ["two.py"]);
}

async fn a_line_longer_than_is_shown_at_once_is_read_to_its_end() {
    let (provider, repository) = (provider().await, Repository::new());
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    let table = format!("TABLE = \"{}END\"\n", "ä1".repeat(3_000));
    repository.write("src/table.py", &table);
    repository.commit("A table in one line");
    let outcome = Conclave::new(repository.path(), &["local", "main..feature", "--quiet"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let review = outcome.review();
    assert_eq!(review["coverage"]["gaps"], serde_json::json!([]));
    assert_eq!(review["verdict"], "approved");
    let patch = outcome.record("patches/0001-src-table-py.patch");
    assert!(patch.ends_with("END\"\n"), "nothing of it is left out");
    assert!(patch.lines().all(|line| line.chars().count() < 2_000));
}

async fn a_repository_with_sha_256_names() {
    let (provider, repository) = (provider().await, Repository::new());
    std::fs::remove_dir_all(repository.path().join(".git")).unwrap();
    repository.git(&["init", "--quiet", "--initial-branch=main", "--object-format=sha256"]);
    repository.commit("First commit");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(
        "src/total.py",
        "def total(values):\n    print(\"DEBUG\", values)\n    return sum(values)\n",
    );
    repository.commit("Add a total");
    let reviewed = async |arguments: &[&str]| {
        let job = Conclave::new(repository.path(), arguments).anthropic(&provider);
        job.run().await.expect_code(0).review()
    };
    let review = reviewed(&["local", "main..feature", "--quiet"]).await;
    assert_eq!(review["head_sha"], repository.git(&["rev-parse", "feature"]).as_str());
    assert_eq!(review["coverage"]["reviewed"], serde_json::json!(["src/total.py"]));
    assert_eq!(review["coverage"]["gaps"], serde_json::json!([]));
    repository.write(
        "src/mean.py",
        "def mean(values):\n    return sum(values) / len(values)\n",
    );
    let review = reviewed(&["local", "--quiet"]).await;
    assert_eq!(
        review["coverage"]["reviewed"],
        serde_json::json!(["src/mean.py", "src/total.py"])
    );
}
