//! Notes that other runs have posted on the merge request since this one read it.

use std::collections::HashSet;

use conclave_shared::finding::Fingerprint;

use super::{BotIdentity, Conversation, OwnThread, SummaryState};
use crate::review::{
    Before, CarryOver, FindingRecord, FoundMeanwhile, HeldMeanwhile, Meanwhile, OtherConclusion, PatchId, Review,
};

/// A run beside the others of its merge request.
#[derive(Debug, Clone, Copy)]
pub struct OtherRuns<'a> {
    /// Our account.
    pub bot: &'a BotIdentity,
    /// The conversation when the run read the merge request.
    pub before: &'a Conversation,
    /// The review, with what was seen before.
    pub review: &'a Review,
    /// States of our note that hold no news: those seen before, and those that this run wrote.
    pub seen: &'a [SummaryState],
    /// The head commits that the merge request has had, newest first; read only where they are asked for.
    pub heads: Option<&'a [String]>,
}

/// Another run reviewed another commit: the order of the head commits has to be read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderUnknown;

impl OtherRuns<'_> {
    /// Returns what these comments hold that the review does not have.
    pub fn among(&self, now: &Conversation) -> Result<Meanwhile, OrderUnknown> {
        let state = self.bot.last_state(now);
        // Another run has written it.
        let news = state.filter(|state| !self.seen.contains(state));
        let concluded = news.as_ref().and_then(|state| state.concluded.as_ref());
        let is_older = match concluded {
            Some(concluded) => self.is_older(&concluded.head)?,
            None => false,
        };

        let mut found: Vec<FoundMeanwhile> = Vec::new();
        let threads = self.bot.threads(now);
        for own in &threads {
            if self.is_news(own) && (own.record.is_serious() || !self.is_older(&own.record.head_sha)?) {
                found.push(FoundMeanwhile {
                    thread: Some(own.thread.id.clone()),
                    record: own.record.clone(),
                });
            }
        }
        let threads: HashSet<&Fingerprint> = threads.iter().map(|own| &own.record.fingerprint).collect();
        let known: CarryOver = self.bot.remembered(self.before).unwrap_or_default();
        let carry_over: Option<CarryOver> = news.as_ref().and_then(|_| self.bot.remembered(now));
        let held = carry_over
            .as_ref()
            .map(|carry_over| self.held(carry_over, &known, is_older));
        for entry in carry_over.into_iter().flat_map(|carry_over| carry_over.findings) {
            let stands = matches!(entry.before, Before::Stood | Before::Posted);
            let Some(record) = entry.record.filter(|_| stands && !threads.contains(&entry.fingerprint)) else {
                continue;
            };
            let record = FindingRecord {
                severity: entry.severity,
                production_risk: entry.production_risk,
                ..record
            };
            // What was known to the review is news only from a run that has looked at the same code, or at newer.
            let is_news = match known.find(&entry.fingerprint) {
                Some(_) => concluded.is_some() && !is_older,
                None => record.is_serious() || !is_older,
            };
            if is_news {
                found.push(FoundMeanwhile { record, thread: None });
            }
        }
        found.retain(|found| {
            let mut standing = self.review.surviving();
            standing.all(|entry| entry.finding.fingerprint != found.record.fingerprint)
        });
        let other = concluded.filter(|concluded| !is_older && !concluded.may_approve);
        Ok(Meanwhile {
            findings: found,
            held: held.unwrap_or_default(),
            other: other.map(|concluded| OtherConclusion {
                head: concluded.head.clone(),
                verdict: concluded.verdict,
            }),
            stopped: None,
        })
    }

    /// Returns whether our note as it is now is of another run that has not read what this run wrote there: it lacks something that this
    /// review has, or would let the bot approve.
    pub fn have_written_over(&self, now: &Conversation) -> bool {
        let state = self.bot.last_state(now);
        let news = state.filter(|state| !self.seen.contains(state));
        let Some(concluded) = news.and_then(|state| state.concluded) else {
            return false;
        };
        let own = &self.review.carry_over;
        let noted: CarryOver = self.bot.remembered(now).unwrap_or_default();
        let threads = self.bot.threads(now);
        let is_shown = |fingerprint: &Fingerprint| threads.iter().any(|own| own.record.fingerprint == *fingerprint);
        let is_lost = |fingerprint: &Fingerprint| noted.find(fingerprint).is_none() && !is_shown(fingerprint);
        let mut findings = own.findings.iter();
        let mut unproven = own.unproven.iter();
        let mut refuted = own.refuted.iter().map(|entry| &entry.record.fingerprint);
        let mut unlisted = own.unlisted.iter();
        (concluded.may_approve && !self.review.may_approve())
            || findings
                .any(|entry| matches!(entry.before, Before::Stood | Before::Posted) && is_lost(&entry.fingerprint))
            || unproven.any(|entry| noted.unproven.iter().all(|known| !known.is_same(entry)))
            || refuted.any(|own| noted.refuted.iter().all(|known| known.record.fingerprint != *own))
            || unlisted.any(|own| {
                let mut known = noted.unlisted.iter();
                known.all(|known| known.patch != own.patch || known.severity < own.severity)
            })
    }

    /// Returns what this carry-over of another run holds that the review does not remember, and did not know when it began. What
    /// is of an older commit counts where its patch is still one of the reviewed change.
    fn held(&self, other: &CarryOver, known: &CarryOver, is_older: bool) -> HeldMeanwhile {
        let own = &self.review.carry_over;
        let whole = PatchId::of_all(own.patches.values());
        let is_of_change = |patch: &PatchId| *patch == whole || own.patches.values().any(|known| known == patch);
        let counts = |patch: &PatchId| !is_older || is_of_change(patch);
        let mut held = HeldMeanwhile::default();
        for entry in &other.unproven {
            let mut before = own.unproven.iter().chain(&known.unproven);
            let is_known = before.any(|old| old.is_same(entry));
            if !is_known && (entry.is_outside() || counts(&entry.patch)) {
                held.unproven.push(entry.clone());
            }
        }
        for entry in &other.refuted {
            let fingerprint = &entry.record.fingerprint;
            let mut before = own.refuted.iter().chain(&known.refuted);
            let mut standing = self.review.surviving();
            if before.all(|old| old.record.fingerprint != *fingerprint)
                && standing.all(|entry| entry.finding.fingerprint != *fingerprint)
            {
                held.refuted.push(entry.clone());
            }
        }
        for entry in &other.unlisted {
            let mut before = own.unlisted.iter().chain(&known.unlisted);
            let is_known = before.any(|old| old.patch == entry.patch && old.severity >= entry.severity);
            if !is_known && counts(&entry.patch) {
                held.unlisted.push(entry.clone());
            }
        }
        held
    }

    /// Returns whether the run did not know that this thread stands: it is new, or it was resolved then. Who may settle a serious finding
    /// is looked at by the next review; until then only our own account has.
    fn is_news(&self, own: &OwnThread<'_>) -> bool {
        let known = self.before.find(&own.thread.id);
        match known.filter(|thread| {
            thread
                .notes
                .first()
                .is_some_and(|note| self.bot.finding(note).is_some())
        }) {
            Some(known) => known.resolved && !own.thread.resolved && !own.thread.is_state_unknown,
            None => !own.thread.resolved || (own.record.is_serious() && !own.thread.is_resolved_by(self.bot.account)),
        }
    }

    /// Returns whether this was the head before the reviewed commit was. What is in doubt is not.
    fn is_older(&self, head: &str) -> Result<bool, OrderUnknown> {
        let own = &self.review.head_sha;
        if head == own {
            return Ok(false);
        }
        let heads = self.heads.ok_or(OrderUnknown)?;
        let own = heads.iter().rposition(|known| known == own);
        let other = heads.iter().position(|known| known == head);
        Ok(own.zip(other).is_some_and(|(own, other)| other > own))
    }
}

#[cfg(test)]
#[path = "meanwhile_tests.rs"]
mod tests;
