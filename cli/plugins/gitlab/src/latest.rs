//! What other runs have posted on the merge request since this one read it.
//!
//! It is asked before a review is printed, before anything is posted, right before an approval or the lifting of a block, and once
//! more right after an approval: a run posts its findings before it reads the bot's approval, and an approval is followed by
//! reading the findings, so of two runs that end at once, one sees the other.

use std::collections::HashSet;

use conclave_engine::{
    ports::StopSignal,
    review::{Before, FindingRecord, FoundMeanwhile, Meanwhile, OtherConclusion, Review, StopCause},
};
use conclave_shared::finding::Fingerprint;

use crate::{
    GitLabError,
    client::Client,
    discussions::{Conversation, OwnThread},
    marker::SummaryState,
    merge_request,
    publisher::Known,
};

/// What a run compares the merge request with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Latest<'a> {
    pub(crate) client: &'a Client,
    /// The merge request as the run read it.
    pub(crate) known: &'a Known,
    /// The review, with what was seen before.
    pub(crate) review: &'a Review,
    /// States of our note that hold no news: those seen before, and the one that this run wrote.
    pub(crate) seen: &'a [SummaryState],
    /// Whether the run has to end.
    pub(crate) stop: Option<&'a StopSignal>,
}

/// Returns the cause if a person or a signal asked the run to end. A time limit that passes while a complete review is posted does
/// not count: the review is complete.
pub(crate) fn asked_to_end(stop: Option<&StopSignal>) -> Option<StopCause> {
    stop.and_then(StopSignal::cause)
        .filter(|cause| *cause == StopCause::Asked)
}

/// What a look at the merge request found.
#[derive(Debug)]
pub(crate) struct Sight {
    pub(crate) meanwhile: Meanwhile,
    /// Whether our note remembers a request for changes.
    pub(crate) requested: bool,
}

impl Latest<'_> {
    /// Reads the comments, and says what there is.
    pub(crate) async fn look(&self) -> Result<Sight, GitLabError> {
        let conversation = Conversation::read(self.client).await?;
        let mut meanwhile = self.among(&conversation).await?;
        meanwhile.stopped = asked_to_end(self.stop);
        let state = self.known.ourselves.last_state(&conversation);
        Ok(Sight {
            meanwhile,
            requested: state.is_some_and(|state| state.requested_changes),
        })
    }

    /// What these comments hold that the review does not have.
    pub(crate) async fn among(&self, conversation: &Conversation) -> Result<Meanwhile, GitLabError> {
        let ourselves = &self.known.ourselves;
        let notes = conversation.notes();
        let summary = ourselves.summary(&notes);
        let state = summary.and_then(|note| ourselves.state(note));
        // Another run has written it.
        let news = state.filter(|state| !self.seen.contains(state));
        let concluded = news.as_ref().and_then(|state| state.concluded.as_ref());
        let mut order = Order::new(self);
        let is_older = match concluded {
            Some(concluded) => order.is_older(&concluded.head).await?,
            None => false,
        };

        let mut found: Vec<FoundMeanwhile> = Vec::new();
        for thread in conversation.own_threads(ourselves) {
            if self.is_news(&thread) && (thread.record.is_serious() || !order.is_older(&thread.record.head_sha).await?)
            {
                found.push(FoundMeanwhile {
                    thread: Some(thread.discussion.id.clone()),
                    record: thread.record,
                });
            }
        }
        let threads: HashSet<Fingerprint> = conversation
            .own_threads(ourselves)
            .into_iter()
            .map(|thread| thread.record.fingerprint)
            .collect();
        let ledger = summary
            .filter(|_| news.is_some())
            .and_then(|note| ourselves.ledger(note));
        for entry in ledger.into_iter().flat_map(|ledger| ledger.findings) {
            let stands = matches!(entry.before, Before::Stood | Before::Posted);
            // What was known to the review is news only from a run that has looked at the same code, or at newer.
            let was_known = self.known.ledger.find(&entry.fingerprint).is_some();
            let Some(record) = entry.record.filter(|_| stands && !threads.contains(&entry.fingerprint)) else {
                continue;
            };
            let record = FindingRecord {
                severity: entry.severity,
                production_risk: entry.production_risk,
                ..record
            };
            if if was_known {
                concluded.is_some() && !is_older
            } else {
                record.is_serious() || !is_older
            } {
                found.push(FoundMeanwhile { record, thread: None });
            }
        }
        found.retain(|found| {
            let fingerprint = &found.record.fingerprint;
            self.review
                .standing()
                .all(|entry| entry.finding.fingerprint != *fingerprint)
        });
        let other = concluded.filter(|concluded| !is_older && !concluded.may_approve);
        Ok(Meanwhile {
            findings: found,
            other: other.map(|concluded| OtherConclusion {
                head: concluded.head.clone(),
                verdict: concluded.verdict,
            }),
            stopped: None,
        })
    }

    /// Whether the run did not know that this thread stands: it is new, or it was resolved then. Who may settle a serious finding
    /// is looked at by the next review; until then only our own account has.
    fn is_news(&self, thread: &OwnThread<'_>) -> bool {
        let discussion = thread.discussion;
        let is_known = self.known.newest.contains_key(&discussion.id) && !self.known.resolved.contains(&discussion.id);
        if is_known {
            return false;
        }
        if !discussion.is_resolved() {
            return true;
        }
        let is_new = !self.known.newest.contains_key(&discussion.id);
        let by_us = discussion.resolved_by() == Some(self.known.ourselves.bot());
        is_new && thread.record.is_serious() && !by_us
    }
}

/// A review that takes in what other runs post, until it is posted itself.
pub(crate) struct Current {
    /// The review with all of that.
    pub(crate) review: Review,
    /// States of our note that hold no news any more.
    pub(crate) seen: Vec<SummaryState>,
    /// What was taken in.
    pub(crate) meanwhile: Meanwhile,
}

impl Current {
    pub(crate) fn new(review: &Review, seen: Vec<SummaryState>) -> Self {
        Self {
            review: review.clone(),
            seen,
            meanwhile: Meanwhile::default(),
        }
    }

    /// Takes in what these comments hold.
    pub(crate) async fn take_in(
        &mut self,
        client: &Client,
        known: &Known,
        stop: Option<&StopSignal>,
        conversation: &Conversation,
    ) -> Result<(), GitLabError> {
        let latest = Latest {
            client,
            known,
            review: &self.review,
            seen: &self.seen,
            stop,
        };
        let mut meanwhile = latest.among(conversation).await?;
        meanwhile.stopped = asked_to_end(stop);
        self.review.add_meanwhile(&meanwhile);
        self.meanwhile.add(meanwhile);
        self.seen.extend(known.ourselves.last_state(conversation));
        Ok(())
    }

    /// What has become of this review, if that is another one now.
    pub(crate) fn amends(&self, review: &Review) -> Option<Box<Review>> {
        let mut amended = review.clone();
        amended.add_meanwhile(&self.meanwhile);
        (amended != *review).then(|| Box::new(amended))
    }
}

/// In which order the merge request had its head commits; asked for only where another run reviewed another one.
struct Order<'a> {
    client: &'a Client,
    own: &'a str,
    /// Newest first.
    heads: Option<Vec<String>>,
}

impl<'a> Order<'a> {
    fn new(latest: &Latest<'a>) -> Self {
        Self {
            client: latest.client,
            own: &latest.review.head_sha,
            heads: None,
        }
    }

    /// Whether this was the head before the reviewed commit was. What is in doubt is not.
    async fn is_older(&mut self, head: &str) -> Result<bool, GitLabError> {
        if head == self.own {
            return Ok(false);
        }
        let heads = match &self.heads {
            Some(heads) => heads,
            None => self.heads.insert(merge_request::heads(self.client).await?),
        };
        let own = heads.iter().rposition(|known| known == self.own);
        let other = heads.iter().position(|known| known == head);
        Ok(own.zip(other).is_some_and(|(own, other)| other > own))
    }
}
