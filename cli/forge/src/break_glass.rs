//! Break glass on the merge request: whether a person has said so, and what is posted then.

use conclave_engine::{
    ports::{AppliedState, PublishOutcome, SettingsWatch},
    publish::{BreakGlass, BreakGlassPolicy, BreakGlassWord, Summary, break_glass_words, skipped_text, text_hash},
    review::{HoldCause, ReviewMode, ReviewState},
    untrusted::escape,
};

use crate::{
    ApiError, Change, Publisher,
    review_state::{Asked, approve},
    roles::Roles,
    summary,
    target::Watched,
};

impl Publisher {
    /// Looks for a person who has broken the glass. Reads the merge request, which the review need not do again.
    pub async fn break_glass(&self, policy: BreakGlassPolicy) -> Result<Option<BreakGlass>, ApiError> {
        let change = self.load_early().await?;
        match policy {
            BreakGlassPolicy::Off => Ok(None),
            policy => self.last_word(&change, policy).await,
        }
    }

    /// The newest word of a person who may decide, if it is not `off`.
    async fn last_word(&self, change: &Change, policy: BreakGlassPolicy) -> Result<Option<BreakGlass>, ApiError> {
        let mut roles = Roles::new(self.api.as_ref(), &change.bot, change.author, &change.conversation);
        for (note, word) in break_glass_words(&change.conversation) {
            let Some(user) = &note.author else { continue };
            let is_on = word == BreakGlassWord::On;
            if is_on && note.may_be_anothers() {
                tracing::warn!(
                    note = note.id,
                    "`break glass` in a comment that another person may have edited does not count"
                );
                continue;
            }
            if !policy.counts(roles.of(user).await?, word) {
                continue;
            }
            if is_on && change.subject.from_fork {
                tracing::warn!(note = note.id, "`break glass` does not count for a change from a fork");
                return Ok(None);
            }
            return Ok(is_on.then(|| BreakGlass {
                user: user.name.clone(),
                user_id: user.id,
                note: note.id,
                head_sha: change.subject.head_sha.clone(),
                merge_request: change.subject.merge_request.unwrap_or_default(),
            }));
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
    ) -> Result<PublishOutcome, ApiError> {
        let (api, change) = (self.api.as_ref(), self.load().await?);
        let (bot, traits) = (&change.bot, api.traits());
        let mut conversation = change.live(api);
        let known = bot.last_state(&conversation);
        let state = known.clone().unwrap_or_default();
        let requested = state.requested_changes;
        let link = |note: u64| {
            let url = change.subject.web_url.as_ref()?;
            Some(api.link(url, note))
        };
        let text = skipped_text(
            glass,
            mode,
            link(glass.note).as_deref(),
            (traits.words.noun, traits.words.decider),
        );
        let mut summary = Summary::new(
            &text,
            text_hash(&format!("break glass {}", glass.note)),
            traits.form.max_summary,
        );
        summary.spent_micros = bot.spent_micros(&conversation);
        // What stood still stands when the word is taken back.
        summary.carry_over = bot.remembered(&conversation);
        let approves = mode != ReviewMode::Comment;
        summary.state.requested_changes = requested && !approves;
        summary.state.dismissed.clone_from(&state.dismissed);
        summary.state.unexplained = state.unexplained;
        let note = summary::post(api, bot, &summary, &mut conversation).await?;
        let mut outcome = PublishOutcome {
            url: note.and_then(link),
            ..PublishOutcome::default()
        };
        if !approves {
            // It was for another commit, or in another mode.
            let approval = api.approval(bot.account).await?;
            self.withdraw_standing(approval.stands).await?;
            self.conclude();
            outcome.applied_state = Some(AppliedState {
                wanted: ReviewState::None,
                shown: None,
            });
            return Ok(outcome);
        }
        let watched = Watched {
            target: &change.target,
            base: &change.version.base,
            settings,
        };
        let approval = api.approval(bot.account).await?;
        let mut hold = match self.dismissed(&change, known.as_ref(), &approval).await? {
            None => watched.changed(api, &api.state().await?).await?,
            dismissed => dismissed,
        };
        let is_stopped = self.asked_to_end().is_some();
        if hold.is_none() && !is_stopped {
            if approval.is_for(&change.version, None) && !requested {
                outcome.approved = true;
            } else {
                // A push that came in between has a job of its own, which approves it on the same word.
                let asked = approve(self, &glass.head_sha, &watched, approval.stands).await?;
                outcome.approved = api.approval(bot.account).await?.stands;
                match asked {
                    Asked::TakenBack(reason) => hold = Some(reason),
                    Asked::Refused(refused) if !outcome.approved => outcome.warnings.push(refused),
                    Asked::Given | Asked::Refused(_) => {}
                }
            }
        }
        if let Some(hold) = hold {
            self.withdraw_standing(approval.stands).await?;
            outcome.warnings.push(format!("not approved: {}", hold.reason));
            let (title, reason) = (hold.cause.title(), escape(&hold.reason));
            let text = format!("{text}\n\n> **{title}:** {reason} The bot does not approve.");
            let conclusion = text_hash(&format!("break glass {} approves nothing", glass.note));
            summary = summary.with_text(&text, conclusion, traits.form.max_summary);
            summary.state.dismissed = match hold.cause {
                HoldCause::Dismissed => Some(change.version.head.clone()),
                _ => state.dismissed,
            };
        } else if is_stopped {
            outcome.warnings.push("not approved: the run was stopped".to_owned());
        }
        if !outcome.approved {
            // The note has to go on remembering what only an approval takes back, and says what is in the way of one.
            summary.state.requested_changes = requested;
            summary::post(api, bot, &summary, &mut conversation).await?;
        }
        if !is_stopped || outcome.approved {
            // Otherwise the end of the run takes an earlier approval back.
            self.conclude();
        }
        let shown = if outcome.approved {
            ReviewState::Approved
        } else {
            ReviewState::None
        };
        outcome.applied_state = Some(AppliedState {
            wanted: ReviewState::Approved,
            shown: Some(shown),
        });
        Ok(outcome)
    }
}
