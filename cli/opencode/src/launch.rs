//! The child from its start until it is known to be what was asked for.
//!
//! `OpenCode` needs more than a second of processor time before it answers, and reads its configuration only when it is
//! asked for more than its health. So it can start while the change is still being read, and get its configuration later.

use std::{ops::Range, pin::pin, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::ports::RuntimeError;
use futures_util::{StreamExt, stream::FuturesUnordered};
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
const START_POLL: Duration = Duration::from_millis(20);
/// How many ports are tried: one that was free a moment ago may be somebody's by the time OpenCode wants it.
const MOST_PORTS: u32 = 3;
/// Where they are looked for: below those that the system hands out to connections and to whoever asks for any port, which
/// are the ones that are taken in such a moment.
const PORTS: Range<u16> = 20_000..32_000;
/// What OpenCode calls it if it cannot listen on its port.
const NOT_LISTENING: &str = "ServeError";

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
    port: u16,
    ports_tried: u32,
    binary: Utf8PathBuf,
    home: Home,
    config: Utf8PathBuf,
    path: String,
    environment: Vec<(String, String)>,
    password: SecretString,
}

impl Launched {
    /// Starts the child; it does not answer yet.
    pub fn start(settings: LaunchSettings<'_>) -> Result<Self, ProcessError> {
        let home = Home::create(settings.home)?;
        let (process, port) = spawn(&settings, &home)?;
        Ok(Self {
            process,
            port,
            ports_tried: 1,
            binary: settings.binary.to_owned(),
            home,
            config: settings.config.to_owned(),
            path: settings.path.to_owned(),
            environment: settings.environment.to_vec(),
            password: settings.password,
        })
    }

    /// Starts it again, on another port.
    async fn start_again(&mut self) -> Result<(), ProcessError> {
        // First: what ends a child ends everything in its home.
        self.process.end().await;
        let settings = LaunchSettings {
            binary: &self.binary,
            home: self.home.root(),
            config: &self.config,
            path: &self.path,
            environment: &self.environment,
            password: self.password.clone(),
        };
        let (process, port) = spawn(&settings, &self.home)?;
        tracing::info!(
            taken = self.port,
            port,
            "OpenCode's port was taken; it starts again on another one"
        );
        (self.process, self.port) = (process, port);
        self.ports_tried += 1;
        Ok(())
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
        let mut client = self.client(Utf8Path::new("/"))?;
        let until = Instant::now() + START_TIMEOUT;
        // The last moment before it answers takes connections and forgets them. Whoever waited for such a one would lose half
        // a second of the run, so it is asked again meanwhile.
        let mut probes = FuturesUnordered::new();
        loop {
            if let Some(status) = self.process.exited() {
                // Another version may not know how to serve at all.
                check_version(&self.binary, &self.path).await?;
                let words = self.process.last_words().await;
                if words.contains(NOT_LISTENING) && self.ports_tried < MOST_PORTS {
                    self.start_again().await?;
                    client = self.client(Utf8Path::new("/"))?;
                    // Whoever has the port may answer too.
                    probes.clear();
                    continue;
                }
                let words = if words.is_empty() { words } else { format!(": {words}") };
                return Err(StartError::Ended { status, words });
            }
            probes.push({
                let client = client.clone();
                async move { client.version().await }
            });
            if let Some(version) = first_answer(&mut probes, START_POLL).await {
                return Ok(same_version(&self.binary, &version)?);
            }
            if Instant::now() >= until {
                return Err(StartError::Silent);
            }
        }
    }
}

/// The first good answer to one of these within this time. All of the time is used up if there is none.
async fn first_answer<F>(probes: &mut FuturesUnordered<F>, time: Duration) -> Option<String>
where
    F: Future<Output = Result<String, RuntimeError>>,
{
    let mut tick = pin!(tokio::time::sleep(time));
    loop {
        tokio::select! {
            () = &mut tick => return None,
            Some(answer) = probes.next() => if let Ok(version) = answer {
                return Some(version);
            },
        }
    }
}

fn spawn(settings: &LaunchSettings<'_>, home: &Home) -> Result<(Process, u16), ProcessError> {
    let port = free_port().map_err(|source| ProcessError::Start {
        path: settings.binary.to_owned(),
        source,
    })?;
    let process = Process::start(&ProcessSettings {
        binary: settings.binary,
        home,
        config: settings.config,
        path: settings.path,
        port,
        password: settings.password.expose_secret(),
        environment: settings.environment,
    })?;
    Ok((process, port))
}

/// A port that nobody listens on just now. OpenCode takes no socket, only a number, and binds it a second or two later;
/// `--port 0` would prefer a fixed one.
fn free_port() -> Result<u16, std::io::Error> {
    let free = |port| std::net::TcpListener::bind(("127.0.0.1", port))?.local_addr();
    for _ in 0..PORTS.len() {
        let random = getrandom::u32().map_err(std::io::Error::other)?;
        let place = usize::try_from(random).unwrap_or_default() % PORTS.len();
        if let Some(address) = PORTS.clone().nth(place).and_then(|port| free(port).ok()) {
            return Ok(address.port());
        }
    }
    Ok(free(0)?.port())
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
