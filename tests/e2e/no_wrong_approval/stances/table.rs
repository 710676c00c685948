//! Every state before a run beside every ending of it: what the merge request shows of the bot then. What is expected stands as
//! data in `tests/failures/stances.json`, and `docs/failures.md` is made of it. Each row is a test on one server; each cell is a
//! merge request of its own and a whole run of the program. What a run leaves is decided above the runtimes: every state is played
//! on the native one, and on OpenCode the one with most to take back, an approval of the very commit, before the endings that a
//! runtime has a part in.

use conclave_fake_gitlab::{Builder, FakeGitlab, Tier};
use futures_util::{StreamExt, stream};
use serde::Deserialize;

use super::scene::{Cell, Stage};
use crate::support::{AgentRuntime, on, plays_every_case, repository_root};

/// How many cells of a row run beside each other.
const AT_ONCE: usize = 3;

/// The endings that a runtime has a part in: its review, a start that fails, and a stop before and while it works.
const OF_RUNTIMES: [&str; 5] = [
    "approves",
    "no_opencode",
    "stopped_at_the_start",
    "stopped_while_reviewing",
    "stopped_while_judging",
];

/// The table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) states: Vec<State>,
    pub(crate) endings: Vec<Ending>,
}

/// What the merge request shows of the bot before the run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) was: String,
}

/// How a run ends, and what it leaves for each state before, in their order.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ending {
    pub(crate) name: String,
    pub(crate) end: String,
    /// The exit codes with `--gate block`.
    pub(crate) exits: Vec<i32>,
    /// `A` for approved, `R` for changes requested, `-` for neither; `=` where it is as in the state before, for the same reason.
    pub(crate) then: Vec<String>,
}

impl Table {
    pub(crate) fn read() -> Self {
        let text = std::fs::read_to_string(repository_root().join("tests/failures/stances.json")).unwrap();
        let table: Self = serde_json::from_str(&text).expect("stances.json");
        for ending in &table.endings {
            let cells = (ending.exits.len(), ending.then.len());
            assert_eq!(cells, (table.states.len(), table.states.len()), "{}", ending.name);
        }
        table
    }
}

/// Plays a row: all endings from one state.
async fn row(name: &str) {
    let table = Table::read();
    let column = table
        .states
        .iter()
        .position(|state| state.name == name)
        .expect("a state");
    let builder: Builder = FakeGitlab::builder().tier(match name {
        "requested_free" => Tier::Free,
        _ => Tier::Premium,
    });
    let is_played = |ending: &&Ending| {
        ending.then[column] != "=" && (plays_every_case() || OF_RUNTIMES.contains(&ending.name.as_str()))
    };
    let played = || table.endings.iter().filter(is_played);
    let endings: Vec<&str> = played().map(|ending| ending.name.as_str()).collect();
    let stage = Stage::new(builder, name, &endings).await;
    let cells = played().map(|ending| {
        let stage = &stage;
        async move {
            let Cell { shows, outcome } = stage.play(&ending.name).await;
            let found = (shows, outcome.code);
            let expected = (ending.then[column].as_str(), Some(ending.exits[column]));
            (found != expected).then(|| {
                format!(
                    "{name} × {}: {found:?}, not {expected:?}\nstderr:\n{}\nstdout:\n{}",
                    ending.name, outcome.stderr, outcome.stdout
                )
            })
        }
    });
    let wrong: Vec<String> = stream::iter(cells)
        .buffer_unordered(AT_ONCE)
        .filter_map(|wrong| async { wrong })
        .collect()
        .await;
    assert!(wrong.is_empty(), "{} cells:\n{}", wrong.len(), wrong.join("\n======\n"));
    assert_eq!(stage.gitlab.violations(), []);
}

macro_rules! states {
    ($runtime:ident: $($name:ident)*) => {
        $(#[tokio::test]
        async fn $name() {
            on(AgentRuntime::$runtime, row(stringify!($name))).await;
        })*

        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

mod native {
    use super::{AgentRuntime, on, row};

    states! { Native: none approved_older approved_this requested requested_open requested_free }
}

mod opencode {
    use super::{AgentRuntime, on, row};

    states! { OpenCode: approved_this }
}

#[test]
fn the_data_and_the_tests_are_the_same_states() {
    let names: Vec<String> = Table::read().states.into_iter().map(|state| state.name).collect();
    assert_eq!(names, native::NAMES);
    assert!(opencode::NAMES.iter().all(|name| native::NAMES.contains(name)));
    let endings: Vec<String> = Table::read().endings.into_iter().map(|ending| ending.name).collect();
    assert!(
        OF_RUNTIMES
            .iter()
            .all(|name| endings.iter().any(|ending| ending == name))
    );
}

/// The rule in one sentence, held against the data: an approval comes of a review that approves this commit, and a request
/// for changes goes only with a finished one.
#[test]
fn the_data_follow_the_rule() {
    let table = Table::read();
    let finished = [
        "approves",
        "approves_with_comments",
        "approves_in_mode_comment",
        "minor_issues",
        "nothing_to_review",
        "only_noise",
    ];
    for ending in &table.endings {
        for (state, then) in table.states.iter().zip(&ending.then) {
            let place = format!("{} × {}", state.name, ending.name);
            let approves = ["approves", "approves_with_comments", "degraded"].contains(&ending.name.as_str());
            // What is merged is merged; nobody takes anything back there.
            assert!(then != "A" || approves || ending.name == "merged", "{place}");
            if then != "=" && state.name.starts_with("requested") && !finished.contains(&ending.name.as_str()) {
                assert_eq!(then, "R", "{place}");
            }
        }
    }
}
