//! Everything the server remembers. One lock guards it; no request sees a half-made change.

pub(crate) mod clock;
pub(crate) mod merge_request;
pub(crate) mod note;
pub(crate) mod people;
pub(crate) mod position;
pub(crate) mod project;

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use sha1::{Digest, Sha1};

use crate::MergeRequestRef;
use crate::options::Options;
use clock::Clock;
use merge_request::MergeRequest;
use people::{AccessLevel, Token, User};
use project::Project;

/// The first id that is given out. Ids of all kinds come from one counter, so that no id is also an iid.
const FIRST_ID: u64 = 101;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) options: Options,
    /// The address under which clients reach the server, without a slash at the end.
    pub(crate) url: String,
    pub(crate) users: BTreeMap<u64, User>,
    pub(crate) tokens: BTreeMap<String, Token>,
    pub(crate) projects: BTreeMap<u64, Project>,
    /// Where the bare repositories are.
    pub(crate) directory: PathBuf,
    clock: Clock,
    next_id: u64,
}

impl State {
    pub(crate) fn new(options: Options, url: String, directory: PathBuf) -> Self {
        Self {
            options,
            url,
            users: BTreeMap::new(),
            tokens: BTreeMap::new(),
            projects: BTreeMap::new(),
            directory,
            clock: Clock::default(),
            next_id: FIRST_ID,
        }
    }

    /// A fresh id.
    pub(crate) fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// A fresh discussion id: 40 hexadecimal digits.
    pub(crate) fn take_discussion_id(&mut self) -> String {
        let id = self.take_id();
        sha1_hex(&format!("discussion {id}"))
    }

    /// The time of the next event.
    pub(crate) fn now(&mut self) -> DateTime<Utc> {
        self.clock.tick()
    }

    pub(crate) fn user(&self, id: u64) -> &User {
        self.users.get(&id).expect("a user that the state refers to exists")
    }

    pub(crate) fn project(&self, id: u64) -> &Project {
        self.projects
            .get(&id)
            .expect("a project that the state refers to exists")
    }

    pub(crate) fn project_mut(&mut self, id: u64) -> &mut Project {
        self.projects
            .get_mut(&id)
            .expect("a project that the state refers to exists")
    }

    pub(crate) fn merge_request(&self, key: MergeRequestRef) -> &MergeRequest {
        self.project(key.project.0)
            .merge_requests
            .get(&key.iid)
            .expect("the merge request exists")
    }

    pub(crate) fn merge_request_mut(&mut self, key: MergeRequestRef) -> &mut MergeRequest {
        self.project_mut(key.project.0)
            .merge_requests
            .get_mut(&key.iid)
            .expect("the merge request exists")
    }

    /// The access level of a user in a project, or nothing for a user who is not a member.
    pub(crate) fn access_level(&self, project: u64, user: u64) -> Option<AccessLevel> {
        self.project(project).members.get(&user).copied()
    }

    /// Returns whether the user has at least the access level.
    pub(crate) fn has_access(&self, project: u64, user: u64, level: AccessLevel) -> bool {
        self.access_level(project, user).is_some_and(|own| own >= level)
    }
}

/// The SHA-1 of a text in hexadecimal digits.
pub(crate) fn sha1_hex(text: &str) -> String {
    hex::encode(Sha1::digest(text.as_bytes()))
}
