//! The agent runtimes that a scenario is played on.

use std::{cell::Cell, path::Path};

use super::program::{brief_opencode, opencode};

/// An agent runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentRuntime {
    OpenCode,
    Native,
}

thread_local! {
    // Each test has a thread of its own, on which all of it runs.
    static CURRENT: Cell<AgentRuntime> = const { Cell::new(AgentRuntime::OpenCode) };
}

impl AgentRuntime {
    /// The one that the test at hand plays on.
    pub(crate) fn current() -> Self {
        CURRENT.get()
    }

    /// The variables of a call that runs on it.
    pub(crate) fn variables(self, home: &Path) -> Vec<(&'static str, String)> {
        match self {
            Self::OpenCode => vec![
                ("CONCLAVE_OPENCODE", brief_opencode(home).display().to_string()),
                ("CONCLAVE_SANDBOX_PROGRAMS", opencode().display().to_string()),
            ],
            // There is no OpenCode, and no ripgrep is asked for.
            Self::Native => vec![("CONCLAVE_RUNTIME", "native".to_owned())],
        }
    }
}

/// Variable that `scripts/test --all` and `--changed` set: tables are played whole on OpenCode, too.
const ALL: &str = "CONCLAVE_TEST_ALL";

/// Returns whether the test at hand plays its tables whole, as it does on the native runtime.
pub(crate) fn plays_every_case() -> bool {
    AgentRuntime::current() == AgentRuntime::Native || std::env::var_os(ALL).is_some()
}

/// The cases of a table that the test at hand plays: all of them on the native runtime, and on OpenCode, where each takes ten times
/// as long, the first one, unless all are asked for. Put the one first that has most to do with the runtime.
pub(crate) fn played<C: IntoIterator>(cases: C) -> impl Iterator<Item = C::Item> {
    let count = if plays_every_case() { usize::MAX } else { 1 };
    cases.into_iter().take(count)
}

/// The wire formats that the test at hand plays: all of them on the native runtime, and on OpenCode one, unless all are asked for.
/// Which one goes by the test's name, so that a file of scenarios has all of them.
pub(crate) fn played_formats<F, const N: usize>(formats: [F; N]) -> impl Iterator<Item = F> {
    let every_case = plays_every_case();
    let name = std::thread::current()
        .name()
        .map_or(0, |name| name.bytes().map(usize::from).sum());
    let chosen = name.checked_rem(N);
    let numbered = formats.into_iter().enumerate();
    numbered.filter_map(move |(at, format)| (every_case || chosen == Some(at)).then_some(format))
}

/// Plays a scenario on a runtime.
pub(crate) async fn on(runtime: AgentRuntime, scenario: impl Future<Output = ()>) {
    CURRENT.set(runtime);
    scenario.await;
}

/// Makes two tests of each of these scenarios, one for each runtime: what is true of a review is true on both.
macro_rules! on_both_runtimes {
    (@ $flavor:tt $($name:ident)*) => {
        mod opencode {
            $(#[tokio::test(flavor = $flavor)]
            async fn $name() {
                crate::support::on(crate::support::AgentRuntime::OpenCode, super::$name()).await;
            })*
        }

        mod native {
            $(#[tokio::test(flavor = $flavor)]
            async fn $name() {
                crate::support::on(crate::support::AgentRuntime::Native, super::$name()).await;
            })*
        }
    };
    (multi_thread: $($name:ident)*) => {
        on_both_runtimes! { @ "multi_thread" $($name)* }
    };
    ($($name:ident)*) => {
        on_both_runtimes! { @ "current_thread" $($name)* }
    };
}
