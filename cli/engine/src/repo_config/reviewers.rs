//! `[[reviewers]]`: the reviewers that a project adds.

use conclave_shared::{config::ModelTier, effort::Effort, reviewer::ReviewerName};
use toml::de::DeTable;

use super::{OwnReviewer, parse::path_fault, reader::Reader};

const KEY: &str = "reviewers";

impl Reader<'_> {
    /// The project's own reviewers. One with a problem that would change what it does is left out: half a reviewer looks
    /// like a whole one in every review.
    pub(super) fn own_reviewers(&mut self, root: &DeTable<'_>) -> Vec<OwnReviewer> {
        let mut reviewers: Vec<OwnReviewer> = Vec::new();
        for (table, span) in self.tables(root, KEY, &["name", "prompt", "paths"]) {
            let Some(reviewer) = self.own_reviewer(table) else {
                continue;
            };
            if reviewers.iter().any(|known| known.name == reviewer.name) {
                let message = format!(
                    "there is another reviewer `{}` above; this one is left out",
                    reviewer.name
                );
                self.problems.error(&span, message);
            } else if reviewers.len() == OwnReviewer::MAX {
                let message = format!(
                    "a project can add {} reviewers at most; `{}` is left out",
                    OwnReviewer::MAX,
                    reviewer.name
                );
                self.problems.error(&span, message);
            } else {
                reviewers.push(reviewer);
            }
        }
        reviewers
    }

    fn own_reviewer(&mut self, table: &DeTable<'_>) -> Option<OwnReviewer> {
        let name = self.own_name(table);
        let prompt = self.text(table, KEY, "prompt").and_then(|(path, span)| {
            let fault = path_fault(&path);
            if let Some(fault) = fault {
                self.problems.error(&span, format!("`{path}` {fault}"));
            }
            fault.is_none().then_some(path)
        });
        let paths = self.globs(table, KEY, "paths");
        self.not_empty(table, "paths", "this reviewer would never sit on a panel");
        let model = self.choice(table, KEY, "model", &ModelTier::ALL, ModelTier::as_str);
        let required = self.switch(table, KEY, "required");
        let effort = self.choice(table, KEY, "effort", &Effort::ALL, Effort::as_str);
        Some(OwnReviewer {
            name: name?,
            prompt: prompt?,
            paths: paths.filter(|paths| !paths.is_empty())?,
            model: if table.contains_key("model") {
                model?
            } else {
                ModelTier::default()
            },
            required: if table.contains_key("required") {
                required?
            } else {
                false
            },
            effort,
        })
    }

    fn own_name(&mut self, table: &DeTable<'_>) -> Option<ReviewerName> {
        let (text, span) = self.text(table, KEY, "name")?;
        match ReviewerName::new(text) {
            Ok(name) if name.is_own() => Some(name),
            Ok(name) => {
                let message = format!("`{name}` is a name of Conclave's own: give your reviewer another one");
                self.problems.error(&span, message);
                None
            }
            Err(invalid) => {
                self.problems.error(&span, invalid.to_string());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::repo_config::parse;

    use super::*;

    fn problems(text: &str) -> Vec<String> {
        parse(text.as_bytes())
            .problems
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_reviewer_of_the_project_is_read() {
        let parsed = parse(
            b"[[reviewers]]\nname = \"screen_readers\"\nprompt = \"docs/review/a11y.md\"\npaths = [\"web/\"]\n\n\
              [[reviewers]]\nname = \"queries\"\nprompt = \"q.md\"\npaths = [\"*.sql\"]\nmodel = \"light\"\nrequired = true\neffort = \"low\"\n",
        );
        assert_eq!(parsed.problems, []);
        let name = |text: &str| ReviewerName::new(text).expect("a name");
        assert_eq!(
            parsed.config.reviewers,
            [
                OwnReviewer {
                    name: name("screen_readers"),
                    prompt: "docs/review/a11y.md".into(),
                    paths: vec!["web/".into()],
                    model: ModelTier::Standard,
                    required: false,
                    effort: None,
                },
                OwnReviewer {
                    name: name("queries"),
                    prompt: "q.md".into(),
                    paths: vec!["*.sql".into()],
                    model: ModelTier::Light,
                    required: true,
                    effort: Some(Effort::Low),
                }
            ]
        );
        assert_eq!(parsed.config.classes()["queries"], ModelTier::Light);
        assert_eq!(parsed.config.efforts().reviewers["queries"], Effort::Low);
    }

    #[test]
    fn every_problem_has_its_line_and_leaves_the_reviewer_out() {
        let good = "[[reviewers]]\nname = \"a\"\nprompt = \"a.md\"\npaths = [\"x/\"]\n";
        for (change, expected) in [
            (
                ("\"a\"\n", "\"security\"\n"),
                ".conclave.toml:2:8: `security` is a name of Conclave's own: give your reviewer another one",
            ),
            (
                ("\"a\"\n", "\"coordinator\"\n"),
                ".conclave.toml:2:8: `coordinator` is a name of Conclave's own: give your reviewer another one",
            ),
            (
                ("\"a\"\n", "\"A b\"\n"),
                ".conclave.toml:2:8: `A b` is not a reviewer's name: it starts with a letter and has at most 40 of a-z, 0-9 and _",
            ),
            (
                ("a.md", "../a.md"),
                ".conclave.toml:3:10: `../a.md` is not a path below the repository's root",
            ),
            (
                ("a.md", "/etc/passwd"),
                ".conclave.toml:3:10: `/etc/passwd` is not a path below the repository's root",
            ),
            (
                ("prompt = \"a.md\"\n", ""),
                ".conclave.toml:1:1: `prompt` is missing in this `[[reviewers]]`",
            ),
            (
                ("[\"x/\"]", "[]"),
                ".conclave.toml:4:9: `paths` is empty, so this reviewer would never sit on a panel: name at least one pattern",
            ),
            (
                ("[\"x/\"]", "[\"x/\"]\nmodel = \"lihgt\""),
                ".conclave.toml:5:9: `lihgt` is not a `reviewers.model`: did you mean `light`?",
            ),
            (
                ("[\"x/\"]", "[\"x/\"]\nrequired = \"yes\""),
                ".conclave.toml:5:12: `reviewers.required` must be true or false; it is a text",
            ),
        ] {
            let text = good.replace(change.0, change.1);
            assert_eq!(problems(&text), [expected], "{text}");
            assert_eq!(parse(text.as_bytes()).config.reviewers, [], "{text}");
        }
        let unknown = format!("{good}modle = \"top\"\n");
        assert_eq!(
            problems(&unknown),
            [".conclave.toml:5:1: `reviewers.modle` is not known and is ignored: did you mean `reviewers.model`?"]
        );
    }

    #[test]
    fn they_are_bounded_in_number_and_unique() {
        let one = |name: &str| format!("[[reviewers]]\nname = \"{name}\"\nprompt = \"a.md\"\npaths = [\"x/\"]\n");
        let twice = one("a") + &one("a");
        assert_eq!(
            problems(&twice),
            [".conclave.toml:5:1: there is another reviewer `a` above; this one is left out"]
        );
        let six: String = ["a", "b", "c", "d", "e", "f"].map(one).concat();
        assert_eq!(
            problems(&six),
            [".conclave.toml:21:1: a project can add 5 reviewers at most; `f` is left out"]
        );
        assert_eq!(parse(six.as_bytes()).config.reviewers.len(), 5);
    }
}
