//! The provider as a value: start it, steer it, ask it what happened.

use crate::ai_gateway::AiGateway;
use crate::books::Books;
use crate::cache::PrefixCache;
use crate::fault::{Fault, Faulty};
use crate::locked;
use crate::model::{Answer, Model};
use crate::scripted::Scripted;
use crate::server::router;
use crate::state::{RequestRecord, State, Violation};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Settings of a provider that is not started yet.
pub struct Builder {
    port: u16,
    key: Option<String>,
    keyless: bool,
    models: Option<Vec<String>>,
    delay: Duration,
    model: Scripted,
    ai_gateway: Option<AiGateway>,
}

impl Builder {
    /// The key that clients must send; without one any key will do, but there must be one.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// A model server that asks for no key, as many that run on one's own machine. A key that it is sent must be right all the same.
    #[must_use]
    pub const fn keyless(mut self) -> Self {
        self.keyless = true;
        self
    }

    /// Who answers, where [`ScriptedProvider::set`] has nothing.
    #[must_use]
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Scripted::over(model);
        self
    }

    /// The only models that exist; others are answered with 404.
    #[must_use]
    pub fn models<I: IntoIterator<Item = S>, S: Into<String>>(mut self, models: I) -> Self {
        self.models = Some(models.into_iter().map(Into::into).collect());
        self
    }

    /// An AI Gateway in front: requests have to be made for it, and the provider's key is its own.
    #[must_use]
    pub fn behind(mut self, gateway: AiGateway) -> Self {
        self.ai_gateway = Some(gateway);
        self
    }

    /// The time to the first byte of every answer.
    #[must_use]
    pub const fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The port; 0, the default, is any free one.
    #[must_use]
    pub const fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Listens on 127.0.0.1.
    pub async fn start(self) -> io::Result<ScriptedProvider> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await?;
        let address = listener.local_addr()?;
        let closing = CancellationToken::new();
        let state = Arc::new(State {
            key: self.key,
            keyless: self.keyless,
            ai_gateway: self.ai_gateway,
            host: address.to_string(),
            models: self.models,
            delay: self.delay,
            faulty: Faulty::new(self.model),
            books: Mutex::default(),
            cache: Mutex::new(PrefixCache::default()),
            requests: Mutex::default(),
            violations: Mutex::default(),
            closing: closing.clone(),
        });
        let serving =
            axum::serve(listener, router(Arc::clone(&state))).with_graceful_shutdown(closing.cancelled_owned());
        let server = tokio::spawn(serving.into_future());
        let running = Running { address, state, server };
        Ok(ScriptedProvider(Arc::new(running)))
    }
}

/// A running provider. Clones are the same provider; it shuts down with the last of them.
#[derive(Clone)]
pub struct ScriptedProvider(Arc<Running>);

struct Running {
    address: SocketAddr,
    state: Arc<State>,
    server: JoinHandle<io::Result<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.state.closing.cancel();
        self.server.abort();
    }
}

impl ScriptedProvider {
    /// A provider on any free port, without a key, that answers `ok`.
    pub fn builder() -> Builder {
        Builder {
            port: 0,
            key: None,
            keyless: false,
            models: None,
            delay: Duration::ZERO,
            model: Scripted::new(),
            ai_gateway: None,
        }
    }

    /// `http://127.0.0.1:PORT`; the endpoints are below `/v1`, or below any prefix and `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.0.address)
    }

    /// Sets the answer to one agent's turn, whatever the model would say.
    pub fn set(&self, agent: &str, turn: usize, answer: Answer) {
        self.0.state.faulty.model().set(agent, turn, answer);
    }

    /// Sets the answer to all turns of one agent that have none of their own.
    pub fn set_always(&self, agent: &str, answer: Answer) {
        self.0.state.faulty.model().set_always(agent, answer);
    }

    /// Sets what one agent says, one after the other, where the model would say something and call no tool.
    pub fn set_words(&self, agent: &str, words: Vec<Answer>) {
        self.0.state.faulty.model().set_words(agent, words);
    }

    /// Adds a fault.
    pub fn inject(&self, fault: Fault) {
        self.0.state.faulty.inject(fault);
    }

    /// Takes all faults back.
    pub fn heal(&self) {
        self.0.state.faulty.heal();
    }

    /// What was spent.
    pub fn books(&self) -> Books {
        locked(&self.0.state.books).clone()
    }

    /// Every request, in order.
    pub fn requests(&self) -> Vec<RequestRecord> {
        locked(&self.0.state.requests).clone()
    }

    /// The requests that were refused for what they are (not those that a fault hit).
    pub fn violations(&self) -> Vec<Violation> {
        locked(&self.0.state.violations).clone()
    }

    /// Waits until this many requests have come; `false` if they have not within the time.
    pub async fn wait_for_requests(&self, count: usize, within: Duration) -> bool {
        let come = || locked(&self.0.state.requests).len() >= count;
        let waiting = async {
            while !come() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(within, waiting).await.is_ok()
    }
}
