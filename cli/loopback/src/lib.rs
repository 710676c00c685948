//! HTTP servers of a run on the loopback interface, which no neighbor can clog.
//!
//! Whoever is on the machine can connect. A connection that has not shown the run's key yet is a stranger: it has seconds to
//! show it, and there is room for a bounded number of strangers; a new one takes the place of the oldest. So a neighbor with
//! thousands of connections, or with headers that take minutes, keeps nobody else waiting. A handler says that a request had the
//! key by [`Caller::has_proved_itself`].
//!
//! Why not `axum::serve`: it has no time-outs and no bound.

mod strangers;

use std::{convert::Infallible, pin::pin, time::Duration};

use axum::{Router, body::Body, extract::Request};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_service::Service;

use self::strangers::{Stranger, Strangers};

pub use self::strangers::Caller;

/// Time limit for a connection to show the run's key.
const MAX_STRANGE: Duration = Duration::from_secs(5);
/// Time limit for the headers of a request, and for a connection that is idle before it.
const MAX_IDLE: Duration = Duration::from_mins(5);
/// Pause after a connection could not be taken: there is no descriptor left, and one will be soon.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves until `stop`, then waits for the requests under way.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let (strangers, connections) = (Strangers::default(), TaskTracker::new());
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                // A frame is small and must not wait for the next one.
                let _ = stream.set_nodelay(true);
                let connection = connection(stream, router.clone(), strangers.admit(), stop.clone());
                connections.spawn(connection);
            }
            Err(error) => {
                tracing::debug!(%error, "a connection could not be taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection(stream: TcpStream, router: Router, stranger: Stranger, stop: CancellationToken) {
    let caller = stranger.caller();
    let service = service_fn(|request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(caller.clone());
        let answer = router.clone().call(request);
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(MAX_IDLE)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = pin!(serving);
    let turned_away = async {
        let _ = tokio::time::timeout(MAX_STRANGE, stranger.replaced()).await;
        // Once it has shown the key, nothing takes its place.
        if caller.is_known() {
            std::future::pending::<()>().await;
        }
    };
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = turned_away => return,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests;
