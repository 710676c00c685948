//! A stand-in for the configuration service, which needs no program of its own.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{StatusCode, header},
    response::Response,
};
use serde_json::{Value, json};

/// Answers every request with one document, which can be exchanged.
pub(crate) struct ConfigService {
    pub(crate) url: String,
    document: Arc<Mutex<Value>>,
}

impl ConfigService {
    /// Starts it with this document.
    pub(crate) async fn start(document: Value) -> Self {
        let document = Arc::new(Mutex::new(document));
        let shared = Arc::clone(&document);
        let answer = move |request: Request| {
            let config = shared.lock().unwrap().clone();
            async move {
                let tag = format!("\"{}\"", config["revision"]);
                let known = request.headers().get(header::IF_NONE_MATCH);
                if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
                    let mut response = Response::new(Body::empty());
                    *response.status_mut() = StatusCode::NOT_MODIFIED;
                    return response;
                }
                let body = json!({"config": config, "warnings": []}).to_string();
                Response::builder()
                    .header(header::ETAG, tag)
                    .body(Body::from(body))
                    .unwrap()
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        Self { url, document }
    }

    /// Exchanges the document.
    pub(crate) fn set(&self, document: Value) {
        *self.document.lock().unwrap() = document;
    }
}
