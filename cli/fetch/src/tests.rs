//! Servers in every state, over real HTTP.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response, StatusCode, header},
    routing::get,
};
use chrono::TimeZone;
use futures_util::StreamExt;

use super::*;

/// The server's behavior at the next question.
type Behaviour = Arc<dyn Fn(&HeaderMap) -> Response<Body> + Send + Sync>;

/// A server whose behaviour can be changed, and that counts its questions.
struct Server {
    url: TextUrl,
    behaviour: Arc<Mutex<Behaviour>>,
    questions: Arc<AtomicU64>,
}

impl Server {
    async fn start(behaviour: impl Fn(&HeaderMap) -> Response<Body> + Send + Sync + 'static) -> Self {
        let behaviour: Arc<Mutex<Behaviour>> = Arc::new(Mutex::new(Arc::new(behaviour)));
        let questions = Arc::new(AtomicU64::new(0));
        let state = (Arc::clone(&behaviour), Arc::clone(&questions));
        let router = Router::new().route("/rules.toml", get(answer)).with_state(state);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/rules.toml", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url: TextUrl::parse(&url).unwrap(),
            behaviour,
            questions,
        }
    }

    fn becomes(&self, behaviour: impl Fn(&HeaderMap) -> Response<Body> + Send + Sync + 'static) {
        *self.behaviour.lock().unwrap() = Arc::new(behaviour);
    }

    fn questions(&self) -> u64 {
        self.questions.load(Ordering::SeqCst)
    }
}

async fn answer(
    State((behaviour, questions)): State<(Arc<Mutex<Behaviour>>, Arc<AtomicU64>)>,
    headers: HeaderMap,
) -> Response<Body> {
    questions.fetch_add(1, Ordering::SeqCst);
    let behaviour = Arc::clone(&behaviour.lock().unwrap());
    behaviour(&headers)
}

fn says(text: &'static str) -> impl Fn(&HeaderMap) -> Response<Body> {
    move |_| Response::new(Body::from(text))
}

fn fails(status: u16) -> impl Fn(&HeaderMap) -> Response<Body> {
    move |_| Response::builder().status(status).body(Body::from("no")).unwrap()
}

fn redirects(to: &'static str) -> impl Fn(&HeaderMap) -> Response<Body> {
    move |_| {
        let builder = Response::builder()
            .status(StatusCode::FOUND)
            .header(header::LOCATION, to);
        builder.body(Body::empty()).unwrap()
    }
}

/// A gigabyte in pieces of 64 KiB, of which it is counted how many were asked for.
fn gigabyte(sent: Arc<AtomicU64>) -> impl Fn(&HeaderMap) -> Response<Body> {
    move |_| {
        let sent = Arc::clone(&sent);
        let piece = Bytes::from(vec![b'x'; 64 * 1024]);
        let pieces = futures_util::stream::iter(0..16 * 1024).map(move |_| {
            sent.fetch_add(64 * 1024, Ordering::SeqCst);
            Ok::<_, std::convert::Infallible>(piece.clone())
        });
        Response::new(Body::from_stream(pieces))
    }
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn directory(&self) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.0.path().join("conclave/fetched")).unwrap()
    }

    fn fetcher(&self) -> Fetcher {
        Fetcher::new(FetchSettings::new(Some(self.directory()), Some("s".to_owned().into())))
    }
}

fn at(minute: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 5, 4, 10, minute, 0).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "a check that refuses nothing")]
fn anything(_: &str) -> Result<(), String> {
    Ok(())
}

fn text(text: &str) -> Fetched {
    Fetched {
        text: text.to_owned(),
        warning: None,
    }
}

#[tokio::test]
async fn a_fresh_copy_is_taken_without_a_question_and_an_old_one_is_not() {
    let (home, server) = (Home::new(), Server::start(says("one")).await);
    let fetcher = home.fetcher();
    assert_eq!(fetcher.text(&server.url, at(0), anything).await, Ok(text("one")));
    server.becomes(says("two"));
    assert_eq!(fetcher.text(&server.url, at(9), anything).await, Ok(text("one")));
    assert_eq!(server.questions(), 1);
    assert_eq!(fetcher.text(&server.url, at(10), anything).await, Ok(text("two")));
    // A new run of the program finds it as well.
    assert_eq!(
        home.fetcher().text(&server.url, at(11), anything).await,
        Ok(text("two"))
    );
    assert_eq!(server.questions(), 2);
    // A clock that was set back asks rather than trusts.
    assert_eq!(fetcher.text(&server.url, at(1), anything).await, Ok(text("two")));
    assert_eq!(server.questions(), 3);
}

#[tokio::test]
async fn an_unchanged_text_is_asked_for_with_its_tag_and_its_time() {
    let (home, server) = (
        Home::new(),
        Server::start(|_| {
            let builder = Response::builder()
                .header(header::ETAG, "\"v1\"")
                .header(header::LAST_MODIFIED, "Mon, 04 May 2026 09:00:00 GMT");
            builder.body(Body::from("one")).unwrap()
        })
        .await,
    );
    let fetcher = home.fetcher();
    assert_eq!(fetcher.text(&server.url, at(0), anything).await, Ok(text("one")));
    server.becomes(|headers| {
        assert_eq!(headers[header::IF_NONE_MATCH], "\"v1\"");
        assert_eq!(headers[header::IF_MODIFIED_SINCE], "Mon, 04 May 2026 09:00:00 GMT");
        Response::builder().status(304).body(Body::empty()).unwrap()
    });
    assert_eq!(fetcher.text(&server.url, at(20), anything).await, Ok(text("one")));
    // That answer made the copy fresh again.
    assert_eq!(fetcher.text(&server.url, at(29), anything).await, Ok(text("one")));
    assert_eq!(server.questions(), 2);
}

#[tokio::test]
async fn a_gigabyte_costs_no_more_than_the_limit() {
    let sent = Arc::new(AtomicU64::new(0));
    let (home, server) = (Home::new(), Server::start(gigabyte(Arc::clone(&sent))).await);
    let outcome = home.fetcher().text(&server.url, at(0), anything).await;
    assert_eq!(outcome, Err(FetchError::TooLarge(MAX_BYTES)));
    // What was sent beyond the limit is in the buffers of two sockets.
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent < 64 * 1024 * 1024, "{sent} bytes were sent");
    assert!(!home.directory().exists(), "nothing is kept of it");
}

#[tokio::test]
async fn an_announced_gigabyte_is_not_even_begun() {
    let (home, server) = (
        Home::new(),
        Server::start(|_| {
            let never = futures_util::stream::pending::<Result<Bytes, std::convert::Infallible>>();
            let builder = Response::builder().header(header::CONTENT_LENGTH, 1_073_741_824_u64);
            builder.body(Body::from_stream(never)).unwrap()
        })
        .await,
    );
    let outcome = home.fetcher().text(&server.url, at(0), anything).await;
    assert_eq!(outcome, Err(FetchError::TooLarge(MAX_BYTES)));
}

#[tokio::test]
async fn a_server_that_never_answers_or_never_ends_costs_the_time_limit_and_no_more() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = TextUrl::parse(&format!("http://{}/", silent.local_addr().unwrap())).unwrap();
    let endless = Server::start(|_| {
        let first = futures_util::stream::once(async { Ok::<_, std::convert::Infallible>(Bytes::from("one")) });
        Response::new(Body::from_stream(first.chain(futures_util::stream::pending())))
    })
    .await;
    let limit = Duration::from_millis(60);
    for url in [&silent, &endless.url] {
        let mut settings = FetchSettings::new(None, None);
        assert_eq!(settings.total, Duration::from_secs(5));
        settings.total = limit;
        let outcome = Fetcher::new(settings).text(url, at(0), anything).await;
        assert_eq!(outcome, Err(FetchError::Late(limit)), "{url}");
        assert_eq!(outcome.unwrap_err().to_string(), "did not answer within 60ms");
    }
}

#[tokio::test]
async fn the_last_good_copy_stands_in_whatever_goes_wrong_later() {
    let (home, server) = (Home::new(), Server::start(says("one")).await);
    let fetcher = home.fetcher();
    let check = |text: &str| {
        if text.starts_with('<') {
            Err("a web page".to_owned())
        } else {
            Ok(())
        }
    };
    assert_eq!(fetcher.text(&server.url, at(0), check).await, Ok(text("one")));
    let url = &server.url;
    let copy = "; the copy of 2026-05-04 10:00 UTC is used";
    let sent = Arc::new(AtomicU64::new(0));
    let stands_in = async |expected: &str| {
        let stand_in = fetcher.text(url, at(30), check).await.unwrap();
        assert_eq!(stand_in.text, "one");
        let warning = stand_in.warning.expect("a warning");
        assert!(
            warning.starts_with(&format!("{url} {expected}")) && warning.ends_with(copy),
            "{warning}"
        );
    };
    server.becomes(fails(500));
    stands_in("answered 500").await;
    server.becomes(fails(404));
    stands_in("answered 404").await;
    server.becomes(gigabyte(sent));
    stands_in("answered with more than 1048576 bytes").await;
    server.becomes(says("<html>Sign in</html>"));
    stands_in("answered something else: a web page").await;
    server.becomes(|_| Response::new(Body::from(vec![0xff, 0xfe])));
    stands_in("answered something that is not UTF-8 text").await;
    server.becomes(redirects("file:///etc/passwd"));
    stands_in("cannot be reached: it redirects to file:…").await;
    // None of that has spoiled the copy.
    server.becomes(fails(503));
    stands_in("answered 503").await;
}

#[tokio::test]
async fn without_a_copy_a_failure_is_the_answer() {
    let home = Home::new();
    for (status, error) in [(500, FetchError::Status(500)), (304, FetchError::Status(304))] {
        let server = Server::start(fails(status)).await;
        assert_eq!(home.fetcher().text(&server.url, at(0), anything).await, Err(error));
    }
    let nobody = TextUrl::parse("http://127.0.0.1:9/").unwrap();
    let error = home.fetcher().text(&nobody, at(0), anything).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot be reached: "), "{error}");
}

#[tokio::test]
async fn a_redirect_leads_to_another_text_but_never_out_of_http() {
    let target = Server::start(says("moved here")).await;
    let to: &'static str = Box::leak(target.url.url().to_string().into_boxed_str());
    let server = Server::start(redirects(to)).await;
    let fetcher = Fetcher::new(FetchSettings::new(None, None));
    assert_eq!(fetcher.text(&server.url, at(0), anything).await, Ok(text("moved here")));
    for (to, named) in [
        ("file:///etc/passwd", "file:"),
        ("http://rules.example.com/x?t=secret", "http://rules.example.com/x,"),
    ] {
        server.becomes(redirects(to));
        let error = fetcher
            .text(&server.url, at(0), anything)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(named) && !error.contains("secret"), "{error}");
    }
    server.becomes(redirects("/rules.toml"));
    let error = fetcher
        .text(&server.url, at(0), anything)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("redirects too often"), "{error}");
}

#[tokio::test]
async fn a_copy_that_somebody_else_made_is_none() {
    let (home, server) = (Home::new(), Server::start(says("one")).await);
    let fetcher = home.fetcher();
    fetcher.text(&server.url, at(0), anything).await.unwrap();
    let file = std::fs::read_dir(home.directory())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let content = std::fs::read_to_string(&file).unwrap();
    server.becomes(fails(500));
    for forged in [
        content.replace("\none", "\ntwo"),
        content.replace("2026-05-04", "2026-06-04"),
        "two".to_owned(),
        String::new(),
    ] {
        std::fs::write(&file, forged).unwrap();
        let outcome = fetcher.text(&server.url, at(1), anything).await;
        assert_eq!(outcome, Err(FetchError::Status(500)));
    }
    // Nor is one of another installation.
    std::fs::write(&file, content).unwrap();
    let other = Fetcher::new(FetchSettings::new(
        Some(home.directory()),
        Some("other".to_owned().into()),
    ));
    assert_eq!(
        other.text(&server.url, at(1), anything).await,
        Err(FetchError::Status(500))
    );
    assert_eq!(fetcher.text(&server.url, at(1), anything).await, Ok(text("one")));
}

#[tokio::test]
async fn without_a_secret_no_copy_is_made_or_used_and_an_old_one_does_not_stand_in() {
    let (home, server) = (Home::new(), Server::start(says("one")).await);
    let without = Fetcher::new(FetchSettings::new(Some(home.directory()), None));
    without.text(&server.url, at(0), anything).await.unwrap();
    assert!(!home.directory().exists());
    home.fetcher().text(&server.url, at(0), anything).await.unwrap();
    server.becomes(fails(500));
    let outcome = without.text(&server.url, at(1), anything).await.unwrap_err();
    assert!(outcome.to_string().contains("without CONCLAVE_SECRET"), "{outcome}");
    let later = |days| at(30) + chrono::Duration::days(days);
    assert!(home.fetcher().text(&server.url, later(6), anything).await.is_ok());
    let outcome = home.fetcher().text(&server.url, later(7), anything).await.unwrap_err();
    assert_eq!(outcome, FetchError::TooOld(Box::new(FetchError::Status(500))));
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_costs_nothing_but_the_copy() {
    let (home, server) = (Home::new(), Server::start(says("one")).await);
    let file = home.directory();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "a file where the directory should be").unwrap();
    assert_eq!(home.fetcher().text(&server.url, at(0), anything).await, Ok(text("one")));
}
