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
use futures_util::{StreamExt, stream::FuturesUnordered};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};

use super::{
    api::Client,
    child::{LaunchSettings, Process, ProvenPort},
};
use crate::{
    binary::{check_version, same_version},
    errors::{ProcessError, StartError},
};

/// Time after which a question without an answer is asked once more beside that.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// A child that is starting. Dropping it kills it.
#[derive(Debug)]
pub struct Launched {
    process: Process,
    proven: Option<ProvenPort>,
    binary: Utf8PathBuf,
    path: String,
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
            proven: None,
            binary: settings.binary.to_owned(),
            path: settings.path.to_owned(),
            password,
            began: Instant::now(),
            limit: settings.limit,
        })
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
            None => Err(StartError::Silent(self.limit.as_secs())),
        }
    }

    /// Ends it.
    pub async fn stop(self) {
        self.process.stop().await;
    }

    /// Waits until it answers and is the pinned version; after that its configuration has to be in its place. On an error
    /// nothing is left of it.
    pub(crate) async fn ready(mut self, workspace: &Utf8Path) -> Result<(Client, Process), StartError> {
        let client = match self.answering_port().await {
            Ok(port) => self.client(port, workspace),
            Err(error) => Err(error),
        };
        match client {
            Ok(client) => Ok((client, self.process)),
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

    async fn answering_port(&mut self) -> Result<ProvenPort, StartError> {
        if let (Some(port), None) = (self.proven, self.process.exited()) {
            return Ok(port);
        }
        let until = self.began + self.limit;
        let port = match timeout_at(until, self.process.listening()).await {
            Ok(Ok(port)) => port,
            Ok(Err(status)) => return Err(self.ended(status).await),
            Err(_) => return Err(StartError::Silent(self.limit.as_secs())),
        };
        self.version_at(port, until).await?;
        self.proven = Some(port);
        Ok(port)
    }

    /// Waits until what listens there says that it is the pinned version.
    async fn version_at(&mut self, port: ProvenPort, until: Instant) -> Result<(), StartError> {
        let client = self.client(port, Utf8Path::new("/"))?;
        let mut questions = FuturesUnordered::new();
        loop {
            questions.push({
                let client = client.clone();
                async move { client.version().await }
            });
            if let Some(version) = first_answer(&mut questions, ASK_AGAIN).await {
                return Ok(same_version(&self.binary, &version)?);
            }
            if let Some(status) = self.process.exited() {
                return Err(self.ended(status).await);
            }
            if Instant::now() >= until {
                return Err(StartError::Silent(self.limit.as_secs()));
            }
        }
    }

    /// The error for a child that has ended.
    async fn ended(&mut self, status: String) -> StartError {
        // Another version may not know how to serve at all.
        if let Err(error) = check_version(&self.binary, &self.path).await {
            return error.into();
        }
        let words = self.process.last_words().await;
        let words = if words.is_empty() { words } else { format!(": {words}") };
        StartError::Ended { status, words }
    }
}

/// The first good answer to one of these within this time. All of the time is used up if there is none.
async fn first_answer<F>(questions: &mut FuturesUnordered<F>, time: Duration) -> Option<String>
where
    F: Future<Output = Result<String, RuntimeError>>,
{
    let mut tick = pin!(tokio::time::sleep(time));
    loop {
        tokio::select! {
            () = &mut tick => return None,
            Some(answer) = questions.next() => if let Ok(version) = answer {
                return Some(version);
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
