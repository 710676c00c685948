//! `conclave doctor` against real causes of failure: each is found by its name, with the next step, and by nothing else.

use std::{path::Path, sync::Arc};

use conclave_fake_gitlab::{AccessLevel, FakeGitlab, Fault, FaultKind, Options, Scope, Tier};
use conclave_scripted_provider::ScriptedProvider;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

use crate::support::{Conclave, PROVIDER_KEY, Pipeline, Repository, Workers, executable, provider};

/// A signing secret with which the doctor is content.
const SECRET: &str = "a long random text";

/// What the doctor found.
struct Findings(Value);

impl Findings {
    /// Runs `conclave doctor --json`; the exit code says whether something failed.
    async fn of(command: Conclave) -> Self {
        let outcome = command.env("CONCLAVE_JSON", "true").run().await;
        let code = outcome.code;
        let report: Value = serde_json::from_str(&outcome.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", outcome.stdout, outcome.stderr));
        assert_eq!(code, Some(i32::from(report["healthy"] == false)), "{report:#}");
        assert_eq!(report["schema_version"], 1);
        Self(report)
    }

    /// The checks that ended so.
    fn with(&self, status: &str) -> Vec<&str> {
        let checks = self.0["checks"].as_array().unwrap().iter();
        let found = checks.filter(|check| check["status"] == status);
        found.map(|check| check["name"].as_str().unwrap()).collect()
    }

    /// Nothing but this one failed, and it says so, and says what to do.
    #[track_caller]
    fn only_failure(&self, name: &str, detail: &str, next: &str) {
        assert_eq!(self.with("failure"), [name], "{:#}", self.0);
        self.says(name, detail, next);
    }

    /// Nothing failed, and this is the only warning.
    #[track_caller]
    fn only_warning(&self, name: &str, detail: &str, next: &str) {
        assert_eq!(self.with("failure"), [] as [&str; 0], "{:#}", self.0);
        assert_eq!(self.with("warning"), [name], "{:#}", self.0);
        self.says(name, detail, next);
    }

    #[track_caller]
    fn says(&self, name: &str, detail: &str, next: &str) {
        let checks = self.0["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name).expect(name);
        let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
        assert!(text("detail").contains(detail), "{check:#}");
        assert!(text("next_step").contains(next), "{check:#}");
    }
}

/// As `docs/gitlab.md` says that it should be.
fn approvals_end_with_a_push(pipeline: &Pipeline) {
    let project = pipeline.merge_request.project;
    pipeline
        .gitlab
        .set_project(project, |settings| settings.approvals.reset_on_push = true);
}

/// A job in which everything is as it has to be.
async fn healthy(provider: &ScriptedProvider) -> (Repository, Pipeline) {
    let repository = Repository::clean();
    let pipeline = Pipeline::new(&repository).await;
    approvals_end_with_a_push(&pipeline);
    let report = Findings::of(doctor(&pipeline, &repository, provider)).await;
    assert_eq!(report.with("failure"), [] as [&str; 0], "{:#}", report.0);
    assert_eq!(report.with("warning"), [] as [&str; 0], "{:#}", report.0);
    (repository, pipeline)
}

fn doctor(pipeline: &Pipeline, repository: &Repository, provider: &ScriptedProvider) -> Conclave {
    pipeline
        .command("doctor", repository, &[])
        .env("GITLAB_CI", "true")
        .env("CI_JOB_TIMEOUT", "3600")
        .env("CONCLAVE_SECRET", SECRET)
        .anthropic(provider)
}

/// An address without a listener, which no other test can be given.
const CLOSED: &str = "http://127.0.0.1:9";

/// A directory with the programs of these names from `PATH`, and nothing else.
fn bin(programs: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for program in programs {
        let found = std::env::var("PATH").unwrap();
        let found = found
            .split(':')
            .map(|place| Path::new(place).join(program))
            .find(|path| path.is_file());
        std::os::unix::fs::symlink(found.expect(program), directory.path().join(program)).unwrap();
    }
    directory
}

fn script(directory: &Path, name: &str, text: &str) {
    executable(&directory.join(name), &format!("#!/bin/sh\n{text}\n"));
}

#[tokio::test]
async fn a_good_job_is_healthy_and_says_what_is_not_set_up() {
    let provider = provider().await;
    let (repository, pipeline) = healthy(&provider).await;
    let outcome = doctor(&pipeline, &repository, &provider).run().await.expect_code(0);
    for line in [
        "ok",
        "opencode",
        "role",
        "Developer in group/service",
        "0 failures, 0 warnings",
        "Not set up here",
    ] {
        assert!(outcome.stdout.contains(line), "{line}:\n{}", outcome.stdout);
    }
    assert!(outcome.stdout.contains("CONCLAVE_TRACKER_URL"), "{}", outcome.stdout);
    assert_eq!(pipeline.gitlab.violations(), []);
    assert!(
        pipeline.gitlab.requests().iter().all(|request| request.method == "GET"),
        "nothing is written"
    );
    assert!(provider.books().entries.is_empty(), "nothing is paid for");
}

#[tokio::test]
async fn programs_that_are_missing_old_or_of_another_version() {
    let (provider, repository) = (provider().await, Repository::clean());
    let local = || Conclave::new(repository.path(), &["doctor"]).anthropic(&provider);

    let without = bin(&["git"]);
    let report = Findings::of(local().env("PATH", without.path())).await;
    report.only_failure("ripgrep", "is not on PATH", "Install the package `ripgrep`");

    script(without.path(), "opencode-9", "echo 9.9.9");
    let report = Findings::of(local().env("CONCLAVE_OPENCODE", without.path().join("opencode-9"))).await;
    report.only_failure("opencode", "is OpenCode 9.9.9", "conclave runtime install");

    let report = Findings::of(local().env("CONCLAVE_OPENCODE", "/nowhere/opencode")).await;
    report.only_failure(
        "opencode",
        "/nowhere/opencode, which is not a file",
        "conclave runtime install",
    );

    // What the target branch asks for counts as in a review, and less than what the job asks for.
    let (programs, asking) = (bin(&["git", "rg"]), Repository::clean());
    asking.git(&["checkout", "--quiet", "main"]);
    asking.write(".conclave.toml", "[review]\nruntime = \"opencode\"\n");
    asking.commit("OpenCode alone");
    asking.git(&["checkout", "--quiet", "feature"]);
    let job = |command: &[&str]| {
        let job = Conclave::new(asking.path(), command).anthropic(&provider);
        job.without("CONCLAVE_OPENCODE").env("PATH", programs.path())
    };
    let report = Findings::of(job(&["doctor"])).await;
    report.only_failure(
        "opencode",
        "OpenCode 1.18.33 is not installed",
        "conclave runtime install",
    );
    report.says("runtime", "OpenCode, chosen by .conclave.toml", "");
    let review = job(&["local", "main..feature"]).run().await.expect_code(2).stderr;
    assert!(review.contains("OpenCode 1.18.33 is not installed"), "{review}");
    let report = Findings::of(job(&["doctor"]).env("CONCLAVE_RUNTIME", "native")).await;
    assert_eq!(report.with("failure"), [] as [&str; 0], "{:#}", report.0);
    report.says("runtime", "native, chosen by the job", "");

    // The rest of what it does is the real one's.
    let old = bin(&["rg"]);
    let git = bin(&["git"]);
    let real = git.path().join("git");
    let text = format!(
        "if [ \"$1\" = --version ] || [ \"$9\" = --version ]; then echo git version 2.20.1; else exec {} \"$@\"; fi",
        real.display()
    );
    let all = "for word in \"$@\"; do if [ \"$word\" = --version ]; then set -- --version; break; fi; done";
    script(old.path(), "git", &format!("{all}\n{text}"));
    let path = format!("{}:/usr/bin:/bin", old.path().display());
    let report = Findings::of(local().env("PATH", path)).await;
    report.only_failure("git", "git version 2.20.1 is too old: 2.41 or newer", "Update git");

    // A ripgrep that does not work is passed over, and one behind it found.
    script(without.path(), "rg", "exit 3");
    let path = format!("{}:{}", without.path().display(), old.path().display());
    let report = Findings::of(local().env("PATH", path)).await;
    report.says("ripgrep", &format!("at {}/rg", old.path().display()), "");

    // What neither ends nor stops is given up, each beside the others.
    let silent = bin(&["sleep", "yes"]);
    for (name, text) in [
        ("git", "exec sleep 600"),
        ("rg", "exec yes"),
        ("opencode", "exec sleep 600"),
    ] {
        script(silent.path(), name, text);
    }
    let odd = local()
        .env("PATH", silent.path())
        .env("CONCLAVE_OPENCODE", silent.path().join("opencode"))
        .run()
        .await
        .expect_code(1);
    for part in [
        "`git --version` did not finish within 8 s",
        "rg does not run: it printed more than 16 KB",
        "is not a working OpenCode 1.18.33: it did not answer `--version` within 8 s",
        "conclave runtime install",
    ] {
        assert!(
            odd.stdout
                .replace('\n', " ")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(part),
            "{part}:\n{}",
            odd.stdout
        );
    }
}

#[tokio::test]
async fn repositories_that_are_shallow_missing_or_empty() {
    let (provider, repository) = (provider().await, Repository::clean());
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("more.txt", "more\n");
    repository.commit("Second commit");
    let place = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repository.path().display());
    let clone = place.path().join("clone");
    repository.git(&["clone", "--quiet", "--depth", "1", &url, clone.to_str().unwrap()]);
    let at = |directory: &Path| {
        let doctor = Conclave::new(directory, &["doctor"]).anthropic(&provider);
        doctor.env("CONCLAVE_RUNTIME", "native")
    };
    let report = Findings::of(at(&clone)).await;
    report.only_warning("repository", "is a shallow clone", "git fetch --unshallow");
    // A job fetches what it lacks.
    let report = Findings::of(at(&clone).env("GITLAB_CI", "true")).await;
    assert_eq!(report.with("warning"), [] as [&str; 0], "{:#}", report.0);
    let report = Findings::of(at(&clone).env("GITHUB_ACTIONS", "true")).await;
    report.says("repository", "what is missing is fetched", "");

    repository.git(&["config", "uploadpack.allowFilter", "true"]);
    let partial = place.path().join("partial");
    let (filter, single) = ("--filter=blob:none", "--branch=feature");
    repository.git(&["clone", "--quiet", filter, single, &url, partial.to_str().unwrap()]);
    let report = Findings::of(at(&partial)).await;
    report.only_warning(
        "repository",
        "is a partial clone",
        "git fetch --refetch --no-filter origin",
    );
    let report = Findings::of(at(&partial).env("GITLAB_CI", "true")).await;
    assert_eq!(report.with("warning"), [] as [&str; 0], "{:#}", report.0);
    let compared = place.path().join("compared");
    repository.git(&["clone", "--quiet", filter, &url, compared.to_str().unwrap()]);
    let report = Findings::of(at(&compared)).await;
    report.says("repository", "a partial clone: what is compared by default is here", "");

    let report = Findings::of(at(place.path())).await;
    report.only_warning("repository", "is in no git repository", "--repo PATH");

    repository.git(&["init", "--quiet", place.path().join("unborn").to_str().unwrap()]);
    let report = Findings::of(at(&place.path().join("unborn"))).await;
    report.only_failure("repository", "the repository has no commit yet", "make a first commit");

    repository.write(".conclave.toml", "[review]\nstrictness = \"harsh\"\n");
    repository.commit("Settings");
    let report = Findings::of(at(repository.path())).await;
    report.only_warning("settings", "harsh", "and the bot does not approve");

    // On another branch what counts is still the target's, whatever this branch makes of it.
    repository.git(&["checkout", "--quiet", "-b", "mended"]);
    repository.write(".conclave.toml", "[review]\nstrictness = \"strict\"\n");
    repository.commit("Mend the settings");
    let report = Findings::of(at(repository.path())).await;
    report.only_warning("settings", "main (", "correct it on the target branch");
    repository.git(&["branch", "--force", "main", "HEAD"]);
    repository.write(".conclave.toml", "[review]\nstrictness = \"harsher\"\n");
    repository.commit("Break the settings");
    let report = Findings::of(at(repository.path())).await;
    report.only_warning("settings", "HEAD:", "before it is merged");
    let of_target = at(repository.path()).env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "elsewhere");
    let report = Findings::of(of_target).await;
    report.only_warning(
        "settings",
        "the tip of elsewhere, which counts, is not in this checkout",
        "the target branch",
    );
}

#[tokio::test]
async fn tokens_that_are_no_good_or_lack_a_right() {
    let provider = provider().await;
    let (repository, pipeline) = healthy(&provider).await;
    let gitlab = &pipeline.gitlab;
    let with = |token: &str| {
        let doctor = doctor(&pipeline, &repository, &provider).env("CONCLAVE_RUNTIME", "native");
        Findings::of(doctor.env("GITLAB_TOKEN", token))
    };

    let (reader, guest, stranger) = (
        gitlab.create_bot("reader"),
        gitlab.create_bot("guest"),
        gitlab.create_bot("stranger"),
    );
    gitlab.add_member(pipeline.merge_request.project, reader, AccessLevel::Developer);
    gitlab.add_member(pipeline.merge_request.project, guest, AccessLevel::Reporter);
    let report = with(&gitlab.create_token(reader, &[Scope::ReadApi])).await;
    report.only_failure(
        "token-scope",
        "lacks the scope `api`: it has read_api",
        "with the scope `api`",
    );
    let report = with(&gitlab.create_token(guest, &[Scope::Api])).await;
    report.only_failure(
        "role",
        "only Reporter in group/service",
        "give the token's account the role Developer",
    );
    let report = with(&gitlab.create_token(stranger, &[Scope::Api])).await;
    assert_eq!(report.with("failure"), ["role", "merge-request"]);
    report.says("role", "does not see the project group/service", "the role Developer");

    let report = with("glpat-of-nobody").await;
    report.only_failure(
        "gitlab",
        "GitLab does not know GITLAB_TOKEN (401",
        "project access token",
    );
    let soon = gitlab.create_token(reader, &[Scope::Api]);
    let day = chrono::Utc::now() + chrono::TimeDelta::days(3);
    gitlab.expire_token_on(&soon, &day.format("%Y-%m-%d").to_string());
    with(&soon).await.only_warning("token-expiry", "in 3 days", "rotate it");
    gitlab.expire_token(&soon);
    with(&soon)
        .await
        .only_failure("gitlab", "GITLAB_TOKEN has expired", "project access token");
    gitlab.revoke_token(&soon);
    with(&soon)
        .await
        .only_failure("gitlab", "GITLAB_TOKEN was revoked", "project access token");
    with("")
        .await
        .only_failure("gitlab", "GITLAB_TOKEN is not set", "project access token");
    // The error of a review says where to look.
    let outcome = pipeline
        .job(&repository, &[])
        .env("GITLAB_TOKEN", "glpat-of-nobody")
        .run()
        .await
        .expect_code(3);
    assert!(
        outcome.stderr.contains("`conclave doctor` says more"),
        "{}",
        outcome.stderr
    );
    assert_eq!(gitlab.violations(), []);
}

#[tokio::test]
async fn project_settings_that_leave_an_approval_open_are_named() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::on(FakeGitlab::builder().tier(Tier::Premium), &repository).await;
    approvals_end_with_a_push(&pipeline);
    let (gitlab, project) = (&pipeline.gitlab, pipeline.merge_request.project);
    let found = || Findings::of(doctor(&pipeline, &repository, &provider));
    let report = found().await;
    assert_eq!(report.with("warning"), [] as [&str; 0], "{:#}", report.0);
    let good = gitlab.project_settings(project);
    let mut open = [good.clone(), good.clone(), good.clone(), good.clone(), good.clone()];
    open[0].approvals.reset_on_push = false;
    open[1].approvals.author_may_approve = true;
    open[2].approvals.committers_may_approve = true;
    open[3].unprotected_branches = vec!["main".to_owned()];
    open[4].pipelines_must_succeed = false;
    let expected = [
        (
            "approvals-reset",
            "approvals stay when commits are pushed",
            "Remove all approvals",
        ),
        ("author-approval", "authors may approve", "by merge request creator"),
        ("committer-approval", "who pushes a commit", "users who add commits"),
        ("target-branch", "main is not protected", "Protected branches"),
        (
            "pipeline-must-succeed",
            "no pipeline that succeeded",
            "Pipelines must succeed",
        ),
    ];
    for (settings, (name, detail, next)) in open.into_iter().zip(expected) {
        gitlab.set_project(project, |current| *current = settings);
        found().await.only_warning(name, detail, next);
    }
    assert_eq!(gitlab.violations(), []);
}

#[tokio::test]
async fn a_branch_s_pipeline_and_any_merge_request() {
    let provider = provider().await;
    let (repository, pipeline) = healthy(&provider).await;
    let branch = Conclave::new(repository.path(), &["doctor"])
        .anthropic(&provider)
        .env("CI_API_V4_URL", pipeline.gitlab.api_url())
        .env("CI_PROJECT_ID", pipeline.merge_request.project.0.to_string())
        .env("GITLAB_TOKEN", &pipeline.token)
        .env("CONCLAVE_SECRET", SECRET);
    let report = Findings::of(branch).await;
    report.only_warning(
        "merge-request",
        "this is not a merge-request pipeline",
        "merge_request_event",
    );

    let url = format!("{}/group/service/-/merge_requests/1", pipeline.gitlab.url());
    let elsewhere = tempfile::tempdir().unwrap();
    let doctor = |url: &str| {
        Conclave::new(elsewhere.path(), &["doctor", "--mr", url])
            .anthropic(&provider)
            .env("GITLAB_TOKEN", &pipeline.token)
            .env("CONCLAVE_SECRET", SECRET)
    };
    let report = Findings::of(doctor(&url)).await;
    report.says("merge-request", "is open and can be read", "");
    assert_eq!(report.with("failure"), [] as [&str; 0], "{:#}", report.0);
    let none = format!("{}/group/service/-/merge_requests/99", pipeline.gitlab.url());
    let report = Findings::of(doctor(&none)).await;
    report.only_failure("merge-request", "404", "the number and the project");
}

#[tokio::test]
async fn clocks_that_disagree_and_servers_that_keep_silent() {
    let (provider, repository) = (provider().await, Repository::clean());
    let date = chrono::Utc::now() - chrono::TimeDelta::hours(2);
    let options = Options {
        date: Some(date.format("%a, %d %b %Y %H:%M:%S GMT").to_string()),
        describes_tokens: false,
        ..Options::default()
    };
    let pipeline = Pipeline::on(FakeGitlab::builder().options(options), &repository).await;
    approvals_end_with_a_push(&pipeline);
    let report = Findings::of(doctor(&pipeline, &repository, &provider)).await;
    report.only_failure("clock", "s ahead of GitLab's: certificates and job tokens", "NTP");
    // An older GitLab does not say what a token may do.
    report.says("token-scope", "does not say which scopes", "Access tokens");

    pipeline.gitlab.inject(Fault::any(FaultKind::Hang));
    let impatient = doctor(&pipeline, &repository, &provider).env("CONCLAVE_CHECK_SECONDS", "1");
    let report = Findings::of(impatient).await;
    report.only_failure(
        "gitlab",
        "the connection to GitLab at 127.0.0.1 failed",
        "may connect there",
    );
}

#[tokio::test]
async fn providers_without_a_key_with_a_wrong_one_and_out_of_reach() {
    let (provider, repository) = (provider().await, Repository::clean());
    let local = || Conclave::new(repository.path(), &["doctor"]).env("CONCLAVE_RUNTIME", "native");
    let report = Findings::of(local()).await;
    report.only_failure(
        "providers",
        "no model provider has credentials",
        "Set ANTHROPIC_API_KEY or OPENAI_API_KEY",
    );

    let report = Findings::of(local().anthropic(&provider).env("ANTHROPIC_API_KEY", "wrong")).await;
    report.only_failure("provider anthropic", "refuses the key (401", "correct the key");
    let report = Findings::of(local().openai(&provider).env("OPENAI_API_KEY", "wrong")).await;
    report.only_failure(
        "provider openai",
        "refuses the key (401: Incorrect API key",
        "correct the key",
    );

    let report = Findings::of(local().env("OPENAI_API_KEY", "x").env("OPENAI_BASE_URL", CLOSED)).await;
    report.only_failure("provider openai", "cannot be reached", "may connect there");
    let report = Findings::of(
        local()
            .env("OPENAI_API_KEY", "x")
            .env("OPENAI_BASE_URL", "localhost:11434"),
    )
    .await;
    report.only_failure("providers", "OPENAI_BASE_URL is not an address", "");
    // What the gateway of a review would refuse, and how the plan and the review say it.
    for odd in ["http://me:hidden@127.0.0.1:9", "http://127.0.0.1:9/?x=1"] {
        let with = |call: Conclave| call.env("ANTHROPIC_API_KEY", "x").env("ANTHROPIC_BASE_URL", odd);
        let report = Findings::of(with(local())).await;
        report.only_failure(
            "providers",
            "ANTHROPIC_BASE_URL cannot be used",
            "Write it as https://HOST/PATH",
        );
        for command in ["plan", "local"] {
            let call = Conclave::new(repository.path(), &[command, "main..feature"]);
            let refused = with(call.env("CONCLAVE_RUNTIME", "native")).run().await.expect_code(2);
            let said = refused.stderr;
            assert!(
                said.contains("ANTHROPIC_BASE_URL cannot be used") && !said.contains("hidden"),
                "{said}"
            );
        }
    }
    // A model server without a list of its models.
    let other = format!("{}/elsewhere", provider.url());
    let report = Findings::of(local().env("OPENAI_API_KEY", "x").env("OPENAI_BASE_URL", other)).await;
    report.only_warning(
        "provider openai",
        "answers 404 when asked for its models",
        "the provider's address",
    );

    let few = ScriptedProvider::builder()
        .models(["claude-sonnet-5"])
        .start()
        .await
        .unwrap();
    let report = Findings::of(local().anthropic(&few)).await;
    report.only_warning("provider anthropic", "does not list claude-", "stand in");
    assert!(
        provider.books().entries.is_empty() && few.books().entries.is_empty(),
        "nothing is paid for"
    );
}

#[tokio::test]
async fn an_endpoint_of_ones_own_needs_models_and_perhaps_a_key() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let call = |command: &[&str]| {
        Conclave::new(repository.path(), command)
            .env("CONCLAVE_RUNTIME", "native")
            .env("CONCLAVE_COMPATIBLE_BASE_URL", format!("{}/v1", provider.url()))
            .env("CONCLAVE_COMPATIBLE_API_KEY", PROVIDER_KEY)
    };
    let report = Findings::of(call(&["doctor"])).await;
    report.only_failure("models", "no model is left for", "--models compatible/NAME");
    let review = call(&["local", "main..feature"]).run().await.expect_code(2).stderr;
    assert!(
        review.contains("no reviewer can run")
            && review.contains("Name models of a provider that has credentials with --models"),
        "{review}"
    );
    let named = || call(&["doctor"]).env("CONCLAVE_MODELS", "compatible/qwen3");
    let report = Findings::of(named()).await;
    assert_eq!(report.with("failure"), [] as [&str; 0], "{:#}", report.0);
    let report = Findings::of(named().without("CONCLAVE_COMPATIBLE_API_KEY")).await;
    report.only_failure(
        "provider compatible",
        "wants a key (401",
        "set CONCLAVE_COMPATIBLE_API_KEY",
    );
    let report = Findings::of(call(&["doctor"]).env("CONCLAVE_MODELS", "qwen3")).await;
    report.only_failure("models", "CONCLAVE_MODELS: `qwen3` is not a model", "");
}

#[tokio::test]
async fn rules_of_ones_own_with_faults() {
    let (provider, repository) = (provider().await, Repository::clean());
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write(".conclave.toml", "[codex]\nrules = \"rules\"\n");
    let rule = "[[rule]]\nid = \"A-1\"\nwhen = \"x\"\nuse = \"y\"\nlink = \"https://rules.example.com/a-1\"\npaths = [\"**\"]\n";
    repository.write("rules/a.toml", rule);
    repository.commit("Rules");
    let doctor = || {
        let doctor = Conclave::new(repository.path(), &["doctor"]).anthropic(&provider);
        doctor.env("CONCLAVE_RUNTIME", "native")
    };
    let report = Findings::of(doctor()).await;
    assert_eq!(report.with("warning"), [] as [&str; 0], "{:#}", report.0);
    report.says("rules", "no fault", "");
    repository.write("rules/a.toml", &format!("{rule}\n{rule}"));
    repository.commit("One id twice");
    let report = Findings::of(doctor()).await;
    report.only_warning("rules", "the id `A-1` is taken", "the bot does not approve");
    repository.git(&["rm", "-r", "--quiet", "rules"]);
    repository.commit("No rules");
    let report = Findings::of(doctor()).await;
    report.only_warning(
        "rules",
        "the engineering rules cannot be read",
        "the bot does not approve",
    );
}

#[tokio::test]
async fn proxies_and_certificates() {
    let (provider, repository) = (provider().await, Repository::clean());
    let local = || Conclave::new(repository.path(), &["doctor"]).anthropic(&provider);
    let proxied = local().env("HTTPS_PROXY", CLOSED).env("NO_PROXY", "127.0.0.1");
    let report = Findings::of(proxied).await;
    report.only_failure("proxy", "takes no connection", "correct HTTPS_PROXY");
    // What no client can use would be gone past: everything refuses it.
    for (variable, address, problem) in [
        ("HTTPS_PROXY", "nonsense://", "is not the address of a proxy"),
        ("all_proxy", "socks5h://127.0.0.1:9", "names a SOCKS proxy"),
    ] {
        let refused = format!("{variable} {problem}");
        let report = Findings::of(local().env(variable, address).env("NO_PROXY", "127.0.0.1")).await;
        report.only_failure("proxy", &refused, "http://HOST:PORT");
        let registry = ["runtime", "install", "--registry", "http://127.0.0.1:9/"];
        let review = Conclave::new(repository.path(), &["local", "main"]).anthropic(&provider);
        for call in [Conclave::new(repository.path(), &registry), review] {
            let outcome = call.env(variable, address).run().await.expect_code(2);
            assert!(outcome.stderr.contains(&refused), "{}", outcome.stderr);
        }
    }
    // The provider's host is an IP address.
    let past = local().env("HTTP_PROXY", CLOSED).env("NO_PROXY", "*");
    let report = Findings::of(past).await;
    assert_eq!(report.with("failure"), [] as [&str; 0], "{:#}", report.0);

    let (address, pem) = behind_tls().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, pem).unwrap();
    let own = || {
        Conclave::new(repository.path(), &["doctor"])
            .env("ANTHROPIC_API_KEY", "x")
            .env("ANTHROPIC_BASE_URL", &address)
    };
    let report = Findings::of(own()).await;
    report.only_failure("provider anthropic", "certificate", "--ca-file");
    // A review says it once, and leaves out what the library says of each attempt.
    let review = Conclave::new(repository.path(), &["local", "main..feature", "--quiet"])
        .env("ANTHROPIC_API_KEY", "x")
        .env("ANTHROPIC_BASE_URL", &address);
    let said = review.run().await.stderr;
    assert!(
        said.contains("CONCLAVE_CA_FILE") && !said.contains("UnknownIssuer"),
        "{said}"
    );
    let report = Findings::of(own().env("CONCLAVE_CA_FILE", &file)).await;
    assert_eq!(report.with("failure"), [] as [&str; 0], "{:#}", report.0);
    report.says("certificates", "ca.pem", "");

    std::fs::write(&file, "no certificate").unwrap();
    let report = Findings::of(local().env("CONCLAVE_CA_FILE", &file)).await;
    report.says("certificates", "it holds no certificate", "--ca-file");
}

/// A server with a certificate that nobody knows; it takes every key.
async fn behind_tls() -> (String, String) {
    let names = vec!["localhost".to_owned()];
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"data\":[]}";
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (address, cert.pem())
}

#[tokio::test]
async fn workers_that_are_down_refuse_or_lack_their_tables() {
    let (provider, repository) = (provider().await, Repository::clean());
    let local = || {
        let doctor = Conclave::new(repository.path(), &["doctor"]).anthropic(&provider);
        doctor.env("CONCLAVE_RUNTIME", "native")
    };
    let mut workers = Workers::start().await;
    let (config, tracker) = (workers.config_url.clone(), workers.tracker_url.clone());
    let with_config = |url: &str, token: &str| {
        local()
            .env("CONCLAVE_CONFIG_URL", url)
            .env("CONCLAVE_CONFIG_TOKEN", token)
    };
    let with_tracker = |url: &str, token: &str| {
        local()
            .env("CONCLAVE_TRACKER_URL", url)
            .env("CONCLAVE_TRACKER_TOKEN", token)
    };

    let both = with_config(&config, Workers::READER_TOKEN)
        .env("CONCLAVE_TRACKER_URL", &tracker)
        .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN);
    let report = Findings::of(both).await;
    assert_eq!(report.with("failure"), [] as [&str; 0], "{:#}", report.0);
    report.says("reviewer-config", "answers with revision", "");
    report.says("review-tracker", "takes events", "");

    let report = Findings::of(with_config(&config, "wrong")).await;
    report.only_failure(
        "reviewer-config",
        "refused the token",
        "set CONCLAVE_CONFIG_TOKEN to one of the Worker's READER_TOKENS",
    );
    // Another credential is let in; the wrong one counts as a guess with every run.
    let report =
        Findings::of(with_config(&config, Workers::READER_TOKEN).env("CONCLAVE_CONFIG_OIDC_TOKEN", "ey.x.y")).await;
    assert_eq!(report.with("failure"), [] as [&str; 0], "{:#}", report.0);
    report.says("reviewer-config", "refused the job's token", "OIDC_AUDIENCE");
    let report = Findings::of(local().env("CONCLAVE_CONFIG_URL", &config)).await;
    report.only_failure("reviewer-config", "CONCLAVE_CONFIG_TOKEN is not", "READER_TOKENS");
    let report = Findings::of(with_tracker(&tracker, "wrong")).await;
    report.only_failure(
        "review-tracker",
        "refused the token",
        "set CONCLAVE_TRACKER_TOKEN to one of the Worker's INGEST_TOKENS",
    );
    let report = Findings::of(with_config(CLOSED, "x")).await;
    report.only_failure("reviewer-config", "cannot be reached", "scripts/deploy");
    let report = Findings::of(with_tracker(CLOSED, "x")).await;
    report.only_failure("review-tracker", "cannot be reached", "scripts/deploy");
    let report = Findings::of(local().env("CONCLAVE_TRACKER_URL", &tracker)).await;
    report.only_failure("review-tracker", "CONCLAVE_TRACKER_TOKEN is not", "INGEST_TOKENS");

    workers.command("sql DROP TABLE usage").await;
    let report = Findings::of(with_tracker(&tracker, Workers::INGEST_TOKEN)).await;
    report.only_failure(
        "review-tracker",
        "answered 503: The database has no tables yet, or old ones",
        "wrangler d1 migrations apply",
    );
}

#[tokio::test]
async fn a_tracker_that_is_nearly_full_is_a_warning() {
    let (provider, repository) = (provider().await, Repository::clean());
    let mut workers = Workers::tracker_with("DATABASE_MAX_MB=1").await;
    workers
        .command("sql CREATE TABLE filler AS SELECT zeroblob(700000) AS bytes")
        .await;
    let doctor = Conclave::new(repository.path(), &["doctor"])
        .anthropic(&provider)
        .env("CONCLAVE_TRACKER_URL", &workers.tracker_url)
        .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN);
    let report = Findings::of(doctor).await;
    report.only_warning("review-tracker", "% full", "DATABASE_MAX_MB");
}

#[tokio::test]
async fn a_disk_that_cannot_be_written_and_a_job_without_time() {
    let (provider, repository) = (provider().await, Repository::clean());
    let local = || Conclave::new(repository.path(), &["doctor"]).anthropic(&provider);
    let report = Findings::of(local().env("TMPDIR", "tmp")).await;
    report.only_failure("scratch", "TMPDIR is `tmp`", "an absolute path");
    let report = Findings::of(local().env("CONCLAVE_MODEL", "x")).await;
    report.only_warning("variables", "is CONCLAVE_MODELS meant?", "correct the name");
    let refused = local().env("CONCLAVE_EFFORT", "nope").env("CONCLAVE_LIMITS", "x=1");
    let report = Findings::of(refused.env("CONCLAVE_AGENTS", "4")).await;
    for name in ["CONCLAVE_EFFORT", "CONCLAVE_LIMITS"] {
        report.only_failure("variables", name, "correct the value");
    }
    // A review would find these out when it has begun.
    let later = [
        ("CONCLAVE_FOCUS", "nobody"),
        ("CONCLAVE_EFFORT", "nobody=high"),
        ("CONCLAVE_PROMPTS", "/nonexistent"),
        ("CONCLAVE_OUTPUT", "/proc/x"),
        ("CONCLAVE_REPORTS", "/proc/x"),
        ("CONCLAVE_RECORD", "/dev/null"),
        ("CONCLAVE_AGENTS_MD_TEMPLATE_URL", "http://example.com/x"),
    ];
    let all = later.iter().fold(local(), |job, (name, value)| job.env(name, value));
    let report = Findings::of(all).await;
    for (name, _) in later {
        report.only_failure("variables", name, "correct the value");
    }
    let report = Findings::of(local().env("CONCLAVE_REPLAY_MODELS", "/nonexistent")).await;
    report.only_failure(
        "variables",
        "CONCLAVE_REPLAY_MODELS (--replay-models) /nonexistent",
        "correct the value",
    );
    let report = Findings::of(local().env("TMPDIR", "/dev/null")).await;
    report.only_failure("scratch", "/dev/null cannot be written", "set TMPDIR");
    let report = Findings::of(local().env("XDG_STATE_HOME", "/dev/null")).await;
    assert!(report.with("warning").contains(&"records"), "{:#}", report.0);
    report.says(
        "records",
        "/dev/null/conclave/runs cannot be written",
        "CONCLAVE_OUTPUT",
    );
    let report = Findings::of(local().env("TMPDIR", "/proc/self")).await;
    report.only_failure("scratch", "/proc/self cannot be written", "set TMPDIR");
    let report = Findings::of(local().env("XDG_STATE_HOME", "/proc/self")).await;
    report.only_warning("records", "cannot be written", "CONCLAVE_OUTPUT");
    let report = Findings::of(local().env("GITLAB_CI", "true").env("CI_JOB_TIMEOUT", "600")).await;
    report.only_warning("job", "only 9 minutes are left", "timeout: 45 minutes");
}
