//! Connections to the child, and to nothing else.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tower_layer::Layer;
use tower_service::Service;

use crate::child::ProvenPort;

/// Refuses connections that the child did not take, before a byte is sent over them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnlyTheChild(pub(crate) ProvenPort);

impl<Connector> Layer<Connector> for OnlyTheChild {
    type Service = Checked<Connector>;

    fn layer(&self, connector: Connector) -> Checked<Connector> {
        Checked {
            connector,
            port: self.0,
        }
    }
}

/// A connector behind [`OnlyTheChild`].
#[derive(Debug, Clone)]
pub(crate) struct Checked<Connector> {
    connector: Connector,
    port: ProvenPort,
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl<Connector, Address> Service<Address> for Checked<Connector>
where
    Connector: Service<Address, Error = BoxError>,
    Connector::Future: Send + 'static,
{
    type Response = Connector::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, address: Address) -> Self::Future {
        let (connecting, port) = (self.connector.call(address), self.port);
        Box::pin(async move {
            let connection = connecting.await?;
            if port.still_listens() {
                Ok(connection)
            } else {
                Err("another program listens at OpenCode's port".into())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use crate::{child::ProvenPort, v1::api::Client};

    #[tokio::test]
    async fn another_program_at_the_port_of_a_dead_child_hears_nothing() {
        let first = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = first.local_addr().expect("an address").port();
        let proven = ProvenPort::prove(port, nix::unistd::Pid::this()).expect("ours");
        drop(first);
        let neighbor = tokio::net::TcpListener::bind(("127.0.0.1", port))
            .await
            .expect("the port is free again");
        let client = Client::new(proven, "the password", camino::Utf8Path::new("/")).expect("a client");
        let heard = tokio::spawn(async move {
            let (mut stream, _) = neighbor.accept().await.expect("a connection");
            let mut heard = Vec::new();
            stream.read_to_end(&mut heard).await.map(|_| heard)
        });
        let error = client.version().await.expect_err("refused");
        assert!(
            error.to_string().contains("another program listens at OpenCode's port"),
            "{error}"
        );
        // A connection that is reset says as little.
        assert_eq!(heard.await.expect("no panic").unwrap_or_default(), b"");
    }
}
