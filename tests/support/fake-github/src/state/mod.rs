//! Everything the server knows.

pub(crate) mod checks;
pub(crate) mod people;
pub(crate) mod pull;
pub(crate) mod repository;

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use crate::ids::{AppId, Kind, PullRef, RepositoryId, UserId};
use crate::options::Options;
use people::{App, Token, User, UserKind};
use pull::{Pull, Review, ReviewComment, Thread};
use repository::Repository;

/// The App behind `GITHUB_TOKEN`, with github.com's ids.
pub(crate) const ACTIONS_APP: AppId = AppId(15_368);
const ACTIONS_BOT: UserId = UserId(41_898_282);

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) options: Options,
    /// The address of the server, without a slash at the end.
    pub(crate) url: String,
    /// The address of the REST API.
    pub(crate) api_url: String,
    /// Where the bare repositories are.
    pub(crate) directory: PathBuf,
    pub(crate) users: BTreeMap<UserId, User>,
    pub(crate) apps: BTreeMap<AppId, App>,
    /// By organization: the slugs of its teams.
    pub(crate) teams: BTreeMap<UserId, Vec<String>>,
    pub(crate) repositories: BTreeMap<RepositoryId, Repository>,
    pub(crate) tokens: BTreeMap<String, Token>,
    /// Texts that would have acted on GitHub.
    pub(crate) effects: Vec<crate::effects::Effect>,
    now: DateTime<Utc>,
    counters: BTreeMap<Kind, u64>,
}

impl State {
    pub(crate) fn new(options: Options, url: String, directory: PathBuf) -> Self {
        let api_url = if options.enterprise.is_some() {
            format!("{url}/api/v3")
        } else {
            url.clone()
        };
        let mut state = Self {
            options,
            url,
            api_url,
            directory,
            users: BTreeMap::new(),
            apps: BTreeMap::new(),
            teams: BTreeMap::new(),
            repositories: BTreeMap::new(),
            tokens: BTreeMap::new(),
            effects: Vec::new(),
            now: DateTime::from_timestamp(1_767_225_600, 0).expect("2026-01-01 is a date"),
            counters: BTreeMap::new(),
        };
        state.apps.insert(ACTIONS_APP, App::new("github-actions", ACTIONS_BOT));
        state
            .users
            .insert(ACTIONS_BOT, User::new("github-actions", UserKind::Bot(ACTIONS_APP)));
        state
    }

    /// The time of the next event: the clock moves one second with every event, so that runs agree to the byte.
    pub(crate) fn tick(&mut self) -> String {
        self.now += TimeDelta::seconds(1);
        self.now.to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    /// A new id.
    pub(crate) fn next_id(&mut self, kind: Kind) -> u64 {
        let count = self.counters.entry(kind).or_insert(kind.base());
        *count += 1;
        *count
    }

    pub(crate) fn user(&self, id: UserId) -> &User {
        self.users.get(&id).expect("the user exists")
    }

    /// Finds an account by its login, in REST's spelling or in GraphQL's.
    pub(crate) fn find_user(&self, login: &str) -> Option<UserId> {
        let matches = |user: &User| user.rest_login().eq_ignore_ascii_case(login) && !user.deleted;
        self.users.iter().find(|(_, user)| matches(user)).map(|(id, _)| *id)
    }

    pub(crate) fn repository(&self, id: RepositoryId) -> &Repository {
        self.repositories.get(&id).expect("the repository exists")
    }

    pub(crate) fn repository_mut(&mut self, id: RepositoryId) -> &mut Repository {
        self.repositories.get_mut(&id).expect("the repository exists")
    }

    /// `owner/name` of a repository.
    pub(crate) fn full_name(&self, id: RepositoryId) -> String {
        let repository = self.repository(id);
        format!("{}/{}", self.user(repository.owner).login, repository.name)
    }

    /// Finds a repository by its owner and name; the flag says that the name is a former one.
    pub(crate) fn find_repository(&self, owner: &str, name: &str) -> Option<(RepositoryId, bool)> {
        let wanted = format!("{owner}/{name}").to_lowercase();
        let alive = || self.repositories.iter().filter(|(_, repository)| !repository.deleted);
        let now = alive().find(|(id, _)| self.full_name(**id).to_lowercase() == wanted);
        let former = || alive().find(|(_, repository)| repository.former_names.contains(&wanted));
        now.map(|(id, _)| (*id, false))
            .or_else(|| former().map(|(id, _)| (*id, true)))
    }

    pub(crate) fn pull(&self, at: PullRef) -> &Pull {
        let pulls = &self.repository(at.repository).pulls;
        pulls.get(&at.number).expect("the pull request exists")
    }

    pub(crate) fn pull_mut(&mut self, at: PullRef) -> &mut Pull {
        let pulls = &mut self.repository_mut(at.repository).pulls;
        pulls.get_mut(&at.number).expect("the pull request exists")
    }

    /// Every pull request.
    pub(crate) fn pulls(&self) -> impl Iterator<Item = (PullRef, &Pull)> {
        self.repositories.iter().flat_map(|(id, repository)| {
            let pulls = repository.pulls.iter();
            pulls.map(|(number, pull)| {
                (
                    PullRef {
                        repository: *id,
                        number: *number,
                    },
                    pull,
                )
            })
        })
    }

    /// Finds the pull request that has something.
    pub(crate) fn find_pull(&self, has: impl Fn(&Pull) -> bool) -> Option<PullRef> {
        self.pulls().find(|(_, pull)| has(pull)).map(|(at, _)| at)
    }

    /// Finds a review comment with its thread.
    pub(crate) fn find_comment(&self, id: u64) -> Option<(PullRef, &Thread, &ReviewComment)> {
        self.pulls().find_map(|(at, pull)| {
            let (thread, comment) = pull.review_comments().find(|(_, comment)| comment.post.id == id)?;
            Some((at, thread, comment))
        })
    }

    /// Finds a review.
    pub(crate) fn find_review(&self, id: u64) -> Option<(PullRef, &Review)> {
        self.pulls().find_map(|(at, pull)| Some((at, pull.review(id)?)))
    }
}
