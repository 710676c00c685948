//! Which entry has the last word, and that none can break a review.

use super::*;
use crate::config::validate;
use crate::config::{MAX_PROJECTS, ProviderSwitch};

fn document(text: &str) -> ConfigDocument {
    serde_json::from_str(text).expect("readable")
}

fn of(document: &ConfigDocument, project: &str) -> ConfigDocument {
    let (found, warnings) = ProjectRules::new(document.clone()).of(project);
    assert_eq!(warnings, Vec::<String>::new());
    found
}

fn pointers(document: &ConfigDocument) -> Vec<String> {
    validate(document).into_iter().map(|fault| fault.pointer).collect()
}

const ORDER: &str = r#"{"schema_version":1,"revision":4,
    "reviewers":{"security":{"models":["a/base"],"timeout_seconds":100}},
    "limits":{"sessions":5,"budget":{"run_usd":3,"run_calls":9}},
    "panels":{"lite":["security"]},
    "projects":[
      {"paths":["platform/**"],"reviewers":{"security":{"models":["a/platform"]},"tests":{"enabled":false}},
       "limits":{"sessions":2,"budget":{"run_usd":1}},"prices":{"a/platform":{"as_of":"2026-11-01","input":1,"output":2}}},
      {"paths":["platform/payments","*/docs"],"reviewers":{"security":{"timeout_seconds":900}},"limits":{"sessions":1},
       "panels":{"lite":["tests"]},"providers":{"openai":{"enabled":false,"reason":"residency"}}}
    ]}"#;

#[test]
fn a_project_that_no_entry_names_gets_the_document() {
    let whole = document(ORDER);
    let expected = ConfigDocument {
        projects: Vec::new(),
        ..whole.clone()
    };
    assert_eq!(of(&whole, "website/shop"), expected);
    assert_eq!(of(&whole, ""), expected);
}

#[test]
fn an_entry_without_a_host_is_for_projects_of_gitlab() {
    let document = document(
        r#"{"schema_version":1,"projects":[
            {"paths":["**"],"limits":{"sessions":2}},
            {"paths":["github.com:octo/**"],"limits":{"sessions":3}},
            {"paths":["*/ledger"],"limits":{"sessions":4}}]}"#,
    );
    assert!(validate(&document).is_empty());
    for (project, sessions) in [
        ("octo/shop", 2),
        ("bank/ledger", 4),
        ("github.com:octo/shop", 3),
        ("github.com:octo/ledger", 3),
        ("github.com:acme/shop", ConfigDocument::default().limits.sessions),
        // What is in force for all projects belongs to none of them.
        ("", ConfigDocument::default().limits.sessions),
    ] {
        assert_eq!(of(&document, project).limits.sessions, sessions, "{project}");
    }
}

#[test]
fn what_an_entry_leaves_out_stays_and_what_it_says_wins() {
    let found = of(&document(ORDER), "platform/build");
    assert_eq!(found.reviewers["security"].models[0].as_str(), "a/platform");
    assert_eq!(found.reviewers["security"].timeout_seconds, Some(100));
    assert_eq!(found.reviewers["tests"].enabled, Some(false));
    assert_eq!((found.limits.sessions, found.limits.panel_seconds), (2, 1500));
    assert_eq!(
        (found.limits.budget.run_usd, found.limits.budget.run_calls),
        (Some(1.0), Some(9))
    );
    assert_eq!(found.panels["lite"], ["security"]);
    assert!(found.prices.contains_key("a/platform"));
    assert!(found.projects.is_empty(), "a client need not know of entries");
    assert_eq!(found.revision, 4);
}

#[test]
fn of_two_entries_the_later_one_has_the_last_word() {
    let found = of(&document(ORDER), "platform/payments/ledger");
    assert_eq!(found.limits.sessions, 1);
    assert_eq!(
        found.reviewers["security"].models[0].as_str(),
        "a/platform",
        "the second says nothing of models"
    );
    assert_eq!(found.reviewers["security"].timeout_seconds, Some(900));
    assert_eq!(found.panels["lite"], ["tests"]);

    let mut swapped = document(ORDER);
    swapped.projects.reverse();
    assert_eq!(of(&swapped, "platform/payments/ledger").limits.sessions, 2);
}

#[test]
fn paths_match_from_the_root_and_case_does_not_count() {
    let rules = ProjectRules::new(document(ORDER));
    for (project, matching) in [
        ("platform/build", vec![0]),
        ("Platform/Build", vec![0]),
        ("platform", vec![]),
        ("x/platform/build", vec![]),
        ("platform/payments", vec![0, 1]),
        ("any/docs", vec![1]),
        ("any/sub/docs", vec![]),
    ] {
        assert_eq!(rules.matching(project), matching, "{project}");
    }
}

#[test]
fn a_project_can_switch_a_provider_off_and_never_on() {
    let mut whole = document(ORDER);
    assert!(!of(&whole, "any/docs").providers["openai"].enabled);
    let off = |reason: &str, enabled| ProviderSwitch {
        enabled,
        reason: Some(reason.to_owned()),
    };
    // Switched on for everybody: still off here.
    whole.providers.insert("openai".into(), off("back", true));
    assert_eq!(of(&whole, "any/docs").providers["openai"], off("residency", false));
    // Off for everybody: the reason of the incident stays.
    whole.providers.insert("openai".into(), off("incident 7", false));
    assert_eq!(of(&whole, "any/docs").providers["openai"], off("incident 7", false));
    whole.projects[1]
        .providers
        .insert("anthropic".into(), off("please", true));
    assert_eq!(pointers(&whole), ["/projects/1/providers/anthropic/enabled"]);
    whole.providers.insert("anthropic".into(), off("incident 8", false));
    assert!(!of(&whole, "any/docs").providers["anthropic"].enabled);
}

#[test]
fn faults_of_entries_have_their_paths() {
    let whole = document(
        r#"{"schema_version":1,"failback":{"a/one":"a/two"},
            "projects":[
              {"paths":[]},
              {"paths":["ok/**","a[","!no"],"limits":{"sessions":0,"breaker":{"failures":0}},
               "reviewers":{"../x":{}},"panels":{"lite":["secrity"]},"prices":{"a/x":{"as_of":"x","input":1,"output":1}}},
              {"paths":["b"],"failback":{"a/two":"a/one"}},
              {"paths":["c"],"risk":{"trivial_lines":500}},
              {"paths":["d"],"risk":{"lite_lines":1}}
            ]}"#,
    );
    assert_eq!(
        pointers(&whole),
        [
            "/projects/0/paths",
            "/projects/1/paths/1",
            "/projects/1/paths/2",
            "/projects/1/reviewers/..~1x",
            "/projects/1/limits/sessions",
            "/projects/1/limits/breaker/failures",
            "/projects/1/panels/lite/0",
            "/projects/1/prices/a~1x/as_of",
            // The chain turns in both of its models, of which the entry has one.
            "/projects/2/failback",
            "/projects/2/failback/a~1two",
            "/projects/3/risk/trivial_lines",
            "/projects/4/risk",
        ]
    );
    let many = ConfigDocument {
        projects: vec![whole.projects[2].clone(); MAX_PROJECTS + 1],
        ..ConfigDocument::default()
    };
    assert_eq!(pointers(&many), ["/projects"]);
}

#[test]
fn entries_that_make_a_fault_together_cost_the_later_one_and_a_warning() {
    let whole = document(
        r#"{"schema_version":1,"projects":[
            {"paths":["a/**"],"failback":{"p/one":"p/two"}},
            {"paths":["a/b"],"failback":{"p/two":"p/one"}},
            {"paths":["a/b"],"limits":{"sessions":3}}]}"#,
    );
    assert_eq!(validate(&whole), []);
    let (found, warnings) = ProjectRules::new(whole).of("a/b");
    assert_eq!(found.failback.len(), 1);
    assert_eq!(found.limits.sessions, 3);
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("/projects/1: ") && warnings[0].contains("the fallback chain is circular"),
        "{warnings:?}"
    );
}
