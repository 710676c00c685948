//! Reasoning effort as it reaches the providers, through the real OpenCode, in each wire format.

use conclave_scripted_provider::{Answer, DemoModel, Fault, RequestRecord, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{AgentRuntime, Conclave, Outcome, PROVIDER_KEY, Repository, played, provider};

on_both_runtimes! {
    anthropic_is_asked_by_adaptive_effort_where_the_model_takes_it_and_by_a_budget_elsewhere
    openai_is_asked_by_the_effort_of_its_reasoning
    a_compatible_endpoint_is_asked_only_what_was_declared
    a_name_that_the_runtime_knows_declares_nothing
    an_effort_that_the_model_refuses_is_left_out_and_named
    signatures_hold_over_tool_turns_and_a_fallback_model_gets_none_that_it_cannot_read
    an_effort_that_cannot_be_read_or_taken_is_named_and_stops_no_review
}

/// A repository whose branch brings a panel with every class of models, and a fault for the coordinator to judge.
fn repository(settings: &str) -> Repository {
    let repository = Repository::new();
    repository.write(".conclave.toml", settings);
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(
        "auth/session.py",
        "import subprocess\n\n\ndef renew(token):\n    subprocess.run(f\"renew {token}\", shell=True)\n    return token\n",
    );
    repository.write("docs/guide.md", "# Sessions\n\nA session can be renewed.\n");
    repository.commit("Renew sessions");
    repository
}

/// The requests of an agent, all of them after the first as well.
fn requests_of(provider: &ScriptedProvider, agent: &str) -> Vec<RequestRecord> {
    let all = provider.requests().into_iter();
    let own: Vec<RequestRecord> = all.filter(|request| request.agent == agent).collect();
    assert!(!own.is_empty(), "{agent} asked nothing");
    own
}

/// Fails unless every request of the agent has exactly these bytes once, and none of the other fields.
#[track_caller]
fn expect_fields(provider: &ScriptedProvider, agent: &str, fields: &[&str], none_of: &[&str]) {
    for request in requests_of(provider, agent) {
        let text = request.text();
        for field in fields {
            assert_eq!(text.matches(field).count(), 1, "{agent}: {field}: {text}");
        }
        let body: Value = serde_json::from_str(&text).unwrap();
        for field in none_of {
            assert_eq!(body.get(field), None, "{agent}: {field}");
        }
    }
}

async fn plan(job: Conclave) -> Value {
    serde_json::from_str(&job.run().await.expect_code(0).stdout).unwrap()
}

fn seat<'a>(plan: &'a Value, name: &str) -> &'a Value {
    if name == "coordinator" {
        return &plan["coordinator"];
    }
    let mut reviewers = plan["reviewers"].as_array().unwrap().iter();
    reviewers.find(|reviewer| reviewer["name"] == name).unwrap()
}

async fn anthropic_is_asked_by_adaptive_effort_where_the_model_takes_it_and_by_a_budget_elsewhere() {
    let (provider, repository) = (provider().await, repository(""));
    let outcome = Conclave::new(repository.path(), &["local", "main"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let summarized = ",\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"}";
    for (agent, effort) in [("coordinator", "high"), ("security", "medium")] {
        let effort = format!(",\"output_config\":{{\"effort\":\"{effort}\"}}");
        expect_fields(&provider, agent, &[summarized, &effort], &["temperature"]);
    }
    // Haiku 4.5 thinks when it is asked to, and light reviewers do not ask.
    for request in requests_of(&provider, "documentation") {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!((body.get("thinking"), body.get("output_config")), (None, None));
        assert_eq!(
            (&body["temperature"], &body["max_tokens"]),
            (&json!(0.1), &json!(32000))
        );
    }
    assert_eq!(provider.violations(), []);
    assert!(outcome.review()["coordinator"]["outcome"] == "ok");

    let provider = crate::support::provider().await;
    Conclave::new(
        repository.path(),
        &["local", "main", "--effort", "high,light=low,coordinator=max"],
    )
    .env("CONCLAVE_MODELS", "anthropic/claude-sonnet-4-5")
    .anthropic(&provider)
    .run()
    .await
    .expect_code(0);
    for (agent, budget, limit) in [
        ("coordinator", 31_999, 63_999),
        ("security", 16_000, 48_000),
        ("documentation", 4_096, 36_096),
    ] {
        let thinking = format!(",\"thinking\":{{\"type\":\"enabled\",\"budget_tokens\":{budget}}}");
        let limit = format!("\"max_tokens\":{limit},");
        expect_fields(&provider, agent, &[&limit], &["temperature", "output_config"]);
        // The demo model does not think, and a turn that began without a thought goes on without.
        for request in requests_of(&provider, agent).iter().filter(|request| request.turn == 1) {
            assert!(request.text().contains(&thinking), "{agent}: {}", request.text());
        }
    }
    assert_eq!(provider.violations(), []);
}

async fn openai_is_asked_by_the_effort_of_its_reasoning() {
    let (provider, repository) = (provider().await, repository(""));
    Conclave::new(repository.path(), &["local", "main"])
        .openai(&provider)
        .env("CONCLAVE_OPENAI_API", "responses")
        .run()
        .await
        .expect_code(0);
    for (agent, effort) in [
        ("coordinator", "high"),
        ("security", "medium"),
        ("documentation", "low"),
    ] {
        let expected = format!("\"reasoning\":{{\"effort\":\"{effort}\",\"summary\":\"auto\"}}");
        for request in requests_of(&provider, agent) {
            let text = request.text();
            assert!(text.contains(&expected), "{agent}: {expected}: {text}");
            assert_eq!(text.matches("\"effort\":").count(), 1, "{agent}");
            assert!(
                text.contains("\"include\":[\"reasoning.encrypted_content\"]"),
                "{agent}: {text}"
            );
            let body: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(body.get("temperature"), None, "{agent}");
        }
    }
    assert_eq!(provider.violations(), []);
}

async fn a_compatible_endpoint_is_asked_only_what_was_declared() {
    let declared = "[models.capabilities.\"compatible/thinker\"]\ncontext = 64_000\nmax_output = 20_000\ntemperature = 0.6\n\
                    thinking = { by = \"effort\", levels = [\"none\", \"low\", \"high\"] }\n";
    let repository = repository(declared);
    for (model, efforts) in [
        (
            "compatible/thinker",
            [
                ("coordinator", ",\"reasoning_effort\":\"high\""),
                ("security", ",\"reasoning_effort\":\"low\""),
                ("documentation", ",\"reasoning_effort\":\"none\""),
            ],
        ),
        (
            "compatible/plain",
            [("coordinator", ""), ("security", ""), ("documentation", "")],
        ),
    ] {
        let provider = provider().await;
        let job = |arguments: &[&str]| {
            Conclave::new(repository.path(), arguments)
                .env("CONCLAVE_COMPATIBLE_BASE_URL", format!("{}/v1", provider.url()))
                .env("CONCLAVE_COMPATIBLE_API_KEY", PROVIDER_KEY)
                .env("CONCLAVE_MODELS", model)
        };
        let outcome = job(&["local", "main"]).run().await.expect_code(0);
        let thinks = model == "compatible/thinker";
        for (agent, field) in efforts {
            let fields: &[&str] = if thinks { &[field] } else { &[] };
            let none_of: &[&str] = if thinks {
                &[]
            } else {
                &["reasoning_effort", "temperature"]
            };
            expect_fields(&provider, agent, fields, none_of);
        }
        if thinks {
            // The answer keeps its room, up to what the model can; sampling is for those who do not think.
            for (agent, limit, temperature) in [("security", 20_000, None), ("documentation", 20_000, Some(json!(0.6)))]
            {
                let body: Value = serde_json::from_slice(&requests_of(&provider, agent)[0].body).unwrap();
                assert_eq!(body["max_tokens"], limit, "{agent}");
                assert_eq!(body.get("temperature").cloned(), temperature, "{agent}");
            }
            if AgentRuntime::current() == AgentRuntime::OpenCode {
                let opencode: Value = serde_json::from_str(&outcome.record("opencode.json")).unwrap();
                let limit = &opencode["provider"]["compatible"]["models"]["thinker"]["limit"];
                assert_eq!(limit, &json!({"context": 64_000, "output": 20_000}));
            }
        }
        assert_eq!(provider.violations(), []);
        let plan = plan(job(&["plan", "--format", "json", "main"])).await;
        let of = |name: &str| seat(&plan, name)["models"]["considered"][0]["effort"].clone();
        let said = if thinks {
            [
                "effort high",
                "effort low, the nearest to medium that it takes",
                "effort none",
            ]
        } else {
            ["takes no effort"; 3]
        };
        for (name, said) in ["coordinator", "security", "documentation"].into_iter().zip(said) {
            assert_eq!(of(name), said, "{name}");
        }
    }
}

/// Parameters of thinking and sampling. OpenCode writes some of them because of a model's name, whatever its configuration says.
const PARAMETERS: [&str; 10] = [
    "reasoning_effort",
    "reasoning",
    "include",
    "text",
    "verbosity",
    "thinking",
    "output_config",
    "temperature",
    "top_p",
    "top_k",
];

async fn a_name_that_the_runtime_knows_declares_nothing() {
    let repository = repository("");
    for (api, model) in played([
        ("chat", "compatible/openai/gpt-5.5"),
        ("chat", "compatible/google/gemini-2.5-pro"),
        ("responses", "compatible/openai.gpt-5.5"),
        ("anthropic", "compatible/claude-opus-7-1"),
    ]) {
        let provider = provider().await;
        let job = |arguments: &[&str]| {
            Conclave::new(repository.path(), arguments)
                .env("CONCLAVE_COMPATIBLE_BASE_URL", format!("{}/v1", provider.url()))
                .env("CONCLAVE_COMPATIBLE_API_KEY", PROVIDER_KEY)
                .env("CONCLAVE_COMPATIBLE_API", api)
                .env("CONCLAVE_MODELS", model)
        };
        let outcome = job(&["local", "main"]).run().await.expect_code(0);
        assert_eq!(outcome.review()["coordinator"]["outcome"], "ok");
        for agent in ["coordinator", "security", "documentation"] {
            expect_fields(&provider, agent, &[], &PARAMETERS);
        }
        assert_eq!(provider.violations(), []);
        let plan = plan(job(&["plan", "--format", "json", "main"])).await;
        let model = &seat(&plan, "security")["models"]["considered"][0];
        assert_eq!(model["effort"], "takes no effort");
    }
}

async fn an_effort_that_the_model_refuses_is_left_out_and_named() {
    let declared = "[models.capabilities.\"anthropic/claude-sonnet-4-5\"]\n\
                    thinking = { by = \"adaptive\", levels = [\"low\", \"medium\", \"high\"] }\n";
    let (provider, repository) = (provider().await, repository(declared));
    let outcome = Conclave::new(repository.path(), &["local", "main"])
        .env("CONCLAVE_MODELS", "anthropic/claude-sonnet-4-5")
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let review = outcome.review();
    assert_eq!(review["coordinator"]["outcome"], "ok");
    let warnings = review["warnings"].to_string();
    for said in [
        "anthropic/claude-sonnet-4-5 refused a call with the effort medium",
        "adaptive thinking is not supported on this model",
    ] {
        assert_eq!(warnings.matches(said).count(), 1, "{said}: {warnings}");
    }
    let is_refused = |request: &RequestRecord| request.status == Some(400);
    let (refused, answered): (Vec<_>, Vec<_>) = provider.requests().into_iter().partition(is_refused);
    // Those that were under way when the first of them was refused.
    assert!(refused.iter().all(|request| request.text().contains("\"adaptive\"")));
    assert!(refused.len() < answered.len());
    for request in answered {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!((body.get("thinking"), body.get("output_config")), (None, None));
    }
}

/// The thinking of a session's history, by its text and signature.
fn thoughts(request: &RequestRecord) -> Vec<(String, String)> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    let thoughts = blocks.filter(|block| block["type"] == "thinking");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    thoughts
        .map(|block| (text(&block["thinking"]), text(&block["signature"])))
        .collect()
}

async fn signatures_hold_over_tool_turns_and_a_fallback_model_gets_none_that_it_cannot_read() {
    let provider = ScriptedProvider::builder()
        .api_key(PROVIDER_KEY)
        .model(DemoModel::new())
        .start()
        .await
        .unwrap();
    let read = |thought: &str| Answer::call("read", json!({"filePath": "auth/session.py"})).with_thinking(thought);
    provider.set("security", 1, read("First the file."));
    provider.set("security", 2, read("Now once more."));
    provider.set("security", 3, read("The other model looks, too."));
    provider.set("security", 4, Answer::text("<findings></findings>"));
    // From its third turn on the session has another model.
    provider.inject(Fault::status(529).model("claude-sonnet-5").turn(3));
    provider.inject(Fault::status(529).model("claude-sonnet-5").turn(4));
    let repository = repository("");
    let outcome = Conclave::new(repository.path(), &["local", "main"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert_eq!(provider.violations(), []);
    let answered: Vec<RequestRecord> = requests_of(&provider, "security")
        .into_iter()
        .filter(|request| request.status == Some(200))
        .collect();
    // What may be asked of it afterwards is another matter.
    let answered = &answered[..4];
    let models: Vec<&str> = answered.iter().map(|request| request.model.as_str()).collect();
    assert_eq!(
        models,
        [
            "claude-sonnet-5",
            "claude-sonnet-5",
            "claude-sonnet-4-6",
            "claude-sonnet-4-6"
        ]
    );
    let told: Vec<Vec<String>> = answered
        .iter()
        .map(|request| thoughts(request).into_iter().map(|(text, _)| text).collect())
        .collect();
    assert_eq!(
        told[1],
        ["First the file."],
        "its own thought comes back, word for word"
    );
    assert_eq!(
        told[2], [""; 0],
        "the other model cannot read what the first one signed"
    );
    assert_eq!(told[3], ["The other model looks, too."]);
    assert!(
        thoughts(&answered[1])
            .iter()
            .all(|(_, signature)| !signature.is_empty())
    );
    for (request, thinking) in answered.iter().zip([
        json!({"type": "adaptive", "display": "summarized"}),
        json!({"type": "adaptive", "display": "summarized"}),
        json!({"type": "adaptive"}),
        json!({"type": "adaptive"}),
    ]) {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(
            (&body["thinking"], &body["output_config"]),
            (&thinking, &json!({"effort": "medium"}))
        );
    }
    let warnings = outcome.review()["warnings"].to_string();
    let stood_in = "anthropic/claude-sonnet-4-6 stood in for anthropic/claude-sonnet-5 (overloaded)";
    assert!(warnings.contains(stood_in), "{warnings}");
}

fn said(outcome: &Outcome) -> String {
    let all = format!("{} {}", outcome.stdout, outcome.stderr);
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

async fn an_effort_that_cannot_be_read_or_taken_is_named_and_stops_no_review() {
    let provider = provider().await;
    let repository = repository("[models]\neffort = \"hihg\"\n[models.reviewer_effort]\nsecurity = \"max\"\n");
    let job = |arguments: &[&str]| {
        Conclave::new(repository.path(), arguments)
            .anthropic(&provider)
            .openai(&provider)
    };
    let typo = job(&["plan", "main", "--effort", "secuirty=high"])
        .run()
        .await
        .expect_code(2);
    assert!(said(&typo).contains("Did you mean `security`?"), "{}", typo.stderr);
    let typo = job(&["local", "main", "--effort", "hihg"]).run().await.expect_code(2);
    assert!(
        said(&typo).contains("`hihg` is not an effort: did you mean `high`?"),
        "{}",
        typo.stderr
    );
    let problem = ".conclave.toml:2:10: `hihg` is not a `models.effort`: did you mean `high`?";
    let plan = job(&["plan", "main"]).run().await.expect_code(2);
    assert!(said(&plan).contains(problem), "{}", plan.stderr);

    let outcome = job(&["local", "main", "--models", "openai/gpt-4.1"])
        .run()
        .await
        .expect_code(0);
    let review = outcome.review();
    let warnings = review["warnings"].to_string();
    assert!(warnings.contains(problem), "{warnings}");
    assert!(
        warnings.contains("the effort max of security cannot be used as it is: openai/gpt-4.1 takes no effort"),
        "{warnings}"
    );
    assert_eq!(review["coordinator"]["outcome"], "ok");
    for request in provider.requests() {
        assert!(!request.text().contains("reasoning_effort"), "{}", request.text());
    }
}

#[tokio::test]
async fn the_preset_for_a_local_server_has_long_limits_a_small_context_and_two_reviewers_at_once() {
    let (provider, repository) = (provider().await, repository("[limits]\nidle_seconds = 1000\n"));
    let local = |arguments: &[&str]| {
        Conclave::new(repository.path(), arguments)
            .env("CONCLAVE_COMPATIBLE_BASE_URL", format!("{}/v1", provider.url()))
            .env("CONCLAVE_COMPATIBLE_API_KEY", PROVIDER_KEY)
            .env("CONCLAVE_MODELS", "compatible/qwen3-coder:30b")
            .env("CONCLAVE_PRESET", "local")
    };
    let plan = plan(local(&["plan", "--format", "json", "main"])).await;
    assert_eq!(plan["preset"], json!({"name": "local", "chosen_by": "job"}));
    assert_eq!(plan["warnings"], json!([]), "every limit can take effect");
    let model = &seat(&plan, "security")["models"]["considered"][0];
    assert_eq!(
        (&model["context"], &model["max_output"]),
        (&json!(32_768), &json!(8_192))
    );
    let outcome = local(&["local", "main"]).run().await.expect_code(0);
    assert_eq!(outcome.review()["coordinator"]["outcome"], "ok");
    let opencode: Value = serde_json::from_str(&outcome.record("opencode.json")).unwrap();
    let models = &opencode["provider"]["compatible"]["models"];
    assert_eq!(
        models["qwen3-coder:30b"]["limit"],
        json!({"context": 32_768, "output": 8_192})
    );
}
