//! The panel of each tier, and the reason for each seat.

use conclave_shared::config::{NoModel, SkippedModel};

use super::*;
use crate::{
    diff::FileDiff,
    panel::Wish,
    rules::{RuleBook, RuleInForce},
};

fn file(path: &str, added: u64) -> FileDiff {
    FileDiff {
        old_path: path.to_owned(),
        path: path.to_owned(),
        added,
        ..FileDiff::default()
    }
}

fn document(text: &str) -> ConfigDocument {
    serde_json::from_str(text).expect("valid")
}

fn repo(text: &str) -> RepoConfig {
    let parsed = crate::repo_config::parse(text.as_bytes());
    assert_eq!(parsed.problems, []);
    parsed.config
}

#[derive(Default)]
struct Case {
    files: Vec<FileDiff>,
    config: ConfigDocument,
    repo: RepoConfig,
    codex_rules: bool,
    focus: &'static [&'static str],
    /// Own reviewers whose prompts cannot be had.
    without_prompt: &'static [&'static str],
}

impl Case {
    fn plan(self) -> Plan {
        let diff = FilteredDiff {
            files: self.files,
            ..FilteredDiff::default()
        };
        let credentials = BTreeSet::from(["anthropic".to_owned()]);
        let registered = ReviewerName::STANDING.iter().map(ToString::to_string);
        let own = self.repo.reviewers.iter().map(|own| own.name.to_string());
        let registered: BTreeSet<String> = registered
            .chain(own)
            .filter(|name| self.codex_rules || name != "codex")
            .filter(|name| !self.without_prompt.contains(&name.as_str()))
            .collect();
        let mut library = PromptLibrary::default();
        for own in &self.repo.reviewers {
            library.add_own(&own.name, &own.prompt, "Look closely.");
        }
        let wishes: Vec<Wish> = self.focus.iter().map(|wish| wish.parse().expect("a wish")).collect();
        let focus = Focus::new(&wishes);
        let rules = if self.codex_rules {
            one_rule()
        } else {
            AppliedRules::default()
        };
        let security = SecurityPaths::new(&self.config.risk).expect("valid patterns");
        plan(&PlanInput {
            diff: &diff,
            config: &self.config,
            preset: Preset::Current,
            credentials: &credentials,
            library: &library,
            rules: &rules,
            repo: &self.repo,
            security: &security,
            registered: &registered,
            focus: focus.as_ref(),
            classes: &self.repo.classes(),
        })
        .expect("a plan")
    }
}

/// A rule for `a.rs`.
fn one_rule() -> AppliedRules {
    let rule = RuleInForce {
        id: "NET-012".into(),
        link: "https://rules.example.com/net-012".into(),
        files: BTreeSet::from(["a.rs".to_owned()]),
        ..RuleInForce::default()
    };
    AppliedRules {
        book: Arc::new(RuleBook::new(vec![rule])),
        ..AppliedRules::default()
    }
}

fn of(files: Vec<FileDiff>) -> Case {
    Case {
        files,
        ..Case::default()
    }
}

fn names(plan: &Plan) -> String {
    let names: Vec<String> = plan.reviewers().iter().map(ToString::to_string).collect();
    names.join(" ")
}

fn reason<'a>(plan: &'a Plan, name: &str) -> &'a str {
    let seat = plan.slots.iter().find(|seat| seat.reviewer.as_str() == name);
    &seat.expect("a seat for every standing reviewer").reason
}

#[test]
fn the_tier_decides_the_panel() {
    for (files, tier, panel) in [
        (vec![file("a.rs", 3)], RiskTier::Trivial, "generalist"),
        (
            vec![file("a.rs", 50)],
            RiskTier::Lite,
            "code_quality documentation security",
        ),
        (
            vec![file("a.rs", 500)],
            RiskTier::Full,
            "security correctness performance code_quality documentation agents_md",
        ),
        (
            vec![file("a.rs", 500), file("db/migrations/1.sql", 1)],
            RiskTier::Full,
            "security correctness performance code_quality documentation agents_md release",
        ),
    ] {
        let plan = of(files).plan();
        assert_eq!((plan.assessment.tier, names(&plan).as_str()), (tier, panel));
    }
}

#[test]
fn codex_is_on_every_panel_where_a_rule_is_for_a_changed_file_and_takes_the_seat_of_security_on_lite() {
    let with_rules = |lines| {
        Case {
            codex_rules: true,
            ..of(vec![file("a.rs", lines)])
        }
        .plan()
    };
    let trivial = with_rules(3);
    assert_eq!(names(&trivial), "generalist codex");
    assert_eq!(
        reason(&trivial, "codex"),
        "on the trivial panel: engineering rules are for changed files"
    );
    let lite = with_rules(50);
    assert_eq!(names(&lite), "code_quality documentation codex");
    assert_eq!(
        reason(&lite, "codex"),
        "on the lite panel in place of security: engineering rules are for changed files"
    );
    assert_eq!(reason(&lite, "security"), "codex takes its place on the lite panel");
    let both = Case {
        codex_rules: true,
        repo: repo("[panel]\nlite = [\"security\"]\n"),
        ..of(vec![file("a.rs", 50)])
    };
    assert_eq!(names(&both.plan()), "code_quality documentation codex security");
    assert!(names(&with_rules(500)).ends_with("agents_md codex"));
    let none = of(vec![file("a.rs", 500)]).plan();
    assert_eq!(reason(&none, "codex"), "no engineering rules are configured");
}

#[test]
fn every_standing_reviewer_has_a_seat_with_a_reason() {
    for lines in [1, 50, 500] {
        let plan = of(vec![file("a.rs", lines)]).plan();
        for name in ReviewerName::STANDING {
            assert!(!reason(&plan, name).is_empty());
        }
        assert_eq!(plan.slots.len(), ReviewerName::STANDING.len());
    }
    let plan = of(vec![file("a.rs", 500)]).plan();
    assert_eq!(reason(&plan, "release"), "no release-related file changed");
    let plan = of(vec![
        file("a.rs", 500),
        file("Cargo.toml", 1),
        file("x/openapi.yaml", 1),
    ])
    .plan();
    assert_eq!(reason(&plan, "release"), "release-related: Cargo.toml and 1 more");
}

#[test]
fn a_disabled_reviewer_is_named_and_does_not_run() {
    let remote = document(r#"{"schema_version":1,"reviewers":{"documentation":{"enabled":false}}}"#);
    let plan = Case {
        config: remote,
        repo: repo("[review]\ndisabled_reviewers = [\"security\"]"),
        ..of(vec![file("a.rs", 50)])
    }
    .plan();
    assert_eq!(names(&plan), "code_quality");
    let disabled = plan.slots.iter().filter(|slot| slot.presence == Presence::Disabled);
    assert_eq!(disabled.count(), 2);
    assert_eq!(reason(&plan, "documentation"), "disabled by the remote configuration");
    assert_eq!(
        reason(&plan, "security"),
        "disabled by .conclave.toml of the target branch"
    );
    assert_eq!(
        plan.warnings(),
        ["security does not review: disabled by .conclave.toml of the target branch"],
        "a review without documentation is thinner, one without security is another review"
    );
    assert_eq!(plan.why_no_reviewer(), None);
}

#[test]
fn a_disabled_codex_leaves_its_seat_to_security() {
    let plan = Case {
        codex_rules: true,
        repo: repo("[review]\ndisabled_reviewers = [\"codex\"]"),
        ..of(vec![file("a.rs", 50)])
    }
    .plan();
    assert_eq!(names(&plan), "code_quality documentation security");
}

#[test]
fn an_empty_panel_is_no_review() {
    let plan = Case {
        repo: repo("[review]\ndisabled_reviewers = [\"generalist\"]"),
        ..of(vec![file("a.rs", 1)])
    }
    .plan();
    assert_eq!(
        plan.why_no_reviewer().as_deref(),
        Some("the trivial panel is empty: generalist is disabled by .conclave.toml of the target branch")
    );
}

#[test]
fn a_panel_without_a_model_because_of_a_switch_is_an_outage() {
    let mut plan = of(vec![file("a.rs", 1)]).plan();
    assert!(!plan.is_switched_off());
    for (switched_off, is_outage) in [(false, false), (true, true)] {
        for member in &mut plan.members {
            member.route = Err(NoModel {
                reviewer: member.name.to_string(),
                skipped: vec![SkippedModel {
                    model: "anthropic/claude-sonnet-5".parse().expect("a model"),
                    reason: "why".to_owned(),
                    switched_off,
                }],
            });
        }
        assert!(plan.why_no_reviewer().is_some());
        assert_eq!(plan.is_switched_off(), is_outage);
    }
}

#[test]
fn the_remote_document_moves_borders_paths_and_panels() {
    let plan = Case {
        config: document(r#"{"schema_version":1,"risk":{"trivial_lines":60},"panels":{"trivial":["tests","codex"]}}"#),
        ..of(vec![file("a.rs", 50)])
    }
    .plan();
    assert_eq!(
        (plan.assessment.tier, names(&plan).as_str()),
        (RiskTier::Trivial, "tests")
    );
    assert_eq!(
        reason(&plan, "tests"),
        "on the trivial panel by the remote configuration"
    );
    assert_eq!(
        reason(&plan, "generalist"),
        "not on the trivial panel by the remote configuration"
    );
    let plan = Case {
        config: document(
            r#"{"schema_version":1,"risk":{"security_paths":["infra/"],"security_paths_removed":["session"]}}"#,
        ),
        ..of(vec![file("infra/main.tf", 1), file("src/session.rs", 1)])
    }
    .plan();
    assert_eq!(
        plan.assessment.reasons,
        ["security-sensitive: infra/main.tf (under `infra/`)"]
    );
}

#[test]
fn only_codex_has_to_cite_rules() {
    let case = Case {
        codex_rules: true,
        ..of(vec![file("a.rs", 500)])
    };
    let plan = case.plan();
    assert!(names(&plan).contains("codex"), "{}", names(&plan));
    for member in &plan.members {
        assert_eq!(
            member.rules.is_some(),
            member.name.as_str() == "codex",
            "{}",
            member.name
        );
    }
}

fn asking(focus: &'static [&'static str], files: Vec<FileDiff>) -> Plan {
    Case { focus, ..of(files) }.plan()
}

#[test]
fn who_is_asked_for_sits_in_place_of_the_panel_and_the_rest_is_a_gap() {
    let plan = asking(&["tests", "security"], vec![file("a.rs", 500)]);
    assert_eq!(names(&plan), "security tests");
    assert!(plan.members.iter().all(|member| member.required));
    assert_eq!(
        plan.gaps,
        [
            "only a part of the full panel was asked for (--focus), without correctness, performance, code quality, \
          documentation, AGENTS.md"
        ]
    );
    assert_eq!(reason(&plan, "tests"), "asked for by name (--focus)");
    assert_eq!(reason(&plan, "performance"), "not asked for (--focus)");
    // Documentation, once it is asked for by name, has to answer.
    let plan = asking(&["documentation"], vec![file("a.rs", 50)]);
    assert!(plan.members[0].required);
}

#[test]
fn who_comes_besides_leaves_the_panel_whole() {
    let plan = asking(&["+tests"], vec![file("a.rs", 50)]);
    assert_eq!(names(&plan), "code_quality documentation security tests");
    assert_eq!(plan.gaps, [""; 0]);
    // Naming the whole panel is asking for the whole review.
    let plan = asking(&["generalist", "tests"], vec![file("a.rs", 3)]);
    assert_eq!((names(&plan).as_str(), plan.gaps.len()), ("generalist tests", 0));
}

#[test]
fn who_is_asked_for_and_cannot_sit_is_a_gap() {
    let plan = asking(&["codex", "security"], vec![file("a.rs", 50)]);
    assert_eq!(names(&plan), "security");
    // Besides the panel it has nothing to check, and nothing is missing.
    let besides = asking(&["+codex"], vec![file("a.rs", 50)]);
    assert_eq!(
        (names(&besides).as_str(), besides.gaps.len()),
        ("code_quality documentation security", 0)
    );
    assert!(
        plan.gaps
            .contains(&"codex was asked for and does not review: no engineering rules are configured".to_owned()),
        "{:?}",
        plan.gaps
    );
    let plan = Case {
        focus: &["security"],
        repo: repo("[review]\ndisabled_reviewers = [\"security\"]\n"),
        ..of(vec![file("a.rs", 50)])
    }
    .plan();
    let none = plan.why_no_reviewer().expect("nobody is left");
    assert!(none.contains("security is disabled by .conclave.toml"), "{none}");
}

const OWN: &str = "[[reviewers]]\nname = \"queries\"\nprompt = \"q.md\"\npaths = [\"*.sql\"]\nmodel = \"light\"\n";

#[test]
fn a_reviewer_of_the_project_sits_where_its_paths_change() {
    let with = |text: &str, files| {
        Case {
            repo: repo(text),
            ..of(files)
        }
        .plan()
    };
    let plan = with(OWN, vec![file("a.rs", 30), file("q/b.sql", 3), file("c.sql", 3)]);
    assert_eq!(names(&plan), "code_quality documentation security queries");
    assert_eq!(reason(&plan, "queries"), "the project's own, for q/b.sql and 1 more");
    let member = plan.members.last().expect("it sits");
    assert!(!member.required);
    let route = member.route.as_ref().expect("a model");
    assert_eq!(route.first().as_str(), "anthropic/claude-haiku-4-5");
    let role = member.parts.last().expect("a role");
    assert!(
        role.starts_with("# Reviewer: queries\n") && role.contains("Look closely."),
        "{role}"
    );

    let plan = with(OWN, vec![file("a.rs", 30)]);
    assert_eq!(names(&plan), "code_quality documentation security");
    assert_eq!(reason(&plan, "queries"), "no changed file is one of its paths");
    assert!(with(&format!("{OWN}required = true\n"), vec![file("c.sql", 3)]).members[1].required);
}

#[test]
fn a_reviewer_of_the_project_without_its_prompt_does_not_review_and_a_required_one_is_a_gap() {
    let broken = |text: &str| {
        Case {
            repo: repo(text),
            without_prompt: &["queries"],
            ..of(vec![file("c.sql", 3)])
        }
        .plan()
    };
    let plan = broken(OWN);
    assert_eq!((names(&plan).as_str(), plan.gaps.len()), ("generalist", 0));
    assert_eq!(reason(&plan, "queries"), "its prompt cannot be had");
    let plan = broken(&format!("{OWN}required = true\n"));
    assert_eq!(
        plan.gaps,
        ["queries (project's own) cannot review: its prompt cannot be had"]
    );
}
