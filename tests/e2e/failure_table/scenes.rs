//! How each thing is broken.

use std::{future::Future, time::Duration};

use conclave_fake_gitlab::{Fault as ForgeFault, FaultKind as ForgeFaultKind};
use conclave_scripted_provider::{Answer, Break, COORDINATOR, Fault, FaultKind, Position, ScriptedProvider};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::Shown;
use crate::support::{AgentRuntime, Conclave, ConfigService, Outcome, Pipeline, Repository, Wrapper, crowd};

/// The only reviewer of a change this small.
const REVIEWER: &str = "generalist";
/// Something for a judge.
const SUGGESTION: &str = "<findings><finding><severity>suggestion</severity><category>naming</category><file>src/greeting.py</file>\
    <line>1</line><claim>The name does not say whom it greets.</claim><evidence>def greeting(name):</evidence>\
    <scenario>A reader looks it up.</scenario><checked>The callers.</checked><confidence>0.95</confidence></finding></findings>";
/// Time that a model is waited for to be asked.
const ASKED: Duration = Duration::from_mins(3);

/// Time that a run is waited for to begin its records.
const BEGUN: Duration = Duration::from_mins(3);

/// A clean merge request, its pipeline and its provider.
pub(super) struct Scene {
    provider: ScriptedProvider,
    pipeline: Pipeline,
    repository: Repository,
}

impl Scene {
    pub(super) async fn new(provider: ScriptedProvider, name: &str) -> Self {
        let repository = Repository::clean();
        if name.starts_with("patch") {
            // Too much for the prompt: it has to be opened.
            let text = "Hello, ".repeat(4000);
            repository.write(
                "src/greeting.py",
                &format!("def greeting(name):\n    return \"{text}\" + name\n"),
            );
            repository.commit("Greet at length");
        }
        Self {
            pipeline: Pipeline::new(&repository).await,
            provider,
            repository,
        }
    }

    fn job(&self) -> Conclave {
        self.pipeline.job(&self.repository, &[]).anthropic(&self.provider)
    }

    /// The same, with what the merge request shows then.
    pub(super) async fn shown(&self, name: &str) -> (Outcome, Shown) {
        let outcome = self.play(name).await;
        let shown = Shown {
            notes: self.pipeline.notes(),
            approved: self.pipeline.approved(),
            violations: format!("{:?}", self.pipeline.gitlab.violations()),
        };
        (outcome, shown)
    }

    /// Breaks what the row says, and runs the review.
    async fn play(&self, name: &str) -> Outcome {
        if let Some(fault) = provider_fault(name) {
            self.provider.inject(fault);
            return match limits(name) {
                Some(limits) => self.limited(self.job(), &limits).await,
                None => self.job().run().await,
            };
        }
        match name.split_once('_').map_or(name, |(first, _)| first) {
            "opencode" => self.with_opencode(name).await,
            "disk" => self.with_full_disk(name).await,
            "forge" => self.with_forge(name).await,
            "sigterm" => self.stopped_by(Signal::SIGTERM).await,
            "sigint" => self.stopped_by(Signal::SIGINT).await,
            _ => self.with_answers(name).await,
        }
    }

    /// What the models say, and everything else.
    async fn with_answers(&self, name: &str) -> Outcome {
        let says = |text: &str| Answer::text(text.to_owned());
        match name {
            "nothing" => {}
            "provider_is_unreachable" => {
                let job = self.job().env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
                return self.limited(job, &no_second_chance()).await;
            }
            "denied_tool" => self.provider.set(
                REVIEWER,
                1,
                Answer::call("read", json!({"filePath": "/proc/self/environ"})),
            ),
            "unknown_tool" => self.provider.set(
                REVIEWER,
                1,
                Answer::call("bash", json!({"command": "env", "description": "x"})),
            ),
            "findings_unreadable" => self.provider.set_always(REVIEWER, says("Looks good to me!")),
            "patches_not_opened" => self.provider.set_always(REVIEWER, says("<findings></findings>")),
            "patch_read_in_part" => {
                let patch = ".conclave-review/patches/0001-src-greeting-py.patch";
                let part = json!({"filePath": patch, "offset": 1, "limit": 3});
                self.provider.set(REVIEWER, 1, Answer::call("read", part));
                self.provider.set(REVIEWER, 2, says("<findings></findings>"));
            }
            "coordinator_never_submits" => {
                self.provider.set_words(REVIEWER, vec![says(SUGGESTION)]);
                self.provider.set_always(COORDINATOR, says("I would rather not."));
            }
            "coordinator_is_reminded" => {
                self.provider.set_words(REVIEWER, vec![says(SUGGESTION)]);
                self.provider.set(COORDINATOR, 1, says("I would rather not."));
                let decisions = json!([{"id": "F1", "action": "keep"}]);
                let review = json!({"summary": "A name.", "decisions": decisions, "proposed_verdict": "approved"});
                self.provider.set(COORDINATOR, 2, Answer::call("submit_review", review));
            }
            "push_during_the_review" => return self.pushed().await,
            "budget_spent" => {
                // The one call that is paid for brings nothing that can be read, and a second chance is not paid for.
                self.provider.set_always(REVIEWER, says("Looks good to me!"));
                let job = self.pipeline.job(&self.repository, &["--max-cost-usd", "0.000001"]);
                return job.anthropic(&self.provider).run().await;
            }
            "out_of_time" => {
                // Half a minute of the job's time is kept for its end; the start has to fit into the rest.
                self.provider.inject(Fault::hang());
                let start = match AgentRuntime::current() {
                    AgentRuntime::OpenCode => 10.0,
                    AgentRuntime::Native => 3.0,
                };
                let limit = format!("{:.0}", 30.0 + start * crowd());
                return self.job().env("CI_JOB_TIMEOUT", limit).run().await;
            }
            "both_workers_down" => {
                let job = self.job().env("CONCLAVE_CONFIG_URL", "http://127.0.0.1:9");
                let job = job.env("CONCLAVE_CONFIG_TOKEN", "t").env("CONCLAVE_TRACKER_TOKEN", "t");
                return job.env("CONCLAVE_TRACKER_URL", "http://127.0.0.1:9").run().await;
            }
            other => panic!("nobody knows how to break {other}"),
        }
        self.job().run().await
    }

    /// With these limits, as an operator configures them.
    async fn limited(&self, job: Conclave, limits: &Value) -> Outcome {
        let document = json!({"schema_version": 1, "revision": 1, "limits": limits});
        let service = ConfigService::start(document).await;
        let job = job.env("CONCLAVE_CONFIG_URL", &service.url);
        job.env("CONCLAVE_CONFIG_TOKEN", "reader").run().await
    }

    async fn with_opencode(&self, name: &str) -> Outcome {
        let run = "exec \"$OPENCODE\" \"$@\"";
        let wrapper = match name {
            "opencode_crashes_at_its_start" => Wrapper::new("echo 'Error: no space for me' >&2\nexit 1"),
            "opencode_crashes_in_the_run" => {
                self.provider.inject(Fault::hang().agent(REVIEWER));
                Wrapper::crashing()
            }
            "opencode_ignores_sigterm" => Wrapper::new("trap '' TERM\nexec \"$OPENCODE\" \"$@\""),
            "opencode_floods_its_output" => Wrapper::new(&format!("yes 'all is well' | head -c 1073741824 &\n{run}")),
            "opencode_writes_an_endless_line" => Wrapper::new(&format!("head -c 104857600 /dev/zero &\n{run}")),
            "opencode_without_our_agents" => Wrapper::new(&format!("export OPENCODE_CONFIG=/nowhere\n{run}")),
            "opencode_without_our_tools" => Wrapper::new(&format!("export CONCLAVE_RUN_TOKEN=another\n{run}")),
            other => panic!("nobody knows how to break {other}"),
        };
        let job = self.job().env("CONCLAVE_OPENCODE", wrapper.path());
        if name != "opencode_crashes_in_the_run" {
            return job.run().await;
        }
        let asked = self.asked(REVIEWER);
        job.run_while(|_| async {
            asked.await;
            wrapper.strike();
        })
        .await
    }

    async fn with_full_disk(&self, name: &str) -> Outcome {
        let job = self.job();
        let records = job.records();
        // What is in the way before the run is removed; this comes while it goes on.
        let begun = async || {
            let begun = tokio::time::timeout(BEGUN, async {
                while !records.join("progress.jsonl").exists() {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            });
            begun.await.expect("the records are begun");
        };
        match name {
            "disk_refuses_events" => {
                let broken = job.run_while(async |_| {
                    begun().await;
                    // Nothing is written through it. A disk that is full later ends the record the same way.
                    std::os::unix::fs::symlink("/dev/full", records.join("events.jsonl")).unwrap();
                });
                broken.await
            }
            "disk_full_for_the_review" => {
                let broken = job.run_while(async |_| {
                    begun().await;
                    // No file can be made in its place.
                    std::fs::create_dir_all(records.join("review.json/taken")).unwrap();
                });
                broken.await
            }
            "disk_full_for_opencode" => {
                // No file of OpenCode's may grow beyond a few blocks; the signal that would kill it is ignored.
                let wrapper = Wrapper::new("trap '' XFSZ\nulimit -f 8\nexec \"$OPENCODE\" \"$@\"");
                // In the sandbox it could not set that limit.
                let job = job.env("CONCLAVE_SANDBOX", "off");
                job.env("CONCLAVE_OPENCODE", wrapper.path()).run().await
            }
            other => panic!("nobody knows how to break {other}"),
        }
    }

    async fn with_forge(&self, name: &str) -> Outcome {
        let notes = "/projects/*/merge_requests/*/notes";
        let fault = match name {
            "forge_429_retry_after" => {
                ForgeFault::once("POST", notes, ForgeFaultKind::RateLimited { retry_after: Some(1) })
            }
            "forge_502_once" => ForgeFault::once("POST", notes, ForgeFaultKind::BadGateway),
            "forge_502_always" => ForgeFault::once("POST", notes, ForgeFaultKind::BadGateway).times(1000),
            "forge_500_on_approval" => {
                let approve = "/projects/*/merge_requests/*/approve";
                ForgeFault::once("POST", approve, ForgeFaultKind::ServerError).times(1000)
            }
            other => panic!("nobody knows how to break {other}"),
        };
        self.pipeline.gitlab.inject(fault);
        self.job().run().await
    }

    async fn pushed(&self) -> Outcome {
        let asked = self.asked(REVIEWER);
        self.job()
            .run_while(|_| async {
                asked.await;
                self.repository.git(&["checkout", "--quiet", "feature"]);
                self.repository.write("src/later.py", "def later():\n    return 1\n");
                self.repository.commit("Pushed while the review was running");
                self.repository.git(&["checkout", "--quiet", "main"]);
                let (gitlab, project) = (&self.pipeline.gitlab, self.pipeline.merge_request.project);
                gitlab.push(project, self.repository.path(), "feature");
            })
            .await
    }

    async fn stopped_by(&self, signal: Signal) -> Outcome {
        self.provider.inject(Fault::hang());
        let asked = self.asked(REVIEWER);
        self.job()
            .run_while(|pid| async move {
                asked.await;
                kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
            })
            .await
    }

    /// Comes back when this agent's model was asked.
    fn asked(&self, agent: &'static str) -> impl Future<Output = ()> + use<> {
        let provider = self.provider.clone();
        async move {
            let asking = async {
                while !provider.requests().iter().any(|request| request.agent == agent) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(ASKED, asking).await.expect("the model is asked");
        }
    }
}

/// A circuit that stays open for longer than a call is held: nobody waits for the two minutes after which a model is
/// tried again.
fn no_second_chance() -> Value {
    json!({"breaker": {"open_seconds": 300}})
}

/// The limits that a row needs, so that it does not take minutes.
fn limits(name: &str) -> Option<Value> {
    let fails_for_ever = [
        "provider_429",
        "provider_500",
        "provider_503",
        "provider_529",
        "provider_cuts_the_connection",
        "provider_ends_without_the_end",
        "provider_sends_garbage",
        "provider_error_inside_the_stream",
    ];
    if name.starts_with("provider_hangs") {
        return Some(json!({"first_sign_seconds": 3, "stall_seconds": 3, "breaker": {"open_seconds": 300}}));
    }
    if name.starts_with("provider_429_retry_after") {
        // Each model makes the run wait five seconds once, and not before both repetitions.
        return Some(json!({"breaker": {"failures": 2, "open_seconds": 300}}));
    }
    if name == "provider_sends_only_pings" {
        return Some(json!({"idle_seconds": 3, "breaker": {"open_seconds": 300}}));
    }
    fails_for_ever.contains(&name).then(no_second_chance)
}

/// The fault of a provider that a row is about; nothing for the other rows.
fn provider_fault(name: &str) -> Option<Fault> {
    let stream = |at, how| Fault::new(FaultKind::Stream { at, how });
    Some(match name {
        "provider_400" => Fault::status(400),
        "provider_401" => Fault::status(401),
        "provider_402" => Fault::status(402),
        "provider_403" => Fault::status(403),
        "provider_404" => Fault::status(404),
        "provider_413" => Fault::status(413),
        "provider_429" => Fault::status(429),
        "provider_429_retry_after_5" => Fault::status(429).retry_after(5),
        "provider_429_retry_after_3600" => Fault::status(429).retry_after(3600),
        "provider_429_twice" => Fault::status(429).agent(REVIEWER).times(2),
        "provider_500" => Fault::status(500),
        "provider_503" => Fault::status(503),
        "provider_529" => Fault::status(529),
        "provider_hangs_before_the_first_byte" => Fault::hang(),
        "provider_hangs_in_mid_stream" => Fault::stall(),
        "provider_sends_only_pings" => Fault::pings(),
        "provider_counts_nothing" => Fault::field("usage", None),
        "provider_cuts_the_connection" => Fault::cut(),
        "provider_cuts_it_once" => Fault::cut().agent(REVIEWER).times(1),
        "provider_ends_without_the_end" => stream(Position::MidContent, Break::CleanEnd),
        "provider_sends_garbage" => Fault::garbage(),
        "provider_error_inside_the_stream" => Fault::error_frame("server_error", "The server had an error"),
        "context_overflow" => Fault::context_overflow(),
        "answer_cut_off_always" => Fault::max_tokens(),
        "answer_cut_off_once" => Fault::max_tokens().agent(REVIEWER).turn(1).times(1),
        "answer_empty" => Fault::empty(),
        _ => return None,
    })
}
