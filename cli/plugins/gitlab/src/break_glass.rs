//! Break glass: a person with the right to decide says that there is no time for a review.
//!
//! A comment with the line `break glass` skips the review before it starts, and the merge request is approved. It is valid for
//! the commit that it was written on and for later ones, until a comment with the line `break glass off`. The line has to be
//! the writer's own: not quoted, not in a block of code, not in the description. Who wrote it is asked of GitLab.

use std::collections::HashMap;

use conclave_engine::ports::{AppliedStance, PublishOutcome, ReviewMode, Stance};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::{
    GitLab, GitLabError, approval,
    client::Client,
    discussions::{Note, User},
    marker::hash,
    merge_request::{MergeRequestInfo, MergeRequestNow},
    summary::{Memory, Summary},
};

/// The access level of the role Developer.
const DEVELOPER: u64 = 30;

/// Whose word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BreakGlassPolicy {
    /// Everybody with the role Developer or a higher one.
    #[default]
    Developers,
    /// The same, but not the author of the merge request.
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

/// The last such line of a text that is its writer's own.
fn word(text: &str) -> Option<Word> {
    let mut fence: Option<(char, usize)> = None;
    let mut word = None;
    for line in text.split(['\n', '\r']) {
        let trimmed = line.trim();
        let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length = mark.map_or(0, |mark| trimmed.chars().take_while(|next| *next == mark).count());
        match (fence, mark) {
            (Some((open, least)), Some(mark)) if mark == open && length >= least => {
                if trimmed.chars().all(|next| next == mark) {
                    fence = None;
                }
                continue;
            }
            (None, Some(mark)) if length >= 3 => {
                fence = Some((mark, length));
                continue;
            }
            (Some(_), _) => continue,
            (None, _) => {}
        }
        // Four spaces or a tab make a block of code.
        if line.starts_with("    ") || line.starts_with('\t') {
            continue;
        }
        let words: Vec<String> = trimmed.split_whitespace().map(str::to_lowercase).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["break", "glass"] => word = Some(Word::On),
            ["break", "glass", "off"] => word = Some(Word::Off),
            _ => {}
        }
    }
    word
}

#[derive(Debug, Deserialize)]
struct Member {
    #[serde(default)]
    access_level: Option<u64>,
}

/// Whether the account is a person who may decide.
pub(crate) async fn may_decide(client: &Client, user: &User) -> Result<bool, GitLabError> {
    if is_token_account(user.username.as_deref().unwrap_or_default()) {
        return Ok(false);
    }
    let account: Result<User, _> = client.get("read an account", &format!("users/{}", user.id)).await;
    let is_bot = match account {
        Ok(account) => account.bot == Some(true),
        // Some servers hide accounts; the name has been looked at above.
        Err(GitLabError::NotFound { .. } | GitLabError::Forbidden { .. }) => false,
        Err(error) => return Err(error),
    };
    if is_bot {
        return Ok(false);
    }
    let project = utf8_percent_encode(&client.settings().project, NON_ALPHANUMERIC).to_string();
    let path = format!("projects/{project}/members/all/{}", user.id);
    match client.get::<Member>("read somebody's role", &path).await {
        Ok(member) => Ok(member.access_level.is_some_and(|level| level >= DEVELOPER)),
        Err(GitLabError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The accounts of access tokens: `project_7_bot_0f…`, `group_7_bot_0f…`.
pub(crate) fn is_token_account(name: &str) -> bool {
    ["project_", "group_"].iter().any(|start| {
        name.strip_prefix(start).is_some_and(|rest| {
            let digits = rest.trim_start_matches(|character: char| character.is_ascii_digit());
            digits.len() < rest.len() && digits.starts_with("_bot")
        })
    })
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

    /// The newest word of somebody who may decide, if it is not `off`.
    async fn last_word(
        &self,
        info: &MergeRequestInfo,
        policy: BreakGlassPolicy,
    ) -> Result<Option<BreakGlass>, GitLabError> {
        let mut known: HashMap<u64, bool> = HashMap::new();
        let notes = info.conversation.notes();
        let words = notes.iter().rev().filter_map(|note| Some((note, word(note.text())?)));
        for (note, word) in words {
            let Some(user) = speaker(note, info, policy) else {
                continue;
            };
            let counts = match known.get(&user.id) {
                Some(counts) => *counts,
                None => may_decide(&self.client, user).await?,
            };
            known.insert(user.id, counts);
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

    /// Says on the merge request that there was no review, and approves it.
    pub async fn skip_review(&self, glass: &BreakGlass, mode: ReviewMode) -> Result<PublishOutcome, GitLabError> {
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
        let text = skipped(glass, url.as_deref());
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
            outcome.stance = Some(AppliedStance {
                wanted: Stance::None,
                shown: None,
            });
            return Ok(outcome);
        }
        let standing = approval::read(client, ourselves.bot()).await?;
        if standing.is_for(&info.version, None) && !requested {
            outcome.approved = true;
        } else {
            let mut refused = approval::approve(client, &glass.head_sha, standing.approved).await?;
            if refused.as_deref() == Some(approval::NEWER) {
                // It is valid for later pushes, too.
                let head = MergeRequestNow::read(client).await?.head().map(str::to_owned);
                if let Some(head) = head {
                    refused = approval::approve(client, &head, false).await?;
                }
            }
            outcome.approved = approval::read(client, ourselves.bot()).await?.approved;
            outcome.warnings.extend(refused.filter(|_| !outcome.approved));
        }
        if requested && !outcome.approved {
            // The note has to go on remembering what only an approval takes back.
            let summary = Summary::new(&text, conclusion, memory(true)).remembering(ledger);
            summary.post(client, ourselves, &mut info.conversation).await?;
        }
        self.conclude();
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

/// Who says something on the merge request for everybody to read, if that can count at all.
fn speaker<'n>(note: &'n Note, info: &MergeRequestInfo, policy: BreakGlassPolicy) -> Option<&'n User> {
    let user = note.author.as_ref()?;
    let is_author = policy == BreakGlassPolicy::NotAuthor && info.author == Some(user.id);
    (note.is_public_comment() && user.id != info.ourselves.bot() && !is_author).then_some(user)
}

/// The summary of a review that did not happen.
fn skipped(glass: &BreakGlass, web_url: Option<&str>) -> String {
    let user: String = glass
        .user
        .chars()
        .filter(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.'))
        .collect();
    let comment = match web_url {
        Some(url) => format!("[comment]({url}#note_{})", glass.note),
        None => "comment".to_owned(),
    };
    format!(
        "## 🔨 Not reviewed: break glass\n\n`{user}` has broken the glass in this {comment}. The merge request is not \
         reviewed, at this commit and later ones, until somebody with the role Developer writes a comment with the line \
         `break glass off`."
    )
}

#[cfg(test)]
#[path = "break_glass_tests.rs"]
mod tests;
