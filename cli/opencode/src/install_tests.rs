//! Installing from a registry and from files: whole or not at all.

use std::os::unix::fs::PermissionsExt;

use axum::{Router, http::StatusCode, routing::get};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha512};

use super::*;
use crate::test_support::{USUAL as HERE, bin, no_sandbox, program, tarball};

/// A package whose program runs this script, and its pin.
fn package(name: &'static str, script: &str) -> (Pin, Vec<u8>) {
    let text = format!("#!/bin/sh\n{script}\n");
    let bytes = tarball(&[
        ("package/package.json", "{}"),
        ("package/bin/opencode", &text),
        ("../../escaped", "x"),
    ]);
    let sum: &'static str = STANDARD.encode(Sha512::digest(&bytes)).leak();
    let pin = Pin {
        package: name,
        sha512: sum,
        megabytes: 1,
        ..PINS[0]
    };
    (pin, bytes)
}

/// A registry that answers this for every file.
async fn registry(status: StatusCode, bytes: Vec<u8>) -> String {
    let router = Router::new().route(
        "/npm/opencode-here/-/opencode-here-1.18.33.tgz",
        get(move || async move { (status, bytes) }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/npm")
}

struct Place {
    _directory: tempfile::TempDir,
    path: Utf8PathBuf,
    sandbox: Sandbox,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8PathBuf::from_path_buf(directory.path().join("share/conclave")).expect("UTF-8");
        Self {
            _directory: directory,
            path,
            sandbox: no_sandbox(),
        }
    }

    async fn install(&self, pins: &[Pin], source: InstallSource<'_>) -> Result<Vec<Utf8PathBuf>, String> {
        self.install_on(HERE, pins, source).await
    }

    async fn install_on(
        &self,
        machine: Machine,
        pins: &[Pin],
        source: InstallSource<'_>,
    ) -> Result<Vec<Utf8PathBuf>, String> {
        let settings = self.settings(source, "/usr/bin:/bin");
        install_for(machine, pins, settings)
            .await
            .map_err(|error| error.to_string())
    }

    fn settings<'a>(&'a self, source: InstallSource<'a>, path: &'a str) -> InstallSettings<'a> {
        InstallSettings {
            directory: &self.path,
            source,
            path,
            sandbox: &self.sandbox,
            registry_setting: "npm_config_registry",
            proxy: None,
            extra_ca_file: None,
            progress: &|_| (),
        }
    }

    /// The names of what is there, whole paths below the directory.
    fn files(&self) -> Vec<String> {
        fn below(directory: &Utf8Path, into: &mut Vec<Utf8PathBuf>) {
            for entry in directory.read_dir_utf8().expect("readable").flatten() {
                if entry.path().is_dir() {
                    below(entry.path(), into);
                } else {
                    into.push(entry.path().to_owned());
                }
            }
        }
        let mut files = Vec::new();
        if self.path.exists() {
            below(&self.path, &mut files);
        }
        let relative = |path: Utf8PathBuf| path.strip_prefix(&self.path).expect("below").to_string();
        let mut files: Vec<_> = files.into_iter().map(relative).collect();
        files.sort();
        files
    }
}

const WHOLE: [&str; 1] = ["opencode/1.18.33/opencode"];

#[tokio::test]
async fn a_program_is_fetched_checked_and_kept_and_not_fetched_twice() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let (place, url) = (Place::new(), registry(StatusCode::OK, bytes).await);
    let installed = place
        .install(&[pin], InstallSource::Registry(&url))
        .await
        .expect("installed");
    assert_eq!(installed, [installed_opencode(&place.path)]);
    assert_eq!(place.files(), WHOLE);
    let mode = installed[0].metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o500, 0o500, "{mode:o}");
    let nowhere = InstallSource::Registry("http://127.0.0.1:9/");
    place.install(&[pin], nowhere).await.expect("it is there already");
}

#[tokio::test]
async fn what_is_wrong_leaves_nothing_and_what_was_there_as_it_was() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let (other, others) = package("opencode-here", "echo 2.1.4");
    let place = Place::new();
    let cut = bytes[..bytes.len() / 2].to_vec();
    let huge = vec![0; 3_000_000];
    for (pin, status, body, said) in [
        (
            pin,
            StatusCode::NOT_FOUND,
            vec![],
            " answered 404 for opencode-here@1.18.33. Name a registry",
        ),
        (
            pin,
            StatusCode::UNAUTHORIZED,
            vec![],
            "The registry requires a login: set npm_config_registry=",
        ),
        (
            pin,
            StatusCode::FORBIDDEN,
            vec![],
            "npm_config_registry=https://USER:PASSWORD@HOST/",
        ),
        (
            pin,
            StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            vec![],
            "The proxy requires a login: set HTTP_PROXY=",
        ),
        (pin, StatusCode::TOO_MANY_REQUESTS, vec![], "wait some minutes"),
        (pin, StatusCode::INTERNAL_SERVER_ERROR, vec![], "try again later"),
        (
            pin,
            StatusCode::OK,
            others.clone(),
            " is not opencode-here@1.18.33: its SHA-512 is ",
        ),
        (
            pin,
            StatusCode::OK,
            cut,
            "is not opencode-here@1.18.33: its SHA-512 is ",
        ),
        (
            pin,
            StatusCode::OK,
            huge,
            "is not opencode-here@1.18.33: it is not packed with gzip. Nothing of it was kept; a login page or a proxy",
        ),
        (pin, StatusCode::OK, vec![], "is not opencode-here@1.18.33: it is empty"),
        (
            other,
            StatusCode::OK,
            others,
            "OpenCode 1.18.33 was fetched as it has to be, and does not run here: it reports the version `2.1.4`",
        ),
    ] {
        let url = registry(status, body).await;
        let error = place
            .install(&[pin], InstallSource::Registry(&url))
            .await
            .expect_err(said);
        assert!(error.contains(said), "{error}");
        assert!(!place.path.exists(), "no directory is left either: {error}");
    }
}

#[tokio::test]
async fn a_registry_that_cannot_be_asked_is_told_from_its_proxy_and_leaves_what_was_there() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let place = Place::new();
    for (address, said) in [
        ("http://127.0.0.1:9", "127.0.0.1:9 cannot be reached ("),
        ("http://127.0.0.1:9", "see that npm_config_registry has the right host"),
        ("http://127.0.0.1:9", "a proxy goes into HTTP_PROXY. Another registry"),
        (
            "registry.example.com",
            "the registry's address in npm_config_registry cannot be used: ",
        ),
        ("file:///etc", "it begins with neither https:// nor http://"),
        // A password that is not encoded ends the host.
        ("https://dev:abc#def@host/", " cannot be used: "),
        ("ftp://dev:abc@host/", "it begins with neither https:// nor http://"),
    ] {
        let error = place
            .install(&[pin], InstallSource::Registry(address))
            .await
            .expect_err(said);
        assert!(error.contains(said) && !error.contains("abc"), "{error}");
    }

    let proxy = Proxy {
        variable: "http_proxy".to_owned(),
        place: "127.0.0.1:9".to_owned(),
    };
    let settings = InstallSettings {
        proxy: Some(&proxy),
        ..place.settings(InstallSource::Registry("http://127.0.0.1:9"), "")
    };
    let error = install_for(HERE, &[pin], settings).await.expect_err("no connection");
    let error = error.to_string();
    assert!(
        error.contains("the proxy 127.0.0.1:9, which http_proxy names, is asked") && !error.contains("goes into"),
        "{error}"
    );

    // A broken one is there: it stays until a whole one takes its place.
    let broken = installed_opencode(&place.path);
    std::fs::create_dir_all(broken.parent().expect("a parent")).expect("a directory");
    std::fs::write(&broken, "half").expect("a file");
    let url = registry(StatusCode::NOT_FOUND, vec![]).await;
    place
        .install(&[pin], InstallSource::Registry(&url))
        .await
        .expect_err("404");
    assert_eq!(std::fs::read(&broken).expect("there"), b"half");
    let url = registry(StatusCode::OK, bytes).await;
    place
        .install(&[pin], InstallSource::Registry(&url))
        .await
        .expect("mended");
    assert_eq!(place.files(), WHOLE);
    assert_ne!(std::fs::read(&broken).expect("there"), b"half");
}

#[tokio::test]
async fn an_installation_that_was_stopped_is_repeated_and_its_remains_go() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let place = Place::new();
    let remains = place.path.join("opencode/.partial-killed/new");
    std::fs::create_dir_all(&remains).expect("a directory");
    std::fs::write(remains.join("opencode"), "half").expect("a file");

    // A registry that sends half of it and then nothing.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let slow = format!("http://{}", listener.local_addr().expect("bound"));
    let half = async {
        let (mut connection, _) = listener.accept().await.expect("a connection");
        tokio::io::AsyncWriteExt::write_all(&mut connection, b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\nhalf")
            .await
            .expect("sent");
        connection
    };
    let pins = [pin];
    let mut stopped = Box::pin(place.install(&pins, InstallSource::Registry(&slow)));
    let connection = tokio::select! {
        connection = half => connection,
        done = &mut stopped => panic!("it has only half: {done:?}"),
    };
    drop(stopped);
    drop(connection);
    assert_eq!(place.files(), [""; 0]);

    // One that was killed after it had moved what was there away: that goes back.
    let moved = place.path.join("opencode/.partial-killed/1.18.33/opencode");
    program(&moved, "echo 1.18.33");
    let nowhere = InstallSource::Registry("http://127.0.0.1:9/");
    place.install(&pins, nowhere).await.expect("it is there already");
    assert_eq!(place.files(), WHOLE);
    std::fs::remove_dir_all(place.path.join("opencode")).expect("removed");

    let url = registry(StatusCode::OK, bytes).await;
    place
        .install(&[pin], InstallSource::Registry(&url))
        .await
        .expect("repeated");
    assert_eq!(place.files(), WHOLE);
}

#[tokio::test]
async fn a_registry_that_stops_in_the_middle_is_no_registry_that_cannot_be_reached() {
    let (pin, _) = package("opencode-here", "echo 1.18.33");
    let place = Place::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    let url = format!("http://{address}");
    let half = async {
        let (mut connection, _) = listener.accept().await.expect("a connection");
        let mut request = [0; 1024];
        let _ = tokio::io::AsyncReadExt::read(&mut connection, &mut request).await;
        tokio::io::AsyncWriteExt::write_all(&mut connection, b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\nhalf")
            .await
            .expect("sent");
    };
    let pins = [pin];
    let (outcome, ()) = tokio::join!(place.install(&pins, InstallSource::Registry(&url)), half);
    let error = outcome.expect_err("only half came");
    let said = format!("{address} stopped in the middle of opencode-here@1.18.33: ");
    assert!(error.starts_with(&said) && error.contains("try again"), "{error}");
    assert_eq!(place.files(), [""; 0]);
}

#[tokio::test]
async fn two_at_once_wait_for_each_other() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let (place, url) = (Place::new(), registry(StatusCode::OK, bytes).await);
    let (pins, source) = ([pin], InstallSource::Registry(&url));
    let both = tokio::join!(place.install(&pins, source), place.install(&pins, source));
    assert_eq!(both.0.expect("installed"), both.1.expect("installed"));
    assert_eq!(place.files(), WHOLE);
}

#[tokio::test]
async fn a_link_in_the_place_of_the_lock_holds_nothing_up() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let (place, url) = (Place::new(), registry(StatusCode::OK, bytes).await);
    std::fs::create_dir_all(&place.path).expect("a directory");
    let elsewhere = place.path.parent().expect("a parent").join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, place.path.join(".lock")).expect("a link");
    let pins = [pin];
    let work = place.install(&pins, InstallSource::Registry(&url));
    let limit = std::time::Duration::from_secs(20);
    let done = tokio::time::timeout(limit, work).await;
    done.expect("it does not wait for ever").expect("installed");
    assert_eq!(place.files(), WHOLE);
    assert!(!elsewhere.exists(), "the link is not followed");
}

#[tokio::test]
async fn a_file_is_the_package_for_this_machine_or_refused_by_name() {
    // A processor without AVX2, and the package for those with it.
    let here = Machine { avx2: false, ..HERE };
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let (other, others) = package("opencode-elsewhere", "echo 1.18.33; exit");
    let pin = Pin {
        platform: Platform::LinuxX64Baseline,
        ..pin
    };
    let place = Place::new();
    std::fs::create_dir_all(&place.path).expect("a directory");
    let file = |name: &str, bytes: &[u8]| {
        let path = place.path.join(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    };
    let (right, wrong, unknown) = (
        file("right.tgz", &bytes),
        file("wrong.tgz", &others),
        file("unknown.tgz", b"x"),
    );
    let cut = file("cut.tgz", &bytes[..bytes.len() / 2]);
    let missing = place.path.join("missing.tgz");
    for (path, said) in [
        (
            &wrong,
            "wrong.tgz is opencode-elsewhere@1.18.33, which does not run on linux on x86_64 without AVX2. Make the right one with `npm pack opencode-here@1.18.33`",
        ),
        (
            &unknown,
            "unknown.tgz is none of the packages for this machine: its SHA-512 is ",
        ),
        (
            &unknown,
            ", and it is not packed with gzip. Make it with `npm pack opencode-here@1.18.33`",
        ),
        (
            &cut,
            ", and it ends too early. Make it with `npm pack opencode-here@1.18.33`",
        ),
        (&missing, "missing.tgz: No such file"),
    ] {
        // All are looked at before the first is installed.
        let files = [right.clone(), path.clone()];
        let error = place
            .install_on(here, &[pin, other], InstallSource::Files(&files))
            .await
            .expect_err(said);
        assert!(error.contains(said), "{error}");
        assert!(!installed_opencode(&place.path).exists());
    }
    // What is made for older processors runs on newer ones.
    for machine in [here, HERE] {
        place
            .install_on(
                machine,
                &[pin, other],
                InstallSource::Files(std::slice::from_ref(&right)),
            )
            .await
            .expect("installed");
        assert!(installed_opencode(&place.path).is_file());
        std::fs::remove_file(installed_opencode(&place.path)).expect("removed");
    }
    assert!(remove_installed(&place.path, &|_| ()).await.expect("removed"));
    for name in ["opencode", ".lock"] {
        assert!(!place.path.join(name).exists(), "{name}");
    }
    assert!(!remove_installed(&place.path, &|_| ()).await.expect("nothing there"));
}

#[tokio::test]
async fn who_brings_opencode_alone_learns_that_ripgrep_is_needed_unless_one_works() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let ripgrep = Pin {
        program: "ripgrep",
        package: "ripgrep-here",
        release: "15.0.0",
        ..pin
    };
    let (place, scratch) = (Place::new(), bin(&[]));
    let file = scratch.path.join("package.tgz");
    std::fs::write(&file, bytes).expect("a file");
    let (files, works) = ([file], bin(&[("rg", "echo ripgrep 15.0.0")]));
    for (path, is_missing) in [(&scratch.path, true), (&works.path, false)] {
        let said = std::sync::Mutex::new(Vec::new());
        let progress = |text: &str| said.lock().expect("no panic").push(text.to_owned());
        let settings = InstallSettings {
            progress: &progress,
            ..place.settings(InstallSource::Files(&files), path.as_str())
        };
        install_for(HERE, &[pin, ripgrep], settings).await.expect("installed");
        let said = said.into_inner().expect("no panic").join("\n");
        assert_eq!(said.contains("ripgrep (`rg`) is not on PATH"), is_missing, "{said}");
        assert_eq!(
            said.contains("`npm pack ripgrep-here@15.0.0` makes with --tarball"),
            is_missing,
            "{said}"
        );
    }
}

#[tokio::test]
async fn an_unknown_tarball_is_named_with_the_machine_that_it_says_it_is_for() {
    let (place, scratch) = (Place::new(), tempfile::tempdir().expect("a directory"));
    let file = Utf8PathBuf::from_path_buf(scratch.path().join("some.tgz")).expect("UTF-8");
    let files = [file.clone()];
    for (manifest, said) in [
        (
            r#"{"name":"opencode-linux-arm64","version":"1.18.33","os":["linux"],"cpu":["arm64"]}"#,
            "some.tgz is opencode-linux-arm64@1.18.33 for linux on arm64 (as its package.json says), which does not run on linux on \
             x86_64. Make the right one with `npm pack opencode-linux-x64@1.18.33`",
        ),
        (
            r#"{"name":"left-pad","version":"1.3.0","libc":"musl"}"#,
            "left-pad@1.3.0 for any system on any processor with musl (as its package.json says), which does not run on linux on \
             x86_64. Make the right one with `npm pack opencode-linux-x64@1.18.33 @vscode/ripgrep-linux-x64@1.18.0`",
        ),
        // One for this machine, which is not the one that was checked.
        (
            r#"{"name":"opencode-linux-x64","version":"1.18.34","os":["linux"],"cpu":["x64"]}"#,
            ", though it calls itself opencode-linux-x64@1.18.34. Make it with `npm pack opencode-linux-x64@1.18.33`",
        ),
    ] {
        let members = [("package/bin/opencode", "x"), ("package/package.json", manifest)];
        std::fs::write(&file, tarball(&members)).expect("a file");
        let error = place
            .install(&PINS, InstallSource::Files(&files))
            .await
            .expect_err(said);
        assert!(error.contains(said), "{error}");
        assert!(!place.path.exists(), "nothing is unpacked");
    }
}

#[tokio::test]
async fn a_file_that_changes_after_it_was_looked_at_is_not_installed() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let (_, others) = package("opencode-here", "echo 1.18.33; exit");
    let (place, scratch) = (Place::new(), tempfile::tempdir().expect("a directory"));
    let file = Utf8PathBuf::from_path_buf(scratch.path().join("package.tgz")).expect("UTF-8");
    let files = [file.clone()];
    let settings = place.settings(InstallSource::Files(&files), "/usr/bin:/bin");
    std::fs::write(&file, others).expect("a file");
    let changed = one(&pin, Origin::File(&file), settings)
        .await
        .expect_err("another file")
        .to_string();
    assert!(
        changed.contains("package.tgz has changed while it was read"),
        "{changed}"
    );
    assert_eq!(place.files(), [""; 0]);
    std::fs::write(&file, bytes).expect("a file");
    one(&pin, Origin::File(&file), settings).await.expect("installed");
    assert_eq!(place.files(), WHOLE);
}

#[tokio::test]
async fn ripgrep_is_fetched_where_none_on_the_path_answers_as_one() {
    let (pin, bytes) = package("opencode-here", "echo ripgrep 1.18.33");
    let pin = Pin {
        program: "ripgrep",
        ..pin
    };
    let url = registry(StatusCode::OK, bytes).await;
    for (script, fetched) in [("echo ripgrep 14.1.0", 0), ("exit 3", 1), ("echo rigor 1.0", 1)] {
        let (place, programs) = (Place::new(), bin(&[("rg", script)]));
        let settings = place.settings(InstallSource::Registry(&url), programs.path.as_str());
        let installed = install_for(HERE, &[pin], settings).await.expect("done");
        assert_eq!((installed.len(), place.files().len()), (fetched, fetched), "{script}");
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_for_want_of_room_says_how_much_it_takes() {
    let (pin, _) = package("opencode-here", "echo 1.18.33");
    let full = Place {
        path: "/dev/full/conclave".into(),
        ..Place::new()
    };
    let ripgrep = Pin {
        platform: pin.platform,
        ..PINS[2]
    };
    let settings = full.settings(InstallSource::Registry("http://127.0.0.1:9"), "");
    let error = install_for(HERE, &[pin, ripgrep], settings)
        .await
        .expect_err("a device is not a directory");
    let InstallError::Write { megabytes, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(megabytes, pin.megabytes + ripgrep.megabytes);
}

#[test]
fn the_checksum_is_the_one_of_the_lock_file() {
    let lock: serde_json::Value = serde_json::from_str(include_str!("../../../package-lock.json")).expect("JSON");
    let locked = &lock["packages"]["node_modules/opencode-linux-x64"];
    assert_eq!(locked["version"], PINS[0].version);
    assert_eq!(locked["integrity"], format!("sha512-{}", PINS[0].sha512));
    for pin in PINS {
        assert_eq!(
            STANDARD.decode(pin.sha512).map(|bytes| bytes.len()),
            Ok(64),
            "{}",
            pin.package
        );
    }
}

#[tokio::test]
async fn what_is_not_a_file_is_refused_and_not_waited_for() {
    let (place, scratch) = (Place::new(), tempfile::tempdir().expect("a directory"));
    let directory = Utf8PathBuf::from_path_buf(scratch.path().to_owned()).expect("UTF-8");
    let pipe = directory.join("pipe");
    nix::unistd::mkfifo(pipe.as_std_path(), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    for path in [pipe, "/dev/zero".into(), directory] {
        let files = [path];
        let refused = place.install(&[PINS[0]], InstallSource::Files(&files));
        let refused = tokio::time::timeout(std::time::Duration::from_mins(1), refused).await;
        let error = refused.expect("it ends").expect_err("refused");
        assert!(
            error.contains("it is not a file: name the file that `npm pack` makes"),
            "{error}"
        );
        assert!(!place.path.exists());
    }
}

#[tokio::test]
async fn removing_leaves_nothing_and_waits_for_nobody_who_is_gone() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let (place, url) = (Place::new(), registry(StatusCode::OK, bytes).await);
    // The lock file of one that was killed.
    std::fs::create_dir_all(&place.path).expect("a directory");
    std::fs::write(place.path.join(".lock"), "").expect("a file");
    let installed = place.install(&[pin], InstallSource::Registry(&url)).await;
    installed.expect("installed");
    assert_eq!(place.files(), WHOLE);
    assert!(remove_installed(&place.path, &|_| ()).await.expect("removed"));
    assert!(!place.path.exists());
    // Other things of the user's in it stay.
    std::fs::create_dir_all(&place.path).expect("a directory");
    std::fs::write(place.path.join("notes"), "").expect("a file");
    assert!(!remove_installed(&place.path, &|_| ()).await.expect("nothing there"));
    assert_eq!(place.files(), ["notes"]);
}

#[tokio::test]
async fn a_registry_gets_the_user_of_its_address_and_nobody_else_sees_it() {
    let (pin, bytes) = package("opencode-here", "echo 1.18.33");
    let router = Router::new().fallback(move |headers: axum::http::HeaderMap| async move {
        match headers.get("authorization").and_then(|value| value.to_str().ok()) {
            // `dev:hush-hush`
            Some("Basic ZGV2Omh1c2gtaHVzaA==") => (StatusCode::OK, bytes),
            _ => (StatusCode::UNAUTHORIZED, Vec::new()),
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = listener.local_addr().expect("bound").to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let place = Place::new();
    let wrong = format!("http://dev:another-word@{host}/");
    let error = place.install(&[pin], InstallSource::Registry(&wrong)).await;
    let error = error.expect_err("refused");
    assert!(
        error.contains("answered 401") && !error.contains("another-word"),
        "{error}"
    );
    let right = format!("http://dev:hush-hush@{host}/");
    let installed = place.install(&[pin], InstallSource::Registry(&right)).await;
    installed.expect("installed");
}
