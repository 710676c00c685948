//! The gate: a check run on the reviewed commit. Where the token may not make one, a commit status; where it may not make that, the
//! job's exit code is all there is.
//!
//! A gate that was begun and not ended blocks a merge that asks for it: a run that is killed does not pass. It hangs on a commit, which
//! can be the head of several merge requests, and the newest of a name counts for all of them. So each says which of them have not
//! passed, and passes only if all have.

use std::{collections::BTreeSet, fmt::Debug};

use async_trait::async_trait;
use tokio::sync::Mutex;

use crate::{ApiError, ApiErrorKind, CheckEnd, Conclusion};

/// Numbers of merge requests whose reviews of a commit have not passed.
type Unpassed = BTreeSet<u64>;

/// A check run of ours, or of another with the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRun {
    /// Its number; newer ones have larger ones.
    pub id: u64,
    /// The text that its maker has put on it.
    pub reference: String,
    /// True if it has ended and lets a merge happen.
    pub passed: bool,
    /// True if it has annotations, which cannot be taken away.
    pub annotated: bool,
}

/// A state of the gate to be shown.
#[derive(Debug, Clone, Copy)]
pub struct GateState<'a> {
    /// The text to put on it.
    pub reference: &'a str,
    /// Its end; none while the run is at work.
    pub end: Option<&'a CheckEnd>,
}

/// Check runs and commit statuses of a forge that has them, each under the gate's one name.
#[async_trait]
pub trait GateApi: Debug + Send + Sync {
    /// The number of the merge request.
    fn number(&self) -> u64;

    /// Makes sure that it is the merge request that was meant, where its number comes from a job that is not believed.
    async fn confirm(&self) -> Result<(), ApiError>;

    /// Reads the newest check runs of a commit.
    async fn runs(&self, head: &str) -> Result<Vec<GateRun>, ApiError>;

    /// Makes a check run.
    async fn create_run(&self, head: &str, state: GateState<'_>) -> Result<u64, ApiError>;

    /// Changes a check run. Its annotations are added.
    async fn change_run(&self, run: u64, state: GateState<'_>) -> Result<(), ApiError>;

    /// Reads the text of the newest commit status; an empty one where there is none.
    async fn status(&self, head: &str) -> Result<String, ApiError>;

    /// Sets the commit status. Nothing as the conclusion means that the run is at work.
    async fn set_status(&self, head: &str, conclusion: Option<Conclusion>, text: &str) -> Result<(), ApiError>;

    /// Returns whether another merge request is open and has this commit as its head.
    async fn is_at(&self, number: u64, head: &str) -> Result<bool, ApiError>;
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
    /// The commit that it was begun on, and how.
    begun: Mutex<(String, Form)>,
}

impl Gate {
    /// Begins the gate on this commit, and says what it falls back to, if it does.
    pub async fn begin(api: Box<dyn GateApi>, head: &str) -> Result<(Self, Option<String>), ApiError> {
        // It has to be the right one before anything is shown on its commit.
        api.confirm().await?;
        let gate = Self {
            api,
            begun: Mutex::new((head.to_owned(), Form::ExitCode)),
        };
        let (form, said) = gate.start(head).await?;
        gate.begun.lock().await.1 = form;
        Ok((gate, said))
    }

    async fn start(&self, head: &str) -> Result<(Form, Option<String>), ApiError> {
        let without_run = match self.start_run(head).await {
            Ok(run) => return Ok((Form::Run(run), None)),
            Err(error) if is_denied(&error) => error,
            Err(error) => return Err(error),
        };
        let pending = async {
            let others = self.others_by_status(head).await?;
            let text = self.status_text(&others, true, "The review is running");
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

    /// Begins a check run. If the newest on the commit is of an earlier run for the merge request, it is begun anew, so that there is one;
    /// unless it has annotations.
    async fn start_run(&self, head: &str) -> Result<u64, ApiError> {
        let own = self.api.number();
        let (again, others) = match self.newest(head).await? {
            Some((run, of, mut others)) => {
                others.remove(&own);
                (Some(run.id).filter(|_| of == own && !run.annotated), others)
            }
            None => (None, Unpassed::new()),
        };
        let reference = self.reference(&others, true);
        let state = GateState {
            reference: &reference,
            end: None,
        };
        if let Some(run) = again {
            match self.api.change_run(run, state).await {
                // Another program has made it.
                Err(error) if is_denied(&error) => {}
                changed => return changed.map(|()| run),
            }
        }
        self.api.create_run(head, state).await
    }

    /// The newest run of ours on the commit, with the merge request that it was made for and those that have not passed.
    async fn newest(&self, head: &str) -> Result<Option<(GateRun, u64, Unpassed)>, ApiError> {
        let runs = self.api.runs(head).await?.into_iter();
        let own = runs.filter_map(|run| {
            let (of, unpassed) = read_reference(&run)?;
            Some((run, of, unpassed))
        });
        Ok(own.max_by_key(|(run, ..)| run.id))
    }

    /// The other merge requests that have not passed, as the status on the commit says.
    async fn others_by_status(&self, head: &str) -> Result<Unpassed, ApiError> {
        let mut numbers = numbers_in(&self.api.status(head).await?);
        numbers.remove(&self.api.number());
        Ok(numbers)
    }

    /// Those of them that are open and have this commit as their head still. Where the forge does not say, they may.
    async fn still_there(&self, mut others: Unpassed, head: &str) -> Unpassed {
        others.remove(&self.api.number());
        let mut there = Unpassed::new();
        for number in others {
            match self.api.is_at(number, head).await {
                Ok(false) => {}
                Err(error) if error.kind == ApiErrorKind::NotFound => {}
                Ok(true) | Err(_) => drop(there.insert(number)),
            }
        }
        there
    }

    /// The text on a check run: the merge request, and those that have not passed where that is not said by its conclusion.
    fn reference(&self, others: &Unpassed, is_unpassed: bool) -> String {
        let own = self.api.number();
        let unpassed = others.iter().chain((is_unpassed && !others.is_empty()).then_some(&own));
        unpassed.fold(format!("conclave-{own}"), |text, number| format!("{text}+{number}"))
    }

    fn status_text(&self, others: &Unpassed, is_unpassed: bool, text: &str) -> String {
        let own = self.api.number();
        let unpassed = others.iter().chain(is_unpassed.then_some(&own));
        let list: Vec<String> = unpassed.map(|number| format!("#{number}")).collect();
        if list.is_empty() {
            text.to_owned()
        } else {
            format!("[{}] {text}", list.join(" "))
        }
    }

    /// Ends the gate on the reviewed commit, which may be a newer one than it was begun on. Without a review it passes only if the commit
    /// that it was begun on is the newest still.
    pub async fn end(&self, head: Option<&str>, end: &CheckEnd) -> Result<(), ApiError> {
        let mut begun = self.begun.lock().await;
        let (begun_on, mut form) = begun.clone();
        let is_newest = async || self.api.is_at(self.api.number(), &begun_on).await;
        if head.is_none() && end.conclusion.passes() && !is_newest().await? {
            return self.complete(&begun_on, form, &outdated(None)).await;
        }
        let head = head.unwrap_or(&begun_on).to_owned();
        if head != begun_on {
            self.complete(&begun_on, form, &outdated(Some(&head))).await?;
            form = self.start(&head).await?.0;
        }
        *begun = (head.clone(), form);
        self.complete(&head, form, end).await
    }

    async fn complete(&self, head: &str, form: Form, end: &CheckEnd) -> Result<(), ApiError> {
        let is_unpassed = !end.conclusion.passes();
        let (run, newest) = match form {
            Form::ExitCode => return Ok(()),
            Form::Status => {
                let others = self.still_there(self.others_by_status(head).await?, head).await;
                let counted = held(end, &others);
                let text = self.status_text(&others, is_unpassed, &counted.title);
                return self.api.set_status(head, Some(counted.conclusion), &text).await;
            }
            Form::Run(run) => (run, self.newest(head).await?),
        };
        let (newest, others) = newest.map_or((run, Unpassed::new()), |(newest, _, others)| (newest.id, others));
        let others = self.still_there(others, head).await;
        let (reference, counted) = (self.reference(&others, is_unpassed), held(end, &others));
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
            self.api.create_run(head, state(&again)).await?;
        }
        Ok(())
    }
}

/// The end on a commit that is not the newest: it was not reviewed, and may become the newest again.
fn outdated(reviewed: Option<&str>) -> CheckEnd {
    CheckEnd {
        conclusion: Conclusion::Cancelled,
        title: "There is a newer commit".to_owned(),
        summary: reviewed.map_or_else(
            || "This commit was not reviewed.".to_owned(),
            |head| format!("The review is of {head}."),
        ),
        annotations: Vec::new(),
    }
}

/// The end that counts for the commit: it does not pass as long as another merge request of the same commit has not.
fn held(end: &CheckEnd, others: &Unpassed) -> CheckEnd {
    if others.is_empty() || !end.conclusion.passes() {
        return end.clone();
    }
    let numbers: Vec<String> = others.iter().map(|number| format!("#{number}")).collect();
    let title = format!(
        "The review of {}, which has the same commit, has not passed",
        numbers.join(", ")
    );
    CheckEnd {
        conclusion: Conclusion::Failure,
        summary: format!("{title}.\n\n{}", end.summary),
        title,
        annotations: end.annotations.clone(),
    }
}

/// The merge request that a run was made for, and those that have not passed; nothing for a run that is not ours.
fn read_reference(run: &GateRun) -> Option<(u64, Unpassed)> {
    let mut numbers = run.reference.strip_prefix("conclave-")?.split('+');
    let own = numbers.next()?.parse().ok()?;
    let mut unpassed: Unpassed = numbers.filter_map(|number| number.parse().ok()).collect();
    if unpassed.is_empty() && !run.passed {
        unpassed.insert(own);
    }
    Some((own, unpassed))
}

/// The numbers in `[#1 #7] The review is running`.
fn numbers_in(text: &str) -> Unpassed {
    let list = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let words = list.map_or("", |(list, _)| list).split(' ');
    words.filter_map(|word| word.strip_prefix('#')?.parse().ok()).collect()
}

/// Returns whether the token lacks the right: a person's token gets no check run, a reader's no status.
fn is_denied(error: &ApiError) -> bool {
    matches!(error.kind, ApiErrorKind::Forbidden | ApiErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(reference: &str, passed: bool) -> GateRun {
        GateRun {
            id: 1,
            reference: reference.to_owned(),
            passed,
            annotated: false,
        }
    }

    #[test]
    fn a_run_says_which_merge_requests_have_not_passed() {
        for (reference, passed, expected) in [
            ("conclave-7", true, Some((7, vec![]))),
            // As version 0.1.0 and all that have the commit to themselves write it.
            ("conclave-7", false, Some((7, vec![7]))),
            ("conclave-7+1", false, Some((7, vec![1]))),
            ("conclave-7+1+7", false, Some((7, vec![1, 7]))),
            ("conclave-seven", false, None),
            ("1/main", false, None),
            ("", true, None),
        ] {
            let expected = expected.map(|(own, unpassed)| (own, unpassed.into_iter().collect()));
            assert_eq!(read_reference(&run(reference, passed)), expected, "{reference}");
        }
        assert_eq!(numbers_in("[#1 #12] Approved"), Unpassed::from([1, 12]));
        assert_eq!(numbers_in("Approved [#3]"), Unpassed::new());
    }

    #[test]
    fn what_passes_is_held_by_others_and_what_fails_says_why_itself() {
        let end = |conclusion| CheckEnd {
            conclusion,
            title: "Approved".to_owned(),
            summary: "S".to_owned(),
            annotations: Vec::new(),
        };
        let held_end = held(&end(Conclusion::Success), &Unpassed::from([3]));
        assert_eq!(held_end.conclusion, Conclusion::Failure);
        assert!(held_end.title.contains("#3"), "{}", held_end.title);
        let own = held(&end(Conclusion::TimedOut), &Unpassed::from([3]));
        assert_eq!((own.conclusion, own.title.as_str()), (Conclusion::TimedOut, "Approved"));
        assert_eq!(
            held(&end(Conclusion::Neutral), &Unpassed::new()).conclusion,
            Conclusion::Neutral
        );
    }
}
