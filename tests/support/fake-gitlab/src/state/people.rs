//! Users, their tokens and their access levels.

/// The role of a member, in ascending order of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessLevel {
    /// 10
    Guest = 10,
    /// 15
    Planner = 15,
    /// 20
    Reporter = 20,
    /// 30
    Developer = 30,
    /// 40
    Maintainer = 40,
    /// 50
    Owner = 50,
}

impl AccessLevel {
    /// The number that the API shows.
    pub fn number(self) -> u8 {
        self as u8
    }
}

/// What a personal, project or group access token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    Api,
    /// GET and HEAD only.
    ReadApi,
    /// `/user` only.
    ReadUser,
}

#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) username: String,
    pub(crate) name: String,
    pub(crate) bot: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) user: u64,
    pub(crate) kind: TokenKind,
    pub(crate) revoked: bool,
    /// The day on which it ends.
    pub(crate) expires_at: Option<String>,
    /// True if that day has come.
    pub(crate) expired: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum TokenKind {
    Access(Vec<Scope>),
    /// A CI job token.
    Job(JobFacts),
}

/// What `GET /job` tells about the running job.
#[derive(Debug, Clone)]
pub(crate) struct JobFacts {
    pub(crate) id: u64,
    pub(crate) pipeline_id: u64,
    pub(crate) project: u64,
    pub(crate) reference: String,
    pub(crate) sha: String,
}
