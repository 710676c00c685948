//! Commands that people give in comments: a first line `/conclave review`, and nothing else in that line.
//!
//! Nothing of the event that reports a comment is believed but its number: the comment is looked up on the merge request, the right
//! of its writer is asked of the forge, and a comment that was edited, by whomever, asks for nothing: a command is what was posted.

use conclave_engine::{
    publish::{Answered, Edited, dismissal_summary},
    review::AuthorRole,
    untrusted::{OwnWords, code_span},
};

use crate::{
    ApiError, LastRequest, Lifted, Publisher, RequestFate, conversation::Attempts, roles::Roles, summary, unreadable,
};

/// The word that begins a command.
const PREFIX: &str = "/conclave";

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Review what is new.
    Review,
    /// Review everything, also what an earlier review has looked at.
    Full,
    /// Say who would review, and why.
    Explain,
    /// Take the bot's approval or request for changes back.
    Dismiss,
    /// End the review that is at work.
    Stop,
}

impl Command {
    /// All of them, with what they do.
    pub const ALL: [(Self, &str, &str); 5] = [
        (Self::Review, "review", "reviews what is new"),
        (
            Self::Full,
            "full",
            "reviews everything, also what an earlier review has looked at",
        ),
        (Self::Explain, "explain", "says who would review this, and why"),
        (
            Self::Dismiss,
            "dismiss",
            "takes the bot's approval or request for changes back",
        ),
        (Self::Stop, "stop", "ends the review that is at work"),
    ];

    /// The word of the command.
    pub fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(command, ..)| *command == self);
        found.map_or("", |(_, word, _)| word)
    }

    /// Returns whether it counts from an account of this role. What the author of a change asks for may cost something, but never
    /// makes a verdict milder.
    const fn counts(self, role: AuthorRole) -> bool {
        match role {
            AuthorRole::Member => true,
            AuthorRole::Author => !matches!(self, Self::Dismiss),
            AuthorRole::Us | AuthorRole::Contributor | AuthorRole::Outsider | AuthorRole::Machine => false,
        }
    }
}

/// The answer to the question what a comment asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// This command, by an account that may give it.
    Command {
        /// The command.
        command: Command,
        /// The account's name.
        user: String,
        /// The commit that the merge request has now.
        head: String,
    },
    /// Something by an account that may give commands, but none that there is.
    Unknown,
    /// Nothing, for this reason.
    Nothing(String),
}

/// The words of a comment's first line, if it begins like a command. The line has to be its writer's own plain text.
fn read(text: &str) -> Option<Result<Command, ()>> {
    let first = text.trim_start_matches(['\n', '\r']).lines().next()?;
    let own = OwnWords::of(text);
    let line = own.plain_lines().next()?;
    let words: Vec<&str> = line.split_whitespace().collect();
    // The first line of its own words is the first line that it has: nothing stands above.
    if words.first() != Some(&PREFIX) || !first.split_whitespace().eq(words.iter().copied()) {
        return None;
    }
    let known = |word: &str| Command::ALL.iter().find(|(_, known, _)| word == *known);
    Some(match words[1..] {
        [word] => known(word).map(|(command, ..)| *command).ok_or(()),
        _ => Err(()),
    })
}

impl Publisher {
    /// Reads what this comment asks for, and whether its writer may. Reads the merge request, which need not be done again.
    pub async fn asked(&self, note: u64) -> Result<Asked, ApiError> {
        let change = self.load_early().await?;
        let nothing = |reason: String| Ok(Asked::Nothing(reason));
        let noun = self.api.traits().words.noun;
        let notes = change.conversation.notes();
        let Some(found) = notes.into_iter().find(|found| found.id == note) else {
            return nothing(format!("the {noun} has no comment {note}; it may have been deleted"));
        };
        let Some(user) = found.author.as_ref().filter(|_| found.is_public_comment()) else {
            return nothing("the comment is not a person's".to_owned());
        };
        let Some(command) = read(&found.text) else {
            return nothing(format!("the comment does not begin with `{PREFIX}`"));
        };
        if found.edited != Edited::No {
            return nothing("the comment was edited: write a new one".to_owned());
        }
        let mut roles = Roles::new(self.api.as_ref(), &change.bot, change.author, &change.conversation);
        let role = roles.of(user).await?;
        let decider = self.api.traits().words.decider;
        if !Command::Review.counts(role) {
            return nothing(format!("{} may not give commands: {decider} may", user.name));
        }
        let Ok(command) = command else {
            return Ok(Asked::Unknown);
        };
        if !command.counts(role) {
            return nothing(format!(
                "{} has a part in the change, and may not dismiss its review: another one who is {decider} may",
                user.name
            ));
        }
        Ok(Asked::Command {
            command,
            user: user.name.clone(),
            head: change.subject.head_sha.clone(),
        })
    }

    /// Answers a command with a comment, unless an earlier run has.
    pub async fn answer(&self, note: u64, text: &str) -> Result<(), ApiError> {
        let (api, change) = (self.api.as_ref(), self.load_early().await?);
        let bot = &change.bot;
        let body = format!("{text}\n\n{}", bot.signer.sign(&Answered { note }));
        let mut conversation = change.live(api);
        let mut attempts = Attempts::new(api.http().retry());
        loop {
            if bot.answers(&conversation).iter().any(|(comment, ..)| *comment == note) {
                return Ok(());
            }
            attempts.go_on()?;
            match api.post_note("answer a command", &body).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.fail(error).await?,
            }
            conversation.read_on().await?;
        }
    }

    /// Takes the bot's approval and its request for changes back, because this person has asked for it, and says so in our note.
    /// Returns what is left to say; nothing where nothing stood.
    pub async fn dismiss(&self, user: &str) -> Result<Option<String>, ApiError> {
        let (api, change) = (self.api.as_ref(), self.load_early().await?);
        let bot = &change.bot;
        let now = api.state().await?;
        let mut conversation = change.live(api);
        let requested = now.shows_request || change.is_requested(&now, &conversation);
        let approval = api.approval(bot.account).await?;
        // One that its author has dismissed is gone, and settled only by this.
        let lost = unreadable::lost_request(api, bot, change.author, &conversation).await;
        let is_gone = |lost: LastRequest| lost.fate != RequestFate::Stands;
        if !requested && !approval.stands && !lost.is_some_and(is_gone) {
            return Ok(None);
        }
        self.withdraw_standing(approval.stands).await?;
        let lifted = if requested {
            api.lift_request(now.shows_request).await?
        } else {
            Lifted::Gone
        };
        let (stays, said) = match lifted {
            Lifted::Gone | Lifted::Unseen => (
                false,
                "The bot's review is dismissed. The check stays as it is.".to_owned(),
            ),
            Lifted::Stands(advice) => (
                true,
                format!("The bot's request for changes could not be taken back; {advice}"),
            ),
        };
        let dismissed = (user, change.version.head.as_str());
        let note = dismissal_summary(bot, &conversation, dismissed, stays, api.traits().form.max_summary);
        summary::post(api, bot, &note, &mut conversation).await?;
        Ok(Some(said))
    }
}

/// The answer to a command that there is not.
pub fn command_help() -> String {
    let lines = Command::ALL.map(|(_, word, does)| {
        let command = code_span(&format!("{PREFIX} {word}"));
        format!("- {command} {does}")
    });
    format!(
        "There is no such command. Those that there are, as the first line of a comment:\n\n{}",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_the_first_line_and_its_writer_s_own() {
        for (text, expected) in [
            ("/conclave review", Some(Ok(Command::Review))),
            ("/conclave full\r\n", Some(Ok(Command::Full))),
            ("  /conclave   explain \n\nPlease.", Some(Ok(Command::Explain))),
            ("/conclave dismiss", Some(Ok(Command::Dismiss))),
            ("\n/conclave stop", Some(Ok(Command::Stop))),
            ("/conclave", Some(Err(()))),
            ("/conclave approve", Some(Err(()))),
            ("/conclave review now", Some(Err(()))),
            ("/conclaves review", None),
            ("/CONCLAVE review", None),
            ("please\n/conclave review", None),
            ("> /conclave review", None),
            ("> said\n\n/conclave review", None),
            ("`/conclave review`", None),
            ("```\n/conclave review\n```", None),
            ("    /conclave review", None),
            ("<!-- x -->\n/conclave review", None),
            ("<details>\n\n/conclave review\n\n</details>", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn only_people_with_the_right_give_commands_and_the_author_none_that_makes_it_milder() {
        for (command, ..) in Command::ALL {
            assert!(command.counts(AuthorRole::Member));
            assert_eq!(command.counts(AuthorRole::Author), command != Command::Dismiss);
            for role in [
                AuthorRole::Us,
                AuthorRole::Contributor,
                AuthorRole::Outsider,
                AuthorRole::Machine,
            ] {
                assert!(!command.counts(role), "{command:?} {role:?}");
            }
        }
        assert_eq!(command_help().matches("/conclave ").count(), Command::ALL.len());
    }
}
