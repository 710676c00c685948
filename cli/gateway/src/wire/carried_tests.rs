use bytes::Bytes;
use serde_json::json;

use super::*;
use crate::wire::Wire;

const GEMINI: &str = "compatible/gemini-3-pro";

/// The fields that an answer of these deltas carries.
fn answered(deltas: &[Value]) -> Carried {
    let mut reader = Wire::OpenAiChat.reader();
    for delta in deltas {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        reader.read(chunk.to_string().as_bytes());
    }
    reader.carried().expect("a format with such fields")
}

/// The answers of a session, all of this model.
fn session(answers: &[&[Value]]) -> CarriedAnswers {
    let session = CarriedAnswers::default();
    for answer in answers {
        session.add(answered(answer), &GEMINI.parse().expect("a model"));
    }
    session
}

/// The messages of a history as they go to a model.
fn sent(session: &CarriedAnswers, model: &str, messages: &Value) -> Value {
    let body = Bytes::from(json!({"messages": messages}).to_string());
    let mut fields = Fields::of(&body).expect("an object");
    session.put_back(&mut fields, &model.parse().expect("a model"));
    let sent: Value = serde_json::from_slice(&fields.write(&body)).expect("JSON");
    sent["messages"].clone()
}

fn signed(id: &str, signature: &str) -> Value {
    let mut call = call(id);
    call["extra_content"] = json!({"google": {"thought_signature": signature}});
    call
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"tool_calls": calls})
}

/// The message of a history with these calls.
fn message(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

#[test]
fn a_call_gets_its_signature_back_for_the_model_that_made_it_alone() {
    let other = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
    let history = |first: Value| json!([{"role": "user", "content": "x"}, message(&[first, call("b")]), other]);
    let session = session(&[&[calls(&[signed("a", "c2ln"), call("b")])]]);
    assert_eq!(
        sent(&session, GEMINI, &history(call("a"))),
        history(signed("a", "c2ln"))
    );
    assert_eq!(
        sent(&session, GEMINI, &history(signed("a", "own"))),
        history(signed("a", "own")),
        "what a runtime has kept is its own"
    );
    let to_another = sent(&session, "compatible/gemini-2.5-pro", &history(call("a")));
    assert_eq!(to_another, history(call("a")));
}

#[test]
fn signatures_of_every_place_go_back_to_it() {
    let mut piece = call("a");
    piece["provider_specific_fields"] = json!({"thought_signature": "one"});
    piece["function"]["thought_signature"] = json!("two");
    let session = session(&[&[calls(std::slice::from_ref(&piece))]]);
    assert_eq!(
        sent(&session, GEMINI, &json!([message(&[call("a")])])),
        json!([message(&[piece])])
    );
}

#[test]
fn ids_that_come_again_and_those_that_runtimes_make_up_are_told_by_their_order() {
    let answers = ["one", "two"].map(|signature| [calls(&[signed("tool_0_read", signature)])]);
    let session_of = |answers: &[[Value; 1]]| session(&answers.iter().map(<[Value; 1]>::as_slice).collect::<Vec<_>>());
    let known = session_of(&answers);
    let unsigned = message(&[call("tool_0_read")]);
    let [one, two] = ["one", "two"].map(|signature| message(&[signed("tool_0_read", signature)]));
    assert_eq!(sent(&known, GEMINI, &json!([unsigned, unsigned])), json!([one, two]));
    assert_eq!(
        sent(&known, GEMINI, &json!([unsigned])),
        json!([two]),
        "the beginning of a history may be gone"
    );
    // An answer without a signature in between.
    let [first, last] = answers;
    let known = session_of(&[first, [calls(&[call("tool_0_read")])], last]);
    assert_eq!(
        sent(&known, GEMINI, &json!([unsigned, unsigned, unsigned])),
        json!([one, unsigned, two])
    );
    let known = session_of(&[[calls(&[signed("", "c2ln")])]]);
    assert_eq!(
        sent(&known, GEMINI, &json!([message(&[call("call_0")])])),
        json!([message(&[signed("call_0", "c2ln")])])
    );
    // An id of its own for each piece: runtimes keep the first or the last one.
    let pieces = [
        calls(&[signed("first", "c2ln")]),
        json!({"tool_calls": [{"index": 0, "id": "last", "function": {"arguments": ""}}]}),
    ];
    let known = session(&[&pieces]);
    for id in ["first", "last"] {
        assert_eq!(
            sent(&known, GEMINI, &json!([message(&[call(id)])])),
            json!([message(&[signed(id, "c2ln")])])
        );
    }
}

#[test]
fn details_in_pieces_go_back_in_one() {
    let details = |parts: Value| json!({"reasoning_details": parts});
    let session = session(&[&[
        details(json!([{"type": "reasoning.text", "text": "I ", "index": 0, "signature": null}])),
        details(json!([{"type": "reasoning.text", "text": "think.", "index": 0}])),
        details(json!([{"type": "reasoning.text", "text": "", "signature": "c2ln", "index": 0}])),
        details(json!([{"type": "reasoning.encrypted", "data": "abc", "index": 0}])),
        details(json!([{"type": "reasoning.encrypted", "data": "def", "index": 0}])),
        details(json!(null)),
        json!({"thinking_blocks": [{"type": "thinking", "thinking": "a", "signature": "x"}]}),
        json!({"thinking_blocks": [{"type": "thinking", "thinking": "b"}]}),
        calls(&[call("a")]),
    ]]);
    let mut expected = message(&[call("a")]);
    expected["reasoning_details"] = json!([
        {"type": "reasoning.text", "text": "I think.", "index": 0, "signature": "c2ln"},
        {"type": "reasoning.encrypted", "data": "abc", "index": 0},
        {"type": "reasoning.encrypted", "data": "def", "index": 0}]);
    expected["thinking_blocks"] = json!([
        {"type": "thinking", "thinking": "a", "signature": "x"},
        {"type": "thinking", "thinking": "b"}]);
    assert_eq!(
        sent(&session, GEMINI, &json!([message(&[call("a")])])),
        json!([expected])
    );
}

#[test]
fn long_thoughts_in_many_pieces_are_kept() {
    let (pieces, format) = (MAX_OF_ANSWER / 100, "x".repeat(100));
    let piece =
        json!({"reasoning_details": [{"type": "reasoning.text", "text": "word ", "format": format, "index": 0}]});
    let mut deltas = vec![piece; pieces];
    deltas.push(calls(&[call("a")]));
    let sent = sent(&session(&[&deltas]), GEMINI, &json!([message(&[call("a")])]));
    let text = sent[0]["reasoning_details"][0]["text"].as_str().map(str::len);
    assert_eq!(text, Some(5 * pieces));
}

#[test]
fn thoughts_go_back_under_the_name_under_which_they_came() {
    let history = |name: &str| json!([{"role": "assistant", "content": "x", name: "hm"}]);
    for (deltas, name) in [
        (vec![json!({"reasoning": "hm"})], "reasoning"),
        (vec![json!({"reasoning_content": "hm"})], "reasoning_content"),
        (
            vec![json!({"reasoning": "hm", "reasoning_content": "hm"})],
            "reasoning_content",
        ),
        (
            vec![
                json!({"reasoning_details": [{"type": "reasoning.text", "text": "h"}]}),
                json!({"reasoning": "m"}),
            ],
            "reasoning",
        ),
        (vec![json!({"content": "hm"})], "reasoning_content"),
    ] {
        let session = session(&[&deltas]);
        assert_eq!(sent(&session, GEMINI, &history("reasoning_content")), history(name));
    }
    let in_parts =
        session(&[&[json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]})]]);
    assert_eq!(
        sent(&in_parts, GEMINI, &history("reasoning_content")),
        json!([{"role": "assistant", "content": "x"}]),
        "they came in no field that could take them back"
    );
}

#[test]
fn what_is_too_long_is_not_kept() {
    let long = "x".repeat(MAX_OF_ANSWER);
    let history = json!([message(&[call("a")])]);
    let answer = [calls(&[signed("a", &long)])];
    assert_eq!(sent(&session(&[&answer]), GEMINI, &history), history);
    let answers: Vec<[Value; 1]> = (0..40)
        .map(|number| [calls(&[signed(&format!("id_{number}"), &long[..MAX_OF_ANSWER / 2])])])
        .collect();
    let answers: Vec<&[Value]> = answers.iter().map(<[Value; 1]>::as_slice).collect();
    let kept = locked(&session(&answers).0).bytes;
    assert!(kept <= MAX_OF_SESSION && kept > MAX_OF_SESSION / 2, "{kept}");
}
