//! The gap that a change leaves which is larger than a reviewer can read, and what to do about it.

use conclave_shared::model::ModelId;

use super::PatchEntry;
use crate::numbers::{grouped, plural};

/// The smallest context window among the reviewers that a review cannot do without: patches are cut to fit into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NarrowestWindow {
    /// The model that has it; none where no model can be used.
    pub model: Option<ModelId>,
    /// Its length in tokens.
    pub tokens: u64,
    /// True if nothing is known of the model's window, and this length is assumed.
    pub is_assumed: bool,
}

impl NarrowestWindow {
    /// The gap in the review because of this window, with the next step; nothing if every patch is whole. `budget` are the
    /// bytes of patches that fit.
    pub fn describe(&self, entries: &[PatchEntry], budget: u64) -> Option<String> {
        let cut = || entries.iter().filter(|entry| entry.lines_left_out > 0);
        cut().next()?;
        if budget == 0 {
            return Some(format!(
                "no patch can be read, as rules and context alone fill half of the context window{}; {}",
                self.of_model(),
                self.larger()
            ));
        }
        let mut what: Vec<String> = Vec::new();
        let left_out: Vec<&PatchEntry> = cut().filter(|entry| entry.is_left_out).collect();
        match left_out.as_slice() {
            [] => {}
            [one] => what.push(one.path.clone()),
            [first, rest @ ..] => what.push(format!(
                "{} of {} ({} and {} more)",
                grouped(count(left_out.len())),
                plural(entries.len(), "file"),
                first.path,
                grouped(count(rest.len()))
            )),
        }
        let partly = cut().filter(|entry| !entry.is_left_out);
        what.extend(partly.map(|entry| format!("{} lines of {}", grouped(entry.lines_left_out), entry.path)));
        let is_one = what.len() == 1 && left_out.len() == 1;
        Some(format!(
            "the change is larger than a reviewer can read: {} {} left out; split it, or {}",
            what.join(" and "),
            if is_one { "is" } else { "are" },
            self.larger()
        ))
    }

    fn of_model(&self) -> String {
        let tokens = grouped(self.tokens);
        self.model.as_ref().map_or_else(
            || format!(" ({tokens} tokens)"),
            |model| format!(" of {model} ({tokens} tokens)"),
        )
    }

    /// How to get a larger window.
    fn larger(&self) -> String {
        let step = "use a model with a larger context window";
        match &self.model {
            Some(model) if self.is_assumed => format!(
                "{step}; that of {model} is not known and taken as {} tokens: if it is larger, set `capabilities.{model}.context`",
                grouped(self.tokens)
            ),
            Some(model) => format!("{step} than {model} ({} tokens)", grouped(self.tokens)),
            None => step.to_owned(),
        }
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, lines_left_out: u64, is_left_out: bool) -> PatchEntry {
        PatchEntry {
            path: path.to_owned(),
            patch: String::new(),
            kind: "modified",
            added: 9,
            removed: 0,
            old_path: None,
            lines_left_out,
            is_left_out,
        }
    }

    fn window(is_assumed: bool) -> NarrowestWindow {
        NarrowestWindow {
            model: Some("compatible/m1".parse().expect("a model")),
            tokens: 128_000,
            is_assumed,
        }
    }

    #[test]
    fn it_is_the_change_that_is_too_large_and_the_next_step_stands_beside_it() {
        let known = "split it, or use a model with a larger context window than compatible/m1 (128,000 tokens)";
        let whole = entry("whole.py", 0, false);
        let (a, b, part) = (
            entry("a.py", 9, true),
            entry("b.py", 9, true),
            entry("p.py", 1200, false),
        );
        for (entries, what) in [
            (vec![whole.clone()], None),
            (vec![whole.clone(), a.clone()], Some("a.py is left out")),
            (
                vec![whole.clone(), a.clone(), b.clone()],
                Some("2 of 3 files (a.py and 1 more) are left out"),
            ),
            (
                vec![whole.clone(), part.clone()],
                Some("1,200 lines of p.py are left out"),
            ),
            (
                vec![a, b, part],
                Some("2 of 3 files (a.py and 1 more) and 1,200 lines of p.py are left out"),
            ),
        ] {
            let expected = what.map(|what| format!("the change is larger than a reviewer can read: {what}; {known}"));
            assert_eq!(window(false).describe(&entries, 1), expected);
        }
    }

    #[test]
    fn a_window_that_is_assumed_can_be_declared() {
        let described = |budget| window(true).describe(&[entry("a.py", 9, true)], budget);
        let step = "use a model with a larger context window; that of compatible/m1 is not known and taken as 128,000 tokens: \
                    if it is larger, set `capabilities.compatible/m1.context`";
        assert_eq!(
            described(1),
            Some(format!(
                "the change is larger than a reviewer can read: a.py is left out; split it, or {step}"
            ))
        );
        assert_eq!(
            described(0),
            Some(format!(
                "no patch can be read, as rules and context alone fill half of the context window of compatible/m1 \
                 (128,000 tokens); {step}"
            ))
        );
    }
}
