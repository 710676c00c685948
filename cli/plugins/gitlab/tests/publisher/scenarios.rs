//! The scenarios of every forge, on GitLab.

use std::path::PathBuf;

use conclave_fake_gitlab::{
    AccessLevel, FakeGitlab, Fault, FaultKind, MergeRequestState, NewMergeRequest, RequestRecord, Tier, UserId,
};
use conclave_forge::Publisher;
use conclave_plugin_gitlab::GitLabSettings;
use serde_json::Value;

use crate::{
    conformance::{
        conformance,
        sample::Files,
        stage::{Act, ForgeStage, Shown, ShownThread, Trouble, Who},
    },
    stage::{BOT, Stage},
};

conformance!(OnGitLab);

pub(crate) struct OnGitLab(pub(crate) Stage);

impl OnGitLab {
    fn user(&self, who: Who) -> UserId {
        match who {
            Who::Author => self.0.author,
            Who::Member => self.0.human,
            Who::Bot => self.0.bot,
        }
    }
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
    let path = write.path.rsplit_once("/merge_requests/").map_or("", |(_, rest)| rest);
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match (write.method.as_str(), &parts[..]) {
        ("POST", ["notes"]) if write.body.to_string().contains("/submit_review") => Act::RequestChanges,
        ("POST", ["notes"]) => Act::PostNote,
        ("PUT", ["notes", _]) => Act::EditNote,
        ("DELETE", ["notes", _]) => Act::DeleteNote,
        ("POST", ["discussions"]) => Act::OpenThread,
        (_, ["discussions", ..]) => Act::ChangeThread,
        ("POST", ["approve"]) => Act::Approve,
        ("POST", ["unapprove"]) => Act::WithdrawApproval,
        _ => Act::Other,
    }
}

impl ForgeStage for OnGitLab {
    async fn of_change(base: &Files<'_>, head: &Files<'_>) -> Self {
        Self(Stage::of_change(FakeGitlab::builder().tier(Tier::Premium), base, head).await)
    }

    fn publisher(&self) -> Publisher {
        self.0.plugin()
    }

    fn publisher_of(&self, secret: &str) -> Publisher {
        let settings = GitLabSettings {
            secret: secret.to_owned().into(),
            ..self.0.settings()
        };
        self.0.plugin_with(&settings)
    }

    fn range(&self) -> (PathBuf, String, String) {
        let refs = self.0.gitlab.diff_refs(self.0.merge_request);
        let [base, head] = ["base_sha", "head_sha"].map(|name| refs[name].as_str().unwrap().to_owned());
        (self.0.gitlab.repository_path(self.0.project), base, head)
    }

    fn push(&self, files: &Files<'_>) {
        self.0.push_change(files);
    }

    fn advance(&self, branch: &str, text: &str) {
        self.0.advance(branch, text);
    }

    fn retarget(&self, branch: &str) {
        self.0.gitlab.retarget(self.0.merge_request, branch);
    }

    fn take_approval_back(&self) {
        self.0.gitlab.unapprove(self.0.merge_request, self.0.bot);
    }

    fn take_request_back(&self) {
        self.0.gitlab.bypass_requested_changes(self.0.merge_request);
    }

    fn close(&self) {
        let stage = &self.0;
        stage
            .gitlab
            .set_state(stage.merge_request, stage.author, MergeRequestState::Closed);
    }

    fn open_by_bot(&mut self) {
        let new = NewMergeRequest::new(self.0.bot, "feature", "main");
        self.0.merge_request = self.0.gitlab.create_merge_request(self.0.project, new);
    }

    fn open_from_fork(&mut self) {
        self.0.open_from_fork();
    }

    fn take_right_from_author(&self) {
        let stage = &self.0;
        stage
            .gitlab
            .add_member(stage.project, stage.author, AccessLevel::Reporter);
    }

    fn say(&self, who: Who, text: &str) -> u64 {
        self.0
            .gitlab
            .comment(self.0.merge_request, self.user(who), text)
            .unwrap()
    }

    fn start_thread(&self, who: Who, text: &str) -> String {
        self.0
            .gitlab
            .start_thread(self.0.merge_request, self.user(who), text, &Value::Null)
    }

    fn reply(&self, who: Who, thread: &str, text: &str) {
        self.0.gitlab.reply(self.0.merge_request, self.user(who), thread, text);
    }

    fn resolve(&self, who: Who, thread: &str) {
        self.0
            .gitlab
            .resolve(self.0.merge_request, self.user(who), thread, true);
    }

    fn edit_note(&self, note: u64, text: &str) {
        self.0.gitlab.edit_note(self.0.merge_request, note, text);
    }

    fn delete_note(&self, note: u64) {
        self.0.gitlab.delete_note(self.0.merge_request, note);
    }

    fn approve(&self, who: Who) {
        assert!(self.0.gitlab.approve(self.0.merge_request, self.user(who)));
    }

    fn request_changes(&self, who: Who) {
        self.0.gitlab.request_changes(self.0.merge_request, self.user(who));
    }

    fn shown(&self) -> Shown {
        let found = self.0.gitlab.snapshot(self.0.merge_request);
        let own = found.notes.into_iter().filter(|note| note.author == BOT);
        let threads = found.threads.into_iter().map(|thread| {
            let (first, place) = (&thread.notes[0], thread.position.as_ref());
            ShownThread {
                note: first.id,
                author: who(&first.author),
                body: first.body.clone(),
                answers: thread.notes[1..].iter().map(|note| note.body.clone()).collect(),
                resolved: thread.resolved,
                outdated: place.is_some_and(|place| place.outdated),
                line: place.and_then(|place| place.new_line),
                id: thread.id,
            }
        });
        let commands = found.executed_commands.iter();
        let own_requests = found.requested_changes_by.iter().filter(|name| *name == BOT).count();
        Shown {
            notes: own.map(|note| (note.id, note.body)).collect(),
            threads: threads.collect(),
            approved: found.approved_by.iter().filter_map(|name| who(name)).collect(),
            own_requests,
            requested: found.requested_changes_by.iter().filter_map(|name| who(name)).collect(),
            carried_out: commands
                .filter(|command| !command.command.starts_with("/submit_review"))
                .count(),
        }
    }

    fn acts(&self) -> Vec<(Act, bool)> {
        let writes = self.0.gitlab.writes();
        writes
            .iter()
            .map(|write| (act(write), write.status.is_some_and(|status| status < 300)))
            .collect()
    }

    fn requests(&self) -> usize {
        self.0.gitlab.requests().len()
    }

    fn forget(&self) {
        self.0.gitlab.forget_requests();
    }

    fn trouble(&self, act: Act, trouble: Trouble, after: u64, times: u64) {
        let (method, below) = match act {
            Act::PostNote | Act::RequestChanges => ("POST", "notes"),
            Act::EditNote => ("PUT", "notes/{note}"),
            Act::DeleteNote => ("DELETE", "notes/{note}"),
            Act::OpenThread => ("POST", "discussions"),
            Act::ChangeThread => ("PUT", "discussions/{discussion}"),
            Act::Answer => ("POST", "discussions/{discussion}/notes"),
            Act::Approve => ("POST", "approve"),
            Act::WithdrawApproval => ("POST", "unapprove"),
            Act::Other => unreachable!("no such request"),
        };
        let kind = match trouble {
            Trouble::ErrorAfterStore => FaultKind::ErrorAfterStore,
            Trouble::CutAnswer => FaultKind::TruncatedBody,
            Trouble::ServerError => FaultKind::ServerError,
            Trouble::BadGateway => FaultKind::BadGateway,
            Trouble::TooFast => FaultKind::RateLimited { retry_after: Some(1) },
            Trouble::NoRight => FaultKind::InsufficientScope,
        };
        let pattern = format!("/projects/{{id}}/merge_requests/{{iid}}/{below}");
        self.0
            .gitlab
            .inject(Fault::once(method, &pattern, kind).after(after).times(times));
    }

    fn troubles_left(&self) -> u64 {
        self.0.gitlab.remaining_faults()
    }

    fn end_troubles(&self) {
        self.0.gitlab.clear_faults();
    }

    fn small_pages(&mut self) {
        self.0.gitlab.configure(|options| {
            options.pagination.largest_page = 3;
            options.pagination.short_middle_page = true;
            options.pagination.totals = false;
        });
    }
}
