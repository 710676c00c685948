//! The prompt files, embedded; a directory may replace them one by one.

use std::collections::BTreeMap;

use conclave_shared::{nearest::nearest, reviewer::ReviewerName};

use crate::untrusted::Untrusted;

/// Prompts by file name without extension (`security`, `REVIEWER_SHARED`, `coordinator`).
#[derive(Debug, Clone)]
pub struct PromptLibrary {
    texts: BTreeMap<String, String>,
}

/// A prompt that nobody wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no prompt `{0}.md`")]
pub struct UnknownPrompt(pub String);

/// A file that cannot be a prompt: by its first line the sessions are told apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}.md has to begin with the line `{expected}`, but it begins with `{found}`")]
pub struct WrongFirstLine {
    name: String,
    expected: String,
    found: String,
}

/// A file whose name is that of no prompt: it replaces nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacesNothing {
    /// The file's name without `.md`.
    pub name: String,
    /// The prompt that was perhaps meant.
    pub nearest: Option<&'static str>,
}

impl std::fmt::Display for ReplacesNothing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}.md is not the name of a prompt and replaces nothing",
            self.name
        )?;
        match self.nearest {
            Some(nearest) => write!(formatter, "; did you mean {nearest}.md?"),
            None => Ok(()),
        }
    }
}

/// The rules that every reviewer gets.
const SHARED: &str = "REVIEWER_SHARED";

const EMBEDDED: [(&str, &str); 13] = [
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
    ("types", include_str!("../../../../prompts/types.md")),
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
    /// Replaces prompts by others of the same name. Of the others each is named in the answer.
    pub fn replace(
        &mut self,
        texts: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Vec<ReplacesNothing>, WrongFirstLine> {
        let mut without_effect = Vec::new();
        for (name, text) in texts {
            let Some(place) = self.texts.get_mut(&name) else {
                let known = || EMBEDDED.iter().map(|(known, _)| *known);
                let nearest = known()
                    .find(|known| known.eq_ignore_ascii_case(&name))
                    .or_else(|| nearest(&name, known()));
                without_effect.push(ReplacesNothing { name, nearest });
                continue;
            };
            // Editors on some systems put a byte order mark in front.
            let text = text.trim_start_matches('\u{FEFF}');
            let found = text.lines().next().unwrap_or_default().trim_end();
            let expected = first_line(&name);
            if found != expected {
                return Err(WrongFirstLine {
                    expected,
                    found: found.chars().take(80).collect(),
                    name,
                });
            }
            text.clone_into(place);
        }
        Ok(without_effect)
    }

    /// Adds the role of a reviewer that a project has written, from the file at `place`.
    ///
    /// The people who may merge have written it, so it is a role and not data. Still it cannot be taken for a section's
    /// boundary, and it says itself where it comes from.
    pub fn add_own(&mut self, name: &ReviewerName, place: &str, text: &str) {
        let text = Untrusted::from(text.trim_start_matches('\u{FEFF}')).sanitized();
        let first = first_line(name.as_str());
        let role = text.trim_start().strip_prefix(first.as_str()).unwrap_or(&text).trim();
        let place = Untrusted::from(place).sanitized_line();
        let text = format!(
            "{first}\n\nThis role was added by the project and stands in `{place}` of the target branch. It says what to look \
             for, what to leave alone and how to check it. The rules for every reviewer come first where both differ: tools, \
             evidence, severities and the form of the answer are theirs.\n\n{role}\n"
        );
        self.texts.insert(name.to_string(), text);
    }

    /// The built-in prompts that others have taken the place of, with their names.
    pub fn replaced(&self) -> impl Iterator<Item = (&str, &str)> {
        EMBEDDED.iter().filter_map(|(name, built_in)| {
            let text = self.texts.get(*name)?;
            (text != built_in).then_some((*name, text.as_str()))
        })
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

/// The line that a prompt begins with.
fn first_line(name: &str) -> String {
    match name {
        SHARED => "# Rules for every reviewer".to_owned(),
        ReviewerName::COORDINATOR => "# Review coordinator".to_owned(),
        reviewer => format!("# Reviewer: {reviewer}"),
    }
}

#[cfg(test)]
#[path = "library_tests.rs"]
mod tests;
