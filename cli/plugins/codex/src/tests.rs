//! The plugin's phases, with rules over real HTTP, from git and from the disk.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::{Router, http::StatusCode, routing::get};
use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{
    diff::FilterReason,
    plugin::{Assembled, configure},
};
use conclave_fetch::{FetchSettings, TextUrl};

use super::*;

const RULES: &str = r#"
[[rule]]
id = "NET-012"
when = "a service calls another over HTTP"
use = "the shared client"
link = "https://rules.example.com/net-012"
paths = ["*.py"]
"#;

struct Stage {
    directory: tempfile::TempDir,
    repository: Repository,
}

impl Stage {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let status = std::process::Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(directory.path())
            .status()
            .unwrap();
        assert!(status.success());
        let repository = Repository::open(Utf8Path::from_path(directory.path()).unwrap())
            .await
            .unwrap();
        Self { directory, repository }
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.directory.path().join(name)).unwrap()
    }

    fn plugin(&self, source: Option<RuleSource>, cache: bool) -> CodexPlugin {
        let mut fetch = FetchSettings::new(cache.then(|| self.path("cache")), Some("s".to_owned().into()));
        fetch.fresh = chrono::Duration::zero();
        CodexPlugin::new(CodexSettings {
            source: source.map(Ok),
            repository: self.repository.clone(),
            commit: "HEAD".into(),
            changed: vec![ChangedPath {
                path: "src/a.py".into(),
                old_path: None,
                left_out: None,
            }],
            fetcher: Fetcher::new(fetch),
        })
    }
}

/// Runs the phases; returns what the rules mean, what is assembled, and the failure of the first phase.
async fn run(mut plugin: CodexPlugin) -> (AppliedRules, Assembled, Option<String>) {
    let handle = plugin.handle();
    let failure = plugin.bootstrap().await.err().map(|error| error.to_string());
    let plugins: Vec<Box<dyn ReviewPlugin>> = vec![Box::new(plugin)];
    let assembled = configure(&plugins).expect("no conflict");
    (handle.applied(), assembled, failure)
}

#[tokio::test]
async fn rules_that_apply_bring_the_reviewer_and_its_section() {
    let stage = Stage::new().await;
    std::fs::write(stage.path("rules.toml"), RULES).unwrap();
    let source = RuleSource::Path(stage.path("rules.toml"));
    let (applied, assembled, failure) = run(stage.plugin(Some(source), false)).await;
    assert_eq!(failure, None);
    assert_eq!(
        applied.book.find("NET-012").unwrap().link,
        "https://rules.example.com/net-012"
    );
    assert_eq!((applied.gaps, applied.warnings), (vec![], vec![]));
    assert!(assembled.reviewers().contains("codex"));
    let section = &assembled.sections()[0].value;
    assert_eq!(
        (section.name, &section.audience),
        ("codex_rules", &Audience::Agent("codex".into()))
    );
    assert!(section.text.sanitized().contains("Use: the shared client"));
}

#[tokio::test]
async fn without_rules_nothing_is_there() {
    let stage = Stage::new().await;
    let (applied, assembled, failure) = run(stage.plugin(None, false)).await;
    assert_eq!((applied, failure), (AppliedRules::default(), None));
    assert!(assembled.reviewers().is_empty() && assembled.sections().is_empty());
}

#[tokio::test]
async fn bad_rules_are_named_and_the_good_ones_run() {
    let stage = Stage::new().await;
    std::fs::create_dir(stage.path("rules")).unwrap();
    std::fs::write(stage.path("rules/a.toml"), RULES).unwrap();
    std::fs::write(stage.path("rules/b.toml"), format!("{RULES}\n[[rule]]\nid = \"X\"\n")).unwrap();
    std::fs::write(stage.path("rules/c.toml"), "[[rule]\n").unwrap();
    let (applied, assembled, failure) = run(stage.plugin(Some(RuleSource::Path(stage.path("rules"))), false)).await;
    assert_eq!(failure, None);
    assert_eq!(applied.gaps, [] as [&str; 0]);
    assert_eq!(assembled.reviewers().len(), 1);
    let warnings = applied.warnings.join("\n");
    for part in [
        "rules/b.toml line 9: the rule has no `when`".to_owned(),
        "rules/b.toml line 9: the rule `X` is left out".to_owned(),
        format!(
            "rules/b.toml line 2: the id `NET-012` is taken by the rule in {} line 2; this one is left out",
            stage.path("rules/a.toml")
        ),
        "rules/c.toml line 1: this is not TOML".to_owned(),
    ] {
        assert!(warnings.contains(&part), "{part} is missing in\n{warnings}");
    }
    assert!(
        applied.warnings.iter().all(|line| line.starts_with("codex rules: ")),
        "{warnings}"
    );
}

#[tokio::test]
async fn rules_that_cannot_be_had_are_a_gap_and_never_silent() {
    let stage = Stage::new().await;
    std::fs::write(stage.path("broken.toml"), "\n\n\nrule = [[\n").unwrap();
    for (name, part) in [
        ("nowhere.toml", "nowhere.toml: No such file"),
        ("broken.toml", "broken.toml line 4: this is not TOML"),
    ] {
        let source = RuleSource::Path(stage.path(name));
        let (applied, assembled, failure) = run(stage.plugin(Some(source.clone()), false)).await;
        assert!(assembled.reviewers().is_empty() && applied.book.is_empty());
        assert_eq!(
            applied.gaps,
            [format!("codex did not run: its rules ({source}) cannot be read")]
        );
        let failure = failure.expect("a failure");
        assert!(
            failure.starts_with("the engineering rules cannot be read: ") && failure.contains(part),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn rules_at_an_address_outlive_its_failures() {
    static DOWN: AtomicBool = AtomicBool::new(false);
    let router = Router::new().route(
        "/rules.toml",
        get(|| async {
            if DOWN.load(Ordering::SeqCst) {
                // What a proxy shows to those who are not signed in.
                return (StatusCode::OK, "<html>Sign in</html>");
            }
            (StatusCode::OK, RULES)
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/rules.toml", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let source = Some(RuleSource::Url(TextUrl::parse(&url).unwrap()));
    let stage = Stage::new().await;
    let (applied, _, failure) = run(stage.plugin(source.clone(), true)).await;
    assert_eq!((applied.warnings, failure), (vec![], None));
    DOWN.store(true, Ordering::SeqCst);
    let (applied, _, failure) = run(stage.plugin(source.clone(), true)).await;
    assert_eq!(failure, None);
    assert!(applied.book.find("NET-012").is_some(), "the last good copy is used");
    assert!(
        applied.warnings[0].starts_with(&format!("codex rules: {url} answered something else: it line 1")),
        "{:?}",
        applied.warnings
    );
    let (applied, _, failure) = run(stage.plugin(source, false)).await;
    assert_eq!(applied.gaps.len(), 1);
    assert!(failure.expect("a failure").contains("answered something else"));
}

#[tokio::test]
async fn a_setting_that_names_no_place_is_a_gap_too() {
    let stage = Stage::new().await;
    let mut plugin = stage.plugin(None, false);
    plugin.settings.source = Some(RuleSource::of_repository("../outside"));
    let (applied, _, failure) = run(plugin).await;
    assert_eq!(
        applied.gaps,
        ["codex did not run: its rules (../outside) cannot be read"]
    );
    assert!(
        failure
            .expect("a failure")
            .contains("name a file or directory of the repository")
    );
}

#[tokio::test]
async fn what_is_not_reviewed_after_all_brings_no_reviewer() {
    let stage = Stage::new().await;
    std::fs::write(stage.path("rules.toml"), RULES).unwrap();
    let mut plugin = stage.plugin(Some(RuleSource::Path(stage.path("rules.toml"))), false);
    let handle = plugin.handle();
    plugin.bootstrap().await.unwrap();
    let changed = |left_out| ChangedPath {
        path: "src/a.py".into(),
        old_path: None,
        left_out,
    };
    assert!(!handle.applied_to(&[changed(None)]).book.is_empty());
    let none = handle.applied_to(&[changed(Some(FilterReason::Generated))]);
    assert!(none.book.is_empty());
    assert!(
        none.notes[0].starts_with("codex does not sit on the panel"),
        "{:?}",
        none.notes
    );
}
