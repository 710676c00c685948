//! The gate: a check run on the reviewed commit. Where the token may not make one, a commit status; where it may not make that, the
//! job's exit code is all there is.
//!
//! A gate that was begun and not ended blocks a merge that asks for it: a run that is killed does not pass. It hangs on a commit, which
//! can be the head of several merge requests, and the newest of a name counts for all of them. So each says which of them have
//! passed and which have not, and passes only if all that are open have: one without a review has not.

mod api;
mod instead;
mod known;

pub use api::{GateApi, GateRun, GateState, PullState};

use tokio::sync::Mutex;

use self::{
    instead::{UNREVIEWED, held, outdated, over, retargeted},
    known::{Known, Numbers, read_reference, read_status},
};
use crate::{ApiError, ApiErrorKind, CheckEnd, Lifecycle, conversation::Attempts};

/// The beginning of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It is begun, or will be at the end; what it falls back to, or why not yet, if there is something to say.
    Begun(Option<String>),
    /// The merge request is not open, and nothing was touched.
    NotOpen,
}

/// The merge that a run has looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reviewed<'a> {
    /// The reviewed commit; none where nothing was reviewed.
    pub head: Option<&'a str>,
    /// The target branch, as far as the merge request was read.
    pub target: Option<&'a str>,
}

/// The form of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A check run of this number.
    Run(u64),
    /// A commit status.
    Status,
    /// The job's exit code.
    ExitCode,
}

/// The gate of one run.
#[derive(Debug)]
pub struct Gate {
    api: Box<dyn GateApi>,
    /// The commit that it is begun on.
    head: String,
    /// The commit that it was begun on last, and how; none before it is begun.
    begun: Mutex<Option<(String, Form)>>,
}

impl Gate {
    /// The gate on this commit; nothing is asked yet.
    pub fn new(api: Box<dyn GateApi>, head: String) -> Self {
        Self {
            api,
            head,
            begun: Mutex::new(None),
        }
    }

    /// Begins it, unless the merge request is not open any more. What fails is tried again at the end; an error is one that would be
    /// the same then.
    pub async fn begin(&self) -> Result<Begun, ApiError> {
        match self.begin_now().await {
            Err(error) if error.kind != ApiErrorKind::Settings => Ok(Begun::Begun(Some(format!(
                "there is no check run yet, and it is tried again when the run ends: {error}"
            )))),
            begun => begun,
        }
    }

    async fn begin_now(&self) -> Result<Begun, ApiError> {
        // It has to be the right one before anything is shown on its commit.
        let now = self.api.pull_state(self.api.number()).await?;
        if now.is_some_and(|now| now.lifecycle != Lifecycle::Open) {
            return Ok(Begun::NotOpen);
        }
        let (form, said) = self.start(&self.head).await?;
        *self.begun.lock().await = Some((self.head.clone(), form));
        Ok(Begun::Begun(said))
    }

    async fn start(&self, head: &str) -> Result<(Form, Option<String>), ApiError> {
        let without_run = match self.start_run(head).await {
            Ok(run) => return Ok((Form::Run(run), None)),
            Err(error) if is_denied(&error) => error,
            Err(error) => return Err(error),
        };
        let pending = async {
            let others = self.others_by_status(head).await?;
            let text = others.status(self.api.number(), true, GateState::RUNNING);
            self.api.set_status(head, None, &text).await
        };
        match pending.await {
            Ok(()) => Ok((
                Form::Status,
                Some(format!(
                    "there is a commit status in place of a check run: {without_run}"
                )),
            )),
            Err(error) if is_denied(&error) => Ok((
                Form::ExitCode,
                Some(format!(
                    "there is neither a check run nor a commit status, only the job's exit code: {without_run}"
                )),
            )),
            Err(error) => Err(error),
        }
    }

    /// Begins a check run. If the newest on the commit is of an earlier run for the merge request, it is begun anew, so that there is one
    /// that does not show the earlier end while the review is under way; unless it has annotations, which would stay.
    async fn start_run(&self, head: &str) -> Result<u64, ApiError> {
        let own = self.api.number();
        let newest = self.newest(head).await?;
        let last = newest.as_ref().map_or(0, |(run, ..)| run.id);
        let (again, others) = match newest {
            Some((run, of, known)) => {
                let again = Some(run.id).filter(|_| of == own && !run.annotated);
                (again, known.without(own))
            }
            None => (None, Known::default()),
        };
        let reference = others.reference(own, true);
        if let Some(run) = again {
            match self.api.begin_again(run, &reference).await {
                Ok(true) => return Ok(run),
                // A forge may keep the end of what has ended.
                Ok(false) => {}
                // Another program has made it.
                Err(error) if is_denied(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let state = GateState {
            reference: &reference,
            end: None,
        };
        self.create_run(head, state, last).await
    }

    /// Makes a check run after those up to this number. Where it may have been made although that failed, it is looked for first.
    async fn create_run(&self, head: &str, state: GateState<'_>, last: u64) -> Result<u64, ApiError> {
        let mut attempts = Attempts::new(self.api.http().retry());
        loop {
            match self.api.create_run(head, state).await {
                Ok(run) => return Ok(run),
                Err(error) => attempts.fail(error).await?,
            }
            let own = self.newest(head).await?.filter(|(_, of, _)| *of == self.api.number());
            if let Some((run, ..)) = own.filter(|(run, ..)| run.id > last) {
                return Ok(run.id);
            }
            attempts.go_on()?;
        }
    }

    /// The newest run of ours on the commit, with the merge request that it was made for and what it says of all.
    async fn newest(&self, head: &str) -> Result<Option<(GateRun, u64, Known)>, ApiError> {
        let runs = self.api.runs(head).await?.into_iter();
        let own = runs.filter_map(|run| {
            let (of, known) = read_reference(&run)?;
            Some((run, of, known))
        });
        Ok(own.max_by_key(|(run, ..)| run.id))
    }

    /// The other merge requests, as the status on the commit says.
    async fn others_by_status(&self, head: &str) -> Result<Known, ApiError> {
        let known = read_status(&self.api.status(head).await?);
        Ok(known.without(self.api.number()))
    }

    /// The other merge requests of the commit as they are now, where this is what was known of them. What would pass has to know all that
    /// are open: one whose review never began has not passed.
    async fn others_now(&self, known: Known, head: &str, would_pass: bool) -> Result<Known, ApiError> {
        let own = self.api.number();
        let Known { passed, unpassed } = known.without(own);
        let open = if would_pass {
            self.api.open_at(head).await?
        } else {
            Vec::new()
        };
        let open = open.into_iter().filter(|number| *number != own);
        let mut there: Numbers = open.filter(|number| !passed.contains(number)).collect();
        for number in unpassed {
            if !there.contains(&number) && self.is_there(number, head).await {
                there.insert(number);
            }
        }
        Ok(Known {
            passed,
            unpassed: there,
        })
    }

    /// Returns whether this one is open and has the commit as its head still. Where the forge does not say, it may be.
    async fn is_there(&self, number: u64, head: &str) -> bool {
        let now = self.api.pull_state(number).await;
        !now.is_ok_and(|now| now.is_none_or(|now| !now.is_at(head)))
    }

    /// Ends the gate on the reviewed commit, which may be a newer one than it was begun on. It passes only for a merge request that is
    /// open, whose newest commit it still is, and for the target branch that was reviewed.
    ///
    /// Returns why it does not pass where the run's own end would. An error means that it is not set: if it was begun, a merge that asks
    /// for it waits, otherwise what an earlier run has set stands.
    pub async fn end(&self, reviewed: Reviewed<'_>, end: &CheckEnd) -> Result<Option<String>, ApiError> {
        let error = match self.end_now(reviewed, end).await {
            Err(error) => error,
            ended => return ended,
        };
        let is_begun = self.begun.lock().await.is_some();
        Err(error.adding(if is_begun {
            "the check has no end, so a merge that asks for it waits. Run the job again"
        } else {
            "the check was not begun: what an earlier run has set on this commit stands, and where there is none, a merge that asks \
             for the check waits. Run the job again"
        }))
    }

    async fn end_now(
        &self,
        Reviewed { head, target }: Reviewed<'_>,
        end: &CheckEnd,
    ) -> Result<Option<String>, ApiError> {
        if self.begun.lock().await.is_none() && self.begin_now().await? == Begun::NotOpen {
            return Ok(None);
        }
        let mut begun = self.begun.lock().await;
        let Some((begun_on, mut form)) = begun.clone() else {
            return Ok(None);
        };
        let now = if end.conclusion.passes() {
            self.api.pull_state(self.api.number()).await?
        } else {
            None
        };
        let summary = head.map_or(UNREVIEWED, |_| end.summary.as_str());
        let head = head.unwrap_or(&begun_on).to_owned();
        let other = match (now, target) {
            (Some(now), _) if now.lifecycle != Lifecycle::Open => {
                let noun = self.api.http().words().noun;
                Some(over(noun, &now.lifecycle, end))
            }
            (Some(now), _) if now.head != head => Some(outdated(summary)),
            (Some(now), Some(target)) if now.target != target => Some(retargeted(target, &now.target, end)),
            _ => None,
        };
        if head != begun_on {
            let summary = format!("The review is of {head}.");
            self.complete(&begun_on, form, &outdated(&summary)).await?;
            form = self.start(&head).await?.0;
        }
        *begun = Some((head.clone(), form));
        let counted = self.complete(&head, form, other.as_ref().unwrap_or(end)).await?;
        Ok((counted != *end).then_some(counted.title))
    }

    /// Ends it, and returns the end that counts.
    async fn complete(&self, head: &str, form: Form, end: &CheckEnd) -> Result<CheckEnd, ApiError> {
        let (own, would_pass) = (self.api.number(), end.conclusion.passes());
        let (run, newest) = match form {
            Form::ExitCode => return Ok(end.clone()),
            Form::Status => {
                let known = self.others_by_status(head).await?;
                let others = self.others_now(known, head, would_pass).await?;
                let counted = held(end, &others.unpassed);
                let text = others.status(own, !would_pass, &counted.title);
                self.api.set_status(head, Some(counted.conclusion), &text).await?;
                return Ok(counted);
            }
            Form::Run(run) => (run, self.newest(head).await?),
        };
        let (newest, known) = newest.map_or((run, Known::default()), |(newest, _, known)| (newest.id, known));
        let others = self.others_now(known, head, would_pass).await?;
        let (reference, counted) = (others.reference(own, !would_pass), held(end, &others.unpassed));
        let state = |end| GateState {
            reference: &reference,
            end: Some(end),
        };
        self.api.change_run(run, state(&counted)).await?;
        if newest > run {
            // Another merge request's run is the newest, and would count.
            let again = CheckEnd {
                annotations: Vec::new(),
                ..counted.clone()
            };
            self.create_run(head, state(&again), newest).await?;
        }
        Ok(counted)
    }
}

/// Returns whether the token lacks the right: a person's token gets no check run, a reader's no status.
fn is_denied(error: &ApiError) -> bool {
    matches!(error.kind, ApiErrorKind::Forbidden | ApiErrorKind::NotFound)
}
