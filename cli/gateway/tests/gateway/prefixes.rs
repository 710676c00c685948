//! What the provider's prompt cache makes of the prompts.

use std::time::Duration;

use conclave_engine::ports::UsageLedger;
use conclave_scripted_provider::Fault;
use conclave_shared::pricing::TokenUsage;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    client::Outcome,
    rig::{FORMATS, LONG, Rig, SLOW, model, pass, rig_with, session, wire_of},
};
use conclave_gateway::Wire;

/// A first request of a reviewer, as the runtime writes it.
fn reviewer(name: &str, role: &str, directory: &str) -> Value {
    let id = model(name);
    let prompt = "Quote the code that you speak of. ".repeat(120);
    let change = "+ let total = items.iter().sum();\n".repeat(400);
    let system = format!(
        "# Rules for every reviewer\n{prompt}\nYou are powered by the model named {}. The exact model ID is {name}\nHere is \
         some useful information\n<env>\n  Working directory: {directory}\n  Workspace root folder: {directory}\n  \
         Today's date: Fri Nov 20 2026\n</env>",
        id.model()
    );
    let mark = json!({"type": "ephemeral"});
    let parts = |kind: &str| json!([{"type": kind, "text": change}, {"type": kind, "text": role}]);
    match wire_of(id.provider()) {
        Wire::Anthropic => {
            let mut parts = parts("text");
            parts[1]["cache_control"] = mark.clone();
            json!({"model": id.model(), "max_tokens": 32000, "stream": true,
                "system": [{"type": "text", "text": system, "cache_control": mark}],
                "messages": [{"role": "user", "content": parts}]})
        }
        Wire::OpenAiChat => json!({"model": id.model(), "stream": true, "stream_options": {"include_usage": true},
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": parts("text")}]}),
        Wire::OpenAiResponses => json!({"model": id.model(), "stream": true, "store": false,
            "prompt_cache_key": format!("ses_{role}"),
            "input": [{"role": "developer", "content": system}, {"role": "user", "content": parts("input_text")}]}),
    }
}

const ROLES: [&str; 7] = [
    "security",
    "correctness",
    "performance",
    "code_quality",
    "documentation",
    "release",
    "tests",
];

/// Seven reviewers at once; what they used together.
async fn seven(rig: &Rig, name: &str) -> TokenUsage {
    let calls = ROLES.iter().map(|role| async move {
        let id = session(&format!("ses_{role}"));
        rig.gateway.assign(&id, role, &[model(name)]);
        rig.send(name, &id.0, &reviewer(name, role, "/tmp/conclave-1/workspace"))
            .await
    });
    let outcomes = join_all(calls).await;
    assert!(outcomes.iter().all(Outcome::is_whole), "{outcomes:?}");
    let mut total = TokenUsage::default();
    for role in ROLES {
        total += rig.gateway.usage(&session(&format!("ses_{role}")))[0].tokens;
    }
    total
}

#[tokio::test]
async fn of_seven_reviewers_six_find_the_prefix_in_the_cache() {
    for name in FORMATS {
        let rig = rig_with(|_| ()).await;
        // Slow enough that without holding back all seven would ask before the first answer.
        rig.provider.inject(Fault::slow(Duration::from_millis(150), 0.0));
        let used = seven(&rig, name).await;
        let rate = used.prompt_cache_rate().unwrap();
        assert!(rate > 0.8, "{name}: {rate} of {used:?}");
        let provided = rig.provided(name);
        assert_eq!(
            (used.input, used.cache_read, used.cache_write),
            (provided.input, provided.cache_read, provided.cache_write),
            "{name}: the provider's own count"
        );
    }
}

#[tokio::test]
async fn sent_all_at_once_they_would_not() {
    for name in FORMATS {
        let rig = rig_with(|config| config.limits.hold_back = Duration::ZERO).await;
        // All have asked when the first is answered.
        rig.provider.inject(Fault::slow(SLOW, 0.0));
        let answering = async {
            assert!(rig.provider.wait_for_requests(ROLES.len(), LONG).await);
            pass(SLOW).await;
        };
        let (used, ()) = tokio::join!(seven(&rig, name), answering);
        let rate = used.prompt_cache_rate().unwrap();
        assert!(rate < 0.5, "{name}: {rate}");
    }
}

#[tokio::test]
async fn a_first_one_that_never_answers_holds_nobody_for_long() {
    let name = FORMATS[0];
    let rig = rig_with(|config| config.limits.hold_back = Duration::from_millis(50)).await;
    rig.provider.inject(Fault::hang().times(1));
    let gateway = &rig;
    let body = reviewer(name, "security", "/w");
    let first = gateway.send(name, "ses_a", &body);
    let second = async {
        assert!(gateway.provider.wait_for_requests(1, LONG).await);
        let id = session("ses_b");
        gateway.gateway.assign(&id, "release", &[model(name)]);
        gateway.send(name, "ses_b", &reviewer(name, "release", "/w")).await
    };
    let second = tokio::select! {
        first = first => panic!("it hangs: {first:?}"),
        second = second => second,
    };
    assert!(second.is_whole());
}

#[tokio::test]
async fn the_next_run_finds_the_prefix_too() {
    for name in FORMATS {
        let rig = rig_with(|_| ()).await;
        assert!(
            rig.send(name, "ses_a", &reviewer(name, "security", "/tmp/conclave-1/workspace"))
                .await
                .is_whole()
        );
        let first = rig.booked(name).unwrap().tokens;
        let other = reviewer(name, "release", "/tmp/conclave-2/workspace");
        assert!(rig.send(name, "ses_a", &other).await.is_whole());
        let second = rig.booked(name).unwrap().tokens;
        let (read, prompt) = (second.cache_read - first.cache_read, second.prompt() - first.prompt());
        assert!(read * 10 > prompt * 9, "{name}: {read} of {prompt}");
    }
}
