//! Asking for tokens, renewing them, and what goes wrong; over HTTP.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::{
    Router,
    extract::RawQuery,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
    routing::get,
};
use serde_json::json;
use tokio::time::advance;

use super::*;
use crate::JobToken;

/// A token service: what it was asked, and what it answers.
#[derive(Clone, Default)]
struct Service {
    asked: Arc<AtomicU64>,
    broken: Arc<AtomicU64>,
}

impl Service {
    fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    fn breaks(&self, status: u64) {
        self.broken.store(status, Ordering::SeqCst);
    }

    fn answer(&self, headers: &HeaderMap, query: &str) -> (StatusCode, String) {
        assert_eq!(headers["authorization"], "Bearer of-the-runner");
        assert_eq!(query, "api-version=2.0&audience=a+%26+b");
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let claims = URL_SAFE_NO_PAD.encode(json!({"iat": 1000, "exp": 1300}).to_string());
        match self.broken.load(Ordering::SeqCst) {
            0 => (
                StatusCode::OK,
                json!({"count": 1, "value": format!("ey.{claims}.{number}")}).to_string(),
            ),
            200 => (StatusCode::OK, "{\"value\":\"no token\"}".to_owned()),
            status => {
                let status = u16::try_from(status).expect("a status");
                (StatusCode::from_u16(status).expect("a status"), String::new())
            }
        }
    }

    async fn start(&self) -> JobToken {
        let service = self.clone();
        let answer = move |headers: HeaderMap, RawQuery(query): RawQuery| {
            let service = service.clone();
            async move { service.answer(&headers, &query.unwrap_or_default()).into_response() }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/token", get(answer))).await });
        let url = format!("http://{address}/token?api-version=2.0")
            .parse()
            .expect("a URL");
        tokens(url)
    }
}

fn tokens(url: Url) -> JobToken {
    let bearer = SecretString::from("of-the-runner");
    let tokens = ActionsTokens::new(Client::builder(), url, bearer, "a & b");
    tokens.expect("a client").into()
}

/// The number of the token.
async fn number(token: &JobToken) -> String {
    let text = token.get().await.expect("a token");
    text.expose_secret().rsplit('.').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_token_is_kept_and_renewed_before_it_expires() {
    let service = Service::default();
    let token = service.start().await;
    assert_eq!(service.asked(), 0, "nothing is asked before a token is needed");
    let (one, two) = tokio::join!(number(&token), number(&token));
    assert_eq!((one.as_str(), two.as_str()), ("1", "1"), "one question for all");
    tokio::time::pause();
    advance(Duration::from_secs(190)).await;
    tokio::time::resume();
    assert_eq!(number(&token).await, "1");
    tokio::time::pause();
    advance(Duration::from_secs(20)).await;
    tokio::time::resume();
    assert_eq!(number(&token.clone()).await, "2", "a third of its time before its end");
    assert_eq!(service.asked(), 2);
    assert!(!format!("{token:?}").contains("of-the-runner"), "{token:?}");
}

#[tokio::test]
async fn a_used_token_is_kept_fresh_without_being_asked_for() {
    let service = Service::default();
    let token = service.start().await;
    assert!(timeout(Duration::from_millis(50), token.keep_fresh()).await.is_err());
    assert_eq!(service.asked(), 0, "an unused one is not");
    assert_eq!(number(&token).await, "1");
    tokio::time::pause();
    advance(Duration::from_secs(201)).await;
    tokio::time::resume();
    let renewed = async {
        while service.asked() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = token.keep_fresh() => unreachable!("it never ends"),
        renewed = timeout(Duration::from_secs(20), renewed) => renewed.expect("it is renewed"),
    }
}

#[tokio::test]
async fn the_old_token_does_until_it_expires_and_github_is_not_asked_at_once_again() {
    let service = Service::default();
    let token = service.start().await;
    assert_eq!(number(&token).await, "1");
    service.breaks(503);
    tokio::time::pause();
    advance(Duration::from_secs(201)).await;
    tokio::time::resume();
    for _ in 0..3 {
        assert_eq!(number(&token).await, "1");
    }
    assert_eq!(service.asked(), 2);
    tokio::time::pause();
    advance(Duration::from_secs(100)).await;
    tokio::time::resume();
    assert_eq!(token.get().await.map(|_| ()), Err(JobTokenError::Status(503)));
    service.breaks(0);
    assert_eq!(
        token.get().await.map(|_| ()),
        Err(JobTokenError::Status(503)),
        "for five seconds"
    );
    tokio::time::pause();
    advance(PAUSE).await;
    tokio::time::resume();
    assert_eq!(number(&token).await, "4");
}

#[tokio::test]
async fn what_is_no_token_is_an_error_that_says_what_came() {
    for (status, said) in [(403, "answered 403"), (200, "something else"), (302, "answered 302")] {
        let service = Service::default();
        let token = service.start().await;
        service.breaks(status);
        let error = token.get().await.expect_err("no token").to_string();
        assert!(error.contains(said), "{error}");
    }
    let url: Url = "http://127.0.0.1:1/token".parse().expect("a URL");
    let token = tokens(url);
    let error = token.get().await.expect_err("no token").to_string();
    assert!(
        error.contains("cannot be reached for the job's token (Connection refused"),
        "{error}"
    );
    let fixed = JobToken::from(SecretString::from("ey.x.y"));
    assert_eq!(fixed.get().await.expect("it is there").expose_secret(), "ey.x.y");
}

#[test]
fn the_span_is_the_tokens_own_and_an_odd_one_counts_as_usual() {
    let of = |claims: serde_json::Value| span(&URL_SAFE_NO_PAD.encode(claims.to_string()));
    assert_eq!(of(json!({"iat": 1, "exp": 601})), Some(Duration::from_mins(10)));
    assert_eq!(of(json!({"iat": 0, "exp": i64::MAX})), Some(USUAL_SPAN * 12));
    for odd in [
        json!({"iat": 9, "exp": 1}),
        json!({"iat": i64::MIN, "exp": 1}),
        json!({"exp": 1}),
        json!(7),
    ] {
        assert_eq!(of(odd), None);
    }
    assert_eq!(span("!"), None);
}
