//! Break glass: a person with the right to decide says that there is no time for a review.
//!
//! A comment with the line `break glass` skips the review before it starts, and the merge request is approved. It is valid for
//! the commit that it was written on and for later ones, until a comment with the line `break glass off`. The line has to be
//! the writer's own plain text ([`OwnWords`]), in a comment that nobody has edited. Who wrote it is asked of GitLab. For a
//! merge request from a fork there is none: its code is reviewed, or a person merges it without us.

use conclave_engine::{
    ports::{AppliedStance, PublishOutcome, SettingsWatch},
    review::{ReviewMode, ReviewSubject, Stance, Voice},
    untrusted::{OwnWords, escape},
};

use crate::{
    GitLab, GitLabError, approval,
    latest::asked_to_end,
    marker::hash,
    merge_request::MergeRequestInfo,
    people::People,
    summary::{Memory, Summary},
    target::Watched,
};

/// Whose word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BreakGlassPolicy {
    /// Everybody with the role Developer or a higher one.
    #[default]
    Developers,
    /// The same, but neither the author of the merge request nor who committed to it.
    NotAuthor,
    /// Nobody's.
    Off,
}

/// A person's word that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakGlass {
    /// The account's name.
    pub user: String,
    /// Its number.
    pub user_id: u64,
    /// The note.
    pub note: u64,
    /// The newest commit when it was acted on.
    pub head_sha: String,
    /// The merge request's number.
    pub merge_request: u64,
}

/// What a note says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    On,
    Off,
}

/// The last line of a text that says so and is its writer's own plain text.
fn word(text: &str) -> Option<Word> {
    let own = OwnWords::of(text);
    let words = own.plain_lines().filter_map(|line| {
        let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["break", "glass"] => Some(Word::On),
            ["break", "glass", "off"] => Some(Word::Off),
            _ => None,
        }
    });
    words.last()
}

impl GitLab {
    /// Whether a person has broken the glass. Reads the merge request, which the review need not do again.
    pub async fn break_glass(&self, policy: BreakGlassPolicy) -> Result<Option<BreakGlass>, GitLabError> {
        let info = self.load().await?;
        let found = match policy {
            BreakGlassPolicy::Off => None,
            policy => self.last_word(&info, policy).await?,
        };
        self.keep(info).await;
        Ok(found)
    }

    /// What is to be reviewed, as it was read to look for such a word.
    pub async fn subject(&self) -> Result<ReviewSubject, GitLabError> {
        let info = self.load().await?;
        let subject = info.subject.clone();
        self.keep(info).await;
        Ok(subject)
    }

    /// The newest word of somebody who may decide, if it is not `off`.
    async fn last_word(
        &self,
        info: &MergeRequestInfo,
        policy: BreakGlassPolicy,
    ) -> Result<Option<BreakGlass>, GitLabError> {
        let bot = info.ourselves.bot();
        let mut people = People::new(&self.client, bot, info.author, &info.conversation);
        let notes = info.conversation.notes();
        let words = notes.iter().rev().filter_map(|note| Some((note, word(note.text())?)));
        for (note, word) in words {
            let Some(user) = note.author.as_ref().filter(|_| note.is_public_comment()) else {
                continue;
            };
            if word == Word::On && note.is_edited(bot) {
                tracing::warn!(
                    note = note.id,
                    "`break glass` in a comment that was edited does not count"
                );
                continue;
            }
            let counts = match people.voice(user).await? {
                Voice::Member => true,
                // To ask for a review is everybody's right who works here.
                Voice::Author => word == Word::Off || policy == BreakGlassPolicy::Developers,
                Voice::Us | Voice::Outsider | Voice::Machine => false,
            };
            if counts && word == Word::On && info.subject.from_fork {
                tracing::warn!(
                    note = note.id,
                    "`break glass` does not count for a merge request from a fork"
                );
                return Ok(None);
            }
            if counts {
                return Ok((word == Word::On).then(|| BreakGlass {
                    user: user.username.clone().unwrap_or_default(),
                    user_id: user.id,
                    note: note.id,
                    head_sha: info.subject.head_sha.clone(),
                    merge_request: self.client.settings().iid,
                }));
            }
        }
        Ok(None)
    }

    /// Says on the merge request that there was no review, and approves it: for the target branch and the settings by which
    /// the word was found to count. Both are read again right before the approval.
    pub async fn skip_review(
        &self,
        glass: &BreakGlass,
        mode: ReviewMode,
        settings: &dyn SettingsWatch,
    ) -> Result<PublishOutcome, GitLabError> {
        let (client, mut info) = (&self.client, self.load().await?);
        let ourselves = &info.ourselves;
        let notes = info.conversation.notes();
        let summary = ourselves.summary(&notes);
        let requested = summary
            .and_then(|note| ourselves.state(note))
            .is_some_and(|state| state.requested_changes);
        let spent = ourselves.spent(&notes);
        // What stood still stands when somebody takes the word back.
        let ledger = summary.and_then(|note| ourselves.ledger(note));
        drop(notes);
        let url = info.subject.web_url.clone();
        let text = skipped(glass, mode, url.as_deref());
        let conclusion = hash(&format!("break glass {}", glass.note));
        let memory = |requested_changes| Memory {
            spent_micros: spent,
            spent_counts: false,
            requested_changes,
        };
        let approves = mode != ReviewMode::Comment;
        let stays = requested && !approves;
        let summary = Summary::new(&text, conclusion.clone(), memory(stays)).remembering(ledger.clone());
        let note = summary.post(client, ourselves, &mut info.conversation).await?;
        let mut outcome = PublishOutcome {
            url: url.zip(note).map(|(url, note)| format!("{url}#note_{note}")),
            ..PublishOutcome::default()
        };
        if !approves {
            let standing = approval::read(client, ourselves.bot()).await?;
            if standing.approved {
                // It was for another commit, or in another mode.
                approval::take_back(client).await?;
            }
            self.conclude();
            outcome.stance = Some(AppliedStance {
                wanted: Stance::None,
                shown: None,
            });
            return Ok(outcome);
        }
        let watched = Watched {
            target: &info.target,
            base: &info.version.refs.base,
            settings,
        };
        let hold = watched.changed(client).await?;
        let standing = approval::read(client, ourselves.bot()).await?;
        let (mut text, mut conclusion) = (text, conclusion);
        let stopped = asked_to_end(self.stop.as_ref()).is_some();
        if let Some(hold) = hold {
            if standing.approved {
                approval::take_back(client).await?;
            }
            outcome.warnings.push(format!("not approved: {}", hold.reason));
            text = format!(
                "{text}\n\n> **Target branch:** {} The bot does not approve.",
                escape(&hold.reason)
            );
            conclusion = hash(&format!("break glass {} approves nothing", glass.note));
        } else if stopped {
            outcome.warnings.push("not approved: the run was stopped".to_owned());
        } else if standing.is_for(&info.version, None) && !requested {
            outcome.approved = true;
        } else {
            // A push that came in between has a job of its own, which approves it on the same word.
            let refused = approval::approve(client, &glass.head_sha, standing.approved).await?;
            outcome.approved = approval::read(client, ourselves.bot()).await?.approved;
            outcome.warnings.extend(refused.filter(|_| !outcome.approved));
        }
        if !outcome.approved {
            // The note has to go on remembering what only an approval takes back, and says what is in the way of one.
            let summary = Summary::new(&text, conclusion, memory(requested)).remembering(ledger);
            summary.post(client, ourselves, &mut info.conversation).await?;
        }
        if !stopped || outcome.approved {
            // Otherwise the end of the run takes an earlier approval back.
            self.conclude();
        }
        outcome.stance = Some(AppliedStance {
            wanted: Stance::Approved,
            shown: Some(if outcome.approved {
                Stance::Approved
            } else {
                Stance::None
            }),
        });
        Ok(outcome)
    }
}

/// The summary of a review that did not happen.
fn skipped(glass: &BreakGlass, mode: ReviewMode, web_url: Option<&str>) -> String {
    let user: String = glass
        .user
        .chars()
        .filter(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.'))
        .collect();
    let approval = match mode {
        ReviewMode::Comment => " The bot does not approve it.",
        ReviewMode::Approve | ReviewMode::Gate => "",
    };
    let comment = match web_url {
        Some(url) => format!("[comment]({url}#note_{})", glass.note),
        None => "comment".to_owned(),
    };
    format!(
        "## 🔨 Not reviewed: break glass\n\n`{user}` has broken the glass in this {comment}. The merge request is not \
         reviewed, at this commit and later ones, until somebody with the role Developer writes a comment with the line \
         `break glass off`.{approval}"
    )
}

#[cfg(test)]
#[path = "break_glass_tests.rs"]
mod tests;
