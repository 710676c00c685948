//! Shallow clones, temporary merge commits, no clone at all; over files and over HTTP with real `git http-backend`.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
};

use super::*;
use crate::{
    check_out_workspace,
    test_support::{Scratch, commit, git, scratch, write},
};

/// `main` has moved on since `feature` left it; `merge` is what GitLab makes of both for a merged-results pipeline.
struct Server {
    scratch: Scratch,
    base: String,
    head: String,
}

impl Server {
    fn new() -> Self {
        let scratch = scratch();
        let root = scratch.path.join("server");
        std::fs::create_dir(&root).expect("a directory");
        git(&root, &["init", "--quiet", "--initial-branch=main"]);
        write(&root, "a.txt", "one\n");
        commit(&root, "one");
        write(&root, "a.txt", "base\n");
        let base = commit(&root, "base");
        git(&root, &["checkout", "--quiet", "-b", "feature"]);
        write(&root, "feature.txt", "new\n");
        commit(&root, "first of the feature");
        write(&root, "feature.txt", "newer\n");
        let head = commit(&root, "second of the feature");
        git(&root, &["checkout", "--quiet", "main"]);
        write(&root, "other.txt", "somebody else's\n");
        commit(&root, "somebody else's");
        git(&root, &["checkout", "--quiet", "-b", "merge"]);
        git(
            &root,
            &["merge", "--quiet", "--no-ff", "-m", "temporary merge", "feature"],
        );
        Self { scratch, base, head }
    }

    fn root(&self) -> Utf8PathBuf {
        self.scratch.path.join("server")
    }

    /// What the runner makes: the merge commit and nothing before it.
    fn shallow(&self) -> Utf8PathBuf {
        let target = self.scratch.path.join("checkout");
        let url = format!("file://{}", self.root());
        git(
            &self.scratch.path,
            &["clone", "--quiet", "--depth=1", "--branch=merge", &url, target.as_str()],
        );
        target
    }

    fn wanted(&self) -> [&str; 2] {
        [&self.head, &self.base]
    }
}

fn settings(urls: &[&str]) -> FetchSettings {
    FetchSettings {
        remotes: urls.iter().filter_map(|url| Remote::parse(url)).collect(),
        ca_file: None,
        proxies: Vec::new(),
        max_time: Duration::from_mins(1),
        remedy: "Set `GIT_DEPTH: 0` for the job, and `GIT_STRATEGY: fetch`",
    }
}

/// The paths that differ between base and head, as the stream tells them.
async fn changed(repository: &Repository, server: &Server) -> String {
    let mut stream = repository.diff(&server.base, &server.head).expect("git starts");
    let mut all = Vec::new();
    while let Some(chunk) = stream.chunk().await.expect("a diff") {
        all.extend_from_slice(chunk);
    }
    let list = String::from_utf8_lossy(&all).into_owned();
    let paths = list
        .split('\0')
        .skip(1)
        .step_by(2)
        .take_while(|path| !path.contains('\n'));
    paths.filter(|path| !path.is_empty()).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_shallow_checkout_of_a_merge_commit_gets_what_it_lacks_and_stays_as_it_is() {
    let server = Server::new();
    let path = server.shallow();
    let state = || {
        (
            git(&path, &["count-objects", "-v"]),
            std::fs::read(path.join(".git/shallow")).expect("shallow"),
        )
    };
    let before = state();
    let checkout = Repository::open(&path).await.expect("a checkout");
    assert!(checkout.commit(&server.base).await.is_err() && checkout.commit(&server.head).await.is_err());
    let origin = checkout.origin().await.expect("a remote");
    let target = server.scratch.path.join("fetched.git");
    let repository = with_commits(Some(checkout), &server.wanted(), &settings(&[&origin]), &target)
        .await
        .expect("fetched");
    assert_eq!(
        changed(&repository, &server).await,
        "feature.txt",
        "the merge request's own change, and no other"
    );
    let subjects = repository.subjects(&server.base, &server.head).await.expect("a log");
    assert_eq!(subjects, ["second of the feature", "first of the feature"]);
    assert_eq!(state(), before, "the checkout was changed");
    assert!(!path.join(".git/FETCH_HEAD").exists());
    // The agents' workspace can be made of it.
    let workspace = server.scratch.path.join("workspace");
    check_out_workspace(&repository, &server.head, &workspace)
        .await
        .expect("a workspace");
    assert_eq!(
        std::fs::read_to_string(workspace.join("feature.txt")).expect("a file"),
        "newer\n"
    );
    assert_eq!(
        std::fs::read_to_string(workspace.join("a.txt")).expect("a file"),
        "base\n"
    );
}

#[tokio::test]
async fn a_partial_clone_is_completed_elsewhere_and_stays_as_it_is() {
    let server = Server::new();
    git(&server.root(), &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", server.root());
    let old = git(&server.root(), &["rev-parse", &format!("{}~1", server.base)]);
    let wanted = [server.head.as_str(), &server.base, &old];
    for (number, (filter, depth)) in [("blob:none", "1"), ("blob:none", "9"), ("tree:0", "1"), ("tree:0", "9")]
        .into_iter()
        .enumerate()
    {
        let place = server.scratch.path.join(number.to_string());
        let path = place.join("checkout");
        let (filter, depth) = (format!("--filter={filter}"), format!("--depth={depth}"));
        let clone = [
            "clone",
            "--quiet",
            &filter,
            &depth,
            "--branch=feature",
            &url,
            path.as_str(),
        ];
        git(&server.scratch.path, &clone);
        let objects = git(&path, &["count-objects", "-v"]);
        let checkout = Repository::open(&path).await.expect("a checkout");
        let fetched = async |urls: &[&str], name: &str| {
            let target = place.join(name);
            with_commits(Some(checkout.clone()), &wanted, &settings(urls), &target).await
        };
        let text = fetched(&[], "nowhere.git").await.expect_err("no remote").to_string();
        assert!(
            text.contains("is a partial clone")
                && text.contains("there is no remote")
                && text.contains("Clone without a filter"),
            "{text}"
        );
        let repository = fetched(&[&url], "fetched.git").await.expect("fetched");
        assert_eq!(changed(&repository, &server).await, "feature.txt", "{filter} {depth}");
        let subjects = repository.subjects(&server.base, &server.head).await.expect("a log");
        assert_eq!(subjects[0], "second of the feature");
        repository.ensure_whole(&wanted).await.expect("whole");
        check_out_workspace(&repository, &server.head, &place.join("workspace"))
            .await
            .expect("a workspace");
        assert_eq!(
            git(&path, &["count-objects", "-v"]),
            objects,
            "the checkout was changed"
        );
        // A commit that becomes necessary later comes on top of what there is.
        let later = git(&server.root(), &["rev-parse", "merge"]);
        let repository = with_commits(
            Some(repository),
            &[&later],
            &settings(&[&url]),
            &place.join("later.git"),
        )
        .await
        .expect("fetched");
        repository
            .ensure_whole(&[&later, &server.head, &server.base, &old])
            .await
            .expect("whole");
    }
}

#[tokio::test]
async fn a_checkout_that_has_everything_is_taken_as_it_is() {
    let server = Server::new();
    let checkout = Repository::open(&server.root()).await.expect("a checkout");
    let target = server.scratch.path.join("fetched.git");
    let repository = with_commits(Some(checkout), &server.wanted(), &settings(&[]), &target)
        .await
        .expect("complete");
    assert_eq!(repository.root(), server.root());
    assert!(!target.exists());
}

#[tokio::test]
async fn without_a_checkout_everything_is_fetched() {
    let server = Server::new();
    let target = server.scratch.path.join("fetched.git");
    let url = format!("file://{}", server.root());
    let repository = with_commits(None, &server.wanted(), &settings(&[&url]), &target)
        .await
        .expect("fetched");
    assert_eq!(changed(&repository, &server).await, "feature.txt");
    let workspace = server.scratch.path.join("workspace");
    check_out_workspace(&repository, &server.head, &workspace)
        .await
        .expect("a workspace");
    assert!(workspace.join("feature.txt").exists());
}

#[tokio::test]
async fn a_repository_with_longer_names_is_fetched_as_well() {
    let scratch = scratch();
    let root = scratch.path.join("server");
    std::fs::create_dir(&root).expect("a directory");
    git(&root, &["init", "--quiet", "--object-format=sha256"]);
    write(&root, "a.txt", "one\n");
    let head = commit(&root, "one");
    let url = format!("file://{root}");
    let target = scratch.path.join("fetched.git");
    let repository = with_commits(None, &[&head], &settings(&[&url]), &target)
        .await
        .expect("fetched");
    let workspace = scratch.path.join("workspace");
    check_out_workspace(&repository, &head, &workspace)
        .await
        .expect("a workspace");
    assert!(workspace.join("a.txt").exists());
}

#[tokio::test]
async fn history_that_is_not_connected_tells_only_the_last_commit() {
    let server = Server::new();
    let target = server.scratch.path.join("only-two");
    std::fs::create_dir(&target).expect("a directory");
    git(&target, &["init", "--quiet", "--bare"]);
    let url = format!("file://{}", server.root());
    for commit in server.wanted() {
        git(&target, &["fetch", "--quiet", "--depth=1", &url, commit]);
    }
    let repository = Repository::open(&target).await.expect("a repository");
    let subjects = repository.subjects(&server.base, &server.head).await.expect("a log");
    assert_eq!(subjects, ["second of the feature"]);
}

#[tokio::test]
async fn what_cannot_be_had_is_said_with_what_to_do() {
    let server = Server::new();
    let unknown = "1234567890123456789012345678901234567890";
    let fail = async |urls: &[&str], name: &str| {
        let target = server.scratch.path.join(name);
        let error = with_commits(None, &[unknown], &settings(urls), &target)
            .await
            .expect_err("there is no such commit");
        error.to_string()
    };
    let text = fail(&[], "one").await;
    assert!(
        text.contains(unknown) && text.contains("there is no remote to fetch it from"),
        "{text}"
    );
    assert!(
        text.contains("`GIT_DEPTH: 0`") && text.contains("`GIT_STRATEGY: fetch`"),
        "{text}"
    );
    let url = format!("file://{}", server.root());
    let text = fail(&[&url], "two").await;
    assert!(text.contains("fetching it failed (this machine: "), "{text}");
}

/// Serves a repository by `git http-backend`, to whoever knows the password.
fn serve(root: Utf8PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let root = root.clone();
            std::thread::spawn(move || answer(stream, &root));
        }
    });
    address.to_string()
}

fn answer(mut stream: TcpStream, root: &Utf8Path) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = std::collections::HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    if header("authorization") != format!("Basic {}", BASE64_STANDARD.encode("gitlab-ci-token:job-t@ken")) {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return stream.write_all(refusal.as_bytes()).ok();
    }
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut backend = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", method)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    backend.stdin.take()?.write_all(&body).ok()?;
    let output = backend.wait_with_output().ok()?.stdout;
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n").ok()?;
    stream.write_all(&output).ok()
}

#[tokio::test]
async fn credentials_reach_the_server_and_nothing_else() {
    let server = Server::new();
    let address = serve(server.scratch.path.clone());
    let url = |user: &str| format!("http://{user}@{address}/server/.git");
    let target = server.scratch.path.join("fetched.git");
    // As a runner writes it, escapes included.
    let right = settings(&[&url("gitlab-ci-token:job-t%40ken")]);
    let repository = with_commits(None, &server.wanted(), &right, &target)
        .await
        .expect("fetched");
    assert_eq!(changed(&repository, &server).await, "feature.txt");
    let workspace = server.scratch.path.join("workspace");
    check_out_workspace(&repository, &server.head, &workspace)
        .await
        .expect("a workspace");
    for directory in [&target, &workspace.join(".git")] {
        let found = Command::new("grep")
            .args(["-rlE", "job-t|Authorization|gitlab-ci-token", directory.as_str()])
            .output();
        assert_eq!(
            String::from_utf8_lossy(&found.expect("grep runs").stdout),
            "",
            "left in {directory}"
        );
    }

    let wrong = settings(&[&url("gitlab-ci-token:wrong-secret")]);
    let target = server.scratch.path.join("refused.git");
    let text = with_commits(None, &server.wanted(), &wrong, &target)
        .await
        .expect_err("refused")
        .to_string();
    assert!(!text.contains("wrong-secret"), "{text}");
    assert!(text.contains(&address) && text.contains("GIT_DEPTH"), "{text}");
    // The next remote is tried.
    let both = settings(&[
        &url("gitlab-ci-token:wrong-secret"),
        &url("gitlab-ci-token:job-t%40ken"),
    ]);
    let target = server.scratch.path.join("second.git");
    with_commits(None, &server.wanted(), &both, &target)
        .await
        .expect("the second one has it");
}

#[tokio::test]
async fn a_server_that_never_answers_is_not_waited_for_for_ever() {
    let server = Server::new();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/x.git", silent.local_addr().expect("an address"));
    let impatient = FetchSettings {
        max_time: Duration::from_millis(300),
        ..settings(&[&url])
    };
    let target = server.scratch.path.join("fetched.git");
    let text = with_commits(None, &server.wanted(), &impatient, &target)
        .await
        .expect_err("no answer")
        .to_string();
    assert!(text.contains("no end after 0 s"), "{text}");
}

#[test]
fn only_addresses_that_run_nothing_are_remotes() {
    for url in [
        "ext::sh -c 'touch /tmp/x'",
        "git@example.org:x.git",
        "ssh://example.org/x",
        "-oProxyCommand=x",
        "",
    ] {
        assert!(Remote::parse(url).is_none(), "{url}");
    }
    let remote = Remote::parse("https://gitlab-ci-token:secret@git.example.org:8443/g/p.git").expect("a remote");
    assert_eq!(remote.host(), "git.example.org:8443");
    assert!(!format!("{remote:?}").contains("secret"), "{remote:?}");
}
