//! The choice among several programs.

use super::*;
use crate::{
    check_version,
    install::installed_ripgrep,
    test_support::{bin, program},
};

fn on(path: &str) -> Search<'_> {
    Search {
        configured: None,
        installed: None,
        path,
        sandbox: off(),
    }
}

/// A ripgrep that says that it is one.
const RIPGREP: &str = "echo ripgrep 15.0.0";

/// The scripts of these tests write down that they ran.
fn off() -> &'static Sandbox {
    static OFF: std::sync::LazyLock<Sandbox> = std::sync::LazyLock::new(|| Sandbox::Off("a test".to_owned()));
    &OFF
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_said_with_the_fix() {
    let empty = bin(&[]);
    let error = on(empty.path.as_str())
        .programs()
        .await
        .expect_err("nothing there")
        .to_string();
    assert!(
        error.contains("1.18.33 is not installed: no `opencode` on PATH. Fetch it with `conclave runtime install`"),
        "{error}"
    );
    let text = empty.path.join("text");
    std::fs::write(&text, "#!/bin/sh\necho 1.18.33\n").expect("a file");
    for unusable in [&empty.path.join("nope"), &text, &empty.path] {
        let configured = Search {
            configured: Some(unusable),
            ..on("")
        };
        let error = configured.programs().await.expect_err("no program").to_string();
        let said = format!("CONCLAVE_OPENCODE is {unusable}, which is not a file that can be executed");
        assert!(error.contains(&said), "{error}");
    }
    let no_rg = bin(&[("opencode", "echo 1.18.33")]);
    let error = on(no_rg.path.as_str()).programs().await.expect_err("no rg").to_string();
    assert!(
        error.contains("ripgrep (`rg`) is not on PATH") && error.contains("`conclave runtime install`"),
        "{error}"
    );
    let right = bin(&[("opencode", "echo 1.18.33"), ("rg", RIPGREP)]);
    let found = on(right.path.as_str()).programs().await.expect("found");
    assert_eq!(
        (found.opencode.clone(), found.path.as_str()),
        (right.path.join("opencode"), right.path.as_str())
    );
    check_version(&found.opencode, "/usr/bin:/bin", off())
        .await
        .expect("the right one");
    let other = bin(&[("opencode", "echo 2.0.0")]);
    let error = check_version(&other.path.join("opencode"), "/usr/bin:/bin", off())
        .await
        .expect_err("another version");
    let error = error.to_string();
    assert!(
        error.contains("is OpenCode 2.0.0, but Conclave needs exactly 1.18.33"),
        "{error}"
    );
}

#[test]
fn whether_there_is_any_is_known_without_running_it() {
    let (empty, data) = (bin(&[("rg", "")]), bin(&[]));
    let there = bin(&[("opencode", ": > \"$0.ran\"; echo 2.1.4")]);
    let missing = no_opencode(Some(&data.path), empty.path.as_str()).expect("none is there");
    assert!(missing.to_string().contains("no `opencode` on PATH"), "{missing}");
    assert!(no_opencode(None, &format!("{}:{}", empty.path, there.path)).is_none());
    assert!(!there.path.join("opencode.ran").exists());
    program(&installed_opencode(&data.path), "");
    assert!(no_opencode(Some(&data.path), empty.path.as_str()).is_none());
}

#[tokio::test]
async fn another_version_on_the_path_is_passed_over_and_only_asked_for_its_version() {
    let calls = "echo \"$*\" >> \"${0%/*}/calls\"";
    let second = bin(&[("opencode", &format!("{calls}; echo 2.1.4")), ("rg", RIPGREP)]);
    let broken = bin(&[("opencode", "exit 3")]);
    std::fs::write(broken.path.join("opencode"), "no program").expect("a file");
    let right = bin(&[("opencode", "echo 1.18.33")]);
    let path = format!("bin:.::{}:{}:{}", second.path, broken.path, right.path);
    let found = on(&path).programs().await.expect("the third");
    assert_eq!(found.opencode, right.path.join("opencode"));
    assert_eq!(
        std::fs::read_to_string(second.path.join("calls")).expect("called"),
        "--version\n"
    );

    let text = bin(&[]);
    std::fs::write(text.path.join("opencode"), "#!/bin/sh\necho 1.18.33\n").expect("a file");
    assert!(no_opencode(None, text.path.as_str()).is_none());
    let path = format!("{}:{}:{}", second.path, broken.path, text.path);
    let error = on(&path).programs().await.expect_err("none is right");
    assert!(matches!(error, ProcessError::NoneFits(_)), "{error}");
    let error = error.to_string();
    assert!(
        error.contains(&format!(
            "{}/opencode is 2.1.4; {}/opencode does not run: ",
            second.path, broken.path
        )),
        "{error}"
    );
    let unusable = format!("; {}/opencode is not a file that can be executed. ", text.path);
    assert!(error.contains(&unusable), "{error}");
}

#[tokio::test]
async fn a_ripgrep_that_does_not_answer_as_one_is_passed_over() {
    let bare = bin(&[("opencode", "echo 1.18.33")]);
    let (other, fails, good) = (
        bin(&[("rg", "echo rigor 1.0")]),
        bin(&[("rg", "exit 3")]),
        bin(&[("rg", RIPGREP)]),
    );
    let (text, directory) = (bin(&[]), bin(&[]));
    // Without the right to execute it, it is not a program.
    std::fs::write(text.path.join("rg"), "#!/bin/sh\necho ripgrep 15.0.0\n").expect("a file");
    std::fs::create_dir(directory.path.join("rg")).expect("a directory");
    let path = format!("{}:{}:{}:{}", text.path, other.path, fails.path, good.path);
    let found = on(&path).ripgrep().await.expect("the last");
    assert_eq!(
        (found.binary, found.version.as_str()),
        (good.path.join("rg"), "ripgrep 15.0.0")
    );
    // What OpenCode starts under that name is the good one, too.
    let path = format!("{}:{}:{}", bare.path, other.path, good.path);
    let programs = on(&path).programs().await.expect("both");
    assert_eq!(programs.path, format!("{}:{path}", good.path));

    let path = format!("{}:{}:{}", bare.path, other.path, fails.path);
    let error = on(&path).programs().await.expect_err("none works");
    assert!(matches!(error, ProcessError::BrokenRipgrep(_)), "{error}");
    let error = error.to_string();
    let said = format!(
        "{}/rg is rigor 1.0; {}/rg does not run: it ended",
        other.path, fails.path
    );
    assert!(error.contains(&said), "{error}");
    let path = format!("{}:{}", text.path, directory.path);
    let error = on(&path).ripgrep().await.expect_err("no program").to_string();
    for place in [&text.path, &directory.path] {
        assert!(
            error.contains(&format!("{place}/rg is not a file that can be executed")),
            "{error}"
        );
    }

    // An installed one that is broken leaves it to the one on PATH.
    let data = bin(&[]);
    program(&installed_ripgrep(&data.path), "exit 3");
    let search = Search {
        installed: Some(&data.path),
        ..on(good.path.as_str())
    };
    assert_eq!(search.ripgrep().await.expect("on PATH").binary, good.path.join("rg"));
}

#[tokio::test]
async fn a_package_of_npm_says_its_version_without_running() {
    let prefix = bin(&[("rg", "")]);
    for (package, version) in [
        ("opencode-ai", "2.1.4"),
        ("opencode-linux-x64", "1.18.33"),
        ("left-pad", "1.18.33"),
    ] {
        let root = prefix.path.join("lib").join(package);
        program(&root.join("bin/opencode"), ": > \"$0.ran\"; echo 9.9.9");
        let manifest = format!(r#"{{"name":"{package}","version":"{version}"}}"#);
        std::fs::write(root.join("package.json"), manifest).expect("a file");
    }
    let at = |package: &str| prefix.path.join("lib").join(package).join("bin");
    let path = format!("{}:{}", at("opencode-ai"), at("opencode-linux-x64"));
    let found = on(&path).opencode().await.expect("the second");
    assert_eq!(found, at("opencode-linux-x64").join("opencode"));
    let error = on(at("left-pad").as_str())
        .opencode()
        .await
        .expect_err("not a package of OpenCode's");
    assert!(error.to_string().contains("is 9.9.9"), "{error}");
    let ran = |package: &str| at(package).join("opencode.ran").exists();
    assert_eq!(
        [ran("opencode-ai"), ran("opencode-linux-x64"), ran("left-pad")],
        [false, false, true]
    );
}

#[tokio::test]
async fn what_is_named_comes_before_what_is_installed_and_that_before_the_path() {
    let on_path = bin(&[("opencode", "echo 1.18.33"), ("rg", RIPGREP), ("mine", "")]);
    let data = bin(&[]);
    let (opencode, ripgrep) = (installed_opencode(&data.path), installed_ripgrep(&data.path));
    assert_eq!(opencode, data.path.join("opencode/1.18.33/opencode"));
    program(&opencode, "echo 1.18.33");
    program(&ripgrep, RIPGREP);
    let search = Search {
        installed: Some(&data.path),
        ..on(on_path.path.as_str())
    };
    let found = search.programs().await.expect("installed");
    assert_eq!(found.opencode, opencode);
    assert_eq!(
        found.path,
        format!("{}:{}", ripgrep.parent().expect("a directory"), on_path.path)
    );
    let mine = on_path.path.join("mine");
    let named = Search {
        configured: Some(&mine),
        ..search
    };
    assert_eq!(named.opencode().await.expect("named"), mine);
    // Another version in its place is passed over like one on PATH, and is asked only if there is a choice.
    program(&opencode, "echo 2.1.4");
    assert_eq!(search.opencode().await.expect("on PATH"), on_path.path.join("opencode"));
    program(&on_path.path.join("opencode"), "echo 2.1.5");
    let error = search.opencode().await.expect_err("none is right").to_string();
    let both = format!("{opencode} is 2.1.4; {}/opencode is 2.1.5. ", on_path.path);
    assert!(error.contains(&both), "{error}");
    program(&on_path.path.join("opencode"), "echo 1.18.33");
    let alone = Search { path: "", ..search };
    assert_eq!(alone.opencode().await.expect("the only one"), opencode);
    std::fs::remove_dir_all(data.path.join("opencode")).expect("removed");
    assert_eq!(search.opencode().await.expect("on PATH"), on_path.path.join("opencode"));
}
