//! The prompt files, embedded; a directory may replace them one by one.

use std::collections::BTreeMap;

/// Prompts by file name without extension (`security`, `REVIEWER_SHARED`, `coordinator`).
#[derive(Debug, Clone)]
pub struct PromptLibrary {
    texts: BTreeMap<String, String>,
}

/// A prompt that nobody wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no prompt `{0}.md`")]
pub struct UnknownPrompt(pub String);

/// The rules that every reviewer gets.
const SHARED: &str = "REVIEWER_SHARED";

const EMBEDDED: [(&str, &str); 12] = [
    (SHARED, include_str!("../../../../prompts/REVIEWER_SHARED.md")),
    ("coordinator", include_str!("../../../../prompts/coordinator.md")),
    ("security", include_str!("../../../../prompts/security.md")),
    ("performance", include_str!("../../../../prompts/performance.md")),
    ("code_quality", include_str!("../../../../prompts/code_quality.md")),
    ("correctness", include_str!("../../../../prompts/correctness.md")),
    ("documentation", include_str!("../../../../prompts/documentation.md")),
    ("release", include_str!("../../../../prompts/release.md")),
    ("codex", include_str!("../../../../prompts/codex.md")),
    ("agents_md", include_str!("../../../../prompts/agents_md.md")),
    ("generalist", include_str!("../../../../prompts/generalist.md")),
    ("tests", include_str!("../../../../prompts/tests.md")),
];

impl Default for PromptLibrary {
    fn default() -> Self {
        let texts = EMBEDDED
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Self { texts: texts.collect() }
    }
}

impl PromptLibrary {
    /// Replaces prompts by others of the same name; an unknown name is added.
    pub fn replace(&mut self, texts: impl IntoIterator<Item = (String, String)>) {
        self.texts.extend(texts);
    }

    /// The system prompt of every reviewer.
    pub fn shared(&self) -> Result<&str, UnknownPrompt> {
        self.get(SHARED)
    }

    /// The prompt of this name.
    pub fn get(&self, name: &str) -> Result<&str, UnknownPrompt> {
        self.texts
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| UnknownPrompt(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use conclave_shared::reviewer::ReviewerName;

    use super::*;

    #[test]
    fn every_standing_reviewer_has_a_prompt_that_says_who_it_is() {
        let library = PromptLibrary::default();
        for name in ReviewerName::STANDING {
            let text = library.get(name).expect("a prompt");
            assert_eq!(text.lines().next(), Some(format!("# Reviewer: {name}").as_str()));
            for section in ["## What to flag", "## What NOT to flag", "## Before you report"] {
                assert!(text.contains(section), "{name} lacks {section}");
            }
        }
        assert!(
            library
                .shared()
                .expect("shared rules")
                .starts_with("# Rules for every reviewer\n")
        );
        assert!(
            library
                .get("coordinator")
                .expect("a prompt")
                .starts_with("# Review coordinator\n")
        );
    }

    #[test]
    fn a_replacement_takes_the_place_of_one_prompt_only() {
        let mut library = PromptLibrary::default();
        library.replace([("security".to_owned(), "ours".to_owned())]);
        assert_eq!(library.get("security"), Ok("ours"));
        assert!(library.get("performance").expect("still there").len() > 100);
        assert_eq!(library.get("nobody"), Err(UnknownPrompt("nobody".into())));
    }
}
