//! Serves a GitHub with one pull request until it is killed, and takes commands over HTTP from tests in other languages.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Parser;
use conclave_fake_github::{FakeGithub, NewPull, Options, Permissions, Role, serve_control};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

/// A stand-in for GitHub with one repository, one pull request, and tokens of each kind.
#[derive(Debug, Parser)]
struct Arguments {
    /// The repository that holds both branches.
    #[arg(long)]
    repo: PathBuf,
    /// The branch with the change.
    #[arg(long)]
    head: String,
    /// The branch it goes to.
    #[arg(long)]
    base: String,
    /// The port; a free one by default.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The owner of the repository.
    #[arg(long, default_value = "acme")]
    owner: String,
    /// The name of the repository.
    #[arg(long, default_value = "shop")]
    name: String,
    /// Serve as an Enterprise Server of this version.
    #[arg(long)]
    enterprise: Option<String>,
    /// The port of the control API; a free one by default.
    #[arg(long, default_value_t = 0)]
    control_port: u16,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let options = Options {
        enterprise: arguments.enterprise,
        ..Options::default()
    };
    let github = FakeGithub::builder()
        .options(options)
        .port(arguments.port)
        .start()
        .await;
    let owner = github.create_organization(&arguments.owner);
    let (author, member) = (github.create_user("author"), github.create_user("member"));
    let app = github.create_app("conclave");
    let repository = github.create_repository(owner, &arguments.name, &arguments.repo);
    for user in [author, member] {
        github.set_role(repository, user, Some(Role::Write));
    }
    let pull = github.open_pull(repository, NewPull::new(author, &arguments.head, &arguments.base));
    let control_url = serve_control(github.clone(), arguments.control_port).await?;
    let everything = Permissions::review()
        .write("contents")
        .write("statuses")
        .write("issues");
    let facts = json!({
        "url": github.url(),
        "api_url": github.api_url(),
        "graphql_url": github.graphql_url(),
        "control_url": control_url,
        "repository": github.full_name(repository),
        "repository_id": repository.0,
        "number": pull.number,
        "head_sha": github.head(pull),
        "git": github.repository_path(repository),
        "users": { "owner": owner.0, "author": author.0, "member": member.0, "bot": github.bot(app).0 },
        "tokens": {
            "actions": github.actions_token(repository, Permissions::review()),
            "read_only": github.actions_token(repository, Permissions::read_only()),
            "installation": github.installation_token(app, repository, everything.clone()),
            "fine_grained": github.personal_token(member, everything),
            "classic": github.classic_token(member),
            "author": github.classic_token(author),
        },
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
    // Dropping the server removes its repositories; the control API holds the other handle on it.
    github.shut_down();
    Ok(())
}
