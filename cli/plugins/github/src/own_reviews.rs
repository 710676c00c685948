//! Our reviews that approve or request changes, as the conversation shows them, and who has dismissed them.
//!
//! Everyone with write access can edit and delete our comments, the author of the pull request too. A review that was submitted cannot be
//! deleted, and its state is GitHub's own word: it proves that changes were requested, whatever became of the comments.

use std::collections::{BTreeMap, HashMap};

use conclave_engine::publish::{Account, Marker, Signer};
use conclave_forge::{LastRequest, RequestFate};
use serde::{Deserialize, Serialize};

/// The reviewed commit, signed at the end of our review.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedOpinion {
    /// The commit that was reviewed.
    pub head: String,
    /// True if it approves; earlier versions do not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approves: Option<bool>,
}

impl Marker for SignedOpinion {
    const KIND: &'static str = "stance";
}

/// A review of our account.
#[derive(Debug, Clone)]
pub(crate) struct OwnReview {
    state: String,
    /// The signed opinion; none where another secret has signed it, or another account has edited it.
    opinion: Option<SignedOpinion>,
}

impl OwnReview {
    /// Reads a review of our account; none for another program's with the same account. `edited` is whether another account has
    /// changed its text.
    pub(crate) fn read(signer: &Signer, state: &str, text: &str, edited: bool) -> Option<Self> {
        let opinion = signer.read::<SignedOpinion>(text);
        let is_ours = opinion.is_some() || edited || signer.is_foreign::<SignedOpinion>(text);
        is_ours.then(|| Self {
            state: state.to_owned(),
            opinion: opinion.filter(|_| !edited),
        })
    }

    fn approves(&self) -> Option<bool> {
        self.opinion.as_ref()?.approves
    }

    fn last_request(&self, fate: RequestFate) -> LastRequest {
        LastRequest {
            head: self.opinion.as_ref().map(|opinion| opinion.head.clone()),
            fate,
        }
    }
}

/// The event of a review that was dismissed.
#[derive(Debug, Clone)]
pub(crate) struct Dismissal {
    /// The account that dismissed it, as far as GitHub says.
    pub(crate) by: Option<Account>,
    /// True if it requested changes until then.
    pub(crate) of_request: bool,
}

/// All that was read of them, by the numbers of the reviews, which grow.
#[derive(Debug, Default)]
pub(crate) struct OwnReviews {
    pub(crate) reviews: BTreeMap<u64, OwnReview>,
    pub(crate) dismissals: HashMap<u64, Dismissal>,
}

impl OwnReviews {
    /// Returns the newest one that requests changes, unless one that approves followed, or we have dismissed it ourselves.
    pub(crate) fn last_request(&self, bot: u64) -> Option<LastRequest> {
        for (id, own) in self.reviews.iter().rev() {
            match own.state.as_str() {
                "CHANGES_REQUESTED" => return Some(own.last_request(RequestFate::Stands)),
                "APPROVED" if own.opinion.is_some() => return None,
                "DISMISSED" => {}
                _ => continue,
            }
            let dismissal = self.dismissals.get(id);
            let by = dismissal.and_then(|dismissal| dismissal.by.clone());
            if by.as_ref().is_some_and(|by| by.id == bot) {
                continue;
            }
            match own.approves() {
                Some(true) => return None,
                // What another hand has edited approves nothing.
                None if dismissal.is_none_or(|dismissal| !dismissal.of_request) => {}
                _ => return Some(own.last_request(RequestFate::Dismissed(by))),
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "own_reviews_tests.rs"]
mod tests;
