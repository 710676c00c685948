//! The child from its start until it is known to be what was asked for.
//!
//! `OpenCode` needs more than a second of processor time before it answers, and reads its configuration only when it is
//! asked for more than its health. So it can start while the change is still being read, and get its configuration later.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use crate::{
    Home, Process, ProcessError, ProcessSettings, StartError,
    client::Client,
    process::{check_version, same_version},
};

/// How long OpenCode may take until it answers.
pub(crate) const START_TIMEOUT: Duration = Duration::from_mins(1);
/// How often it is asked meanwhile.
const START_POLL: Duration = Duration::from_millis(50);

/// What the child is started with.
#[derive(Debug)]
pub struct LaunchSettings<'a> {
    /// The binary.
    pub binary: &'a Utf8Path,
    /// Where its home is made.
    pub home: &'a Utf8Path,
    /// The configuration file. It need not be there yet.
    pub config: &'a Utf8Path,
    /// `PATH`.
    pub path: &'a str,
    /// Further variables of its environment, none of them a secret of a provider or a forge.
    pub environment: &'a [(String, String)],
    /// A random password for its API.
    pub password: SecretString,
}

/// A child that is starting. Dropping it kills it.
#[derive(Debug)]
pub struct Launched {
    process: Process,
    binary: Utf8PathBuf,
    path: String,
    port: u16,
    password: SecretString,
}

impl Launched {
    /// Starts the child; it does not answer yet.
    pub fn start(settings: LaunchSettings<'_>) -> Result<Self, ProcessError> {
        let home = Home::create(settings.home)?;
        let port = free_port().map_err(|source| ProcessError::Start {
            path: settings.binary.to_owned(),
            source,
        })?;
        let process = Process::start(&ProcessSettings {
            binary: settings.binary,
            home: &home,
            config: settings.config,
            path: settings.path,
            port,
            password: settings.password.expose_secret(),
            environment: settings.environment,
        })?;
        Ok(Self {
            process,
            binary: settings.binary.to_owned(),
            path: settings.path.to_owned(),
            port,
            password: settings.password,
        })
    }

    /// Ends it.
    pub async fn stop(self) {
        self.process.stop().await;
    }

    /// Waits until it answers and is the pinned version; after that its configuration has to be in its place. On an error
    /// nothing is left of it.
    pub(crate) async fn ready(mut self, workspace: &Utf8Path) -> Result<(Client, Process), StartError> {
        let client = match self.answers().await {
            Ok(()) => self.client(workspace),
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

    fn client(&self, workspace: &Utf8Path) -> Result<Client, StartError> {
        Client::new(self.port, self.password.expose_secret(), workspace)
            .map_err(|error| StartError::Io(std::io::Error::other(error)))
    }

    /// Waits until it answers and is the pinned version.
    pub async fn answers(&mut self) -> Result<(), StartError> {
        let client = self.client(Utf8Path::new("/"))?;
        let until = Instant::now() + START_TIMEOUT;
        loop {
            if let Some(status) = self.process.exited() {
                // Another version may not know how to serve at all.
                check_version(&self.binary, &self.path).await?;
                let words = self.process.last_words().await;
                let words = if words.is_empty() { words } else { format!(": {words}") };
                return Err(StartError::Ended { status, words });
            }
            if let Ok(version) = client.version().await {
                return Ok(same_version(&self.binary, &version)?);
            }
            if Instant::now() >= until {
                return Err(StartError::Silent);
            }
            tokio::time::sleep(START_POLL).await;
        }
    }
}

fn free_port() -> Result<u16, std::io::Error> {
    // OpenCode takes no socket, only a number; `--port 0` would prefer a fixed one.
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
