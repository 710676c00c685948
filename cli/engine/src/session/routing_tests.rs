use conclave_shared::{config::ProviderSwitch, effort::Effort, model::ModelId};

use super::*;

fn model(name: &str) -> ModelId {
    name.parse().expect("a model")
}

fn planned() -> ModelRoute {
    ModelRoute {
        models: [
            "anthropic/claude-sonnet-5",
            "anthropic/claude-sonnet-4-6",
            "openai/gpt-5.3-codex",
        ]
        .map(model)
        .to_vec(),
        skipped: Vec::new(),
        effort: Effort::Medium,
    }
}

fn live() -> (watch::Sender<Option<Arc<ConfigDocument>>>, LiveRoutes) {
    let sender = watch::Sender::new(None);
    let routes = LiveRoutes::new(
        sender.subscribe(),
        RouteFacts {
            preset: Preset::Current,
            credentials: ["anthropic".to_owned(), "openai".to_owned()].into(),
            trivial: false,
            classes: std::collections::BTreeMap::new(),
        },
    );
    (sender, routes)
}

fn document(off: &[&str]) -> Arc<ConfigDocument> {
    let switch = ProviderSwitch {
        enabled: false,
        reason: Some("incident".to_owned()),
    };
    Arc::new(ConfigDocument {
        providers: off.iter().map(|name| ((*name).to_owned(), switch.clone())).collect(),
        ..ConfigDocument::default()
    })
}

fn names(route: &ModelRoute) -> Vec<&str> {
    route.models.iter().map(ModelId::as_str).collect()
}

#[test]
fn until_the_document_changes_the_plan_holds() {
    assert_eq!(LiveRoutes::fixed().current("security", &planned()), Ok(planned()));
    let (_sender, routes) = live();
    assert_eq!(routes.current("security", &planned()), Ok(planned()));
}

#[test]
fn a_switched_off_provider_leaves_the_route_and_comes_back() {
    let (sender, routes) = live();
    sender.send_replace(Some(document(&["anthropic"])));
    let route = routes.current("security", &planned()).expect("a route");
    assert_eq!(names(&route), ["openai/gpt-5.3-codex", "openai/gpt-5.2"]);
    sender.send_replace(Some(document(&["anthropic", "openai"])));
    let none = routes.current("security", &planned()).expect_err("nothing is left");
    assert!(
        none.to_string().contains("anthropic is switched off: incident"),
        "{none}"
    );
    sender.send_replace(Some(document(&[])));
    let route = routes.current("security", &planned()).expect("a route");
    assert!(names(&planned()).iter().all(|model| names(&route).contains(model)));
    assert_eq!(names(&route)[0], names(&planned())[0]);
}

/// The reason that a running session of Anthropic has to move, if there is one now.
async fn heard(routes: &LiveRoutes) -> Option<String> {
    let hearing = routes.switched_off("anthropic");
    tokio::time::timeout(std::time::Duration::ZERO, hearing).await.ok()
}

#[tokio::test]
async fn a_running_session_hears_of_the_switch_with_its_reason_and_of_no_other_one() {
    let (sender, routes) = live();
    let switched = |enabled, reason: Option<&str>| {
        let switch = ProviderSwitch {
            enabled,
            reason: reason.map(str::to_owned),
        };
        Arc::new(ConfigDocument {
            providers: [("anthropic".to_owned(), switch)].into(),
            ..ConfigDocument::default()
        })
    };
    sender.send_replace(Some(document(&["openai"])));
    assert_eq!(heard(&routes).await, None, "another provider");
    sender.send_replace(Some(switched(true, Some("back again"))));
    assert_eq!(heard(&routes).await, None, "a switch that is on, whatever its reason");
    sender.send_replace(Some(switched(false, Some("incident 7"))));
    assert_eq!(
        heard(&routes).await.as_deref(),
        Some("anthropic was switched off: incident 7")
    );
    sender.send_replace(Some(switched(false, None)));
    assert_eq!(heard(&routes).await.as_deref(), Some("anthropic was switched off"));
}

#[test]
fn a_model_that_is_newly_named_is_used_and_those_of_the_plan_stand_behind_it() {
    let (sender, routes) = live();
    let text = r#"{"schema_version":1,"reviewers":{"security":{"models":["openai/gpt-6-sol","vllm/no-provider-of-this-run","openai/gpt-5.3-codex"],"effort":"max"}},
                  "failback":{"openai/gpt-6-sol":null}}"#;
    sender.send_replace(Some(Arc::new(serde_json::from_str(text).expect("valid"))));
    let route = routes.current("security", &planned()).expect("a route");
    assert_eq!(
        names(&route),
        [
            "openai/gpt-6-sol",
            "openai/gpt-5.3-codex",
            "openai/gpt-5.2",
            "anthropic/claude-sonnet-5",
            "anthropic/claude-sonnet-4-6"
        ]
    );
    assert_eq!(
        route.effort,
        Effort::Max,
        "sessions that begin now think as the document says now"
    );
}
