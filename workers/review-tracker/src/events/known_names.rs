//! Names that the product itself has: these are never `other`, and they take none of the places of free names.

use conclave_shared::{pricing, reviewer::ReviewerName};

/// Free reviewers and models that one project may bring.
const OF_A_PROJECT: u32 = 15;
/// Free names of every other bounded kind that one project may bring: models choose categories and reasons.
const OTHERS_OF_A_PROJECT: u32 = 60;

/// Reasons of a judge, and those that the program gives itself.
const REASONS: [&str; 12] = [
    "already_handled",
    "contradicts_convention",
    "duplicate",
    "false_positive",
    "nitpick",
    "out_of_scope",
    "praise_or_restatement",
    "preference",
    "speculative",
    "suppressed",
    "verify_request",
    "withdrawn",
];

/// Figures of a run besides the durations of its stages.
const METRICS: [&str; 8] = [
    "files_of_earlier_reviews_count",
    "findings_suppressed_count",
    "findings_without_evidence_count",
    "gateway_cut_streams_count",
    "gateway_rejected_calls_count",
    "gateway_retries_count",
    "model_calls_count",
    "prompt_cache_hit_percent",
];

/// Categories that the prompts and the rules name, in order.
const CATEGORIES: &[&str] = &[
    "agents-md-filler",
    "agents-md-length",
    "agents-md-no-command",
    "api-client",
    "api-misuse",
    "assertion-removed",
    "async",
    "auth-bypass",
    "boundary",
    "broken-example",
    "build-tool",
    "cannot-fail",
    "ci-privilege",
    "ci-workflow",
    "copied-doc",
    "crypto-misuse",
    "dead-branch",
    "dead-config",
    "debug-leftover",
    "directory-layout",
    "disabled-suite",
    "diverged-twin",
    "doc-contradicts-code",
    "duplicate-helper",
    "environment-variable",
    "error-contract",
    "error-handling",
    "flaky-wait",
    "format-mismatch",
    "half-done-change",
    "hot-path-logging",
    "injection",
    "interface-break",
    "invalid-state",
    "lint-rules",
    "lock-file-integrity",
    "lock-file-registry",
    "lock-file-source",
    "lossy-conversion",
    "lost-in-refactor",
    "lost-optimization",
    "magic-value",
    "major-version",
    "memory-safety",
    "migration-data-loss",
    "migration-lock",
    "migration-order",
    "misleading-message",
    "misleading-name",
    "missing-authorization",
    "missing-case",
    "missing-downgrade",
    "missing-value",
    "n-plus-one",
    "needless-copy",
    "optional-drift",
    "overwritten-case",
    "package-manager",
    "path-traversal",
    "pipeline-break",
    "prompt-injection",
    "public-misspelling",
    "race",
    "read-before-limit",
    "repeated-call",
    "replay",
    "resource-leak",
    "secret-exposure",
    "secret-handling",
    "serialized-work",
    "silenced-check",
    "ssrf",
    "stale-reference",
    "state",
    "state-management",
    "superlinear",
    "swapped-fixture",
    "test-framework",
    "trojan-source",
    "unbounded-growth",
    "unchecked-cast",
    "unsafe-setup",
    "unused-code",
    "version-skew",
    "wrong-locale",
    "wrong-parameter",
    "wrong-reason",
    "wrong-unit",
    "wrong-value",
    "wrong-version",
];

/// Agents and rules that always have a series of their own.
pub(crate) fn built_in_agents() -> Vec<&'static str> {
    ReviewerName::STANDING
        .into_iter()
        .chain([ReviewerName::COORDINATOR])
        .chain(ReviewerName::RULES)
        .collect()
}

/// Models of the registry, which always have a series of their own.
pub(crate) fn built_in_models() -> Vec<&'static str> {
    pricing::registry().keys().map(String::as_str).collect()
}

/// Returns whether the product itself has a name of a kind.
pub(super) fn is_known(kind: &str, name: &str) -> bool {
    match kind {
        "reviewer" => built_in_agents().contains(&name),
        "model" => pricing::registry().contains_key(name),
        "category" => CATEGORIES.binary_search(&name).is_ok(),
        "reason" => REASONS.contains(&name),
        "metric" => METRICS.contains(&name),
        _ => false,
    }
}

/// The number of free names of a kind that one project may bring; none for kinds without a limit.
pub(super) fn quota(kind: &str) -> Option<u32> {
    match kind {
        "project" => None,
        "reviewer" | "model" => Some(OF_A_PROJECT),
        _ => Some(OTHERS_OF_A_PROJECT),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn the_categories_of_the_prompts_are_known() {
        assert!(CATEGORIES.is_sorted(), "they are searched by halves");
        let prompts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../prompts");
        let mut named = BTreeSet::new();
        for reviewer in ReviewerName::STANDING {
            let text = fs::read_to_string(prompts.join(format!("{reviewer}.md"))).expect("a prompt");
            let listed = text
                .lines()
                .filter_map(|line| line.strip_prefix("- `")?.split_once("`:"));
            let is_category = |name: &str| {
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            };
            named.extend(listed.map(|(name, _)| name.to_owned()).filter(|name| is_category(name)));
        }
        assert!(named.len() > 50, "{named:?}");
        let unknown: Vec<&String> = named.iter().filter(|name| !is_known("category", name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn what_the_product_names_itself_is_known_and_nothing_else() {
        for (kind, name, known) in [
            ("reviewer", "security", true),
            ("reviewer", "coordinator", true),
            ("reviewer", "lock_files", true),
            ("reviewer", "r0", false),
            ("model", "anthropic/claude-sonnet-5", true),
            ("model", "evil/m0", false),
            ("category", "prompt-injection", true),
            ("category", "security", false),
            ("reason", "duplicate", true),
            ("metric", "model_calls_count", true),
            ("project", "security", false),
        ] {
            assert_eq!(is_known(kind, name), known, "{kind} {name}");
        }
        assert_eq!(quota("project"), None);
    }
}
