//! The AI Gateway in front: it takes what its contract says, and nothing else.

use conclave_scripted_provider::{AiGateway, ScriptedProvider};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

const TOKEN: &str = "aig-token";
const USER: &str = r#"{"userId":"0f8fad5b-d9cb-869f-a165-70867728950e"}"#;

fn good(url: &str, path: &str, body: &Value) -> RequestBuilder {
    let client = Client::builder().no_proxy().build().unwrap();
    client
        .post(format!("{url}{path}"))
        .header("cf-aig-authorization", format!("Bearer {TOKEN}"))
        .header("cf-aig-metadata", USER)
        .header("anthropic-version", "2023-06-01")
        .json(body)
}

#[tokio::test]
async fn what_belongs_to_others_is_refused_and_remembered() {
    let provider = ScriptedProvider::builder()
        .api_key("stored")
        .behind(AiGateway::new("acc", "gw", TOKEN))
        .start()
        .await
        .unwrap();
    let body = json!({"model": "m", "max_tokens": 10, "stream": true,
        "messages": [{"role": "user", "content": "hello"}]});
    let url = provider.url();
    let path = "/v1/acc/gw/anthropic/v1/messages";
    let request = |path: &str| good(&url, path, &body);
    assert_eq!(request(path).send().await.unwrap().status(), 200);
    assert_eq!(
        request("/v1/acc/gw/openai/chat/completions")
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(provider.violations(), []);

    let bad: [(u16, RequestBuilder); 9] = [
        (404, request("/v1/messages")),
        (404, request("/v1/other/gw/anthropic/v1/messages")),
        (404, request("/v1/acc/gw/openai/v1/chat/completions")),
        (401, request(path).header("cf-aig-authorization", "Bearer wrong")),
        (400, request(path).header("authorization", "Bearer x")),
        (400, request(path).header("x-api-key", "x")),
        (400, request(path).header("cf-access-token", "x")),
        (400, request(path).header("host", "api.anthropic.com")),
        (400, request(path).header("x-session-id", "ses_1")),
    ];
    let count = bad.len();
    for (status, request) in bad {
        // A header that is set twice is sent twice by this client: only the last one of the two may count here.
        let mut built = request.build().unwrap();
        let headers = built.headers_mut();
        if let Some(last) = headers.get_all("cf-aig-authorization").iter().next_back().cloned() {
            headers.insert("cf-aig-authorization", last);
        }
        let client = Client::builder().no_proxy().build().unwrap();
        let path = built.url().path().to_owned();
        assert_eq!(client.execute(built).await.unwrap().status(), status, "{path}");
    }
    for metadata in [
        "",
        "{}",
        r#"{"userId":"alice"}"#,
        r#"{"userId":"0f8fad5b-d9cb-869f-a165-70867728950e","name":"x"}"#,
    ] {
        let mut built = request(path).build().unwrap();
        built.headers_mut().insert("cf-aig-metadata", metadata.parse().unwrap());
        let client = Client::builder().no_proxy().build().unwrap();
        assert_eq!(client.execute(built).await.unwrap().status(), 400, "{metadata}");
    }
    assert_eq!(provider.violations().len(), count + 4);
}
