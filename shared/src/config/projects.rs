//! What is otherwise in some projects.
//!
//! Entries stand in an order, each with patterns of project paths. Those that name a project are laid over the document
//! one after the other, so a later one has the last word: the general first, the special after it.

use super::{ConfigDocument, ProjectOverride, validate::faults_of};
use crate::project::ProjectPatterns;

/// The projects of a document, ready to be asked for one of them many times.
#[derive(Debug, Clone)]
pub struct ProjectRules {
    base: ConfigDocument,
    entries: Vec<(ProjectPatterns, ProjectOverride)>,
}

impl ProjectRules {
    /// Takes a document apart. An entry with a pattern that is none matches nothing; validation names it.
    pub fn new(mut document: ConfigDocument) -> Self {
        let entries = std::mem::take(&mut document.projects).into_iter();
        let entries = entries.map(|entry| (ProjectPatterns::new(&entry.paths).unwrap_or_default(), entry));
        Self {
            entries: entries.collect(),
            base: document,
        }
    }

    /// The entries that name a project, by their places. The empty path stands for no project, and no entry names it.
    pub fn matching(&self, project: &str) -> Vec<usize> {
        let entries = self.entries.iter().enumerate();
        entries
            .filter(|(_, (patterns, _))| !project.is_empty() && patterns.is_match(project))
            .map(|(index, _)| index)
            .collect()
    }

    /// The document with these entries laid over it, and what had to be left out: two entries that are good by
    /// themselves can make a fault together, and that must not stop a review.
    pub fn with(&self, matching: &[usize]) -> (ConfigDocument, Vec<String>) {
        let mut document = self.base.clone();
        let mut warnings = Vec::new();
        for index in matching {
            let Some((_, entry)) = self.entries.get(*index) else {
                continue;
            };
            let mut next = document.clone();
            entry.lay_over(&mut next);
            match faults_of(&next).first() {
                None => document = next,
                Some(fault) => warnings.push(format!(
                    "/projects/{index}: is left out for this project: with the entries before it {} {}",
                    fault.pointer, fault.detail
                )),
            }
        }
        warnings.extend(document.correct_names());
        (document, warnings)
    }

    /// The document for a project.
    pub fn of(&self, project: &str) -> (ConfigDocument, Vec<String>) {
        self.with(&self.matching(project))
    }
}

#[cfg(test)]
#[path = "projects_tests.rs"]
mod tests;
