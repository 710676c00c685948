//! `.conclave.toml`, as the target branch has it.

use conclave_engine::{
    repo_config::{ParsedRepoConfig, REPO_CONFIG_FILE, RepoConfigProblem, parse},
    review::{ApprovalHold, HoldCause, ReviewSubject},
};
use conclave_git::{GitError, Repository};

use crate::run::prepare::holds::limited;

/// The most problems that one review lists.
const MAX_PROBLEMS: usize = 20;

/// What the repository says, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct LoadedRepoConfig {
    /// True if the target branch has the file.
    pub(crate) found: bool,
    /// The settings in force, and the problems of that file.
    pub(crate) in_force: ParsedRepoConfig,
    /// Problems of the file as the change leaves it, where the change touches it.
    pub(crate) proposed: Vec<RepoConfigProblem>,
}

/// Reads both versions: the one that counts, and the one that would count next.
pub(crate) async fn load(repository: &Repository, subject: &ReviewSubject) -> Result<LoadedRepoConfig, GitError> {
    let (is_plain, in_force, base, head) = tokio::try_join!(
        repository.is_plain_file(subject.settings_commit(), REPO_CONFIG_FILE),
        repository.file(subject.settings_commit(), REPO_CONFIG_FILE),
        repository.file(&subject.base_sha, REPO_CONFIG_FILE),
        repository.file(&subject.head_sha, REPO_CONFIG_FILE),
    )?;
    // An old branch does not change what is new on the target branch.
    let changed = base != head;
    Ok(LoadedRepoConfig {
        found: is_plain.is_some(),
        in_force: match is_plain {
            Some(false) => ParsedRepoConfig::not_a_file(),
            _ => in_force.as_deref().map(parse).unwrap_or_default(),
        },
        proposed: match head {
            Some(head) if changed => parse(&head).problems,
            _ => Vec::new(),
        },
    })
}

impl LoadedRepoConfig {
    /// All problems in words, each with the version that it is in.
    pub(crate) fn all_problems(&self) -> Vec<String> {
        let in_force = self
            .in_force
            .problems
            .iter()
            .map(|problem| format!("{problem} (target branch)"));
        let proposed = self.proposed.iter().map(|problem| format!("{problem} (this change)"));
        in_force.chain(proposed).collect()
    }

    /// The reason to withhold an approval where a setting that protects cannot be read.
    pub(crate) fn hold(&self) -> Option<ApprovalHold> {
        let mut places: Vec<String> = self
            .in_force
            .unread()
            .map(|problem| format!("{REPO_CONFIG_FILE}:{}", problem.line))
            .collect();
        places.dedup();
        let first = self.in_force.unread().next()?;
        let reason = format!(
            "Settings of the target branch that protect cannot be read, so the strictest ones count until they are corrected \
             there: {}.",
            first.message
        );
        Some(ApprovalHold::new(HoldCause::Settings, reason).at(limited(&places)))
    }

    /// The problems in words, for a review, which goes on with what could be read: a typing error must not block all
    /// merge requests.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.all_problems();
        let more = warnings.len().saturating_sub(MAX_PROBLEMS);
        if more > 0 {
            warnings.truncate(MAX_PROBLEMS);
            warnings.push(format!(
                "{REPO_CONFIG_FILE}: {more} more problems; `conclave plan` lists all of them"
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory as _;
    use conclave_shared::config::{Limits, TimeLimitOverrides};

    use super::*;

    #[test]
    fn the_example_of_the_settings_is_a_good_one() {
        let document = include_str!("../../../../docs/settings.md");
        let example = document
            .split("```toml\n")
            .nth(1)
            .and_then(|rest| rest.split("```").next());
        let parsed = parse(example.expect("an example").as_bytes());
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.config.path_instructions.len(), 1);
        assert_eq!(ineffective(&parsed.config.limits), [""; 0]);
    }

    /// The limits of an example that cannot take effect.
    fn ineffective(limits: &TimeLimitOverrides) -> Vec<String> {
        let mut in_force = Limits::default();
        limits.lay_over(&mut in_force);
        conclave_shared::config::ineffective(&in_force, &BTreeMap::new(), &[limits])
    }

    #[test]
    fn the_example_of_the_flag_takes_effect() {
        let command = crate::args::Arguments::command();
        let local = command.find_subcommand("local").expect("a command");
        let limits = local.get_arguments().find(|argument| argument.get_id() == "limits");
        let help = limits.and_then(clap::Arg::get_help).expect("a text").to_string();
        let example: TimeLimitOverrides = help.split('`').nth(1).expect("an example").parse().expect("limits");
        assert_eq!(ineffective(&example), [""; 0], "{help}");
    }

    /// Run with `CONCLAVE_WRITE_SCHEMA=1` to renew the file.
    #[test]
    fn the_published_schema_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema/conclave-toml.schema.json");
        let schema = format!("{:#}\n", conclave_engine::repo_config::schema());
        if std::env::var_os("CONCLAVE_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &schema).expect("the file can be written");
        }
        let published = std::fs::read_to_string(path).expect("the schema is published");
        assert_eq!(published, schema, "run this test with CONCLAVE_WRITE_SCHEMA=1");
    }
}
