//! The report of a run to the GitHub workflow that it is a job of: the check on the commit, the job's summary, and its outputs.
//!
//! What a workflow reads is made of our own words and of the review as it is posted, from which secrets and everything that acts have
//! been taken out. Nothing is ever written to `GITHUB_ENV` or `GITHUB_PATH`.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::Write as _,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{
    diff::FilteredFile,
    ports::{ForgeError, PublishOutcome},
    publish::summary_within,
    report::{headline, render_code_scanning},
    review::{ApprovalHold, JudgedFinding, Meanwhile, Review, StopCause},
    untrusted::{code_span, escape},
};
use conclave_forge::{Annotation, Begun, CheckEnd, ClientTimeouts, Conclusion, Gate, Reviewed as Looked};
use conclave_plugin_github::{CheckSettings, GitHub, GitHubSettings};
use conclave_shared::{severity::Severity, verdict::Verdict};
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    args::{CommentsConclude, ReviewArguments},
    context::Context,
    env::ci::{CiEnvironment, ForgeSettings, WorkflowFiles},
    exit::{Exit, Failure},
    output::workflow_annotation,
};

/// Maximum bytes of a check's summary, and of the job's, whose own limit is a megabyte.
const MAX_CHECK: usize = 60_000;
const MAX_SUMMARY: usize = 900_000;

/// The title of the check of a run that failed.
const FAILED: &str = "The review failed";

/// Maximum number of files that are named as left out.
const MAX_LEFT_OUT: usize = 50;

/// Annotations that a step may make of each level.
const MAX_ANNOTATIONS: usize = 10;

/// The report of one run.
#[derive(Debug)]
pub(crate) struct WorkflowReport {
    /// The check on the commit, where the job is of one.
    check: Option<Gate>,
    files: WorkflowFiles,
    comments: CommentsConclude,
    /// Where the findings are handed to code scanning, if they are.
    code_scanning: Option<GitHubSettings>,
    noted: Mutex<Noted>,
}

/// The fate of the run.
#[derive(Debug, Default)]
enum Noted {
    /// Nothing was reviewed.
    #[default]
    Nothing,
    /// Nothing was left to review: what was taken out and why, and whether a person has to look at it.
    LeftOut(String, bool),
    /// This person has broken the glass.
    Skipped(String),
    Reviewed(Box<Reviewed>),
}

/// A review as it stands in the end.
#[derive(Debug)]
struct Reviewed {
    review: Review,
    /// Where it can be read; nowhere if it could not be posted.
    url: Option<String>,
    /// The findings without a note beside the code.
    elsewhere: Vec<Annotation>,
    /// The records of the run.
    directory: Utf8PathBuf,
    /// The part that was not posted and why, in Markdown; none where all of it was.
    withheld: Option<String>,
}

impl WorkflowReport {
    /// The report of a job of GitHub Actions; none elsewhere. Nothing is asked yet.
    pub(crate) fn new(pipeline: &CiEnvironment, arguments: &ReviewArguments, context: &Context) -> Option<Self> {
        let ForgeSettings::GitHub(settings) = &pipeline.forge else {
            return None;
        };
        let files = context.env.workflow_files()?;
        let ends = context.env.last_request();
        let check = check_settings(&arguments.check_name, &files, ends);
        // Where the settings are wrong, the review says so.
        let check = |head: &String| GitHub::check(settings, check, head).ok();
        Some(Self {
            check: pipeline.head_sha.as_ref().and_then(check),
            files,
            comments: arguments.comments_conclude,
            code_scanning: arguments.upload_sarif.then(|| settings.clone()),
            noted: Mutex::default(),
        })
    }

    /// Begins the check. Returns false where the pull request is not open: then there is nothing to report, and its check stays as it is.
    pub(crate) async fn begin(&mut self, context: &Context) -> bool {
        let Some(check) = &self.check else { return true };
        match check.begin().await {
            Ok(Begun::NotOpen) => return false,
            Ok(Begun::Begun(said)) => {
                if let Some(said) = said {
                    context.output.warn(said);
                }
            }
            Err(_) => {
                // The review ends with the same error, which says what differs.
                let why = "the pull request is not the one that this job is for";
                context.output.warn(format!("there is no check run: {why}"));
                self.check = None;
            }
        }
        true
    }

    /// Notes the review, and what became of posting it. `was_denied` is whether nothing of it was posted, because the token may not.
    pub(crate) fn reviewed(
        &self,
        review: &Review,
        posted: Result<&PublishOutcome, &ForgeError>,
        directory: &Utf8Path,
        was_denied: bool,
    ) {
        let review = posted
            .ok()
            .and_then(|outcome| outcome.amended.as_deref())
            .unwrap_or(review);
        let is_beside = |entry: &&JudgedFinding| {
            let shown = posted.is_ok_and(|outcome| outcome.placements.contains_key(&entry.finding.fingerprint));
            shown || entry.thread.is_some()
        };
        let reviewed = Reviewed {
            url: posted.ok().and_then(|outcome| outcome.url.clone()),
            elsewhere: review
                .surviving()
                .filter(|entry| !is_beside(entry))
                .map(annotation)
                .collect(),
            directory: directory.to_owned(),
            withheld: posted.err().map(|error| {
                let what = if was_denied {
                    "Not posted"
                } else {
                    "Not everything was posted"
                };
                format!("**{what}:** {}", escape(&error.to_string()).replace('\n', " "))
            }),
            review: review.clone(),
        };
        self.note(Noted::Reviewed(Box::new(reviewed)));
    }

    /// Notes that this person has broken the glass.
    pub(crate) fn skipped(&self, user: &str) {
        self.note(Noted::Skipped(user.to_owned()));
    }

    /// Notes that no file is left to review. No secret may be in a path.
    pub(crate) fn left_out(&self, files: &[FilteredFile], holds: &[ApprovalHold]) {
        let mut text = String::from("Nothing was reviewed.\n");
        for file in files.iter().take(MAX_LEFT_OUT) {
            let _ = write!(text, "\n- {} ({})", code_span(&file.path), file.reason.describe());
        }
        if files.len() > MAX_LEFT_OUT {
            let _ = write!(text, "\n- {} more", files.len() - MAX_LEFT_OUT);
        }
        for hold in holds {
            let reason = escape(&hold.reason).replace('\n', " ");
            let _ = write!(
                text,
                "\n\n**{}:** {reason} The bot does not approve.",
                hold.cause.title()
            );
        }
        self.note(Noted::LeftOut(text, !holds.is_empty()));
    }

    fn note(&self, noted: Noted) {
        *self.noted.lock().unwrap_or_else(PoisonError::into_inner) = noted;
    }

    /// Ends the report of a review for this target branch. An error means that the gate could not be set.
    pub(crate) async fn end(
        &self,
        result: &Result<Exit, Failure>,
        target: Option<&str>,
        context: &Context,
    ) -> Result<(), Failure> {
        let mut noted = std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner));
        if let (Noted::Reviewed(reviewed), Some(cause)) = (&mut noted, stopped_by(result)) {
            // What was not shown to its end does not approve.
            reviewed.review.add_meanwhile(&Meanwhile {
                stopped: Some(cause),
                ..Meanwhile::default()
            });
        }
        let end = self.check_end(&noted, result, context);
        let reviewed = match &noted {
            Noted::Reviewed(reviewed) => Some(reviewed.as_ref()),
            Noted::Nothing | Noted::LeftOut(..) | Noted::Skipped(_) => None,
        };
        let head = reviewed.map(|reviewed| reviewed.review.head_sha.as_str());
        if let Some(reviewed) = reviewed.filter(|reviewed| reviewed.withheld.is_some()) {
            for one in reviewed.elsewhere.iter().take(MAX_ANNOTATIONS) {
                workflow_annotation(&one.path, one.lines, one.is_failure, &one.title, &one.message);
            }
        }
        for written in [self.write_summary(reviewed, &end), self.write_outputs(reviewed)] {
            if let Err(failure) = written {
                context.output.warn(failure);
            }
        }
        if let (Some(github), Some(reviewed), None) = (&self.code_scanning, reviewed, context.signals.exit()) {
            let handing = async {
                let sarif = compressed(&render_code_scanning(&reviewed.review))?;
                GitHub::upload_sarif(github, &reviewed.review.head_sha, &sarif).await?;
                Ok::<_, Failure>(())
            };
            // It may wait for GitHub, and the check must have its end.
            let handed = tokio::select! {
                handed = handing => Some(handed),
                _ = context.signals.arrived() => None,
            };
            match handed {
                Some(Ok(())) => context.output.note("The findings were handed to code scanning."),
                None => context
                    .output
                    .warn("the findings are not in code scanning: the run was stopped before"),
                Some(Err(failure)) => {
                    let why = format!("the findings are not in code scanning: {failure}");
                    context
                        .output
                        .warn(format!("{why}. The repository has to have it switched on"));
                }
            }
        }
        let Some(check) = &self.check else { return Ok(()) };
        if let Some(other) = check.end(Looked { head, target }, &end).await? {
            context.output.warn(format!("the check does not pass: {other}"));
        }
        Ok(())
    }

    fn check_end(&self, noted: &Noted, result: &Result<Exit, Failure>, context: &Context) -> CheckEnd {
        let early = match stopped_by(result) {
            Some(StopCause::OutOfTime) => Some((Conclusion::TimedOut, "Out of time: the review is not complete")),
            Some(StopCause::Asked) => Some((Conclusion::Cancelled, "The review was stopped before its end")),
            None => None,
        };
        match (result, noted) {
            (Ok(_), Noted::Reviewed(reviewed)) => {
                let (conclusion, title) = early.map_or_else(
                    || (self.conclusion(&reviewed.review), headline(&reviewed.review)),
                    |(conclusion, title)| (conclusion, title.to_owned()),
                );
                CheckEnd {
                    conclusion,
                    title,
                    summary: summary_within(&reviewed.review, MAX_CHECK),
                    annotations: reviewed.elsewhere.clone(),
                }
            }
            _ if let Some((conclusion, title)) = early => short(conclusion, title),
            (Ok(_), Noted::Skipped(user)) => CheckEnd {
                // In a code span nothing acts.
                summary: format!("{} has broken the glass.", code_span(user)),
                ..short(Conclusion::Success, "Not reviewed: break glass")
            },
            (Ok(_), Noted::LeftOut(text, needs_person)) => {
                let title = if *needs_person {
                    "A person has to approve this: nothing was reviewed"
                } else {
                    "Nothing was reviewed"
                };
                CheckEnd {
                    summary: text.clone(),
                    ..short(Conclusion::Neutral, title)
                }
            }
            (Ok(_), Noted::Nothing) => short(Conclusion::Neutral, "Nothing was reviewed"),
            (Err(failure), _) => {
                let text = context.redactor.redact(&failure.to_string());
                CheckEnd {
                    summary: code_span(&text),
                    ..short(Conclusion::Failure, FAILED)
                }
            }
        }
    }

    fn conclusion(&self, review: &Review) -> Conclusion {
        match review.verdict {
            Verdict::SignificantConcerns => Conclusion::Failure,
            Verdict::Inconclusive => Conclusion::ActionRequired,
            // A person has to act before it passes.
            _ if review.may_be_blocked() => Conclusion::ActionRequired,
            // It is not for a check to hide that.
            verdict if verdict.approves() && review.needs_person() => Conclusion::Neutral,
            Verdict::Approved => Conclusion::Success,
            Verdict::ApprovedWithComments => match self.comments {
                CommentsConclude::Success => Conclusion::Success,
                CommentsConclude::Neutral => Conclusion::Neutral,
            },
            Verdict::MinorIssues => Conclusion::Neutral,
        }
    }

    fn write_summary(&self, reviewed: Option<&Reviewed>, end: &CheckEnd) -> Result<(), Failure> {
        let mut text = reviewed.map_or_else(
            || format!("## {}\n\n{}\n", end.title, end.summary),
            |reviewed| summary_within(&reviewed.review, MAX_SUMMARY),
        );
        if let Some(withheld) = reviewed.and_then(|reviewed| reviewed.withheld.as_ref()) {
            text = format!("> {withheld}\n\n{text}");
        }
        self.files.write_summary(&text)
    }

    fn write_outputs(&self, reviewed: Option<&Reviewed>) -> Result<(), Failure> {
        let Some(reviewed) = reviewed else { return Ok(()) };
        let json = reviewed.directory.join("review.json");
        let values = [
            ("verdict", reviewed.review.verdict.to_string()),
            ("url", reviewed.url.clone().unwrap_or_default()),
            ("review-json", json.into_string()),
        ];
        self.files.write_outputs(&values)
    }
}

impl WorkflowFiles {
    /// Adds outputs of the step.
    pub(crate) fn write_outputs(&self, values: &[(&str, String)]) -> Result<(), Failure> {
        let Some(path) = &self.output else { return Ok(()) };
        // The delimiter cannot be known beforehand, and a value is one line: none can begin another output.
        let mut outputs = String::new();
        for (name, value) in values {
            let delimiter = format!("conclave_{}", Uuid::now_v7().simple());
            let value: String = value.chars().filter(|character| !character.is_control()).collect();
            let _ = writeln!(outputs, "{name}<<{delimiter}\n{value}\n{delimiter}");
        }
        append(path, &outputs)
    }

    /// Adds a text to the job's summary.
    pub(crate) fn write_summary(&self, text: &str) -> Result<(), Failure> {
        match &self.summary {
            Some(path) => append(path, &format!("{text}\n")),
            None => Ok(()),
        }
    }
}

/// Passes the check on the commit of a merge queue: each pull request in it had to pass its own before. Without it, a queue whose rules ask
/// for the check would wait for ever.
pub(crate) async fn pass_queue(
    github: &GitHubSettings,
    (name, head): (&str, &str),
    context: &Context,
) -> Result<(), Failure> {
    let title = "Reviewed in the pull request";
    let end = CheckEnd {
        summary: format!("{title}: a merge queue reviews nothing again."),
        ..short(Conclusion::Success, title)
    };
    set_check(github, (name, head), &end, context).await
}

/// Fails the check of a job whose arguments are wrong: what an earlier run has said of the commit must not stand. A pull request that is
/// not open is left alone.
pub(crate) async fn fail_check(pipeline: &CiEnvironment, name: &str, context: &Context) -> Result<(), Failure> {
    let (ForgeSettings::GitHub(github), Some(head)) = (&pipeline.forge, &pipeline.head_sha) else {
        return Ok(());
    };
    let end = CheckEnd {
        summary: "The run could not begin: its arguments are wrong. The job's log says which.".to_owned(),
        ..short(Conclusion::Failure, FAILED)
    };
    set_check(github, (name, head), &end, context).await
}

/// Sets the check of a job that reviews nothing.
async fn set_check(
    github: &GitHubSettings,
    (name, head): (&str, &str),
    end: &CheckEnd,
    context: &Context,
) -> Result<(), Failure> {
    let Some(files) = context.env.workflow_files() else {
        return Ok(());
    };
    let settings = check_settings(name, &files, context.env.last_request());
    let check = GitHub::check(github, settings, head)?;
    let Begun::Begun(said) = check.begin().await? else {
        return Ok(());
    };
    if let Some(said) = said {
        context.output.warn(said);
    }
    let reviewed = Looked {
        head: Some(head),
        target: None,
    };
    check.end(reviewed, end).await?;
    Ok(())
}

/// An end that its title says all of.
fn short(conclusion: Conclusion, title: &str) -> CheckEnd {
    CheckEnd {
        conclusion,
        title: title.to_owned(),
        summary: title.to_owned(),
        annotations: Vec::new(),
    }
}

/// The cause that ended a run early, if something did.
fn stopped_by(result: &Result<Exit, Failure>) -> Option<StopCause> {
    match result {
        Ok(Exit::OutOfTime) => Some(StopCause::OutOfTime),
        Ok(exit) if exit.is_stopped() => Some(StopCause::Asked),
        _ => None,
    }
}

fn check_settings(name: &str, files: &WorkflowFiles, ends: Option<Instant>) -> CheckSettings {
    CheckSettings {
        name: name.to_owned(),
        details_url: files.run_url.clone(),
        timeouts: ClientTimeouts {
            write_gap: Duration::ZERO,
            ..GitHub::timeouts(ends)
        },
    }
}

/// JSON as an upload has it: compressed, and in letters.
fn compressed(json: &Value) -> Result<String, Failure> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder
        .write_all(json.to_string().as_bytes())
        .and_then(|()| encoder.finish());
    Ok(BASE64_STANDARD.encode(written.map_err(Failure::io("compress the findings"))?))
}

fn append(path: &Utf8Path, text: &str) -> Result<(), Failure> {
    let mut file = OpenOptions::new()
        .append(true)
        .open(path)
        .map_err(Failure::io(format!("open {path}")))?;
    file.write_all(text.as_bytes())
        .map_err(Failure::io(format!("write {path}")))
}

fn annotation(entry: &JudgedFinding) -> Annotation {
    let finding = &entry.finding;
    let severity = match finding.severity {
        Severity::Critical => "Critical",
        Severity::Warning => "Warning",
        Severity::Suggestion => "Suggestion",
    };
    Annotation {
        path: finding.file.clone(),
        lines: (finding.line, finding.end_line.unwrap_or(finding.line)),
        is_failure: finding.severity == Severity::Critical,
        title: format!("{severity}: {}", finding.category),
        message: finding.claim.clone(),
    }
}

#[cfg(test)]
#[path = "workflow_tests.rs"]
mod tests;
