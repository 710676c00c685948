//! The control API for tests in other languages: `POST /` with a command as JSON, answered with its result or with 400 and the reason.

use std::path::PathBuf;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::control::NewPull;
use crate::fault::Fault;
use crate::ids::{PullRef, RepositoryId, UserId};
use crate::server::FakeGithub;
use crate::state::people::{Permissions, Role};
use crate::state::pull::{PullState, ReviewState, Side};
use crate::state::repository::Protection;

/// A command, named by its `do`.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Command {
    Violations,
    Requests,
    Effects,
    Forget,
    Inject {
        fault: Fault,
    },
    ClearFaults,
    CreateUser {
        login: String,
    },
    SetRole {
        repository: RepositoryId,
        user: UserId,
        role: Option<Role>,
    },
    ActionsToken {
        repository: RepositoryId,
        permissions: Permissions,
    },
    PersonalToken {
        user: UserId,
        permissions: Permissions,
    },
    CreateRepository {
        owner: UserId,
        name: String,
        source: PathBuf,
    },
    Fork {
        repository: RepositoryId,
        owner: UserId,
    },
    DeleteRepository {
        repository: RepositoryId,
    },
    RenameRepository {
        repository: RepositoryId,
        name: String,
    },
    Protect {
        repository: RepositoryId,
        branch: String,
        protection: Protection,
    },
    AllowActionsToApprove {
        repository: RepositoryId,
        allowed: bool,
    },
    Push {
        repository: RepositoryId,
        source: PathBuf,
        branch: String,
    },
    OpenPull {
        repository: RepositoryId,
        pull: NewPull,
    },
    Close {
        pull: PullRef,
    },
    SetDraft {
        pull: PullRef,
        draft: bool,
    },
    SetLocked {
        pull: PullRef,
        locked: bool,
    },
    Retarget {
        pull: PullRef,
        base: String,
    },
    Comment {
        pull: PullRef,
        user: UserId,
        body: String,
    },
    Review {
        pull: PullRef,
        user: UserId,
        state: ReviewState,
        body: String,
    },
    ReviewComment {
        pull: PullRef,
        user: UserId,
        path: String,
        side: Side,
        line: u64,
        body: String,
    },
    Reply {
        pull: PullRef,
        user: UserId,
        comment: u64,
        body: String,
    },
    Snapshot {
        pull: PullRef,
    },
}

/// Serves the control API on the loopback interface and returns its address.
pub async fn serve_control(github: FakeGithub, port: u16) -> std::io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let router = Router::new().route("/", post(handle)).with_state(github);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

async fn handle(State(github): State<FakeGithub>, Json(command): Json<Value>) -> (StatusCode, Json<Value>) {
    let result = match serde_json::from_value(command) {
        // A command that cannot be done, such as one on an id that does not exist, stops only itself.
        Ok(command) => tokio::task::spawn_blocking(move || run(&github, command))
            .await
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(value) => (StatusCode::OK, Json(value)),
        Err(error) => (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))),
    }
}

fn run(github: &FakeGithub, command: Command) -> Value {
    match command {
        Command::Violations => return json!(github.violations()),
        Command::Requests => return json!(github.requests()),
        Command::Effects => return json!(github.effects()),
        Command::Forget => github.forget_requests(),
        Command::Inject { fault } => github.inject(fault),
        Command::ClearFaults => github.clear_faults(),
        Command::CreateUser { login } => return json!(github.create_user(&login)),
        Command::SetRole { repository, user, role } => github.set_role(repository, user, role),
        Command::ActionsToken {
            repository,
            permissions,
        } => return json!(github.actions_token(repository, permissions)),
        Command::PersonalToken { user, permissions } => return json!(github.personal_token(user, permissions)),
        Command::CreateRepository { owner, name, source } => {
            return json!(github.create_repository(owner, &name, &source));
        }
        Command::Fork { repository, owner } => return json!(github.fork(repository, owner)),
        Command::DeleteRepository { repository } => github.delete_repository(repository),
        Command::RenameRepository { repository, name } => github.rename_repository(repository, &name),
        Command::Protect {
            repository,
            branch,
            protection,
        } => github.protect(repository, &branch, protection),
        Command::AllowActionsToApprove { repository, allowed } => github.allow_actions_to_approve(repository, allowed),
        Command::Push {
            repository,
            source,
            branch,
        } => github.push(repository, &source, &branch),
        Command::OpenPull { repository, pull } => return json!(github.open_pull(repository, pull)),
        Command::Close { pull } => github.set_state(pull, PullState::Closed),
        Command::SetDraft { pull, draft } => github.set_draft(pull, draft),
        Command::SetLocked { pull, locked } => github.set_locked(pull, locked),
        Command::Retarget { pull, base } => github.retarget(pull, &base),
        Command::Comment { pull, user, body } => return json!(github.comment(pull, user, &body)),
        Command::Review {
            pull,
            user,
            state,
            body,
        } => return json!(github.review(pull, user, state, &body)),
        Command::ReviewComment {
            pull,
            user,
            path,
            side,
            line,
            body,
        } => {
            return json!(github.review_comment(pull, user, (&path, side, line), &body));
        }
        Command::Reply {
            pull,
            user,
            comment,
            body,
        } => return json!(github.reply(pull, user, comment, &body)),
        Command::Snapshot { pull } => return json!(github.snapshot(pull)),
    }
    json!({})
}
