//! One merge request, the people around it, and the bot's plugin.

use std::{collections::HashMap, path::Path, process::Command, time::Duration};

use conclave_engine::{
    diff::{DiffLimits, DiffReader, FileDiff},
    ports::{AppliedState, Forge, Publication, PublishOutcome, PublishSettings},
    report::render_markdown,
    review::{Review, ReviewMode, ReviewState},
};
use conclave_fake_gitlab::{
    AccessLevel, Builder, FakeGitlab, MergeRequestRef, MergeRequestSnapshot, NewMergeRequest, NoteSnapshot, ProjectId,
    Scope, UserId,
};
use conclave_forge::{ApiError, ClientTimeouts, Publisher};
use conclave_plugin_gitlab::{GitLab, GitLabSettings};
use conclave_resilience::retry::RetryPolicy;
use conclave_shared::verdict::Verdict;
use tempfile::TempDir;

use crate::conformance::sample::{self, Files};

pub(crate) const BOT: &str = "review-bot";

/// The marker of merge request 1 in the stage's project. Written out, because a marker that is computed in another way
/// than yesterday leaves yesterday's review unfound.
pub(crate) const MARKER: &str = "<!-- conclave:summary:13522ab9f50daa1d25adbc9149fd1cc0 -->";
/// The memory of what the reviews of that merge request have cost: nothing.
pub(crate) const SPENT: &str = "<!-- conclave:spent:0:ba2e2c1162462f82e74c43d1e4fac4ce -->";

/// The longest wait that GitLab can make the plugin take here.
pub(crate) const MAX_WAIT: Duration = Duration::from_millis(60);

pub(crate) struct Stage {
    pub(crate) gitlab: FakeGitlab,
    pub(crate) project: ProjectId,
    pub(crate) merge_request: MergeRequestRef,
    /// The author of the merge request.
    pub(crate) author: UserId,
    /// Somebody else.
    pub(crate) human: UserId,
    pub(crate) bot: UserId,
    pub(crate) token: String,
    /// How long the plugin waits for GitLab.
    pub(crate) timeouts: ClientTimeouts,
    working_copy: TempDir,
}

/// Whatever a test is about, the plugin keeps to GitLab's contract.
impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.gitlab.violations(), []);
        }
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(FakeGitlab::builder()).await
    }

    pub(crate) async fn with(builder: Builder) -> Self {
        let (base, head) = ([("file.txt", Some("one\n"))], [("file.txt", Some("one\ntwo\n"))]);
        Self::of_change(builder, &base, &head).await
    }

    /// A merge request whose branch makes `head` of `base`: files with their texts; nothing is a file that is gone.
    pub(crate) async fn of_change(builder: Builder, base: &Files<'_>, head: &Files<'_>) -> Self {
        let gitlab = builder.start().await;
        let working_copy = TempDir::new().unwrap();
        let path = working_copy.path();
        git(path, &["init", "--quiet", "--initial-branch=main"]);
        write(path, base);
        git(path, &["checkout", "--quiet", "-b", "feature"]);
        write(path, head);
        git(path, &["checkout", "--quiet", "main"]);
        let project = gitlab.create_project_from_git(path, "group/project");
        let (author, human, bot) = (
            gitlab.create_user("alice"),
            gitlab.create_user("bob"),
            gitlab.create_bot(BOT),
        );
        for user in [author, human, bot] {
            gitlab.add_member(project, user, AccessLevel::Developer);
        }
        let merge_request = gitlab.create_merge_request(project, NewMergeRequest::new(author, "feature", "main"));
        let token = gitlab.create_token(bot, &[Scope::Api]);
        Self {
            gitlab,
            project,
            merge_request,
            author,
            human,
            bot,
            token,
            timeouts: quick(),
            working_copy,
        }
    }

    pub(crate) fn settings(&self) -> GitLabSettings {
        GitLabSettings {
            api_url: self.gitlab.api_url().parse().unwrap(),
            token: self.token.clone().into(),
            project: self.project.0.to_string(),
            iid: self.merge_request.iid,
            secret: "the installation's secret".to_owned().into(),
            ca_files: Vec::new(),
        }
    }

    /// The plugin of a new run.
    pub(crate) fn plugin(&self) -> Publisher {
        self.plugin_with(&self.settings())
    }

    /// The same with these settings.
    pub(crate) fn plugin_with(&self, settings: &GitLabSettings) -> Publisher {
        let api = GitLab::new(settings, self.timeouts).unwrap();
        Publisher::new(Box::new(api), settings.secret.clone())
    }

    /// The same after it has read the merge request.
    pub(crate) async fn loaded(&self) -> Publisher {
        let plugin = self.plugin();
        plugin.load().await.unwrap();
        plugin
    }

    /// What a run that cannot even read the merge request says.
    pub(crate) async fn refusal(&self) -> ApiError {
        self.plugin().load().await.unwrap_err()
    }

    /// A review of the newest commit.
    pub(crate) fn review(&self, verdict: Verdict) -> Review {
        sample::review(&self.gitlab.head(self.merge_request), verdict)
    }

    /// A whole run: the merge request is read, and a review with this verdict posted.
    pub(crate) async fn run(&self, verdict: Verdict) -> PublishOutcome {
        publish(&self.loaded().await, &self.review(verdict)).await.unwrap()
    }

    /// The outcome of a run whose review is the bot's only note.
    pub(crate) fn outcome(&self, approved: bool, warnings: &[&str]) -> PublishOutcome {
        let notes = self.gitlab.snapshot(self.merge_request).notes;
        let ids: Vec<u64> = notes
            .iter()
            .filter(|note| note.author == BOT)
            .map(|note| note.id)
            .collect();
        let [id] = ids[..] else {
            unreachable!("the bot has one note, not {ids:?}")
        };
        let address = self.gitlab.url();
        PublishOutcome {
            url: Some(format!("{address}/group/project/-/merge_requests/1#note_{id}")),
            approved,
            applied_state: None,
            posted_inline: 0,
            placements: std::collections::HashMap::new(),
            warnings: warnings.iter().map(|warning| (*warning).to_owned()).collect(),
            amended: None,
        }
    }

    /// The state of the merge request. The ids of notes, which count on with everything, are 0.
    pub(crate) fn snapshot(&self) -> MergeRequestSnapshot {
        let mut snapshot = self.gitlab.snapshot(self.merge_request);
        for note in snapshot.notes.iter_mut().chain(&mut snapshot.system_notes) {
            note.id = 0;
            note.body = without_memory(&note.body);
        }
        snapshot
    }

    /// The requests that tried to change something: method, path below the merge request, status.
    pub(crate) fn writes(&self) -> Vec<String> {
        let below = format!("/projects/{}/merge_requests/{}", self.project.0, self.merge_request.iid);
        let notes = self.gitlab.snapshot(self.merge_request).notes;
        let line = |method: &str, path: &str, status: u16| {
            let path = path.strip_prefix(&below).unwrap_or(path);
            // The number of a note differs from test to test.
            let path = match path
                .strip_prefix("/notes/")
                .map(|id| notes.iter().position(|note| note.id.to_string() == id))
            {
                Some(Some(index)) => format!("/notes/[{index}]"),
                Some(None) => "/notes/[gone]".to_owned(),
                None => path.to_owned(),
            };
            format!("{method} {path} {status}")
        };
        let writes = self.gitlab.writes();
        writes
            .iter()
            .map(|request| line(&request.method, &request.path, request.status.unwrap_or_default()))
            .collect()
    }

    /// The author pushes another commit.
    pub(crate) fn push(&self) {
        self.push_change(&[("file.txt", Some("one\ntwo\nthree\n"))]);
    }

    /// The author pushes this.
    pub(crate) fn push_change(&self, files: &Files<'_>) {
        let path = self.working_copy.path();
        git(path, &["checkout", "--quiet", "feature"]);
        write(path, files);
        self.gitlab.push(self.project, path, "feature");
    }

    /// A branch gets a commit more than `main` has, with this text in a file.
    pub(crate) fn advance(&self, branch: &str, text: &str) {
        let path = self.working_copy.path();
        git(path, &["checkout", "--quiet", "-B", branch, "main"]);
        write(path, &[("newer.txt", Some(text))]);
        self.gitlab.push(self.project, path, branch);
    }

    /// The diff of the merge request, as the review reads it.
    pub(crate) fn files(&self) -> Vec<FileDiff> {
        let refs = self.gitlab.diff_refs(self.merge_request);
        let range = ["base_sha", "head_sha"].map(|name| refs[name].as_str().unwrap().to_owned());
        let mut reader = DiffReader::new(DiffLimits::default(), Vec::new());
        let arguments = [
            "diff",
            "--raw",
            "--patch",
            "-z",
            "--no-abbrev",
            "--full-index",
            "--find-renames",
        ];
        let output = Command::new("git")
            .arg("-C")
            .arg(self.gitlab.repository_path(self.project))
            .args(arguments)
            .args(range)
            .output()
            .unwrap();
        assert!(output.status.success());
        reader.push(&output.stdout).unwrap();
        reader.finish().unwrap().0.files
    }

    /// A file as the branch leaves it.
    pub(crate) fn source(&self, path: &str) -> Option<String> {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.gitlab.repository_path(self.project))
            .args(["show", &format!("{}:{path}", self.gitlab.head(self.merge_request))])
            .output()
            .unwrap();
        output
            .status
            .success()
            .then(|| String::from_utf8(output.stdout).unwrap())
    }

    /// A whole run in this mode, with findings beside their lines.
    pub(crate) async fn run_with(&self, review: &Review, settings: PublishSettings) -> PublishOutcome {
        self.publish_with(&self.loaded().await, review, settings).await.unwrap()
    }

    /// Posts a review with everything that the command knows.
    pub(crate) async fn publish_with(
        &self,
        plugin: &Publisher,
        review: &Review,
        settings: PublishSettings,
    ) -> Result<PublishOutcome, String> {
        let files = self.files();
        let paths = review.findings.iter().map(|entry| entry.finding.file.clone());
        let sources: HashMap<String, String> = paths
            .filter_map(|path| Some((path.clone(), self.source(&path)?)))
            .collect();
        let publication = Publication {
            review,
            files: &files,
            sources: &sources,
            settings,
            hurried: false,
            settings_watch: &conclave_engine::ports::NoSettings,
        };
        plugin.publish(publication).await.map_err(|error| error.to_string())
    }

    /// Opens a merge request out of a fork, which has number 2.
    pub(crate) fn open_from_fork(&mut self) {
        let fork = self.gitlab.create_fork(self.project, "alice/project");
        let new = NewMergeRequest {
            source_project: Some(fork),
            ..NewMergeRequest::new(self.author, "feature", "main")
        };
        self.merge_request = self.gitlab.create_merge_request(self.project, new);
    }
}

/// Posts a review of which nothing can stand beside its lines. What the verdict asked for and what is shown are left out:
/// tests of that have their own helper.
pub(crate) async fn publish(plugin: &Publisher, review: &Review) -> Result<PublishOutcome, String> {
    let publication = Publication {
        review,
        files: &[],
        sources: &HashMap::new(),
        settings: PublishSettings::default(),
        hurried: false,
        settings_watch: &conclave_engine::ports::NoSettings,
    };
    let outcome = plugin.publish(publication).await.map_err(|error| error.to_string())?;
    let Some(AppliedState { shown, .. }) = outcome.applied_state else {
        unreachable!("a review state is always set")
    };
    assert!(
        shown.is_none() || (shown == Some(ReviewState::Approved)) == outcome.approved,
        "{outcome:?}"
    );
    Ok(PublishOutcome {
        applied_state: None,
        placements: std::collections::HashMap::new(),
        ..outcome
    })
}

/// The settings of a mode.
pub(crate) fn in_mode(mode: ReviewMode) -> PublishSettings {
    PublishSettings {
        mode,
        ..PublishSettings::default()
    }
}

/// A note without what it remembers of the run, which has tests of its own.
pub(crate) fn without_memory(body: &str) -> String {
    let hidden = ["<!-- conclave:state:", "<!-- conclave:ledger:"];
    let lines = body
        .lines()
        .filter(|line| !hidden.iter().any(|start| line.starts_with(start)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The note that holds a review.
pub(crate) fn posted(review: &Review) -> NoteSnapshot {
    note(
        BOT,
        &format!("{}\n\n{MARKER}\n{SPENT}", render_markdown(review).trim_end()),
    )
}

/// The same after it was edited.
pub(crate) fn edited(review: &Review) -> NoteSnapshot {
    NoteSnapshot {
        edited: true,
        ..posted(review)
    }
}

/// A note that nobody touched.
pub(crate) fn note(author: &str, body: &str) -> NoteSnapshot {
    NoteSnapshot {
        id: 0,
        author: author.to_owned(),
        body: body.to_owned(),
        internal: false,
        edited: false,
        suggestions: 0,
    }
}

pub(crate) fn approved() -> NoteSnapshot {
    note(BOT, "approved this merge request")
}

pub(crate) fn unapproved() -> NoteSnapshot {
    note(BOT, "unapproved this merge request")
}

/// The real time limits with milliseconds instead of seconds between the attempts.
fn quick() -> ClientTimeouts {
    let real = ClientTimeouts::default();
    ClientTimeouts {
        retry: RetryPolicy {
            base: Duration::from_millis(2),
            longest: Duration::from_millis(5),
            longest_asked: MAX_WAIT,
            ..real.retry
        },
        ..real
    }
}

fn write(path: &Path, files: &Files<'_>) {
    for (name, text) in files {
        let file = path.join(name);
        match text {
            Some(text) => {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            None => std::fs::remove_file(file).unwrap(),
        }
    }
    git(path, &["add", "--all"]);
    git(path, &["commit", "--quiet", "--message", "A change"]);
}

fn git(path: &Path, arguments: &[&str]) {
    let identity = [
        "-c",
        "user.name=Alice",
        "-c",
        "user.email=alice@example.com",
        "-c",
        "commit.gpgSign=false",
    ];
    let status = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(identity)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status()
        .unwrap();
    assert!(status.success(), "git {arguments:?}");
}
