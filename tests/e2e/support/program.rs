//! Running `conclave` as a user does: as a process, with an environment of its own.

use std::{
    fs::File,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use conclave_scripted_provider::{DemoModel, ScriptedProvider};
use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    pty::{Winsize, openpty},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::runtimes::AgentRuntime;

/// The key that the stand-in for the model provider asks for. In no place but conclave may it ever be seen.
pub(crate) const PROVIDER_KEY: &str = "provider-key-that-nobody-may-see";
/// A review takes seconds; on a busy machine minutes. Longer than this it hangs.
const LONGEST: Duration = Duration::from_mins(5);
/// What OpenCode's JavaScript engine is told in tests. They run for seconds: what the optimising compiler would make quicker is
/// over by then, and its threads take a fifth of the processor time that a test needs.
pub(crate) const BRIEF: [(&str, &str); 2] = [("BUN_JSC_useDFGJIT", "0"), ("BUN_JSC_numberOfGCMarkers", "1")];

pub(crate) fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The pinned OpenCode, where `scripts/setup` puts it.
pub(crate) fn opencode() -> PathBuf {
    if let Some(path) = std::env::var_os("CONCLAVE_OPENCODE") {
        return path.into();
    }
    let modules = repository_root().join("node_modules");
    let found = ["opencode-linux-x64", "opencode-linux-arm64", "opencode-darwin-arm64"]
        .iter()
        .map(|package| modules.join(package).join("bin/opencode"))
        .find(|path| path.is_file());
    found.expect("OpenCode is missing: run `scripts/setup`, or set CONCLAVE_OPENCODE")
}

/// Puts a program into this directory that is the pinned OpenCode, told that it will be [`BRIEF`].
pub(crate) fn brief_opencode(directory: &Path) -> PathBuf {
    let settings = BRIEF.map(|(name, value)| format!("{name}={value}")).join(" ");
    let script = format!("#!/bin/sh\n{settings} exec '{}' \"$@\"\n", opencode().display());
    executable(&directory.join("opencode"), &script)
}

/// Writes a program.
pub(crate) fn executable(path: &Path, text: &str) -> PathBuf {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

/// A provider that plays the demo model and asks for [`PROVIDER_KEY`].
pub(crate) async fn provider() -> ScriptedProvider {
    ScriptedProvider::builder()
        .api_key(PROVIDER_KEY)
        .model(DemoModel::new())
        .start()
        .await
        .expect("a provider")
}

/// How `conclave` ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    output: PathBuf,
    /// Kept as long as somebody may look into it.
    _home: TempDir,
}

impl Outcome {
    /// Fails with everything that was printed, unless the exit code is this one.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// The review as the run directory keeps it.
    pub(crate) fn review(&self) -> Value {
        serde_json::from_str(&self.record("review.json")).expect("review.json")
    }

    /// The same, if there is one: a run that does not get that far leaves none.
    pub(crate) fn try_review(&self) -> Option<Value> {
        let path = self.output.join("review.json");
        // A device in its place could be read for ever.
        let text = path.is_file().then(|| std::fs::read_to_string(path).ok())??;
        serde_json::from_str(&text).ok()
    }

    /// A record of the run.
    pub(crate) fn record(&self, name: &str) -> String {
        std::fs::read_to_string(self.output.join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}\nstderr:\n{}", self.stderr))
    }

    /// Where the records are.
    pub(crate) fn directory(&self) -> &Path {
        &self.output
    }

    /// The models that answered, each once.
    pub(crate) fn models(&self) -> Vec<String> {
        let review = self.review();
        let reports = review["reviewers"]
            .as_array()
            .unwrap()
            .iter()
            .chain([&review["coordinator"]]);
        let mut models: Vec<String> = reports
            .flat_map(|report| report["usage"].as_array().unwrap())
            .filter(|usage| usage["tokens"]["output"].as_u64().unwrap() > 0)
            .map(|usage| usage["model"].as_str().unwrap().to_owned())
            .collect();
        models.sort();
        models.dedup();
        models
    }

    /// The categories of the findings that stand.
    pub(crate) fn categories(&self) -> Vec<String> {
        let review = self.review();
        let kept = review["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["fate"] == "kept");
        kept.map(|entry| entry["finding"]["category"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// A call of `conclave`. It has a home, a temporary directory and a run directory of its own.
pub(crate) struct Conclave {
    command: Command,
    home: TempDir,
    /// Where its records go.
    output: PathBuf,
}

impl Conclave {
    /// `conclave` with these arguments, in this directory.
    pub(crate) fn new(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
        command.args(arguments);
        Self::of(command, directory)
    }

    /// The same as the leader of a session whose terminal is its standard input.
    pub(crate) fn in_session(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new("setsid");
        command.args(["--ctty", env!("CARGO_BIN_EXE_conclave")]).args(arguments);
        Self::of(command, directory).env("TERM", "xterm").env("LANG", "C.UTF-8")
    }

    /// The same on a kernel whose Landlock has this version.
    pub(crate) fn on_landlock(version: u8, directory: &Path, arguments: &[&str]) -> Self {
        let conclave = env!("CARGO_BIN_EXE_conclave");
        let mut command = Command::new(Path::new(conclave).with_file_name("conclave-intruder"));
        command
            .args(["on-landlock", &version.to_string(), conclave])
            .args(arguments);
        Self::of(command, directory)
    }

    /// A shell script that calls `conclave`, in this directory; `output` in it is where the records go.
    pub(crate) fn script(directory: &Path, script: &str, output: &str) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_conclave")).parent().unwrap();
        let mut path = program.as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut command = Command::new("bash");
        command.args(["-euc", script]);
        let mut script = Self::of(command, directory);
        script.output = directory.join(output);
        script.env("PATH", path).without("CONCLAVE_OUTPUT")
    }

    fn of(mut command: Command, directory: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("tmp")).unwrap();
        let output = home.path().join("run");
        command
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path())
            .env("TMPDIR", home.path().join("tmp"))
            .env("CONCLAVE_OUTPUT", &output)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command.envs(AgentRuntime::current().variables(home.path()));
        Self { command, home, output }
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Without one of the variables that every call has.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// With an Anthropic key and this endpoint.
    pub(crate) fn anthropic(self, provider: &ScriptedProvider) -> Self {
        self.env("ANTHROPIC_API_KEY", PROVIDER_KEY)
            .env("ANTHROPIC_BASE_URL", provider.url())
    }

    /// With an OpenAI key and this endpoint.
    pub(crate) fn openai(self, provider: &ScriptedProvider) -> Self {
        self.env("OPENAI_API_KEY", PROVIDER_KEY)
            .env("OPENAI_BASE_URL", format!("{}/v1", provider.url()))
    }

    /// Where its records go.
    pub(crate) fn records(&self) -> PathBuf {
        self.output.clone()
    }

    /// Starts it, for tests that act while it runs.
    pub(crate) fn start(mut self) -> (Child, TempDir) {
        (self.command.spawn().expect("conclave starts"), self.home)
    }

    /// Starts it in a terminal, and returns its other side, which is not read: dropping it closes the terminal.
    pub(crate) fn start_in_terminal(mut self) -> (Child, TempDir, File) {
        let size = Winsize {
            ws_row: 40,
            ws_col: 100,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let terminal = openpty(&size, None).unwrap();
        // A copy in the program would keep its terminal open.
        fcntl(&terminal.master, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        let inside = || Stdio::from(terminal.slave.try_clone().unwrap());
        self.command.stdin(inside()).stdout(inside()).stderr(inside());
        let child = self.command.spawn().expect("conclave starts");
        (child, self.home, terminal.master.into())
    }

    /// Runs it to its end, and checks what must hold at every end: nothing is left in the temporary directory.
    pub(crate) async fn run(self) -> Outcome {
        self.run_while(|_| async {}).await
    }

    /// The same, while something else happens; that gets the process id.
    pub(crate) async fn run_while<Doing: Future<Output = ()>>(mut self, doing: impl FnOnce(u32) -> Doing) -> Outcome {
        let child = self.command.spawn().expect("it starts");
        let doing = doing(child.id().unwrap());
        let running = tokio::time::timeout(LONGEST, child.wait_with_output());
        let (output, ()) = tokio::join!(running, doing);
        let output = output.expect("it ends").unwrap();
        let left: Vec<_> = std::fs::read_dir(self.home.path().join("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        let in_home = self.home.path().join("run");
        let outcome = Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
            output: self.output,
            _home: self.home,
        };
        assert!(
            !outcome.stdout.contains(PROVIDER_KEY) && !outcome.stderr.contains(PROVIDER_KEY),
            "the key was printed"
        );
        nothing_left_running(&in_home).await;
        outcome
    }
}

/// Waits until a script runs in OpenCode's place, and returns its arguments. The sandbox lets it write nothing that a test could
/// wait for.
pub(crate) async fn serving(script: &Path) -> String {
    runs(script, "serve").await
}

/// Waits until a script runs with this among its arguments, and returns all of them.
pub(crate) async fn runs(script: &Path, argument: &str) -> String {
    let name = script.to_string_lossy().into_owned();
    let found = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut commands = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
        let serves = |command: &String| {
            let words: Vec<&str> = command.split('\0').collect();
            words.contains(&name.as_str()) && words.contains(&argument) && !words.contains(&"__sandbox")
        };
        commands
            .find(serves)
            .map(|command| command.trim_end_matches('\0').replace('\0', " "))
    };
    let waiting = tokio::time::timeout(SETTLED, async {
        loop {
            if let Some(command) = found() {
                return command;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waiting.await.expect("the script is run")
}

/// Time that what was killed may take to be gone, on a machine that does a lot else.
const SETTLED: Duration = Duration::from_mins(1);

/// Waits until no process refers to this run directory or its home any more.
pub(crate) async fn nothing_left_running(run: &Path) {
    let home = run.parent().unwrap().to_string_lossy().into_owned();
    let waiting = tokio::time::timeout(SETTLED, async {
        while running_with(&home).is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waiting.await.is_ok(), "left running: {:?}", running_with(&home));
}

/// A process whose environment or arguments name this directory.
fn running_with(directory: &str) -> Option<String> {
    let own = std::process::id().to_string();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == own || !name.chars().all(|character| character.is_ascii_digit()) {
            continue;
        }
        let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let (arguments, environment) = (read("cmdline"), read("environ"));
        let mentions = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(directory);
        // A zombie has neither any more.
        if !arguments.is_empty() && (mentions(&arguments) || mentions(&environment)) {
            return Some(String::from_utf8_lossy(&arguments).replace('\0', " "));
        }
    }
    None
}
