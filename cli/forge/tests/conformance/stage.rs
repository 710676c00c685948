//! A merge request on a forge's stand-in, as the scenarios need it.

use std::{collections::HashMap, path::PathBuf, process::Command};

use conclave_engine::{
    diff::{DiffLimits, DiffReader, FileDiff},
    ports::{Forge, NoSettings, Publication, PublishOutcome, PublishSettings, SettingsWatch},
    review::{JudgedFinding, Review, ReviewMode},
};
use conclave_forge::Publisher;
use conclave_shared::{
    finding::{Finding, fingerprint},
    verdict::Verdict,
};

use super::sample::{self, Files};

/// People around the merge request, all with the right to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// The author of the merge request.
    Author,
    /// Another member.
    Member,
    /// Our account.
    Bot,
}

/// Something that is written on the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    PostNote,
    EditNote,
    DeleteNote,
    OpenThread,
    ChangeThread,
    /// The answer to a comment on the whole, where it is made to fail.
    Answer,
    Approve,
    WithdrawApproval,
    RequestChanges,
    /// Any other.
    Other,
}

/// A way in which a request goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The work is done, and the answer is an error.
    ErrorAfterStore,
    /// The work is done, and the answer breaks off.
    CutAnswer,
    /// Nothing is done, and the server fails.
    ServerError,
    /// Nothing is done, and a proxy fails.
    BadGateway,
    /// Requests came too fast.
    TooFast,
    /// The token lacks the right.
    NoRight,
}

/// The merge request as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Our notes that are not threads, oldest first: number and text.
    pub(crate) notes: Vec<(u64, String)>,
    /// Threads, oldest first.
    pub(crate) threads: Vec<ShownThread>,
    /// Accounts that approve.
    pub(crate) approved: Vec<Who>,
    /// Accounts that request changes.
    pub(crate) requested: Vec<Who>,
    /// Requests for changes of the bot that stand, where each is a review of its own.
    pub(crate) own_requests: usize,
    /// Commands in our notes that the forge has carried out.
    pub(crate) carried_out: usize,
}

/// A thread, by its first note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownThread {
    pub(crate) id: String,
    pub(crate) note: u64,
    pub(crate) author: Option<Who>,
    pub(crate) body: String,
    /// The texts of what follows it.
    pub(crate) answers: Vec<String>,
    pub(crate) resolved: bool,
    /// Whether the line that it stands beside is gone by now.
    pub(crate) outdated: bool,
    /// The line at head, if it stands beside one.
    pub(crate) line: Option<u64>,
}

impl Shown {
    /// The only summary, with what it remembers.
    pub(crate) fn summary(&self) -> &str {
        let mut own = self
            .notes
            .iter()
            .filter(|(_, body)| body.contains("<!-- conclave:summary:"));
        let (_, body) = own.next().unwrap();
        assert_eq!(own.next(), None, "there is one summary");
        body
    }

    pub(crate) fn bot_approves(&self) -> bool {
        self.approved.contains(&Who::Bot)
    }

    pub(crate) fn bot_requests(&self) -> bool {
        self.requested.contains(&Who::Bot)
    }
}

/// A merge request on a stand-in that keeps state, where a request for changes blocks. Number, branches (`feature` into `main`) and
/// secret are the same in every stage.
pub(crate) trait ForgeStage: Sized {
    /// A merge request whose branch makes `head` of `base`.
    async fn of_change(base: &Files<'_>, head: &Files<'_>) -> Self;
    /// The publisher of a new run, which waits milliseconds where a real one waits seconds.
    fn publisher(&self) -> Publisher;
    /// The same with another secret than the installation's.
    fn publisher_of(&self, secret: &str) -> Publisher;
    /// The target's repository, the merge base, and the newest commit.
    fn range(&self) -> (PathBuf, String, String);
    /// The author pushes this.
    fn push(&self, files: &Files<'_>);
    /// A branch gets a commit more than `main` has, with this text in a file.
    fn advance(&self, branch: &str, text: &str);
    /// The merge request gets another target branch.
    fn retarget(&self, branch: &str);
    /// A person takes the bot's approval back by hand.
    fn take_approval_back(&self);
    /// A member takes the bot's request for changes back by hand.
    fn take_request_back(&self);
    fn close(&self);
    /// The bot opens another merge request, of the same branch.
    fn open_by_bot(&mut self);
    /// The author opens another one, from a fork.
    fn open_from_fork(&mut self);
    /// The author may comment from now on, and nothing else.
    fn take_right_from_author(&self);
    /// Writes a note; returns its number.
    fn say(&self, who: Who, text: &str) -> u64;
    /// Begins a thread on nothing; returns its id.
    fn start_thread(&self, who: Who, text: &str) -> String;
    fn reply(&self, who: Who, thread: &str, text: &str);
    fn resolve(&self, who: Who, thread: &str);
    /// Changes the text of a note as its author.
    fn edit_note(&self, note: u64, text: &str);
    fn delete_note(&self, note: u64);
    fn approve(&self, who: Who);
    fn request_changes(&self, who: Who);
    /// Everything that stands there now.
    fn shown(&self) -> Shown;
    /// The writes since `forget`, and whether that worked.
    fn acts(&self) -> Vec<(Act, bool)>;
    /// Requests of any kind since `forget`.
    fn requests(&self) -> usize;
    fn forget(&self);
    /// Lets an act go wrong so many times, after it has worked so many times.
    fn trouble(&self, act: Act, trouble: Trouble, after: u64, times: u64);
    /// Troubles that have not happened yet.
    fn troubles_left(&self) -> u64;
    fn end_troubles(&self);
    /// Lists come in pages of three from now on, one of them in the middle shorter, without totals.
    fn small_pages(&mut self);

    /// A merge request with one added line.
    async fn new() -> Self {
        Self::of_change(&[("file.txt", Some("one\n"))], &[("file.txt", Some("one\ntwo\n"))]).await
    }

    /// One with many places for findings in `src/a.py`, `fresh.py` and a binary file.
    async fn with_lines() -> Self {
        let end = "a5\na6\na7\na8\na9\na10\na11\na12\na13\na14\na15\na16\n";
        let (base, head) = (
            format!("a1\na2\na3\na4\n{end}"),
            format!("a1\na3\na4\nnew one\nnew two\n{end}"),
        );
        Self::of_change(
            &[("src/a.py", Some(&base)), ("image.bin", Some("a\0b"))],
            &[
                ("src/a.py", Some(&head)),
                ("fresh.py", Some("f1\nf2\nf3\n")),
                ("image.bin", Some("a\0c")),
            ],
        )
        .await
    }

    /// The publisher of a run that has read the merge request.
    async fn loaded(&self) -> Publisher {
        let publisher = self.publisher();
        publisher.load().await.unwrap();
        publisher
    }

    /// A review of the newest commit.
    fn review(&self, verdict: Verdict) -> Review {
        sample::review(&self.range().2, verdict)
    }

    /// The same with findings.
    fn with_findings(&self, findings: Vec<JudgedFinding>) -> Review {
        Review {
            findings,
            ..self.review(Verdict::MinorIssues)
        }
    }

    /// The author pushes another commit.
    fn push_again(&self) {
        self.push(&[("file.txt", Some("one\ntwo\nthree\n"))]);
    }

    /// The diff of the merge request, as a review reads it.
    fn files(&self) -> Vec<FileDiff> {
        let (repository, base, head) = self.range();
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
            .arg(repository)
            .args(arguments)
            .args([base, head])
            .output()
            .unwrap();
        assert!(output.status.success());
        reader.push(&output.stdout).unwrap();
        reader.finish().unwrap().0.files
    }

    /// A file as the branch leaves it.
    fn source(&self, path: &str) -> Option<String> {
        let (repository, _, head) = self.range();
        let shown = Command::new("git")
            .arg("-C")
            .arg(repository)
            .args(["show", &format!("{head}:{path}")])
            .output()
            .unwrap();
        shown.status.success().then(|| String::from_utf8(shown.stdout).unwrap())
    }

    /// Posts a review with everything that the command knows.
    async fn publish(
        &self,
        publisher: &Publisher,
        review: &Review,
        settings: PublishSettings,
    ) -> Result<PublishOutcome, String> {
        self.publish_of(&self.files(), publisher, review, settings).await
    }

    /// The same with this diff.
    async fn publish_of(
        &self,
        files: &[FileDiff],
        publisher: &Publisher,
        review: &Review,
        settings: PublishSettings,
    ) -> Result<PublishOutcome, String> {
        let paths = review.findings.iter().map(|entry| entry.finding.file.clone());
        let sources: HashMap<String, String> = paths
            .filter_map(|path| Some((path.clone(), self.source(&path)?)))
            .collect();
        let publication = Publication {
            review,
            files,
            sources: &sources,
            settings,
            hurried: false,
            settings_watch: &NoSettings,
        };
        publisher.publish(publication).await.map_err(|error| error.to_string())
    }

    /// A whole run in this mode.
    async fn run(&self, review: &Review, settings: PublishSettings) -> PublishOutcome {
        self.publish(&self.loaded().await, review, settings).await.unwrap()
    }

    /// A whole run with this verdict and no findings.
    async fn conclude(&self, mode: ReviewMode, verdict: Verdict) -> PublishOutcome {
        self.run(&self.review(verdict), in_mode(mode)).await
    }
}

/// The settings of a mode.
pub(crate) fn in_mode(mode: ReviewMode) -> PublishSettings {
    PublishSettings {
        mode,
        ..PublishSettings::default()
    }
}

/// A warning about these lines.
pub(crate) fn at(file: &str, lines: (u32, u32), evidence: &str) -> JudgedFinding {
    let entry = sample::finding(&format!("Something is wrong with {evidence}."), evidence);
    JudgedFinding {
        finding: Finding {
            file: file.to_owned(),
            line: lines.0,
            end_line: (lines.1 > lines.0).then_some(lines.1),
            fingerprint: fingerprint(file, "injection", evidence),
            ..entry.finding
        },
        ..entry
    }
}

/// So many warnings, each about a line of `src/a.py`.
pub(crate) fn on_lines(last: u32) -> Vec<JudgedFinding> {
    (1..=last)
        .map(|line| at("src/a.py", (line, line), &format!("no {line}")))
        .collect()
}

/// Settings that differ at each newer commit of the target branch.
#[derive(Debug)]
pub(crate) struct Changed;

#[async_trait::async_trait]
impl SettingsWatch for Changed {
    async fn differing(&self, _commit: &str) -> Result<Vec<String>, String> {
        Ok(vec![".conclave.toml".to_owned()])
    }
}
