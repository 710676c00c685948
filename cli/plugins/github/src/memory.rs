//! Answers of GitHub that are needed again.

use std::collections::HashMap;

use serde::Deserialize;

use crate::own_reviews::OwnReviews;

/// Memory of reading the pull request.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The ends of the pages before each page, from the second on.
    pub(crate) cursors: Vec<Cursors>,
    /// Threads by the number of their first comment.
    pub(crate) threads: HashMap<u64, KnownThread>,
    /// Our reviews.
    pub(crate) own: OwnReviews,
}

/// A thread as GraphQL knows it.
#[derive(Debug, Clone)]
pub(crate) struct KnownThread {
    /// Its id in GraphQL.
    pub(crate) node: String,
    /// The right of our token to resolve it, or to open it again.
    pub(crate) may_change: bool,
    pub(crate) first: FirstComment,
}

/// The first comment of a thread as GraphQL knows it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FirstComment {
    /// Its id in GraphQL.
    #[serde(rename = "id")]
    pub(crate) node: String,
    pub(crate) is_minimized: bool,
    /// The right of our token to minimize it, or to show it again.
    #[serde(rename = "viewerCanMinimize")]
    pub(crate) may_minimize: bool,
}

/// The ends of what was read of each list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursors {
    pub(crate) comments: Option<String>,
    pub(crate) reviews: Option<String>,
    pub(crate) threads: Option<String>,
}
