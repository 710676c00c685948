//! What becomes of one earlier finding, and of its thread.

use conclave_shared::severity::Severity;

use crate::{
    incremental::{
        EarlierStatus, EarlierVerdicts, ReplyIntent,
        authority::{argument, decision, unanswered},
        parts::MIN_CODE,
        reply::{asks_another, holds_question, is_courtesy, keeps_open},
        texts,
    },
    review::{
        Anchor, AnchorState, AuthorRole, Before, ExistingFinding, JudgedFinding, RefutingCode, Reply, RuleSince,
        ThreadChange, ThreadState,
    },
};

/// What becomes of an earlier finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It stands.
    Stands,
    /// It is fixed, and its thread is nobody's conversation.
    Fixed,
    /// It is fixed; its thread is left to the people who talk in it.
    FixedInTalk,
    /// A member declined or acknowledged it.
    Declined(&'static str),
    /// Code elsewhere deals with it, as a member says.
    FixedElsewhere,
    /// A member's argument holds.
    Withdrawn,
    /// It was settled before, by a person or on a person's word.
    Settled,
    /// It was fixed before.
    Closed,
    /// It had been settled, and is worse now.
    Worse,
    /// It had been fixed, and is back.
    Back,
    /// It had been settled by a person's word, and that word is not the last one any more.
    TakenBack,
}

impl Outcome {
    /// Returns whether it rests on the judge's word.
    pub(super) const fn is_by_the_judge(self) -> bool {
        matches!(
            self,
            Self::Withdrawn | Self::Fixed | Self::FixedElsewhere | Self::FixedInTalk
        )
    }
}

/// How bad something is, for comparing.
pub(super) type Rank = (Severity, bool);

pub(super) fn rank(entry: &JudgedFinding) -> Rank {
    (entry.finding.severity, entry.production_risk)
}

/// What the new findings say of an earlier one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// True if the panel reports it again: it is there, also where the judge drops the repetition as one.
    pub(super) again: bool,
    /// The worst of those that repeat it.
    pub(super) worst: Option<Rank>,
    /// True if that is worse than it was.
    pub(super) worse: bool,
}

impl Seen {
    pub(super) fn new(finding: &ExistingFinding, repeats: &[usize], judged: &[JudgedFinding]) -> Self {
        let worst = repeats.iter().map(|at| rank(&judged[*at])).max();
        Self {
            again: !repeats.is_empty(),
            worst,
            worse: worst.is_some_and(|worst| worst > own_rank(finding)),
        }
    }
}

pub(super) fn own_rank(finding: &ExistingFinding) -> Rank {
    (finding.record.severity, finding.record.production_risk)
}

pub(super) fn decide(finding: &ExistingFinding, words: &EarlierVerdicts, seen: Seen, degraded: bool) -> Outcome {
    let intent = decision(finding).map(|decision| decision.intent);
    // A breach was settled under the rule as it was.
    let is_worse = seen.worse || (seen.again && finding.rule == RuleSince::Stricter);
    let settled = if is_worse { Outcome::Worse } else { Outcome::Settled };
    match finding.state {
        ThreadState::ResolvedByPerson => return settled,
        ThreadState::ResolvedByAuthor if finding.author_may_settle => return settled,
        ThreadState::ResolvedByUs => {
            return match intent {
                Some(ReplyIntent::Declines | ReplyIntent::Acknowledges | ReplyIntent::Disagrees) => settled,
                _ if finding.before == Before::Declined && finding.record.is_serious() && is_there(finding) => {
                    Outcome::TakenBack
                }
                _ if seen.again || is_back(finding) => Outcome::Back,
                _ => Outcome::Closed,
            };
        }
        ThreadState::Open
        | ThreadState::ResolvedByAuthor
        | ThreadState::ResolvedByOutsider
        | ThreadState::ResolvedByUnnamed
        | ThreadState::ResolvedByOther
        | ThreadState::Unknown => {}
    }
    if finding.before == Before::Reopened {
        return Outcome::Stands;
    }
    match intent {
        Some(ReplyIntent::Declines) if !seen.worse => return Outcome::Declined(texts::DECLINED),
        Some(ReplyIntent::Acknowledges) if !seen.worse => return Outcome::Declined(texts::ACKNOWLEDGED),
        _ => {}
    }
    // What the panel reports again is not fixed, whatever the judge says.
    if seen.again {
        return Outcome::Stands;
    }
    let changed = finding.anchor.is_changed();
    let word = words.on(&finding.id).filter(|_| !degraded);
    let word = word.filter(|word| word.refutation_fault(finding).is_none());
    let in_talk = is_in_talk(finding);
    match word.map(|word| word.status) {
        Some(EarlierStatus::Withdrawn) if argument(finding).is_some() => Outcome::Withdrawn,
        Some(EarlierStatus::FixedElsewhere) if argument(finding).is_some() => Outcome::FixedElsewhere,
        Some(EarlierStatus::Fixed) if changed && in_talk => Outcome::FixedInTalk,
        Some(EarlierStatus::Fixed) if changed => Outcome::Fixed,
        Some(EarlierStatus::NotFixed) => Outcome::Stands,
        // It was fixed by code that is gone now.
        _ if is_back(finding) => Outcome::Stands,
        // Its thread could not be resolved.
        _ if finding.before == Before::Fixed && changed && !in_talk && finding.state == ThreadState::Open => {
            Outcome::Fixed
        }
        _ if finding.before == Before::Fixed && changed => Outcome::FixedInTalk,
        _ => Outcome::Stands,
    }
}

/// Returns whether people talk in the finding's thread. Words of the author of the change alone are not talk, whatever they say, unless
/// the last of them ask something that we have not answered, or ask for the thread to stay open, or any of them ask another person. Nor
/// are words that we answered before the problem was fixed.
fn is_in_talk(finding: &ExistingFinding) -> bool {
    let replies = &finding.replies;
    let is_answered = |at: usize| replies[at + 1..].iter().any(|other| other.role == AuthorRole::Us);
    // An answer that was given when the thread was left to people does not end their talk: the next run would resolve it.
    let counts = |(at, reply): &(usize, &Reply)| {
        reply.role.is_person() && (finding.before == Before::Fixed || !is_answered(*at))
    };
    let said: Vec<(usize, &Reply)> = replies.iter().enumerate().filter(counts).collect();
    let Some((at, last)) = said.last() else { return false };
    let bot = replies.iter().rfind(|reply| reply.role == AuthorRole::Us);
    let bot = bot.map_or_else(String::new, |reply| reply.author.sanitized_line());
    // Several accounts may count as authors, and talk to each other.
    let is_of_another = |reply: &Reply| {
        let words = reply.body.own_words();
        let is_author = matches!(reply.role, AuthorRole::Author | AuthorRole::Contributor);
        !is_author || (reply.author != last.author && !is_courtesy(&words)) || asks_another(&words, &bot)
    };
    let words = last.body.own_words();
    said.iter().any(|(_, reply)| is_of_another(reply))
        || (holds_question(&words) && !is_answered(*at))
        || keeps_open(&words)
}

/// Returns whether a serious finding that was settled by code is there again: the code that refuted it does not count any more, or what
/// it quotes was gone, as none is remembered, and is back. Words are that wherever they stand, removed lines as soon as they are missing,
/// and so is code that is long enough to be known by itself; other code only with the lines beside it.
fn is_back(finding: &ExistingFinding) -> bool {
    let is_known_anywhere = |anchor: &Anchor| anchor.is_of_words() || !anchor.removed.is_empty();
    let is_known_anywhere = finding.record.anchor.as_ref().is_some_and(is_known_anywhere);
    // Where it was not looked for everywhere, there is none.
    let tells = || {
        finding
            .code
            .chars()
            .filter(|character| !character.is_whitespace())
            .count()
            >= MIN_CODE
    };
    finding.record.is_serious()
        && match finding.refuting {
            RefutingCode::Gone | RefutingCode::Uncovered => is_there(finding),
            RefutingCode::None if is_known_anywhere => is_there(finding),
            RefutingCode::None => match finding.anchor {
                AnchorState::Unchanged => true,
                AnchorState::ChangedBeside => tells(),
                AnchorState::Changed | AnchorState::Unknown => false,
            },
            RefutingCode::Stands => false,
        }
}

/// Returns whether the code of the finding is still there, as far as anyone knows.
fn is_there(finding: &ExistingFinding) -> bool {
    finding.anchor != AnchorState::Changed
}

/// Returns whether we had resolved the thread, as our note remembers, and the forge does not show what has become of it since. A person
/// may have opened it again, so the finding counts; what is remembered of the thread stays as it is.
pub(super) fn is_unseen(finding: &ExistingFinding) -> bool {
    finding.state == ThreadState::Unknown && matches!(finding.before, Before::Resolved | Before::Declined)
}

/// Returns whether somebody has tried to settle the finding whose word is not enough for that.
pub(super) fn lacks_right(finding: &ExistingFinding) -> bool {
    let resolved = matches!(
        finding.state,
        ThreadState::ResolvedByOutsider | ThreadState::ResolvedByUnnamed
    ) || (finding.state == ThreadState::ResolvedByAuthor && !finding.author_may_settle);
    resolved || unanswered(finding).is_some_and(|argument| argument.is_without_right)
}

/// The role of who has tried that.
pub(super) fn who_lacks_right(finding: &ExistingFinding) -> AuthorRole {
    let by_word = unanswered(finding).filter(|argument| argument.is_without_right);
    match (by_word, finding.state) {
        (Some(argument), _) => argument.role,
        (None, ThreadState::ResolvedByOutsider) => AuthorRole::Outsider,
        (None, ThreadState::ResolvedByUnnamed) => AuthorRole::Machine,
        (None, _) => AuthorRole::Author,
    }
}

/// What is done with the thread.
pub(super) fn change(
    finding: &ExistingFinding,
    outcome: Outcome,
    words: &EarlierVerdicts,
    seen: Seen,
    head_sha: &str,
) -> ThreadChange {
    if is_unseen(finding) {
        return ThreadChange::Keep;
    }
    let word = words.on(&finding.id);
    let answer = word.and_then(|word| match (word.status, outcome, word.refutation_fault(finding)) {
        // What the judge may not do is not said as if it were done.
        (EarlierStatus::FixedElsewhere, Outcome::Stands, fault) => Some(texts::not_fixed_elsewhere(fault)),
        (status, Outcome::Stands, Some(fault)) => Some(texts::not_by_a_word(status == EarlierStatus::Fixed, &fault)),
        _ => word.answer.clone(),
    });
    let is_overruled = word
        .is_some_and(|word| word.status == EarlierStatus::FixedElsewhere || word.refutation_fault(finding).is_some());
    let resolve = |why: &str| ThreadChange::Resolve { why: why.to_owned() };
    match outcome {
        Outcome::Fixed => resolve(&texts::fixed(head_sha)),
        Outcome::FixedElsewhere => match word.and_then(|word| word.refutation.as_ref()) {
            Some(code) => ThreadChange::FixedElsewhere {
                text: answer.unwrap_or_else(|| texts::FIXED_ELSEWHERE.to_owned()),
                file: code.file.clone(),
                line: code.line,
                end_line: code.end_line,
            },
            None => ThreadChange::Keep,
        },
        Outcome::Declined(why) => resolve(why),
        Outcome::Withdrawn if unanswered(finding).is_some() => ThreadChange::Answer {
            text: answer.unwrap_or_else(|| texts::WITHDRAWN_ANSWER.to_owned()),
            resolve: true,
        },
        Outcome::Withdrawn => resolve(texts::WITHDRAWN),
        Outcome::Worse => ThreadChange::Answer {
            text: texts::worse(
                finding.record.severity,
                seen.worst.map_or(finding.record.severity, |(severity, _)| severity),
                head_sha,
            ),
            resolve: false,
        },
        Outcome::Back => ThreadChange::Answer {
            text: match finding.refuting {
                RefutingCode::Gone if !seen.again => texts::exposed(head_sha),
                RefutingCode::Uncovered if !seen.again => texts::uncovered(head_sha),
                _ => texts::back(head_sha),
            },
            resolve: false,
        },
        Outcome::TakenBack => ThreadChange::Answer {
            text: texts::TAKEN_BACK.to_owned(),
            resolve: false,
        },
        Outcome::Stands if lacks_right(finding) => {
            let rule = texts::not_the_authors(&finding.record, who_lacks_right(finding));
            let answer = answer.filter(|_| unanswered(finding).is_some());
            ThreadChange::Answer {
                text: answer.map_or_else(|| rule.clone(), |answer| format!("{answer}\n\n{rule}")),
                resolve: false,
            }
        }
        Outcome::Stands => {
            let argument = unanswered(finding).filter(|_| word.is_some());
            let advice = argument.and_then(|argument| match argument.role {
                role if argument.comes_close && !argument.has_right => {
                    Some(texts::not_the_authors(&finding.record, role))
                }
                _ if argument.comes_close => Some(texts::HOW_TO_DECIDE.to_owned()),
                role if is_overruled => Some(texts::how_to_settle(role, finding.author_may_settle)),
                _ => None,
            });
            let answer = answer.filter(|_| argument.is_some());
            let parts: Vec<String> = answer.into_iter().chain(advice).collect();
            if parts.is_empty() {
                ThreadChange::Keep
            } else {
                ThreadChange::Answer {
                    text: parts.join("\n\n"),
                    resolve: false,
                }
            }
        }
        // It is answered, and people resolve it. A thread that was resolved meanwhile needs no answer.
        Outcome::FixedInTalk if matches!(finding.state, ThreadState::Open | ThreadState::Unknown) => {
            match answer.zip(unanswered(finding)) {
                Some((text, _)) => ThreadChange::Answer { text, resolve: false },
                None => ThreadChange::Keep,
            }
        }
        Outcome::FixedInTalk | Outcome::Settled | Outcome::Closed => ThreadChange::Keep,
    }
}
