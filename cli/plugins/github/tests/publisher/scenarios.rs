//! The scenarios of every forge, on GitHub.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use conclave_engine::diff::RowKind;
use conclave_fake_github::{
    FakeGithub, Fault, FaultKind, NewPull, PullRef, PullState, RequestRecord, ReviewSnapshot, ReviewState, Role, Side,
    UserId,
};
use conclave_forge::Publisher;
use conclave_plugin_github::{GitHubSettings, SignedOpinion};

use crate::{
    conformance::{
        conformance,
        sample::Files,
        stage::{Act, ForgeStage, Shown, ShownThread, Trouble, Who},
    },
    stage::{BOT, Stage},
};

conformance!(OnGitHub);

pub(crate) struct OnGitHub(pub(crate) Stage);

impl OnGitHub {
    fn user(&self, who: Who) -> UserId {
        match who {
            Who::Author => self.0.author,
            Who::Member => self.0.human,
            Who::Bot => self.0.bot(),
        }
    }

    /// Lets this happen after the next request to create something at this path was carried out, and before it is answered.
    pub(crate) fn after(&self, path: &str, change: Change) {
        let (github, pull) = (self.0.github.clone(), self.0.pull);
        self.0.github.after("POST", path, move || change.make(&github, pull));
    }

    /// Dismisses the bot's requests for changes by hand.
    pub(crate) fn dismiss_requests(&self, who: Who) {
        let reviews = self.0.snapshot().reviews.into_iter();
        let own = reviews.filter(|review| review.state == ReviewState::ChangesRequested && review.post.author == BOT);
        for review in own {
            self.0
                .github
                .dismiss_review(self.0.pull, self.user(who), review.post.id);
        }
    }

    /// Submits a review; ours is signed.
    fn opine(&self, who: Who, state: ReviewState) {
        let text = match who {
            Who::Bot => self.0.signer().sign(&SignedOpinion {
                head: self.0.github.head(self.0.pull),
                approves: Some(state == ReviewState::Approved),
            }),
            _ => "As it says.".to_owned(),
        };
        self.0.github.review(self.0.pull, self.user(who), state, &text);
    }
}

/// Something that becomes of the pull request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    State(PullState),
    Target(&'static str),
    /// A commit without a change.
    Push,
}

impl Change {
    pub(crate) fn make(self, github: &FakeGithub, pull: PullRef) {
        match self {
            Self::State(state) => github.set_state(pull, state),
            Self::Target(branch) => github.retarget(pull, branch),
            Self::Push => push_nothing(&github.repository_path(pull.repository)),
        }
    }
}

/// Any other commit at the branch is a push.
fn push_nothing(repository: &Path) {
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        let output = Command::new("git")
            .args(identity)
            .args(arguments)
            .current_dir(repository)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let sha = git(&["commit-tree", "-p", "feature", "-m", "x", "feature^{tree}"]);
    git(&["update-ref", "refs/heads/feature", sha.trim()]);
}

fn who(name: &str) -> Option<Who> {
    match name {
        "alice" => Some(Who::Author),
        "bob" => Some(Who::Member),
        BOT => Some(Who::Bot),
        _ => None,
    }
}

fn act(write: &RequestRecord) -> Act {
    let below = write.path.splitn(5, '/').nth(4).unwrap_or_default();
    let parts: Vec<&str> = below.split('/').collect();
    let event = write.body["event"].as_str();
    match (write.method.as_str(), &parts[..], event) {
        ("POST", ["issues", _, "comments"], _) => Act::PostNote,
        ("PATCH", ["issues", "comments", _], _) => Act::EditNote,
        ("DELETE", ["issues", "comments", _], _) => Act::DeleteNote,
        ("POST", ["pulls", _, "reviews"], Some("APPROVE")) => Act::Approve,
        ("POST", ["pulls", _, "reviews"], Some("REQUEST_CHANGES")) => Act::RequestChanges,
        ("POST", ["pulls", _, "reviews" | "comments"], _) => Act::OpenThread,
        ("PUT", ["pulls", _, "reviews", _, "dismissals"], _) => Act::WithdrawApproval,
        (_, ["pulls", ..], _) | ("POST", [""], _) => Act::ChangeThread,
        _ => Act::Other,
    }
}

impl ForgeStage for OnGitHub {
    async fn of_change(base: &Files<'_>, head: &Files<'_>) -> Self {
        Self(Stage::of_change(FakeGithub::builder(), base, head).await)
    }

    fn publisher(&self) -> Publisher {
        self.0.plugin()
    }

    fn publisher_of(&self, secret: &str) -> Publisher {
        self.0.plugin_with(GitHubSettings {
            secret: secret.to_owned().into(),
            ..self.0.settings()
        })
    }

    fn range(&self) -> (PathBuf, String, String) {
        let found = self.0.snapshot();
        (
            self.0.github.repository_path(self.0.repository),
            found.merge_base,
            found.head,
        )
    }

    fn push(&self, files: &Files<'_>) {
        self.0.push_change(files);
    }

    fn advance(&self, branch: &str, text: &str) {
        self.0.advance(branch, text);
    }

    fn retarget(&self, branch: &str) {
        self.0.github.retarget(self.0.pull, branch);
    }

    fn take_approval_back(&self) {
        let reviews = self.0.snapshot().reviews;
        for review in reviews.iter().filter(|review| review.state == ReviewState::Approved) {
            self.0.github.dismiss_review(self.0.pull, self.0.human, review.post.id);
        }
    }

    fn take_request_back(&self) {
        self.dismiss_requests(Who::Member);
    }

    fn close(&self) {
        self.0.github.set_state(self.0.pull, PullState::Closed);
    }

    fn open_by_bot(&mut self) {
        let new = NewPull::new(self.0.bot(), "feature", "main");
        self.0.pull = self.0.github.open_pull(self.0.repository, new);
    }

    fn open_from_fork(&mut self) {
        self.0.open_from_fork();
    }

    fn take_right_from_author(&self) {
        let stage = &self.0;
        stage.github.set_role(stage.repository, stage.author, Some(Role::Read));
    }

    fn say(&self, who: Who, text: &str) -> u64 {
        self.0.github.comment(self.0.pull, self.user(who), text)
    }

    fn start_thread(&self, who: Who, text: &str) -> String {
        let files = self.files();
        let mut lines = files.iter().flat_map(|file| (1..20).map(move |line| (file, line)));
        let is_added = |line: &(&conclave_engine::diff::FileDiff, u32)| {
            line.0.row(line.1).is_some_and(|row| row.kind == RowKind::Added)
        };
        let (file, line) = lines.find(is_added).unwrap();
        let place = (file.path.as_str(), Side::Right, u64::from(line));
        let comment = self.0.github.review_comment(self.0.pull, self.user(who), place, text);
        comment.to_string()
    }

    fn reply(&self, who: Who, thread: &str, text: &str) {
        let top = thread.parse().unwrap();
        self.0.github.reply(self.0.pull, self.user(who), top, text);
    }

    fn resolve(&self, who: Who, thread: &str) {
        let top = thread.parse().unwrap();
        self.0.github.set_resolved(self.0.pull, top, Some(self.user(who)));
    }

    fn edit_note(&self, note: u64, text: &str) {
        self.0.github.edit_comment(self.0.pull, self.0.bot(), note, text);
    }

    fn delete_note(&self, note: u64) {
        self.0.github.delete_comment(self.0.pull, note);
    }

    fn approve(&self, who: Who) {
        self.opine(who, ReviewState::Approved);
    }

    fn request_changes(&self, who: Who) {
        self.opine(who, ReviewState::ChangesRequested);
    }

    fn shown(&self) -> Shown {
        let found = self.0.snapshot();
        let notes = found.comments.into_iter().filter(|comment| comment.author == BOT);
        let threads = found.threads.into_iter().map(|thread| {
            let first = &thread.comments[0];
            ShownThread {
                id: first.id.to_string(),
                note: first.id,
                author: who(&first.author),
                body: first.body.clone(),
                answers: thread.comments[1..]
                    .iter()
                    .map(|comment| comment.body.clone())
                    .collect(),
                resolved: thread.resolved_by.is_some(),
                outdated: thread.outdated,
                line: thread.line.filter(|_| thread.side == Side::Right),
            }
        });
        let is_request = |review: &&ReviewSnapshot| review.state == ReviewState::ChangesRequested;
        let own = found
            .reviews
            .iter()
            .filter(is_request)
            .filter(|review| review.post.author == BOT);
        let own_requests = own.count();
        // What counts of each account is its newest opinion.
        let mut opinions: BTreeMap<Who, ReviewState> = BTreeMap::new();
        for review in found.reviews {
            let is_opinion = matches!(review.state, ReviewState::Approved | ReviewState::ChangesRequested);
            if let Some(who) = who(&review.post.author).filter(|_| is_opinion) {
                opinions.insert(who, review.state);
            }
        }
        let with = |state| {
            opinions
                .iter()
                .filter(move |own| *own.1 == state)
                .map(|own| *own.0)
                .collect()
        };
        Shown {
            notes: notes.map(|note| (note.id, note.body)).collect(),
            threads: threads.collect(),
            approved: with(ReviewState::Approved),
            requested: with(ReviewState::ChangesRequested),
            own_requests,
            carried_out: self.0.github.effects().len(),
        }
    }

    fn acts(&self) -> Vec<(Act, bool)> {
        let writes = self.0.github.writes();
        writes
            .iter()
            .map(|write| (act(write), write.status.is_some_and(|status| status < 300)))
            .collect()
    }

    fn requests(&self) -> usize {
        self.0.github.requests().len()
    }

    fn forget(&self) {
        assert_eq!(self.0.github.violations(), []);
        self.0.github.forget_requests();
    }

    fn trouble(&self, act: Act, trouble: Trouble, after: u64, times: u64) {
        let (method, below, event) = match act {
            Act::PostNote | Act::Answer => ("POST", "issues/*/comments", ""),
            Act::EditNote => ("PATCH", "issues/comments/*", ""),
            Act::DeleteNote => ("DELETE", "issues/comments/*", ""),
            Act::OpenThread => ("POST", "pulls/*/reviews", "\"COMMENT\""),
            Act::Approve => ("POST", "pulls/*/reviews", "\"APPROVE\""),
            Act::RequestChanges => ("POST", "pulls/*/reviews", "\"REQUEST_CHANGES\""),
            Act::WithdrawApproval => ("PUT", "pulls/*/reviews/*/dismissals", ""),
            Act::ChangeThread | Act::Other => unreachable!("no such request"),
        };
        let kind = match trouble {
            Trouble::ErrorAfterStore => FaultKind::ErrorAfterStore,
            Trouble::CutAnswer => FaultKind::TruncatedBody,
            Trouble::ServerError => FaultKind::ServerError,
            Trouble::BadGateway => FaultKind::BadGateway,
            Trouble::TooFast => FaultKind::SecondaryLimit { retry_after: Some(1) },
            Trouble::NoRight => FaultKind::NotAccessible,
        };
        let path = |below: &str| format!("/repos/*/*/{below}");
        // One request opens all threads: it cannot be carried out more than once, and fails for all of them.
        let times = match (act, trouble) {
            (Act::OpenThread, Trouble::ErrorAfterStore | Trouble::CutAnswer) => 1,
            (Act::OpenThread, Trouble::BadGateway) => times.min(2),
            _ => times,
        };
        if act == Act::OpenThread && after > 0 {
            // Some threads are there only where each is opened alone: where the review is refused as a whole.
            let refused = FaultKind::Answer {
                status: 422,
                content_type: "application/json".to_owned(),
                body: r#"{"message":"Unprocessable Entity","errors":["Pull request review thread line must be part of the diff"]}"#
                    .to_owned(),
            };
            self.0.github.inject(Fault::once(method, &path(below), refused));
            let alone = Fault::once("POST", &path("pulls/*/comments"), kind);
            self.0.github.inject(alone.after(after).times(times));
            return;
        }
        let fault = Fault::once(method, &path(below), kind).containing(event);
        self.0.github.inject(fault.after(after).times(times));
    }

    fn troubles_left(&self) -> u64 {
        self.0.github.remaining_faults()
    }

    fn end_troubles(&self) {
        self.0.github.clear_faults();
    }

    fn small_pages(&mut self) {
        self.0.page_size = 3;
    }
}
