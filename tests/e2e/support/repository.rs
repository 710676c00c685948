//! Git repositories to review.

use std::{path::Path, process::Command};

use tempfile::TempDir;

/// A repository with a flawed branch `feature` on top of `main`.
pub(crate) struct Repository {
    directory: TempDir,
}

/// Python with problems that the demo model knows: SQL from user input, and a debug print.
const FLAWED: &str = "import sqlite3


def find(connection, name):
    print(\"DEBUG find\", name)
    return connection.execute(f\"SELECT * FROM users WHERE name = '{name}'\").fetchall()
";

impl Repository {
    /// An empty repository on `main`, with one commit that holds a README.
    pub(crate) fn new() -> Self {
        let repository = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.write("README.md", "# A small service\n");
        repository.commit("First commit");
        repository
    }

    /// A repository whose branch `feature`, checked out, adds code without a fault.
    pub(crate) fn clean() -> Self {
        let repository = Self::new();
        repository.git(&["checkout", "--quiet", "-b", "feature"]);
        repository.write(
            "src/greeting.py",
            "def greeting(name):\n    return \"Hello, \" + name\n",
        );
        repository.commit("Greet by name");
        repository
    }

    /// A repository whose branch `feature`, checked out, adds flawed code.
    pub(crate) fn flawed() -> Self {
        let repository = Self::new();
        repository.git(&["checkout", "--quiet", "-b", "feature"]);
        repository.write("src/users.py", FLAWED);
        repository.commit("Find users by name");
        repository
    }

    /// The same with a flaw in a second file, `src/orders.py`.
    pub(crate) fn two_flaws() -> Self {
        let repository = Self::flawed();
        repository.write(
            "src/orders.py",
            "import sqlite3\n\n\ndef orders(connection, user):\n    return connection.execute(f\"SELECT * FROM orders WHERE \
             user = '{user}'\").fetchall()\n",
        );
        repository.commit("List orders");
        repository
    }

    /// The repository that the demo reviews, with its branch `feature/order-export`.
    pub(crate) fn demo() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let script = super::repository_root().join("scripts/demo-repository");
        let output = Command::new(script).arg(directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, path: &str, content: &(impl AsRef<[u8]> + ?Sized)) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=A Developer", "-c", "user.email=developer@example.org"])
            .args(arguments)
            .current_dir(self.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}
