use conclave_engine::repo_config::parse;

use super::{
    files::{JOB_FILE, SETTINGS_FILE, TUI_FILE, WORKFLOW_FILE},
    *,
};

fn answers(job: Job, block: bool) -> Answers {
    Answers {
        job,
        image: "registry.example.com/platform/conclave:1".to_owned(),
        block,
    }
}

fn component() -> Job {
    Job::Component {
        project: "platform/conclave".to_owned(),
        version: "0.1.0".to_owned(),
    }
}

fn file<'a>(plan: &'a [PlannedFile], path: &str) -> &'a PlannedFile {
    plan.iter().find(|file| file.path == path).expect(path)
}

#[test]
fn an_empty_repository_gets_all_files() {
    let plan = plan(&answers(component(), false), |_| None);
    let paths: Vec<&str> = plan.iter().map(|file| file.path).collect();
    assert_eq!(paths, [CI_FILE, SETTINGS_FILE, TUI_FILE]);
    assert_eq!(
        file(&plan, CI_FILE).content,
        "include:\n  - component: $CI_SERVER_FQDN/platform/conclave/conclave@0.1.0\n    inputs:\n      \
         image: \"registry.example.com/platform/conclave:1\"\n"
    );
    let copied = super::plan(&answers(Job::Copy, true), |_| None);
    let ci = &file(&copied, CI_FILE).content;
    assert!(ci.contains("- local: .gitlab/conclave.yml\n"), "{ci}");
    assert!(ci.ends_with("      gate: block\n      allow_failure: false\n"), "{ci}");
    assert!(file(&copied, JOB_FILE).content.starts_with("spec:\n  inputs:\n"));
}

#[test]
fn the_settings_have_no_fault_commented_out_or_not() {
    let plan = plan(&answers(component(), false), |_| None);
    let text = &file(&plan, SETTINGS_FILE).content;
    assert_eq!(parse(text.as_bytes()).problems, []);
    let switched_on: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(setting) if setting.starts_with("[[") || setting.contains(" = ") => format!("{setting}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let parsed = parse(switched_on.as_bytes());
    assert_eq!(parsed.problems, [], "{switched_on}");
    assert_eq!(parsed.config.path_instructions.len(), 1);
    assert_eq!(parsed.config.review.language.as_deref(), Some("German"));
}

#[test]
fn what_is_there_stays() {
    let there = |path: &str| match path {
        CI_FILE => Some("stages: [test]\n\ninclude:\n  - local: ci/test.yml\n".to_owned()),
        SETTINGS_FILE => Some("[review]\nlanguage = \"French\"\n".to_owned()),
        _ => None,
    };
    let answers = answers(component(), false);
    let plan = plan(&answers, there);
    let Some(Instead::Add(lines)) = &file(&plan, CI_FILE).instead else {
        panic!("lines to add");
    };
    assert!(
        lines.contains("as one more item of its list:\n  - component: "),
        "{lines}"
    );
    let steps = by_hand(&answers, &plan);
    assert!(
        steps[0].starts_with("Add the lines above to .gitlab-ci.yml"),
        "{steps:?}"
    );
    assert_eq!(file(&plan, SETTINGS_FILE).instead, Some(Instead::Keep));
    assert_eq!(file(&plan, TUI_FILE).instead, None);

    let without = super::plan(&answers, |path| {
        (path == CI_FILE).then(|| "test:\n  script: [make]\n".to_owned())
    });
    let Some(Instead::Add(lines)) = &file(&without, CI_FILE).instead else {
        panic!("lines to add");
    };
    assert!(lines.starts_with("include:\n"), "{lines}");

    // The second time there is nothing to do.
    let again = super::plan(&answers, |path| {
        Some(file(&super::plan(&answers, |_| None), path).content.clone())
    });
    assert!(again.iter().all(|file| file.instead == Some(Instead::Same)));
    let reviewed =
        "include:\n  - component: $CI_SERVER_FQDN/platform/conclave/conclave@0.0.9\n    inputs: {image: x}\n";
    let known = super::plan(&answers, |path| (path == CI_FILE).then(|| reviewed.to_owned()));
    assert_eq!(file(&known, CI_FILE).instead, Some(Instead::Keep));
}

#[test]
fn an_image_cannot_break_out_of_its_line() {
    let mut answers = answers(component(), false);
    answers.image = "x\n    gate: block # \"".to_owned();
    let plan = plan(&answers, |_| None);
    let content = &file(&plan, CI_FILE).content;
    assert!(
        content.ends_with("image: \"x\\n    gate: block # \\\"\"\n"),
        "{content}"
    );
}

#[test]
fn a_repository_on_github_gets_a_workflow_with_the_least_permissions() {
    for block in [false, true] {
        let plan = plan(&answers(Job::Workflow, block), |_| None);
        let paths: Vec<&str> = plan.iter().map(|file| file.path).collect();
        assert_eq!(paths, [WORKFLOW_FILE, SETTINGS_FILE, TUI_FILE]);
        let workflow: serde_json::Value = serde_norway::from_str(&file(&plan, WORKFLOW_FILE).content).expect("YAML");
        let permissions = serde_json::json!({ "contents": "read", "pull-requests": "write", "checks": "write" });
        assert_eq!(workflow["permissions"], permissions);
        let job = &workflow["jobs"]["review"];
        assert_eq!(job["container"]["image"], "registry.example.com/platform/conclave:1");
        let run = job["steps"][1]["run"].as_str().expect("a command");
        assert!(
            run.starts_with("exec conclave review") && run.contains("--gate block") == block,
            "{run}"
        );
        assert_eq!(job["steps"][0]["with"]["persist-credentials"], false);
        assert!(workflow["on"].get("pull_request_target").is_none());
    }
    let steps = by_hand(&answers(Job::Workflow, false), &[]).concat();
    assert!(
        steps.contains("CONCLAVE_SECRET") && !steps.contains("GITLAB_TOKEN"),
        "{steps}"
    );
}
