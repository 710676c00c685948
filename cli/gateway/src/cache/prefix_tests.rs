use serde_json::json;

use super::*;

const PROMPT: &str = "# Rules for every reviewer\nQuote the code.";

fn environment(model: &str, directory: &str, date: &str) -> String {
    format!(
        "{PROMPT}\nYou are powered by the model named {model}. The exact model ID is anthropic/{model}\nHere is some useful \
         information about the environment you are running in:\n<env>\n  Working directory: {directory}\n  Workspace root \
         folder: {directory}\n  Is directory a git repo: yes\n  Platform: linux\n  Today's date: {date}\n</env>"
    )
}

fn model(name: &str) -> ModelId {
    name.parse().expect("a model")
}

fn sent(wire: Wire, body: &Value, asked: &str, target: &str) -> (Value, String) {
    let canonical = canonical(
        wire,
        &Bytes::from(body.to_string()),
        &model(asked),
        &model(target),
        true,
    );
    (serde_json::from_slice(&canonical.body).expect("JSON"), canonical.prefix)
}

fn anthropic(directory: &str, date: &str, role: &str) -> Value {
    let mark = json!({"type": "ephemeral"});
    json!({"model": "claude-opus-4-7", "max_tokens": 32000,
        "system": [{"type": "text", "text": environment("claude-opus-4-7", directory, date), "cache_control": mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "the change"},
            {"type": "text", "text": role, "cache_control": mark}]}],
        "tools": [{"name": "read"}], "stream": true})
}

const OPUS: &str = "anthropic/claude-opus-4-7";

#[test]
fn the_system_prompt_is_split_and_the_shared_part_marked() {
    let body = anthropic("/tmp/conclave-x/workspace", "Fri Nov 20 2026", "# Reviewer: security");
    let (sent, _) = sent(Wire::Anthropic, &body, OPUS, OPUS);
    let system = sent["system"].as_array().expect("blocks");
    assert_eq!(system.len(), 2);
    assert_eq!(
        system[0],
        json!({"type": "text", "text": PROMPT, "cache_control": {"type": "ephemeral"}})
    );
    assert_eq!(system[1].get("cache_control"), None);
    let added = system[1]["text"].as_str().expect("a text");
    assert!(
        added.starts_with("You are powered by the model named claude-opus-4-7."),
        "{added}"
    );
    assert!(
        added.contains("  Working directory: .\n  Workspace root folder: .\n"),
        "{added}"
    );
    assert!(
        !added.contains("date") && !added.contains("/tmp") && added.ends_with("linux\n</env>"),
        "{added}"
    );
    let parts = sent["messages"][0]["content"].as_array().expect("parts");
    assert_eq!(parts[0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(parts[1], body["messages"][0]["content"][1]);
}

#[test]
fn what_differs_from_run_to_run_does_not_show() {
    let one = anthropic("/tmp/conclave-x/workspace", "Fri Nov 20 2026", "# Reviewer: security");
    let two = anthropic("/tmp/conclave-y/workspace", "Sat Nov 21 2026", "# Reviewer: security");
    assert_eq!(
        sent(Wire::Anthropic, &one, OPUS, OPUS),
        sent(Wire::Anthropic, &two, OPUS, OPUS)
    );
}

#[test]
fn the_prefix_names_what_is_shared_and_not_the_role() {
    let prefix = |role: &str, target: &str| sent(Wire::Anthropic, &anthropic("/w", "x", role), OPUS, target).1;
    assert_eq!(
        prefix("# Reviewer: security", OPUS),
        prefix("# Reviewer: performance", OPUS)
    );
    assert_ne!(
        prefix("a", OPUS),
        prefix("a", "anthropic/claude-opus-4-6"),
        "caches are per model"
    );
    let mut other = anthropic("/w", "x", "a");
    other["messages"][0]["content"][0]["text"] = json!("another change");
    assert_ne!(sent(Wire::Anthropic, &other, OPUS, OPUS).1, prefix("a", OPUS));
}

#[test]
fn a_later_turn_has_four_marks_and_never_five() {
    let mut body = anthropic("/w", "x", "role");
    let mark = json!({"type": "ephemeral"});
    body["messages"][0]["content"][1] = json!({"type": "text", "text": "role"});
    let messages = body["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {}, "cache_control": mark}]}));
    messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "\"cache_control\": no mark", "cache_control": mark}]}));
    let (first, prefix) = sent(Wire::Anthropic, &body, OPUS, OPUS);
    assert_eq!(marks(&first.to_string()), 4);
    assert_eq!(
        prefix,
        sent(Wire::Anthropic, &anthropic("/w", "x", "another role"), OPUS, OPUS).1
    );

    body["tools"][0]["cache_control"] = mark;
    let (full, _) = sent(Wire::Anthropic, &body, OPUS, OPUS);
    assert_eq!(marks(&full.to_string()), 4, "four are enough");
    assert_eq!(full["messages"][0]["content"][0].get("cache_control"), None);
}

#[test]
fn the_model_that_took_over_is_called_by_its_name() {
    let (sent, _) = sent(
        Wire::Anthropic,
        &anthropic("/w", "x", "r"),
        OPUS,
        "anthropic/claude-opus-4-6",
    );
    let added = sent["system"][1]["text"].as_str().expect("a text");
    let line = "You are powered by the model named claude-opus-4-6. The exact model ID is anthropic/claude-opus-4-6\n";
    assert!(added.starts_with(line), "{added}");
}

#[test]
fn chat_and_responses_lose_the_same_lines() {
    let text = environment("gpt-6-sol", "/tmp/conclave-x/workspace", "Fri Nov 20 2026");
    let parts =
        json!([{"type": "input_text", "text": "the change"}, {"type": "input_text", "text": "# Reviewer: security"}]);
    for (wire, list, role) in [
        (Wire::OpenAiChat, "messages", "system"),
        (Wire::OpenAiResponses, "input", "developer"),
    ] {
        let body = json!({"model": "gpt-6-sol", list: [{"role": role, "content": text}, {"role": "user", "content": parts}], "stream": true});
        let (sent, _) = sent(wire, &body, "openai/gpt-6-sol", "openai/gpt-6-sol");
        let system = sent[list][0]["content"].as_str().expect("a text");
        assert!(
            !system.contains("/tmp") && !system.contains("date") && system.contains("directory: ."),
            "{system}"
        );
        assert_eq!(sent[list][1]["content"], parts);
    }
}

#[test]
fn a_prompt_of_chat_is_one_text_and_its_parts_say_what_is_shared() {
    let part = |text: &str| json!({"type": "text", "text": text});
    let body = |change: &str, role: &str| {
        json!({"messages": [{"role": "system", "content": "rules"}, {"role": "user", "content": [part(change), part(role)]},
            {"role": "assistant", "content": null, "tool_calls": []}, {"role": "user", "content": [part("\"go\" on")]},
            {"role": "user", "content": [part("seen"), {"type": "image_url", "image_url": {"url": "data:"}}]},
            {"role": "user", "content": [{"type": "text", "text": "marked", "cache_control": {"type": "ephemeral"}}]}]})
    };
    let sent = |change: &str, role: &str| sent(Wire::OpenAiChat, &body(change, role), "a/b", "a/b");
    let (whole, prefix) = sent("the change", "# Reviewer: security");
    assert_eq!(
        whole["messages"][1],
        json!({"role": "user", "content": "the change\n\n# Reviewer: security"})
    );
    assert_eq!(whole["messages"][3]["content"], "\"go\" on");
    for other in [0, 2, 4, 5] {
        assert_eq!(
            whole["messages"][other],
            body("the change", "")["messages"][other],
            "anything else stays"
        );
    }
    assert_eq!(prefix, sent("the change", "# Reviewer: performance").1);
    assert_ne!(prefix, sent("another change", "# Reviewer: security").1);
}

#[test]
fn responses_share_their_cache_and_are_not_stored() {
    let body = |session: &str, role: &str, store: Value| {
        json!({"model": "gpt-6-sol", "input": [{"role": "developer", "content": environment("gpt-6-sol", "/w", "x")},
            {"role": "user", "content": [{"type": "input_text", "text": "the change"}, {"type": "input_text", "text": role}]}],
            "store": store, "prompt_cache_key": session, "stream": true})
    };
    let key = |body: &Value| {
        let (sent, prefix) = sent(Wire::OpenAiResponses, body, "openai/gpt-6-sol", "openai/gpt-6-sol");
        assert_eq!(sent["store"], json!(false));
        assert_eq!(sent["prompt_cache_key"], json!(prefix));
        prefix
    };
    let first = key(&body("ses_a", "security", json!(false)));
    assert_eq!(first, key(&body("ses_b", "performance", json!(true))));
    let mut bare = body("ses_c", "release", json!(false));
    let fields = bare.as_object_mut().expect("an object");
    fields.shift_remove("store");
    fields.shift_remove("prompt_cache_key");
    assert_eq!(first, key(&bare));
}

#[test]
fn a_cache_that_takes_no_key_gets_none() {
    let body = Bytes::from(r#"{"model":"m","input":[{"role":"user","content":"x"}],"store":false}"#);
    let name = model("compatible/m");
    let sent = canonical(Wire::OpenAiResponses, &body, &name, &name, false);
    assert_eq!(sent.body, body);
}

#[test]
fn a_body_of_somebody_else_keeps_every_byte() {
    for (wire, body) in [
        (
            Wire::Anthropic,
            r#"{ "model":"m","system":"a bare text","messages":[ {"role":"user","content":"x"} ],"n":1.0}"#,
        ),
        (
            Wire::Anthropic,
            r#"{"system":[{"type":"text","text":"\u00e9"}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}"#,
        ),
        (
            Wire::OpenAiChat,
            r#"{"messages":[{"role":"system","content":"\u00e9 plain"},{"role":"user","content":"x"}]}"#,
        ),
        (Wire::OpenAiChat, "{"),
    ] {
        let bytes = Bytes::from(body);
        let sent = canonical(wire, &bytes, &model(OPUS), &model(OPUS), true);
        assert_eq!(sent.body, bytes, "{body}");
    }
}
