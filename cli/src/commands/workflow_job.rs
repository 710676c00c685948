//! Jobs of GitHub Actions besides reviews: commands in comments, merge queues, and jobs without secrets.

use std::sync::Arc;

use conclave_engine::{review::ReviewMode, untrusted::code_span};
use conclave_forge::{ApiErrorKind, Asked, Command, Publisher, command_help};

use crate::{
    args::ReviewArguments,
    context::Context,
    env::ci::{CiEnvironment, ForgeSettings, RefusedCheckout, WorkflowJob},
    exit::{Exit, Failure},
    run::{
        plan::explanation,
        prepare::{
            change::{Origin, Source},
            checkout::Checkout,
        },
        scratch::Scratch,
        workflow::pass_queue,
    },
};

/// Maximum characters of an explanation.
const MAX_EXPLANATION: usize = 50_000;

/// The message where a job has no secret.
const WITHOUT_SECRETS: &str = "Not reviewed: this is the job of a fork or of Dependabot, which gets no secrets, so there is no provider's \
                               key. Nothing is posted, and there is no check. docs/github.md says how such pull requests are reviewed";

/// The task of a job.
pub(crate) enum Task {
    /// A review; by a command, if there is one.
    Review(Option<Commanded>),
    /// Nothing more.
    Done(Exit),
}

/// A review that a person has asked for.
pub(crate) struct Commanded {
    /// The commit that the pull request had then.
    pub(crate) head: String,
    /// True if everything is reviewed anew.
    pub(crate) full: bool,
}

/// Does what the job's event asks for, unless that is a review.
pub(crate) async fn handle(arguments: &ReviewArguments, context: &Context) -> Result<Task, Failure> {
    let Context { env, output, .. } = context;
    match env.workflow_job()? {
        WorkflowJob::Review => Ok(Task::Review(None)),
        WorkflowJob::Command(note) => Box::pin(command(note, arguments, context)).await,
        WorkflowJob::Queue(head) => {
            let ForgeSettings::GitHub(github) = env.pipeline()?.forge else {
                return Ok(Task::Review(None));
            };
            pass_queue(&github, (&arguments.check_name, &head), context).await?;
            output.note(
                "The check of the merge queue is passed: its pull requests were reviewed before they were queued.",
            );
            Ok(Task::Done(Exit::Reviewed))
        }
        WorkflowJob::WithoutSecrets => {
            output.note(WITHOUT_SECRETS);
            if let Some(files) = env.workflow_files() {
                files.write_summary(WITHOUT_SECRETS)?;
            }
            let exit = if arguments.common.strict {
                Exit::Inconclusive
            } else {
                Exit::Reviewed
            };
            Ok(Task::Done(exit))
        }
    }
}

/// Does what a comment asks for.
async fn command(note: u64, arguments: &ReviewArguments, context: &Context) -> Result<Task, Failure> {
    let Context {
        env, output, signals, ..
    } = context;
    let pipeline = env.pipeline()?;
    let publisher = Arc::new(pipeline.forge.publisher(env.last_request())?.stopped_by(signals.stop()));
    let asked = match publisher.asked(note).await {
        Ok(asked) => asked,
        Err(error) if matches!(error.kind, ApiErrorKind::NotOpen(_)) => Asked::Nothing(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    let posts = !arguments.dry_run;
    let (command, user, head) = match asked {
        Asked::Command { command, user, head } => (command, user, head),
        Asked::Unknown => {
            output.note("The comment asks for a command that there is not.");
            if posts {
                publisher.answer(note, &command_help()).await?;
            }
            return Ok(Task::Done(Exit::Reviewed));
        }
        Asked::Nothing(reason) => {
            output.note(&format!("Nothing is done: {reason}."));
            return Ok(Task::Done(Exit::Reviewed));
        }
    };
    output.note(&format!("{user} asks for `/conclave {}`.", command.word()));
    let is_review = matches!(command, Command::Review | Command::Full);
    if arguments.answer_only && (is_review || command == Command::Stop) {
        if let Some(files) = env.workflow_files() {
            files.write_outputs(&[("command", command.word().to_owned())])?;
        }
        return Ok(Task::Done(Exit::Reviewed));
    }
    match command {
        Command::Review | Command::Full => {
            let full = command == Command::Full;
            return Ok(Task::Review(Some(Commanded { head, full })));
        }
        Command::Explain => {
            let text = Box::pin(explain(pipeline, Arc::clone(&publisher), head, arguments, context)).await?;
            if posts {
                publisher.answer(note, &text).await?;
            } else {
                output.print(&text);
            }
        }
        Command::Dismiss if posts => {
            let said = publisher.dismiss(&user).await?;
            output.note(&said.unwrap_or_else(|| "The bot has neither approved nor requested changes.".to_owned()));
        }
        Command::Dismiss => {}
        // The concurrency group of the job has ended it: two jobs of one group never run at once.
        Command::Stop => output.note("What was at work in this job's concurrency group is ended."),
    }
    Ok(Task::Done(Exit::Reviewed))
}

/// The plan of a review of the pull request, as Markdown.
async fn explain(
    pipeline: CiEnvironment,
    publisher: Arc<Publisher>,
    head: String,
    arguments: &ReviewArguments,
    context: &Context,
) -> Result<String, Failure> {
    let reviewed = code_span(&head);
    let from_fork = publisher.subject().await?.from_fork;
    let default_mode = pipeline.forge.default_mode();
    let pipeline = CiEnvironment {
        refused_checkout: Some(RefusedCheckout::of_command(&head)),
        head_sha: Some(head),
        ..pipeline
    };
    let scratch = Scratch::create(context.signals.stop())?;
    let checkout = Checkout::open(&pipeline, &context.env, scratch.path(), None).await?;
    let source = Source {
        origin: Origin::Forge {
            publisher,
            checkout: Box::new(checkout),
            post: None,
            workflow: None,
            full: false,
        },
        project: pipeline.project_path,
        secret: Some(pipeline.forge.secret().clone()),
    };
    let planning = &arguments.common.planning;
    let (plan, mode_of_repository) = Box::pin(explanation(source, planning, &scratch, context)).await?;
    let plan: String = plan.chars().take(MAX_EXPLANATION).collect();
    let mode = arguments.mode.or(mode_of_repository).unwrap_or(default_mode);
    Ok(format!(
        "A review of {reviewed} would be this. Nothing was reviewed for this answer.\n\n{}\n\n{}",
        fenced(&plan),
        may_do(mode, from_fork)
    ))
}

/// Says what a verdict may do in this job.
fn may_do(mode: ReviewMode, from_fork: bool) -> String {
    let mode = match mode {
        ReviewMode::Comment => "The mode of this job is `comment`: the bot neither approves nor requests changes.",
        ReviewMode::Approve => "The mode of this job is `approve`: the bot may approve, and requests no changes.",
        ReviewMode::Gate => "The mode of this job is `gate`: the bot may approve, and requests changes.",
    };
    let of_fork = if from_fork {
        " The pull request comes from a fork, which the bot never approves."
    } else {
        ""
    };
    format!("{mode}{of_fork}")
}

/// A block in which nothing acts: its fence is longer than any run of backticks in it.
fn fenced(text: &str) -> String {
    let longest = text
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}
