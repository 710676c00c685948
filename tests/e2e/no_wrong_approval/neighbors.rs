//! What other programs and users of the machine can reach or fake.

mod caches;
mod git;
mod records;
mod runtime;
mod servers;

use std::sync::{Arc, Mutex};

use tokio::{io::AsyncReadExt, net::TcpListener};

/// A program that listens at ports and keeps what it is sent.
#[derive(Clone, Default)]
struct Neighbor(Arc<Mutex<Vec<u8>>>);

impl Neighbor {
    /// Listens at this port, or at any; nothing happens if the port is taken.
    async fn listen(&self, port: u16) -> Option<u16> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.ok()?;
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::clone(&self.0);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let heard = Arc::clone(&heard);
                tokio::spawn(async move {
                    let mut buffer = [0; 4096];
                    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                        heard.lock().unwrap().extend_from_slice(&buffer[..length]);
                    }
                });
            }
        });
        Some(port)
    }

    fn heard(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}
