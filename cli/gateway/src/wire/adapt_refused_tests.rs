use conclave_shared::config::CapabilityList;
use serde_json::json;

use super::{tests::model, *};

/// A body of Chat Completions as it is sent to a model that needs these changes.
fn sent(concessions: &[Concession], body: &Value) -> Value {
    let model = model("compatible/one");
    let adaptation = Adaptation {
        wire: Wire::OpenAiChat,
        asked: &model,
        target: &model,
        capabilities: CapabilityList::default().of(&model),
        effort: None,
        concessions: &concessions.iter().copied().collect(),
        signatures: &Signatures::default(),
        carried: &CarriedAnswers::default(),
    };
    let sent = adaptation.apply(&Bytes::from(body.to_string()));
    serde_json::from_slice(&sent).expect("JSON")
}

#[test]
fn each_concession_changes_what_was_refused_and_nothing_else() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "c2ln"}}});
    let thought = json!({"role": "assistant", "content": "x", "reasoning": "hm", "reasoning_content": "hm",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "abc"}], "tool_calls": [call]});
    let user = json!({"role": "user", "content": "go on"});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "y"});
    let body = json!({"model": "one", "max_tokens": 8000, "messages": [user, user, thought, result, user],
        "stream_options": {"include_usage": true}});
    assert_eq!(sent(&[], &body), body);

    let mut expected = body.clone();
    expected["messages"][2] = json!({"role": "assistant", "content": "x", "tool_calls": [call]});
    assert_eq!(sent(&[Concession::NoThoughts], &body), expected);

    let unsigned = json!({"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let mut with_another = body.clone();
    with_another["messages"][1] = json!({"role": "assistant", "content": null, "tool_calls": [unsigned, unsigned]});
    let mut expected = with_another.clone();
    expected["messages"][1]["tool_calls"][0]["extra_content"] =
        json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    assert_eq!(sent(&[Concession::UnsignedCalls], &with_another), expected);

    let between = json!({"role": "assistant", "content": "…"});
    let mut expected = body.clone();
    expected["messages"] = json!([user, between, user, thought, result, between, user]);
    assert_eq!(sent(&[Concession::StrictTurns], &body), expected);

    let others = sent(&[Concession::NoUsage, Concession::NewerLimit], &body);
    assert_eq!(
        others,
        json!({"model": "one", "max_completion_tokens": 8000, "messages": body["messages"]})
    );
}
