//! The child from its start until it is known to be what was asked for.
//!
//! `OpenCode` needs more than a second of processor time before it answers, and reads its configuration only when it is
//! asked for more than its health. So it can start while the change is still being read, and get its configuration later.
//!
//! Each start has a password of its own, and no request is made before the port is proven to be the child's.

use std::{pin::pin, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::ports::RuntimeError;
use conclave_sandbox::SandboxStatus;
use conclave_shared::redact::Redactor;
use futures_util::{StreamExt, stream::FuturesUnordered};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};

use super::api::Client;
use crate::{
    binary::{check_version, same_version},
    child::{LaunchSettings, Process, ProvenPort, Sandbox},
    errors::{ProcessError, StartError},
};

/// Time after which a question without an answer is asked once more beside that.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// A child whose server has answered.
#[derive(Debug, Clone, Copy)]
struct Answered {
    port: ProvenPort,
    /// Time from its start until then.
    after: Duration,
}

/// A child that answers and is the pinned version.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) client: Client,
    pub(crate) process: Process,
    /// The program that it is.
    pub(crate) binary: Utf8PathBuf,
    /// Time limit of the whole start.
    pub(crate) limit: Duration,
    /// Time that is left of it. Waiting for something else than the child does not count.
    pub(crate) left: Duration,
}

/// A child that is starting. Dropping it kills it.
#[derive(Debug)]
pub struct Launched {
    process: Process,
    answered: Option<Answered>,
    binary: Utf8PathBuf,
    path: String,
    sandbox: Sandbox,
    password: SecretString,
    began: Instant,
    limit: Duration,
}

impl Launched {
    /// Starts the child; it does not answer yet.
    pub fn start(settings: &LaunchSettings<'_>) -> Result<Self, ProcessError> {
        let start = |error| ProcessError::Start(settings.binary.to_owned(), error);
        let password = random_password().map_err(start)?;
        let process = Process::start(settings, password.expose_secret())?;
        Ok(Self {
            process,
            answered: None,
            binary: settings.binary.to_owned(),
            path: settings.path.to_owned(),
            sandbox: settings.sandbox.clone(),
            password,
            began: Instant::now(),
            limit: settings.limit,
        })
    }

    /// Takes its password out of every text, as its output may hold its environment.
    pub fn hide_password(&self, redactor: &Redactor) {
        redactor.hide_value(self.password.expose_secret());
    }

    /// Takes another time limit for the start, counted from its beginning.
    pub const fn limit_start(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Waits until it is known what the sandbox around it holds back, also of `places` of the user's that were not known at the
    /// start.
    pub async fn sandbox(&mut self, places: &[Utf8PathBuf]) -> Result<SandboxStatus, StartError> {
        let confinement = self.process.confinement().clone();
        if let Ok(Some(status)) = timeout_at(self.began + self.limit, confinement.status(places)).await {
            return Ok(status);
        }
        match self.process.exited() {
            Some(status) => Err(self.ended(status).await),
            None => Err(self.silent(self.limit)),
        }
    }

    /// The error for a child that was not heard within this limit.
    pub fn silent(&self, limit: Duration) -> StartError {
        StartError::silent(&self.binary, limit)
    }

    /// Ends it.
    pub async fn stop(self) {
        self.process.stop().await;
    }

    /// Waits until it answers and is the pinned version; after that its configuration has to be in its place. On an error
    /// nothing is left of it.
    pub(crate) async fn ready(mut self, workspace: &Utf8Path) -> Result<Ready, StartError> {
        let client = match self.answering_port().await {
            Ok(answered) => self
                .client(answered.port, workspace)
                .map(|client| (client, answered.after)),
            Err(error) => Err(error),
        };
        match client {
            Ok((client, after)) => Ok(Ready {
                client,
                process: self.process,
                binary: self.binary,
                limit: self.limit,
                left: self.limit.saturating_sub(after),
            }),
            Err(error) => {
                self.process.stop().await;
                Err(error)
            }
        }
    }

    fn client(&self, port: ProvenPort, workspace: &Utf8Path) -> Result<Client, StartError> {
        Client::new(port, self.password.expose_secret(), workspace)
            .map_err(|error| StartError::Io(std::io::Error::other(error)))
    }

    /// Waits until it answers and is the pinned version.
    pub async fn answers(&mut self) -> Result<(), StartError> {
        self.answering_port().await.map(drop)
    }

    async fn answering_port(&mut self) -> Result<Answered, StartError> {
        if let (Some(answered), None) = (self.answered, self.process.exited()) {
            return Ok(answered);
        }
        let until = self.began + self.limit;
        let port = match timeout_at(until, self.process.listening()).await {
            Ok(Ok(port)) => port,
            Ok(Err(status)) => return Err(self.ended(status).await),
            Err(_) => return Err(self.silent(self.limit)),
        };
        self.version_at(port, until).await?;
        let after = self.began.elapsed();
        let answered = Answered { port, after };
        self.answered = Some(answered);
        Ok(answered)
    }

    /// Waits until what listens there says that it is the pinned version.
    async fn version_at(&mut self, port: ProvenPort, until: Instant) -> Result<(), StartError> {
        let client = self.client(port, Utf8Path::new("/"))?;
        let mut questions = FuturesUnordered::new();
        let mut words = String::new();
        loop {
            questions.push({
                let client = client.clone();
                async move { client.version().await }
            });
            // No question, and no answer that goes on and on, makes the start longer.
            let time = ASK_AGAIN.min(until.saturating_duration_since(Instant::now()));
            if let Some(version) = first_answer(&mut questions, time, &mut words).await {
                return Ok(same_version(&self.binary, &version)?);
            }
            if let Some(status) = self.process.exited() {
                return Err(self.ended(status).await);
            }
            if Instant::now() >= until {
                return Err(StartError::Silent {
                    binary: self.binary.clone(),
                    seconds: self.limit.as_secs(),
                    words,
                });
            }
        }
    }

    /// The error for a child that has ended.
    async fn ended(&mut self, status: String) -> StartError {
        // Another version may not know how to serve at all.
        let until = self.began + self.limit;
        if let Ok(Err(error)) = timeout_at(until, check_version(&self.binary, &self.path, &self.sandbox)).await {
            return error.into();
        }
        let words = self.process.last_words().await;
        let words = if words.is_empty() { words } else { format!(": {words}") };
        StartError::Ended { status, words }
    }
}

/// The first good answer to one of these within this time. All of the time is used up if there is none; what is wrong with the last
/// one is put into words.
async fn first_answer<F>(questions: &mut FuturesUnordered<F>, time: Duration, words: &mut String) -> Option<String>
where
    F: Future<Output = Result<String, RuntimeError>>,
{
    let mut tick = pin!(tokio::time::sleep(time));
    loop {
        tokio::select! {
            () = &mut tick => return None,
            Some(answer) = questions.next() => match answer {
                Ok(version) => return Some(version),
                Err(error) => *words = format!(": {error}"),
            },
        }
    }
}

/// 256 random bits.
fn random_password() -> Result<SecretString, std::io::Error> {
    let mut words = [0_u64; 4];
    for word in &mut words {
        *word = getrandom::u64().map_err(std::io::Error::other)?;
    }
    Ok(words.map(|word| format!("{word:016x}")).concat().into())
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
