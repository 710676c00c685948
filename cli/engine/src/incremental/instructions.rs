//! What reviewers were told besides the built-in prompts: a patch counts as reviewed under these instructions only.

use std::sync::Arc;

use conclave_shared::{path_globs::PathGlobs, reviewer::ReviewerName};

use crate::{
    diff::FileDiff,
    prompt::{PromptLibrary, concerns},
    repo_config::{RepoConfig, Strictness},
    review::PatchId,
    rules::RuleBook,
    untrusted::Untrusted,
};

/// The instructions of a project and its organisation, by the files that they are for.
///
/// Only what says what to look for: prompts that replace built-in ones, the project's own reviewers and path instructions,
/// how strict to be, the engineering rules, and the conventions that all reviewers are shown. A change of the language or of the
/// models makes no finding wrong, and a new version of the built-in prompts is no reason to pay for every open merge request again.
#[derive(Debug, Clone, Default)]
pub struct Instructions {
    of_all: Vec<String>,
    own: Vec<(PathGlobs, String)>,
    config: RepoConfig,
    rules: Arc<RuleBook>,
    under: Option<PatchId>,
}

impl Instructions {
    /// What is in force for a review.
    pub fn new(config: &RepoConfig, library: &PromptLibrary, rules: &Arc<RuleBook>) -> Self {
        let strictness = match config.review.strictness {
            Strictness::Relaxed => Some("relaxed".to_owned()),
            Strictness::Standard => None,
            Strictness::Strict => Some("strict".to_owned()),
        };
        let replaced = library
            .replaced()
            .filter(|(name, _)| *name != ReviewerName::COORDINATOR);
        let own = config.reviewers.iter().filter_map(|reviewer| {
            let prompt = library.get(reviewer.name.as_str()).ok()?;
            Some((PathGlobs::new(&reviewer.paths).unwrap_or_default(), prompt.to_owned()))
        });
        Self {
            of_all: replaced.map(|(_, text)| text.to_owned()).chain(strictness).collect(),
            own: own.collect(),
            config: config.clone(),
            rules: Arc::clone(rules),
            under: None,
        }
    }

    /// The same in a change for this target branch, of which these texts are shown to all reviewers. An author may name a branch of
    /// their own as the target, and have it say that what they do is the convention.
    #[must_use]
    pub fn for_target(self, branch: &Untrusted, conventions: &[String]) -> Self {
        let conventions: Vec<&str> = conventions.iter().map(String::as_str).collect();
        let under = PatchId::of_text(&branch.sanitized_line()).under(&conventions);
        Self {
            under: Some(under),
            ..self
        }
    }

    /// The identity of the target branch and of what is shown to all reviewers, if they are known.
    ///
    /// It is not part of the patches' identities: problems that are remembered by those go on whatever branch the author names.
    pub const fn under(&self) -> Option<&PatchId> {
        self.under.as_ref()
    }

    /// Those that are for this file, always in the same order.
    pub fn of(&self, file: &FileDiff) -> Vec<&str> {
        let own = self.own.iter().filter(|(paths, _)| paths.is_match(&file.path));
        let paths = self.config.path_instructions.iter();
        let paths = paths.filter(|instruction| concerns(instruction, &file.path));
        let all = self.of_all.iter().map(String::as_str);
        all.chain(own.map(|(_, prompt)| prompt.as_str()))
            .chain(paths.map(|instruction| instruction.instructions.trim()))
            .chain(self.rules.of_file(&file.path).map(|rule| rule.text.as_str()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        repo_config::{OwnReviewer, PathInstruction},
        rules::RuleInForce,
    };

    /// What is in force, all of it for `a.py`.
    struct InForce {
        config: RepoConfig,
        replaced: Vec<(String, String)>,
        own: &'static str,
        rule: &'static str,
    }

    impl InForce {
        fn new() -> Self {
            let name = ReviewerName::new("style").expect("a name");
            let config = RepoConfig {
                path_instructions: vec![PathInstruction {
                    paths: vec!["a.*".to_owned()],
                    instructions: "Mind the gap.".to_owned(),
                }],
                reviewers: vec![OwnReviewer {
                    name,
                    prompt: "style.md".to_owned(),
                    paths: vec!["a.py".to_owned()],
                    model: conclave_shared::config::ModelTier::Light,
                    required: false,
                    effort: None,
                }],
                ..RepoConfig::default()
            };
            Self {
                config,
                replaced: Vec::new(),
                own: "Look at style.",
                rule: "Use HTTP/2.",
            }
        }

        /// The identities of `a.py` and `b.py`, each with the same patch.
        fn identities(&self) -> [PatchId; 2] {
            let mut library = PromptLibrary::default();
            library.replace(self.replaced.clone()).expect("prompts");
            for own in &self.config.reviewers {
                library.add_own(&own.name, &own.prompt, self.own);
            }
            let rules = Arc::new(RuleBook::new(vec![RuleInForce {
                id: "NET-012".into(),
                link: "https://rules.example.com/net-012".into(),
                text: self.rule.to_owned(),
                files: BTreeSet::from(["a.py".to_owned()]),
                ..RuleInForce::default()
            }]));
            let instructions = Instructions::new(&self.config, &library, &rules);
            ["a.py", "b.py"].map(|path| {
                let file = FileDiff {
                    path: path.to_owned(),
                    ..FileDiff::default()
                };
                PatchId::new(&file, b"@@ -1 +1 @@\n+x\n").under(&instructions.of(&file))
            })
        }
    }

    #[test]
    fn a_changed_instruction_makes_the_files_that_it_is_for_be_reviewed_again_and_no_others() {
        type Change = fn(&mut InForce);
        let changes: [(&str, Change, bool); 9] = [
            ("nothing", |_| (), false),
            (
                "the language",
                |now| now.config.review.language = Some("German".into()),
                false,
            ),
            ("what is posted", |now| now.config.review.max_inline = Some(1), false),
            ("a rule", |now| now.rule = "Use HTTP/3.", true),
            ("an own prompt", |now| now.own = "Look at tabs.", true),
            ("no own reviewer", |now| now.config.reviewers.clear(), true),
            (
                "a path instruction",
                |now| now.config.path_instructions[0].instructions = "Mind the step.".into(),
                true,
            ),
            (
                "the judge's prompt",
                |now| now.replaced = vec![("coordinator".into(), "# Review coordinator\n\nBe kind.".into())],
                false,
            ),
            (
                "the order of the globs",
                |now| now.config.path_instructions[0].paths.push("c".into()),
                false,
            ),
        ];
        let [a, b] = InForce::new().identities();
        for (what, change, again) in changes {
            let mut now = InForce::new();
            change(&mut now);
            let [a_now, b_now] = now.identities();
            assert_eq!(a_now != a, again, "{what}");
            assert_eq!(b_now, b, "{what}");
        }
        // And these are for all files.
        let changes: [Change; 2] = [
            |now| now.config.review.strictness = Strictness::Strict,
            |now| now.replaced = vec![("security".into(), "# Reviewer: security\n\nOnly SQL.".into())],
        ];
        for change in changes {
            let mut now = InForce::new();
            change(&mut now);
            let [a_now, b_now] = now.identities();
            assert!(a_now != a && b_now != b);
        }
    }

    #[test]
    fn the_target_branch_and_each_text_for_all_reviewers_tell_one_review_from_another() {
        let under = |branch: &str, texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            let instructions = Instructions::default().for_target(&branch.into(), &texts);
            instructions.under().cloned().expect("an identity")
        };
        let main = under("main", &["Bind every value."]);
        assert_eq!(under("main", &["Bind every value."]), main);
        for (branch, texts) in [
            ("playground", &["Bind every value."][..]),
            ("main", &["Concatenation is our convention."]),
            ("main", &[]),
            ("main", &["Bind every value.", "Be brief."]),
        ] {
            assert_ne!(under(branch, texts), main, "{branch} {texts:?}");
        }
    }

    #[test]
    fn without_instructions_a_patch_is_what_earlier_versions_remember() {
        let patch = PatchId::new(&FileDiff::default(), b"");
        assert_eq!(patch.clone().under(&[]), patch);
        assert_ne!(patch.clone().under(&["ab"]), patch.clone().under(&["a", "b"]));
    }
}
