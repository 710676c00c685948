//! A directory of somebody else's, and a server that sends git elsewhere.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::Neighbor;
use crate::support::{Conclave, Pipeline, Repository, executable, played, provider};

on_both_runtimes! {
    a_foreign_directory_with_programs_in_its_configuration_runs_none
}

/// A program that leaves a file with this name.
fn canary(directory: &Path, name: &str) -> String {
    let script = format!("#!/bin/sh\ntouch '{}/ran-{name}'\ncat\n", directory.display());
    executable(&directory.join(name), &script)
        .to_string_lossy()
        .into_owned()
}

fn ran(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("ran-")).collect()
}

/// Appends to a file of the repository's own directory.
fn append(repository: &Repository, path: &str, lines: &str) {
    let path = repository.path().join(path);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(path, before + lines).unwrap();
}

async fn a_foreign_directory_with_programs_in_its_configuration_runs_none() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let directory = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    for (section, key) in [
        ("filter \"evil=x.y\"", "clean"),
        ("filter \"evil=x.y\"", "smudge"),
        ("filter \"evil=x.y\"", "process"),
        ("core", "fsmonitor"),
        ("core", "sshCommand"),
        ("core", "alternateRefsCommand"),
        ("gpg", "program"),
        ("diff", "external"),
        ("diff \"evil\"", "textconv"),
        ("diff \"evil\"", "command"),
        ("credential", "helper"),
        ("uploadpack", "packObjectsHook"),
    ] {
        let program = canary(directory.path(), &format!("{key}-program"));
        writeln!(lines, "[{section}]\n\t{key} = {program}").unwrap();
    }
    let elsewhere = canary(directory.path(), "transport");
    write!(
        lines,
        "[filter \"evil=x.y\"]\n\trequired = true\n[log]\n\tshowSignature = true\n[extensions]\n\tpartialClone = \
         origin\n[remote \"origin\"]\n\turl = ext::{elsewhere}\n\tpromisor = true\n[protocol]\n\tallow = always\n"
    )
    .unwrap();
    // A commit that claims a signature, which `log.showSignature` has checked by the configured program.
    let head = repository.git(&["cat-file", "commit", "feature"]);
    let signed = head.replacen(
        "\n\n",
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----\n\n",
        1,
    );
    let object = directory.path().join("commit");
    std::fs::write(&object, signed + "\n").unwrap();
    let commit = repository.git(&["hash-object", "-t", "commit", "-w", object.to_str().unwrap()]);
    repository.git(&["update-ref", "refs/heads/feature", &commit]);
    append(&repository, ".git/included", &lines);
    append(&repository, ".git/config", "[include]\n\tpath = included\n");
    append(&repository, ".git/info/attributes", "* filter=evil=x.y diff=evil\n");
    repository.write("src/users.py", "def find(connection, name):\n    return eval(name)\n");
    repository.write("src/new.py", "def new():\n    return 1\n");

    for range in played([[].as_slice(), &["main..feature"], &["--staged"]]) {
        let arguments = [&["local"], range].concat();
        let outcome = Conclave::new(repository.path(), &arguments)
            .anthropic(&provider)
            .run()
            .await
            .expect_code(0);
        assert_eq!(ran(directory.path()), [] as [&str; 0], "{range:?}: {}", outcome.stderr);
    }
    // What the filters were asked for is reviewed as it stands in the files.
    let sent = provider.requests();
    assert!(sent.iter().any(|request| request.text().contains("return eval(name)")));
}

/// Puts a program before git that writes down how each git is started.
fn watched_git(directory: &Path) -> (String, PathBuf) {
    let path = std::env::var("PATH").unwrap();
    let git = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    let log = directory.join("log");
    let script = format!(
        "#!/bin/sh\n[ -z \"$GIT_CONFIG_NOSYSTEM\" ] || echo \"$GIT_ALLOW_PROTOCOL|$GIT_NO_LAZY_FETCH|$*\" >> '{}'\nexec '{}' \"$@\"\n",
        log.display(),
        git.trim()
    );
    executable(&directory.join("git"), &script);
    (format!("{}:{path}", directory.display()), log)
}

/// A server that is the given one for the API, if there is one, and sends every other request elsewhere; it counts them.
async fn redirecting(api: Option<String>, elsewhere: u16) -> (u16, Arc<AtomicUsize>) {
    let redirected = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&redirected);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (api, count) = (api.clone(), Arc::clone(&count));
            tokio::spawn(async move {
                let mut head = [0; 8192];
                let length = stream.read(&mut head).await.unwrap_or_default();
                let api = api.filter(|_| head[..length].starts_with(b"GET /api/"));
                if let Some(api) = api {
                    let mut server = TcpStream::connect(api).await.unwrap();
                    server.write_all(&head[..length]).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
                } else {
                    count.fetch_add(1, Ordering::SeqCst);
                    let answer = format!(
                        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{elsewhere}/x\r\ncontent-length: 0\r\n\
                         connection: close\r\n\r\n"
                    );
                    let _ = stream.write_all(answer.as_bytes()).await;
                }
            });
        }
    });
    (port, redirected)
}

#[tokio::test]
async fn the_token_of_a_review_by_address_follows_no_redirect() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let neighbor = Neighbor::default();
    let elsewhere = neighbor.listen(0).await.unwrap();
    let api = pipeline
        .gitlab
        .url()
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    let of_git = redirecting(Some(api), elsewhere).await;
    // The same where even the API is elsewhere.
    let of_all = redirecting(None, elsewhere).await;
    let directory = tempfile::tempdir().unwrap();
    for ((port, redirected), path) in [(of_git, "group/service"), (of_all, "sub/group/service")] {
        let iid = pipeline.merge_request.iid;
        let address = format!("http://127.0.0.1:{port}/{path}/-/merge_requests/{iid}");
        let outcome = Conclave::new(directory.path(), &["review", "--dry-run", "--mr", &address])
            .env("GITLAB_TOKEN", &pipeline.token)
            .anthropic(&provider)
            .run()
            .await;
        assert_ne!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(redirected.load(Ordering::SeqCst) > 0, "{}", outcome.stderr);
        assert!(!neighbor.heard().contains(&pipeline.token), "{}", neighbor.heard());
        assert!(
            !neighbor.heard().to_lowercase().contains("authorization"),
            "{}",
            neighbor.heard()
        );
    }
    assert_eq!(provider.requests().len(), 0);
}

#[tokio::test]
async fn the_token_follows_no_redirect_and_each_call_has_its_own_transport() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    // The job's repository lacks the merge request's commits: they have to be fetched.
    let checkout = Repository::new();
    let neighbor = Neighbor::default();
    let elsewhere = neighbor.listen(0).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let answer = format!(
                "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{elsewhere}/x.git/info/refs?service=git-upload-pack\r\n\
                 content-length: 0\r\nconnection: close\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let (path, log) = watched_git(directory.path());
    let job = |url: String| {
        pipeline
            .job(&checkout, &["--dry-run"])
            .anthropic(&provider)
            .env("PATH", &path)
            .env("CI_PROJECT_DIR", checkout.path())
            .env("CI_REPOSITORY_URL", url)
            .run()
    };
    let redirected = job(format!("http://gitlab-ci-token:the-token@127.0.0.1:{port}/x.git")).await;
    assert_ne!(redirected.code, Some(0), "{}", redirected.stderr);
    assert_eq!(neighbor.heard(), "", "git went where it was sent");
    job(format!("file://{}", repository.path().display()))
        .await
        .expect_code(0);

    let calls = std::fs::read_to_string(log).unwrap();
    let mut fetches = Vec::new();
    for call in calls.lines() {
        let [transports, lazy, arguments] = call.splitn(3, '|').collect::<Vec<_>>()[..] else {
            panic!("{call}");
        };
        assert_eq!(lazy, "1", "{call}");
        assert!(arguments.contains("http.followRedirects=false"), "{call}");
        assert!(!arguments.contains("safe.directory=*"), "{call}");
        if arguments.contains(" fetch ") {
            fetches.push(transports);
        } else {
            assert_eq!(transports, "none", "{call}");
        }
    }
    fetches.dedup();
    assert_eq!(fetches, ["http", "file"]);
}
