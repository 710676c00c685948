//! Efforts that a project or a job lays over those of the document.

use std::{collections::BTreeMap, str::FromStr};

use super::{ClassEfforts, ConfigDocument};
use crate::effort::Effort;

/// Efforts of a project or of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EffortOverrides {
    /// One for all, in place of everything that was set before.
    pub all: Option<Effort>,
    /// Those of classes.
    pub classes: ClassEfforts,
    /// Those of reviewers, and of the coordinator.
    pub reviewers: BTreeMap<String, Effort>,
}

impl EffortOverrides {
    /// Lays these over a document.
    pub fn lay_over(&self, document: &mut ConfigDocument) {
        if let Some(all) = self.all {
            document.effort = ClassEfforts::all(all);
            for settings in document.reviewers.values_mut() {
                settings.effort = None;
            }
        }
        document.effort.amend(&self.classes);
        for (name, effort) in &self.reviewers {
            document.reviewers.entry(name.clone()).or_default().effort = Some(*effort);
        }
    }
}

impl FromStr for EffortOverrides {
    type Err = String;

    /// Reads `EFFORT`, or `NAME=EFFORT`, several with commas between them. A name is a class, `trivial`, or a reviewer.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut overrides = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((name, effort)) = part.split_once('=') else {
                overrides.all = Some(part.parse().map_err(|error| format!("{error}"))?);
                continue;
            };
            let (name, effort) = (name.trim(), effort.trim());
            let effort: Effort = effort.parse().map_err(|error| format!("`{part}`: {error}"))?;
            match overrides.classes.named(name) {
                Some(class) => *class = Some(effort),
                None => {
                    overrides.reviewers.insert(name.to_owned(), effort);
                }
            }
        }
        if overrides == Self::default() {
            return Err("it is empty: name an effort, as in high or security=high".to_owned());
        }
        Ok(overrides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_effort_is_for_all_and_a_name_is_more_special() {
        let overrides: EffortOverrides = "low, top=high,security=max,trivial=none".parse().expect("valid");
        let mut document: ConfigDocument = serde_json::from_str(
            r#"{"schema_version":1,"effort":{"light":"high"},"reviewers":{"tests":{"effort":"max"}}}"#,
        )
        .expect("valid");
        overrides.lay_over(&mut document);
        assert_eq!(
            document.effort.to_string(),
            "top high, standard low, light low, trivial none"
        );
        assert_eq!(document.reviewers["security"].effort, Some(Effort::Max));
        assert_eq!(document.reviewers["tests"].effort, None);
        for (text, said) in [
            ("", "it is empty"),
            (",", "it is empty"),
            ("hihg", "`hihg` is not an effort: did you mean `high`?"),
            ("security=", "`security=`: `` is not an effort"),
            (
                "security=11",
                "`security=11`: `11` is not an effort: those are none, low, medium, high, max",
            ),
        ] {
            let error = text.parse::<EffortOverrides>().expect_err(text);
            assert!(error.contains(said), "{error}");
        }
    }
}
