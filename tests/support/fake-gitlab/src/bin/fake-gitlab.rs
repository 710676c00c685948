//! Serves one project with one merge request until it is killed.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Parser;
use conclave_fake_gitlab::{AccessLevel, FakeGitlab, NewMergeRequest, Scope, Tier};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

/// A fake GitLab with one project, one merge request and a bot with a token.
#[derive(Debug, Parser)]
struct Arguments {
    /// The repository that holds both branches.
    #[arg(long)]
    repo: PathBuf,
    /// The branch with the change.
    #[arg(long)]
    source: String,
    /// The branch it goes to.
    #[arg(long)]
    target: String,
    /// The port; a free one by default.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The path of the project.
    #[arg(long, default_value = "group/project")]
    project: String,
    /// Serve below this path.
    #[arg(long, default_value = "")]
    sub_path: String,
    /// Premium instead of Free: requested changes block the merge.
    #[arg(long)]
    premium: bool,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let tier = if arguments.premium { Tier::Premium } else { Tier::Free };
    let builder = FakeGitlab::builder()
        .tier(tier)
        .sub_path(&arguments.sub_path)
        .port(arguments.port);
    let gitlab = builder.start().await;
    let author = gitlab.create_user("author");
    let bot = gitlab.create_bot("review-bot");
    let project = gitlab.create_project_from_git(&arguments.repo, &arguments.project);
    gitlab.add_member(project, author, AccessLevel::Maintainer);
    gitlab.add_member(project, bot, AccessLevel::Developer);
    let new = NewMergeRequest::new(author, &arguments.source, &arguments.target);
    let merge_request = gitlab.create_merge_request(project, new);
    let facts = json!({
        "url": gitlab.url(),
        "api_url": gitlab.api_url(),
        "project_id": project.0,
        "project_path": arguments.project,
        "iid": merge_request.iid,
        "token": gitlab.create_token(bot, &[Scope::Api]),
        "user_id": bot.0,
        "author_token": gitlab.create_token(author, &[Scope::Api]),
        "job_token": gitlab.create_job_token(author, merge_request),
        "repository": gitlab.repository_path(project),
        "head_sha": gitlab.head(merge_request),
    });
    // A caller may send a signal as soon as it has read the line.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut output = std::io::stdout();
    writeln!(output, "{facts}")?;
    output.flush()?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    // Dropping the server removes its repositories.
    drop(gitlab);
    Ok(())
}
