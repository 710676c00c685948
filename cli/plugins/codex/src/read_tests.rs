//! Files of rules as people write them.

use super::*;

const GOOD: &str = r#"
# Engineering rules
[[rule]]
id = "NET-012"
when = "a service calls another over HTTP"
use = "OutboundClients.forService"
link = "https://rules.example.com/net-012"
paths = ["services/**/*.java", "*.kt"]
severity = "warning"
text = """
Exception: health probes.
"""

[[rule]]
id = "DATA-003"
when = "a schema changes"
link = "https://rules.example.com/data-003"
paths = ["db/migrations/"]
manual_review = { who = ["@group/data", "alice"], add_as_reviewers = true }
"#;

fn rules(text: &str) -> Vec<Rule> {
    let (rules, problems) = read("rules.toml", text);
    assert_eq!(problems, []);
    rules.into_iter().map(|placed| placed.rule).collect()
}

/// The problems of a text in words, and how many rules are good.
fn problems(text: &str) -> (Vec<String>, usize) {
    let (rules, problems) = read("rules.toml", text);
    (problems.iter().map(ToString::to_string).collect(), rules.len())
}

#[test]
fn a_good_file_is_read_with_everything_in_it() {
    let rules = rules(GOOD);
    let [net, data] = &rules[..] else { panic!("{rules:?}") };
    assert_eq!(
        (net.id.as_str(), net.when.as_str(), net.instead.as_deref()),
        (
            "NET-012",
            "a service calls another over HTTP",
            Some("OutboundClients.forService")
        )
    );
    assert_eq!(net.link, "https://rules.example.com/net-012");
    assert_eq!(net.severity, Some(Severity::Warning));
    assert_eq!(net.text.as_deref(), Some("Exception: health probes."));
    assert!(net.paths.is_match("services/a/B.java") && net.paths.is_match("x/B.kt"));
    assert!(!net.paths.is_match("services/a/B.py"));
    assert_eq!(net.manual_review, None);
    assert_eq!(data.instead, None, "a rule may only ask for a person's look");
    assert_eq!(
        data.manual_review,
        Some(Demand {
            who: vec!["@group/data".into(), "@alice".into()],
            add_as_reviewers: true,
        })
    );
}

#[test]
fn every_problem_is_told_at_once_and_the_good_rules_stay() {
    let text = format!(
        r#"title = "ours"
[[rule]]
id = "A B"
whn = "x"
use = 3
link = "wiki/page"
paths = ["!a", ""]
severity = "high"
manual_review = {{ who = ["a b"], add_as_reviewers = "yes" }}
{GOOD}
[[rule]]
id = "LAST"
when = ""
use = "y"
link = "https://user:secret@rules.example.com/x"
paths = []
"#
    );
    let (problems, good) = problems(&text);
    let expected = [
        "rules.toml line 1: `title` is not a key at the top; rules begin with [[rule]]; there are rule",
        "rules.toml line 2: the rule has no `when`",
        "rules.toml line 2: the rule `A B` is left out, because of that",
        "rules.toml line 3: `A B` is not an id: at most 64 of letters, digits, `-`, `_` and `.`, as in \"NET-012\"",
        "rules.toml line 4: `whn` is not a key of a rule; did you mean `when`?",
        "rules.toml line 5: `use` is not text: put it into quotes",
        "rules.toml line 6: `link` is not an address: write where the rule was decided, with https://",
        "rules.toml line 7: `!a` is not a pattern of paths: a pattern cannot be negated with `!`",
        "rules.toml line 7: `` is not a pattern of paths: it is empty",
        "rules.toml line 8: `high` is not a severity: critical, warning or suggestion",
        "rules.toml line 9: `add_as_reviewers` is true or false",
        "rules.toml line 9: `a b` is neither the name of a user nor the path of a group",
        "rules.toml line 30: the rule `LAST` is left out, because of that",
        "rules.toml line 32: `when` is empty",
        "rules.toml line 34: `link` is not an address: write where the rule was decided, with https://",
        "rules.toml line 35: `paths` is not a list of texts: write paths = [\"**\"] for every file",
    ];
    assert_eq!(problems, expected);
    assert_eq!(good, 2);
}

#[test]
fn the_enforcement_of_a_rule_is_read_and_what_is_unknown_counts_as_strict() {
    let with = |lines: &str| {
        format!(
            "[[rule]]\nid = \"A\"\nwhen = \"x\"\nuse = \"y\"\nlink = \"https://r.example.com\"\npaths = [\"**\"]\n{lines}\n"
        )
    };
    for (lines, level, on_breach) in [
        ("", None, None),
        ("level = \"must\"", Some(RuleLevel::Must), Some(OnBreach::Warn)),
        ("level = \"should\"", Some(RuleLevel::Should), Some(OnBreach::Comment)),
        (
            "level = \"may\"\non_breach = \"block\"",
            Some(RuleLevel::May),
            Some(OnBreach::Block),
        ),
        ("on_breach = \"review\"", None, Some(OnBreach::Review)),
    ] {
        let [rule] = &rules(&with(lines))[..] else {
            panic!("{lines}")
        };
        assert_eq!((rule.level, rule.on_breach), (level, on_breach), "{lines}");
    }
    let [rule] = &rules(&with(
        "on_breach = \"review\"\napprovers = [\"group/data\", \"@carol\"]",
    ))[..] else {
        panic!("one")
    };
    assert_eq!(rule.approvers, ["@group/data", "@carol"]);
    for (lines, problem, on_breach) in [
        (
            "on_breach = \"blok\"",
            "rules.toml line 7: `on_breach` is one of \"comment\", \"warn\", \"review\", \"block\", not `blok`; until that is mended, \"review\" is in force",
            OnBreach::Review,
        ),
        (
            "level = 3",
            "rules.toml line 7: `level` is one of \"may\", \"should\", \"must\", not something without quotation marks; until that is mended, \"must\" is in force",
            OnBreach::Warn,
        ),
        (
            "on_breach = \"warn\"\napprovers = [\"carol\"]",
            "rules.toml line 8: `approvers` has no effect without on_breach = \"review\"",
            OnBreach::Warn,
        ),
        (
            "severity = \"warning\"\non_breach = \"block\"",
            "rules.toml line 1: `severity = \"warning\"` has no effect: a breach is `block`, which makes it critical; leave one of both out",
            OnBreach::Block,
        ),
    ] {
        let (rules, problems) = read("rules.toml", &with(lines));
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, [problem]);
        assert_eq!(rules[0].rule.on_breach, Some(on_breach), "the rule is in force");
    }
}

#[test]
fn what_is_no_toml_gives_no_rule_and_names_the_line() {
    let (problems, good) = problems(&format!("{GOOD}\n[[rule]\nid = \"X\"\nwhen = = 1\n"));
    assert_eq!(good, 0);
    assert!(
        problems[0].starts_with("rules.toml line 21: this is not TOML: "),
        "{problems:?}"
    );
    assert!(problems[0].ends_with("no rule of the file is used"), "{problems:?}");
    assert!(
        problems.iter().any(|problem| problem.contains("line 23")),
        "{problems:?}"
    );
    let (problems, _) = self::problems("<html>\n<body>Sign in</body>");
    assert!(problems[0].starts_with("rules.toml line 1: "), "{problems:?}");
}

#[test]
fn a_file_without_rules_says_so() {
    assert_eq!(problems("").0, ["rules.toml: there is no [[rule]] in it"]);
    assert_eq!(
        problems("[rule]\nid = \"x\"\n").0,
        ["rules.toml line 1: `rule` is one table: write [[rule]], with two brackets"]
    );
}

#[test]
fn a_text_that_is_no_sentence_any_more_is_refused() {
    let long = "x".repeat(MAX_SHORT + 1);
    let (problems, good) = problems(&GOOD.replace("a schema changes", &long));
    assert_eq!(good, 1);
    assert!(
        problems[1].contains("`when` is longer than 500 characters"),
        "{problems:?}"
    );
}
