//! temporary
#![allow(clippy::all, clippy::pedantic, clippy::unwrap_used)]
use conclave_engine::ports::{ModelLedger, SessionId};
use conclave_gateway::*;
use conclave_scripted_provider::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn smoke() {
    let provider = ScriptedProvider::builder().api_key("real").model(Scripted::new().otherwise(Answer::text("A long text that is said in several pieces, really."))).start().await.unwrap();
    let mk = |name: &str, wire| Upstream { name: name.into(), wire, base_url: format!("{}/{name}/v1", provider.url()).parse().unwrap(), credential: Some("real".to_owned().into()), extra_headers: vec![] };
    let mut config = GatewayConfig::new(vec![mk("anthropic", Wire::Anthropic), mk("workers", Wire::OpenAiChat)], "run-key".to_owned().into());
    config.http.system_proxy = false;
    let gw = Gateway::start(config).await.unwrap();
    let dir = std::env::temp_dir().join(format!("gwsmoke{}", std::process::id()));
    let ws = dir.join("ws");
    std::fs::create_dir_all(&ws).unwrap();
    let cfg = json!({"autoupdate": false, "share": "disabled", "lsp": false, "formatter": false, "compaction": {"auto": false},
      "provider": {"anthropic": {"options": {"baseURL": gw.base_url("anthropic"), "apiKey": "run-key"}},
        "workers": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": gw.base_url("workers"), "apiKey": "run-key"}, "models": {"@cf/meta/llama-4": {"limit": {"context": 100000, "output": 8000}}}}}});
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = tokio::process::Command::new(std::env::var("OC").unwrap())
        .args(["serve", "--hostname", "127.0.0.1", "--port", &port.to_string()]).current_dir(&ws).env_clear()
        .env("PATH", "/usr/bin:/bin").env("HOME", &dir).env("XDG_DATA_HOME", dir.join("d")).env("XDG_CONFIG_HOME", dir.join("c")).env("XDG_CACHE_HOME", dir.join("ca")).env("XDG_STATE_HOME", dir.join("s"))
        .env("NO_PROXY", "127.0.0.1,localhost,::1").env("OPENCODE_DISABLE_PROJECT_CONFIG", "1").env("OPENCODE_DISABLE_MODELS_FETCH", "1").env("OPENCODE_DISABLE_AUTOUPDATE", "1").env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1").env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1").env("OPENCODE_PURE", "1")
        .env("OPENCODE_CONFIG_CONTENT", cfg.to_string()).env("OPENCODE_SERVER_PASSWORD", "pw")
        .stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).kill_on_drop(true).spawn().unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://127.0.0.1:{port}");
    for _ in 0..200 {
        if http.get(format!("{url}/agent")).basic_auth("opencode", Some("pw")).send().await.is_ok() { break; }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let cases: Vec<(&str, &str, &str, Option<Fault>)> = vec![
        ("plain", "anthropic", "claude-opus-4-7", None),
        ("plain", "workers", "@cf/meta/llama-4", None),
        ("529 forever on 4-7", "anthropic", "claude-opus-4-7", Some(Fault::status(529).model("claude-opus-4-7"))),
        ("529 on all", "anthropic", "claude-opus-4-7", Some(Fault::status(529))),
        ("529 on all", "workers", "@cf/meta/llama-4", Some(Fault::status(529))),
        ("401", "anthropic", "claude-opus-4-7", Some(Fault::status(401))),
        ("overflow", "anthropic", "claude-opus-4-7", Some(Fault::context_overflow())),
        ("overflow", "workers", "@cf/meta/llama-4", Some(Fault::context_overflow())),
        ("cut once", "anthropic", "claude-opus-4-7", Some(Fault::cut().times(1))),
        ("cut always", "anthropic", "claude-opus-4-7", Some(Fault::cut())),
        ("clean end always", "workers", "@cf/meta/llama-4", Some(Fault::clean_end())),
        ("lacks terminal", "anthropic", "claude-opus-4-7", Some(Fault::clean_end().at(Position::BeforeTerminal))),
    ];
    for (what, prov, model, fault) in cases {
        provider.heal();
        let before = provider.requests().len();
        let events = gw.events().len();
        if let Some(f) = fault { provider.inject(f); }
        let s: Value = http.post(format!("{url}/session")).basic_auth("opencode", Some("pw")).header("content-type","application/json").body(json!({"title": "t"}).to_string()).send().await.unwrap().json().await.unwrap();
        let id = s["id"].as_str().unwrap().to_owned();
        let sid = SessionId(id.clone());
        gw.assign(&sid, "security", &["anthropic/claude-opus-4-7".parse().unwrap(), "anthropic/claude-opus-4-6".parse().unwrap(), "workers/@cf/meta/llama-4".parse().unwrap()]);
        let t = Instant::now();
        let r = tokio::time::timeout(Duration::from_secs(60), http.post(format!("{url}/session/{id}/message")).basic_auth("opencode", Some("pw")).header("content-type","application/json")
            .body(json!({"model": {"providerID": prov, "modelID": model}, "parts": [{"type": "text", "text": "hello"}]}).to_string()).send()).await;
        let text = match r { Ok(Ok(r)) => r.text().await.unwrap(), other => format!("{other:?}") };
        let v: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let texts: Vec<&str> = v["parts"].as_array().into_iter().flatten().filter_map(|p| p["text"].as_str()).collect();
        eprintln!("== {what} {prov}: {:?} finish={} error={} texts={texts:?} upstream={} ", t.elapsed(), v["info"]["finish"], v["info"]["error"], provider.requests().len() - before);
        eprintln!("   usage={:?}\n   events={:?}", gw.usage(&sid).iter().map(|u| (u.model.to_string(), u.calls, u.tokens.total())).collect::<Vec<_>>(), gw.events()[events..].iter().map(|e| format!("{e:?}").split(' ').next().unwrap().to_owned()).collect::<Vec<_>>());
        if v["info"].is_null() { eprintln!("   raw={v}"); }
    }
    eprintln!("violations {:?}", provider.violations());
    child.kill().await.unwrap();
}
