//! The runtime over the real gateway, in front of the scripted provider.

use std::time::Duration;

use camino::Utf8PathBuf;
use conclave_engine::{
    plugin::{AgentSpec, McpServer, Owned, ToolGrant},
    ports::{FileRead, Remedy, ToolError, UsageLedger},
};
use conclave_gateway::{GatewayConfig, Upstream, Wire};
use conclave_scripted_provider::{Answer, Fault, Position, ScriptedProvider, Stop};
use conclave_shared::model::ModelId;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;

const ANTHROPIC: &str = "anthropic/claude-opus-4-7";
const CHAT: &str = "workers/@cf/meta/llama-4";
const RESPONSES: &str = "openai/gpt-6-sol";
const FORMATS: [&str; 3] = [ANTHROPIC, CHAT, RESPONSES];
const LONG: Duration = Duration::from_secs(30);
const PATCH: &str = ".conclave-review/patches/0001-a.patch";

struct Coordinating;

#[async_trait]
impl CoordinatorTools for Coordinating {
    async fn spawn_reviewers(&self) -> Result<Value, ToolError> {
        Ok(json!({"reviewers": []}))
    }

    async fn submit_review(&self, arguments: Value) -> Result<Value, ToolError> {
        if arguments["summary"].is_string() {
            // A valid one is answered when the session has ended.
            return std::future::pending().await;
        }
        Err(ToolError("`summary` is missing".to_owned()))
    }
}

struct Rig {
    provider: ScriptedProvider,
    gateway: Arc<Gateway>,
    runtime: NativeRuntime,
    _directory: tempfile::TempDir,
    root: Utf8PathBuf,
}

fn owned<T>(value: T) -> Owned<T> {
    Owned { plugin: "test", value }
}

fn agent(name: &str, role: AgentRole) -> Owned<AgentSpec> {
    owned(AgentSpec {
        name: name.to_owned(),
        description: String::new(),
        role,
    })
}

fn config() -> RuntimeConfig {
    let grant = |tool: &str| {
        owned(ToolGrant {
            agent: "coordinator".to_owned(),
            tool: tool.to_owned(),
        })
    };
    RuntimeConfig {
        agents: vec![
            agent("security", AgentRole::Reviewer),
            agent("coordinator", AgentRole::Coordinator),
        ],
        tools: vec![grant("spawn_reviewers"), grant("submit_review")],
        ..RuntimeConfig::default()
    }
}

async fn rig() -> Rig {
    let provider = ScriptedProvider::builder()
        .api_key("key")
        .start()
        .await
        .expect("a provider");
    let upstream = |name: &str, wire| Upstream {
        name: name.to_owned(),
        wire,
        base_url: format!("{}/{name}/v1", provider.url()).parse().expect("an address"),
        credential: Some("key".to_owned().into()),
        extra_headers: Vec::new(),
    };
    let providers = vec![
        upstream("anthropic", Wire::Anthropic),
        upstream("workers", Wire::OpenAiChat),
        upstream("openai", Wire::OpenAiResponses),
    ];
    let mut settings = GatewayConfig::new(providers, "run-key".to_owned().into());
    settings.http.system_proxy = false;
    let gateway = Arc::new(Gateway::in_process(settings).expect("a gateway"));
    let directory = tempfile::tempdir().expect("a directory");
    let root = Utf8PathBuf::from_path_buf(directory.path().to_owned()).expect("UTF-8");
    let workspace = root.join("ws");
    std::fs::create_dir_all(workspace.join(".conclave-review/patches")).expect("a directory");
    std::fs::create_dir_all(workspace.join("src")).expect("a directory");
    std::fs::write(workspace.join("src/main.rs"), "fn main() {\n    find();\n}\n").expect("a file");
    std::fs::write(workspace.join(PATCH), "@@ -0,0 +1 @@\n+fn main() {\n").expect("a file");
    let runtime = NativeRuntime::new(&NativeSettings {
        config: &config(),
        gateway: Arc::clone(&gateway),
        tools: Arc::new(Coordinating),
        workspace: &workspace,
        is_confined: true,
        reviewer_prompt: "# Rules for every reviewer\n\nReview.",
        coordinator_prompt: "# Review coordinator\n\nJudge.",
        journal: &root.join("events.jsonl"),
        redactor: &Redactor::default(),
    })
    .expect("a runtime");
    Rig {
        provider,
        gateway,
        runtime,
        _directory: directory,
        root,
    }
}

fn model(name: &str) -> ModelId {
    name.parse().expect("a model")
}

struct Open {
    id: SessionId,
    events: mpsc::UnboundedReceiver<SessionEvent>,
}

impl Rig {
    async fn open(&self, models: &[&str]) -> Open {
        let (id, events) = self
            .runtime
            .create_session("review: security")
            .await
            .expect("a session");
        let models: Vec<ModelId> = models.iter().map(|name| model(name)).collect();
        self.gateway.assign(&id, "security", &models);
        Open { id, events }
    }

    async fn prompt(&self, open: &Open, agent: &str, name: &str, parts: &[&str]) {
        let prompt = SessionPrompt {
            agent: agent.to_owned(),
            model: model(name),
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
        };
        self.runtime.prompt(&open.id, &prompt).await.expect("it takes a prompt");
    }

    /// Asks a reviewer, waits for the end of the turn, and returns its events and the last answer.
    async fn ask(&self, open: &mut Open, name: &str) -> (Vec<SessionEvent>, SessionAnswer) {
        self.prompt(
            open,
            "security",
            name,
            &["the shared context", "# Reviewer: security\n"],
        )
        .await;
        self.end_of(open).await
    }

    async fn end_of(&self, open: &mut Open) -> (Vec<SessionEvent>, SessionAnswer) {
        let mut seen = Vec::new();
        loop {
            let event = timeout(LONG, open.events.recv())
                .await
                .expect("it goes on")
                .expect("an event");
            if event == SessionEvent::Idle {
                break;
            }
            if !matches!(event, SessionEvent::Alive | SessionEvent::Called { .. }) {
                seen.push(event);
            }
        }
        assert!(!self.runtime.is_busy(&open.id).await.expect("known"));
        let answer = self.runtime.last_answer(&open.id).await.expect("known");
        (seen, answer)
    }

    /// The bodies that the provider got.
    fn bodies(&self) -> Vec<Value> {
        let requests = self.provider.requests();
        requests
            .iter()
            .map(|request| serde_json::from_slice(&request.body).expect("JSON"))
            .collect()
    }
}

fn steps(reasons: &[&str]) -> Vec<SessionEvent> {
    reasons
        .iter()
        .map(|reason| SessionEvent::StepFinished((*reason).to_owned()))
        .collect()
}

fn reading() -> Answer {
    Answer::call("read", json!({"filePath": PATCH}))
        .and_call("grep", json!({"pattern": "fn \\w+"}))
        .and_call("glob", json!({"pattern": "**/*.rs"}))
        .with_thinking("Let me look at the patch first.")
        .with_text("I read my patch.")
}

#[tokio::test]
async fn the_arguments_of_a_tool_that_there_is_not_are_words_of_the_session() {
    let rig = rig().await;
    let finding = json!({"findings": [{"severity": "critical", "file": "src/main.rs"}]});
    rig.provider
        .set("security", 1, Answer::call("report_findings", finding.clone()));
    rig.provider.set("security", 2, Answer::text("<findings></findings>"));
    let mut open = rig.open(&[CHAT]).await;
    let (_, answer) = rig.ask(&mut open, CHAT).await;
    assert_eq!(answer.text, "<findings></findings>");
    let calls = rig.gateway.stray_calls(&open.id);
    let [call] = &calls[..] else {
        panic!("one call: {calls:?}");
    };
    assert_eq!(call.tool, "report_findings");
    let said: serde_json::Value = serde_json::from_str(&call.arguments).expect("the arguments");
    assert_eq!(said, finding);
}

#[tokio::test]
async fn a_session_reads_and_answers_in_every_format() {
    for name in FORMATS {
        let rig = rig().await;
        rig.provider.set("security", 1, reading());
        rig.provider.set("security", 2, Answer::text("<findings></findings>"));
        let mut open = rig.open(&[name]).await;
        let (events, answer) = rig.ask(&mut open, name).await;
        assert_eq!(events, steps(&["tool-calls", "stop"]), "{name}");
        assert_eq!(answer.text, "<findings></findings>");
        assert_eq!(
            (answer.finish.as_deref(), answer.complete, answer.fault),
            (Some("stop"), true, None)
        );
        let whole = FileRead {
            path: PATCH.to_owned(),
            first: 1,
            last: None,
            cut_lines: false,
        };
        assert_eq!(answer.reads, [whole], "{name}");
        let earlier: Vec<&str> = answer.earlier.iter().map(|earlier| earlier.text.as_str()).collect();
        assert_eq!(earlier, ["I read my patch."]);
        assert_eq!(rig.provider.violations(), [], "{name}");
        let last = rig.bodies().pop().expect("two requests").to_string();
        for said in [
            "1: @@ -0,0 +1 @@\\n2: +fn main() {\\n\\n(End of file - total 2 lines)",
            "src/main.rs:\\n  Line 1: fn main() {",
        ] {
            assert!(last.contains(said), "{name}: {last}");
        }
        // Reasoning goes back as the format wants it: signed, encrypted, or as it was said.
        let thought = match name {
            ANTHROPIC => "\"type\":\"thinking\",\"thinking\":\"Let me look at the patch first.\",\"signature\":\"",
            CHAT => "\"reasoning_content\":\"Let me look at the patch first.\"",
            _ => "\"type\":\"reasoning\",\"encrypted_content\":\"",
        };
        assert!(last.contains(thought), "{name}: {last}");
        // The books are the provider's.
        let usage = rig.gateway.usage(&open.id);
        let booked = rig.provider.books().model(model(name).model()).usage;
        assert_eq!(
            usage.iter().map(|usage| usage.tokens.cache_read).sum::<u64>(),
            booked.cache_read
        );
        assert_eq!(usage.iter().map(|usage| usage.calls).sum::<u64>(), 2);
    }
}

#[tokio::test]
async fn an_answer_that_a_server_takes_for_reasoning_is_not_lost() {
    let told = "<findings><finding><severity>critical</severity></finding></findings>";
    for name in [ANTHROPIC, CHAT] {
        let rig = rig().await;
        rig.provider.set("security", 1, Answer::text("").with_thinking(told));
        let mut open = rig.open(&[name]).await;
        let (_, answer) = rig.ask(&mut open, name).await;
        assert_eq!(answer.text, format!("<think>{told}</think>"), "{name}");
        rig.provider
            .set("security", 2, Answer::text("<findings></findings>").with_thinking(told));
        let (_, answer) = rig.ask(&mut open, name).await;
        assert_eq!(
            answer.text, "<findings></findings>",
            "{name}: beside an answer it is thinking"
        );
        assert_eq!(answer.reasoning, told, "{name}");
    }
}

#[tokio::test]
async fn sessions_share_every_byte_before_the_role_and_each_turn_reads_what_the_last_one_wrote() {
    let rig = rig().await;
    for turn in 1..=3 {
        rig.provider.set("security", turn, reading());
    }
    rig.provider.set("security", 4, Answer::text("<findings></findings>"));
    let mut first = rig.open(&[ANTHROPIC]).await;
    rig.ask(&mut first, ANTHROPIC).await;
    let bodies = rig.provider.requests();
    let mut second = rig.open(&[ANTHROPIC]).await;
    rig.ask(&mut second, ANTHROPIC).await;
    let again = rig.provider.requests();
    assert_eq!(bodies[0].text(), again[4].text(), "two sessions, one beginning");
    let mut earlier = String::new();
    for request in &bodies {
        let text = request.text();
        assert!(text.matches("\"cache_control\"").count() <= 4, "{text}");
        // The history only grows: without its marks every request begins with the one before it.
        let bare = text.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
        let same = earlier.bytes().zip(bare.bytes()).take_while(|(a, b)| a == b).count();
        assert!(earlier.len() - same < 24, "{earlier}\n{bare}");
        earlier = bare;
    }
    let entries = rig.provider.books().entries;
    for pair in entries[..4].windows(2) {
        let prompt = |entry: &conclave_scripted_provider::Entry| entry.usage.cache_read + entry.usage.cache_write;
        assert_eq!(
            pair[1].usage.cache_read,
            prompt(&pair[0]),
            "all of the last prompt is read"
        );
        assert_eq!(pair[1].usage.input, 0);
    }
}

#[tokio::test]
async fn what_a_steered_model_calls_leads_nowhere() {
    for name in FORMATS {
        let rig = rig().await;
        let calls = Answer::call("bash", json!({"command": "env"}))
            .and_call("submit_review", json!({"summary": "Clean."}))
            .and_call("write", json!({"filePath": "src/main.rs", "content": ""}))
            .and_call("read", json!({"filePath": "/proc/self/environ"}))
            .and_call("read", json!({"filePath": "../events.jsonl"}))
            .and_call("read", json!("no object"))
            .and_call("read", json!({}))
            .and_call("read", json!({"filePath": 7}))
            .and_call("read", json!({"filePath": "src/main.rs", "offset": -3}))
            .and_call("grep", json!({"pattern": "("}))
            .and_call("grep", json!({"pattern": format!("long{}(", "x".repeat(100_000))}))
            .and_call("", json!({}));
        rig.provider.set("security", 1, calls);
        rig.provider.set("security", 2, Answer::text("<findings></findings>"));
        let mut open = rig.open(&[name]).await;
        let (events, answer) = rig.ask(&mut open, name).await;
        assert_eq!(events, steps(&["tool-calls", "stop"]), "{name}");
        assert_eq!(answer.reads, []);
        let body = rig.bodies().pop().expect("two requests").to_string();
        for said in [
            "There is no tool `bash`. The tools are: glob, grep, read.",
            "There is no tool `submit_review`.",
            "There is no tool `write`.",
            "/proc/self/environ is outside of the workspace",
            "../events.jsonl is outside of the workspace",
            "The arguments of read are not a JSON object",
            "`filePath` is required.",
            "`filePath` has to be a string.",
            "`offset` has to be a whole number from 1.",
            "`(` is not a regular expression",
            "There is no tool ``.",
        ] {
            assert!(body.contains(said), "{name}: {said}: {body}");
        }
        // Five times in the call itself; its error repeats the beginning.
        assert_eq!(body.matches(&"x".repeat(19_000)).count(), 5 + 1, "{name}");
        assert_eq!(rig.provider.violations(), [], "{name}");
    }
}

#[tokio::test]
async fn a_hundred_calls_at_once_are_answered() {
    let rig = rig().await;
    let many = |count: usize| {
        (1..count).fold(
            Answer::call("read", json!({"filePath": "src/main.rs"})),
            |answer, number| answer.and_call("read", json!({"filePath": "src/main.rs", "offset": 1, "limit": number})),
        )
    };
    rig.provider.set("security", 1, many(100));
    rig.provider.set("security", 2, Answer::text("<findings></findings>"));
    let mut open = rig.open(&[ANTHROPIC]).await;
    let (_, answer) = rig.ask(&mut open, ANTHROPIC).await;
    assert_eq!(answer.reads.len(), 100);
    assert_eq!(rig.provider.violations(), []);
}

#[tokio::test]
async fn an_answer_that_is_longer_than_any_limit_is_given_up_and_not_kept() {
    let rig = rig().await;
    rig.provider.set("security", 1, Answer::text("x".repeat(10 << 20)));
    let mut open = rig.open(&[ANTHROPIC]).await;
    let (_, answer) = rig.ask(&mut open, ANTHROPIC).await;
    assert_eq!(answer.text, "");
    assert_eq!(answer.fault.expect("a fault").name, "MessageOutputLengthError");
}

#[tokio::test]
async fn an_answer_with_more_calls_than_a_session_makes_is_given_up_in_every_format() {
    let read = || json!({"filePath": "src/main.rs"});
    let calls = (0..1_000).fold(Answer::call("read", read()), |answer, _| {
        answer.and_call("read", read())
    });
    for name in FORMATS {
        let rig = rig().await;
        rig.provider.set("security", 1, calls.clone());
        let mut open = rig.open(&[name]).await;
        let (_, answer) = rig.ask(&mut open, name).await;
        assert!(answer.reads.is_empty(), "{name}");
        assert_eq!(
            answer.fault.expect("a fault").name,
            "MessageOutputLengthError",
            "{name}"
        );
    }
}

#[tokio::test]
async fn results_that_are_more_than_the_context_are_not_sent() {
    let rig = rig().await;
    let line = format!("{}\n", "y".repeat(1500));
    std::fs::write(rig.root.join("ws/large.txt"), line.repeat(400)).expect("a file");
    let large = |offset| json!({"filePath": "large.txt", "offset": offset});
    // Unknown models have 128,000 tokens: 256,000 bytes are about half of them.
    let calls = (1..8).fold(Answer::call("read", large(1)), |answer, number| {
        answer.and_call("read", large(number * 30))
    });
    rig.provider.set("security", 1, calls);
    rig.provider.set("security", 2, Answer::text("<findings></findings>"));
    let mut open = rig.open(&[CHAT]).await;
    let (_, answer) = rig.ask(&mut open, CHAT).await;
    assert_eq!(answer.reads.len(), 4, "what was not sent was not read");
    let body = rig.bodies().pop().expect("two requests").to_string();
    assert!(body.len() < 300_000, "{}", body.len());
    assert_eq!(body.matches("Call fewer tools at once").count(), 4);
}

#[tokio::test]
async fn a_stream_that_is_cut_inside_of_a_call_is_asked_for_again_and_its_call_runs_once() {
    for name in FORMATS {
        let rig = rig().await;
        rig.provider.set("security", 1, reading());
        rig.provider.set("security", 2, Answer::text("<findings></findings>"));
        rig.provider
            .inject(Fault::cut().at(Position::MidContent).turn(1).times(1));
        let mut open = rig.open(&[name]).await;
        let (events, answer) = rig.ask(&mut open, name).await;
        let mut expected = vec![SessionEvent::Retrying { attempt: 1 }];
        expected.extend(steps(&["tool-calls", "stop"]));
        assert_eq!(events, expected, "{name}");
        assert_eq!((answer.fault, answer.reads.len()), (None, 1), "{name}");
        assert_eq!(rig.provider.violations(), [], "{name}");

        rig.provider.inject(Fault::cut().at(Position::MidContent));
        let mut open = rig.open(&[name, "other/one"]).await;
        let (_, answer) = rig.ask(&mut open, name).await;
        let fault = answer.fault.expect("it does not go on for ever");
        assert_eq!(fault.remedy, Remedy::OtherProvider, "{name}");
    }
}

#[tokio::test]
async fn an_answer_with_calls_that_a_filter_stopped_can_be_asked_for_again() {
    for name in FORMATS {
        let rig = rig().await;
        rig.provider.set("security", 1, reading().with_stop(Stop::Refusal));
        for turn in 2..5 {
            rig.provider
                .set("security", turn, Answer::text("<findings></findings>"));
        }
        let mut open = rig.open(&[name]).await;
        let (_, answer) = rig.ask(&mut open, name).await;
        assert_eq!(answer.fault.expect("a fault").name, "ContentFilterError", "{name}");
        assert_eq!(answer.reads, [], "{name}: nothing was run");
        let (_, answer) = rig.ask(&mut open, name).await;
        assert_eq!(
            (answer.text.as_str(), answer.fault),
            ("<findings></findings>", None),
            "{name}"
        );
        assert_eq!(rig.provider.violations(), [], "{name}");
    }
}

#[tokio::test]
async fn an_answer_of_white_space_that_reached_its_limit_can_be_asked_for_again() {
    let rig = rig().await;
    // What is left of a text and a call that was cut off.
    rig.provider
        .set("security", 1, Answer::text("\n\n").with_stop(Stop::MaxTokens));
    rig.provider.set("security", 2, Answer::text("<findings></findings>"));
    let mut open = rig.open(&[ANTHROPIC]).await;
    let (events, _) = rig.ask(&mut open, ANTHROPIC).await;
    assert_eq!(events, steps(&["length"]));
    let (_, answer) = rig.ask(&mut open, ANTHROPIC).await;
    assert_eq!((answer.text.as_str(), answer.fault), ("<findings></findings>", None));
    assert_eq!(rig.provider.violations(), []);
}

#[tokio::test]
async fn an_event_that_cannot_be_parsed_breaks_the_answer_and_is_not_left_out() {
    let rig = rig().await;
    rig.provider.set(
        "security",
        1,
        Answer::text("A critical finding. Then something else, of some length."),
    );
    // Where a number is not one of ours, and the event is one of the format all the same.
    let odd = "\"logprob\":1e999,\"content\":\"A ";
    rig.provider.inject(Fault::bytes("\"content\":\"A ", odd).times(1));
    let mut open = rig.open(&[CHAT]).await;
    let (events, answer) = rig.ask(&mut open, CHAT).await;
    assert_eq!(answer.text, "A critical finding. Then something else, of some length.");
    assert_eq!(events[0], SessionEvent::Retrying { attempt: 1 });
    assert_eq!(rig.provider.requests().len(), 2, "it was asked again");
}

#[tokio::test]
async fn a_turn_that_is_ended_can_be_followed_by_one_on_another_provider() {
    let rig = rig().await;
    rig.provider
        .set("coordinator", 1, Answer::call("spawn_reviewers", json!({})));
    rig.provider.set(
        "coordinator",
        2,
        Answer::call("submit_review", json!({"decisions": []})).with_thinking("I judge."),
    );
    rig.provider.set(
        "coordinator",
        3,
        Answer::call("submit_review", json!({"summary": "Clean."})),
    );
    let mut open = rig.open(&FORMATS).await;
    rig.prompt(&open, "coordinator", ANTHROPIC, &["Judge this."]).await;
    for _ in 0..3 {
        while !matches!(
            timeout(LONG, open.events.recv())
                .await
                .expect("it goes on")
                .expect("an event"),
            SessionEvent::StepFinished(_)
        ) {}
    }
    assert!(
        rig.runtime.is_busy(&open.id).await.expect("known"),
        "the last call waits for the end"
    );
    rig.runtime.abort(&open.id).await.expect("it ends");
    let (_, answer) = rig.end_of(&mut open).await;
    assert_eq!(answer.fault.expect("it was ended").name, "MessageAbortedError");
    let body = |rig: &Rig| rig.bodies().pop().expect("a request").to_string();
    assert!(body(&rig).contains("`summary` is missing"), "{}", body(&rig));
    for (turn, name) in [(4, RESPONSES), (5, CHAT), (6, ANTHROPIC)] {
        rig.provider
            .set("coordinator", turn, Answer::text("Done.").with_thinking("On my way."));
        rig.prompt(&open, "coordinator", name, &["Go on."]).await;
        let (_, answer) = rig.end_of(&mut open).await;
        assert_eq!((answer.text.as_str(), answer.fault), ("Done.", None), "{name}");
        assert!(body(&rig).contains("Tool execution aborted"), "{name}");
    }
    // Each provider gets its own reasoning back, and none another's.
    let last = body(&rig);
    assert_eq!(last.matches("I judge.").count(), 1, "{last}");
    assert!(!last.contains("On my way."), "{last}");
    assert_eq!(rig.provider.violations(), []);
}

#[tokio::test]
async fn faults_are_those_of_the_other_runtime() {
    for (fault, name, remedy) in [
        (Fault::status(401), "APIError", Remedy::None),
        (Fault::status(400), "APIError", Remedy::None),
        (Fault::status(402), "APIError", Remedy::OtherProvider),
        (Fault::context_overflow(), "ContextOverflowError", Remedy::LessToRead),
    ] {
        let rig = rig().await;
        rig.provider.inject(fault.clone());
        let mut open = rig.open(&[ANTHROPIC]).await;
        let (_, answer) = rig.ask(&mut open, ANTHROPIC).await;
        let seen = answer.fault.expect("a fault");
        assert_eq!((seen.name.as_str(), seen.remedy), (name, remedy), "{fault:?}");
        assert!(seen.message.starts_with("conclave: "), "{seen:?}");
    }
    let rig = rig().await;
    rig.provider.inject(Fault::max_tokens());
    let mut open = rig.open(&[ANTHROPIC]).await;
    let (events, answer) = rig.ask(&mut open, ANTHROPIC).await;
    assert_eq!((events, answer.finish.as_deref()), (steps(&["length"]), Some("length")));
    rig.provider.heal();
    rig.provider.inject(Fault::empty());
    let mut open = rig.open(&[ANTHROPIC]).await;
    let (_, answer) = rig.ask(&mut open, ANTHROPIC).await;
    assert_eq!((answer.text.as_str(), answer.fault), ("", None));
}

#[tokio::test]
async fn the_record_has_what_readers_of_it_look_for() {
    let rig = rig().await;
    rig.provider.set("security", 1, reading());
    rig.provider.set("security", 2, Answer::text("<findings></findings>"));
    let mut open = rig.open(&[ANTHROPIC]).await;
    rig.ask(&mut open, ANTHROPIC).await;
    assert_eq!(rig.runtime.stop().await, None);
    assert!(rig.runtime.create_session("late").await.is_err());
    let text = std::fs::read_to_string(rig.root.join("events.jsonl")).expect("a record");
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    for kind in [
        "session.created",
        "message.updated",
        "message.part.updated",
        "message.part.delta",
        "session.idle",
    ] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let read = events
        .iter()
        .map(|event| &event["properties"]["part"])
        .find(|part| part["type"] == "tool" && part["tool"] == "read" && part["state"]["status"] == "completed");
    let read = read.expect("the read is on record");
    assert_eq!(read["state"]["input"]["filePath"], PATCH);
    assert_eq!(read["sessionID"], open.id.0);
}

#[test]
fn a_server_that_only_an_mcp_client_could_call_is_refused() {
    let mut config = config();
    config.mcp_servers.push(owned(McpServer {
        name: "tickets".to_owned(),
        location: McpLocation::Url("https://tickets.example.com/mcp".to_owned()),
        token_variable: "TOKEN",
    }));
    let settings = GatewayConfig::new(Vec::new(), "run-key".to_owned().into());
    let refused = NativeRuntime::new(&NativeSettings {
        config: &config,
        gateway: Arc::new(Gateway::in_process(settings).expect("a gateway")),
        tools: Arc::new(Coordinating),
        workspace: Utf8Path::new("/"),
        is_confined: false,
        reviewer_prompt: "",
        coordinator_prompt: "",
        journal: Utf8Path::new("/dev/null"),
        redactor: &Redactor::default(),
    });
    let error = refused.err().expect("an error").to_string();
    assert!(
        error.contains("`tickets`") && error.contains("--runtime opencode"),
        "{error}"
    );
}
