//! A real terminal: a pane of tmux with a server of its own.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use tempfile::TempDir;

/// A program in a terminal. Everything in it ends with this.
pub(crate) struct Terminal {
    directory: TempDir,
}

impl Terminal {
    /// Time that a test waits for what has to appear, on a machine that does a lot else.
    const PATIENCE: Duration = Duration::from_mins(2);

    /// Runs a command of a shell in a terminal of this size, with nothing in its environment but these variables.
    pub(crate) fn start(size: (u16, u16), directory: &Path, variables: &[(&str, String)], command: &str) -> Self {
        let terminal = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let mut script = String::from("#!/bin/sh\nexec env -i \\\n");
        for (name, value) in variables {
            assert!(!value.contains('\''), "a quote in {name}");
            let _ = writeln!(script, "  {name}='{value}' \\");
        }
        let _ = writeln!(script, "  sh -c '{command}'");
        let path = terminal.directory.path().join("run.sh");
        std::fs::write(&path, script).unwrap();
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        let started = terminal.tmux(&[
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            "-c",
            directory.to_str().unwrap(),
            &format!("sh {}", path.display()),
        ]);
        assert!(started.status.success(), "{started:?}");
        // What has ended stays to be looked at.
        terminal.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
        terminal
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("tmux")
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        Command::new("tmux")
            .arg("-S")
            .arg(self.socket())
            .args(["-f", "/dev/null"])
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .output()
            .expect("tmux is missing: run `scripts/setup`")
    }

    /// Presses keys, as tmux names them; text goes in as it is.
    pub(crate) fn press(&self, keys: &[&str]) {
        let mut arguments = vec!["send-keys"];
        arguments.extend(keys);
        assert!(self.tmux(&arguments).status.success());
    }

    /// Types a text.
    pub(crate) fn type_text(&self, text: &str) {
        assert!(self.tmux(&["send-keys", "-l", text]).status.success());
    }

    /// All that was shown so far, with what has scrolled away.
    pub(crate) fn text(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-S", "-"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The same with its colours.
    pub(crate) fn colored(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-e", "-S", "-"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until this holds of what is shown.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let waiting = async {
            loop {
                let text = self.text();
                if holds(&text) {
                    return text;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let waited = tokio::time::timeout(Self::PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("{what} does not appear in\n{}", self.text()))
    }

    /// Waits until this text is shown.
    pub(crate) async fn shows(&self, text: &str) -> String {
        self.until(text, |shown| shown.contains(text)).await
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
