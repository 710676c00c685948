//! Quotes that speak of what a change removes: lines that are gone, and quotes in the form of a patch.

use super::{
    fold::folded,
    locate::{Place, locate},
};
use crate::diff::LineMap;

/// The texts of a changed file on both sides, and the lines that differ.
pub(super) struct Sides<'a> {
    pub(super) base: &'a str,
    pub(super) head: &'a str,
    pub(super) lines: &'a LineMap,
}

/// Number of lines around a gap in which an added line is of the same hunk.
const HUNK: u32 = 3;

impl Sides<'_> {
    /// Where a quote in the form of a patch stands at head, if the lines that it calls removed are.
    pub(super) fn locate_patch(&self, quote: &str, near: u32) -> Option<(Place, String)> {
        let is_gone = |line: &&str| line.starts_with('-');
        let hunk = || quote.lines().filter(|line| !line.starts_with("@@"));
        let gone: Vec<String> = hunk().filter(is_gone).map(|line| folded(&line[1..])).collect();
        let is_patch =
            hunk().any(|line| line.starts_with('+')) && (hunk().count() < quote.lines().count() || !gone.is_empty());
        let removed = self.removed();
        if !is_patch || !gone.iter().all(|line| removed.contains(line)) {
            return None;
        }
        let here: Vec<&str> = hunk().filter(|line| !is_gone(line)).collect();
        locate(self.head, &here.join("\n"), near, |line| self.lines.is_added(line))
    }

    /// Where a finding belongs whose quote stands in lines that are gone, and these lines: at an added line of the same hunk, else
    /// at the one that is left next to the gap.
    pub(super) fn locate_removed(&self, quote: &str, near: u32) -> Option<(Place, String)> {
        let old: Vec<&str> = quote
            .lines()
            .filter(|line| !line.starts_with("@@") && !line.starts_with('+'))
            .collect();
        let is_removed = |line: u32| self.lines.is_removed(line);
        let (quoted, _) = locate(self.base, &old.join("\n"), near, is_removed)?;
        let gone: Vec<u32> = quoted.lines().filter(|line| is_removed(*line)).collect();
        let gap = self.lines.row_at_base(*gone.first()?)?.new;
        let last = u32::try_from(self.head.lines().count()).ok()?;
        let mut beside = (0..=HUNK).flat_map(|step| [gap.saturating_add(step), gap.saturating_sub(step + 1)]);
        let added = beside.find(|line| self.lines.is_added(*line));
        let line = added.unwrap_or_else(|| gap.min(last));
        let code = gone.iter().map(|line| Place { line: *line, length: 1 }.code(self.base));
        let code = code.collect::<Vec<_>>().join("\n");
        (line > 0).then_some((Place { line, length: 1 }, code))
    }

    /// The removed lines, folded.
    fn removed(&self) -> Vec<String> {
        let lines = (1..).zip(self.base.lines());
        let removed = lines.filter(|(number, _)| self.lines.is_removed(*number));
        removed.map(|(_, line)| folded(line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "def delete(user, id):\n    check_admin(user)\n    db.drop(id)\n    return True\n";

    #[test]
    fn what_is_gone_belongs_beside_its_gap() {
        let cut = "def delete(user, id):\n    db.drop(id)\n    return True\n";
        let lines = LineMap::default().with_removed([2]);
        let sides = Sides {
            base: BASE,
            head: cut,
            lines: &lines,
        };
        for quote in [
            "    check_admin(user)",
            "-    check_admin(user)",
            " def delete(user, id):\n-    check_admin(user)\n     db.drop(id)",
            "@@ -1,4 +1,3 @@\n def delete(user, id):\n-    check_admin(user)",
            "def delete(user, id):\n    check_admin(user)\n    db.drop(id)",
        ] {
            let (place, code) = sides.locate_removed(quote, 2).expect(quote);
            assert_eq!((place.line, code.as_str()), (2, "    check_admin(user)"), "{quote}");
        }
        for quote in ["    db.drop(id)", "    check_owner(user)", ""] {
            assert_eq!(sides.locate_removed(quote, 2), None, "{quote}");
        }
        // An added line of the hunk comes first; the last line where the end is gone.
        let lines = LineMap::of_added([3]).with_removed([2]);
        let replaced = "def delete(user, id):\n    db.drop(id)\n    log(id)\n    return True\n";
        let sides = Sides {
            base: BASE,
            head: replaced,
            lines: &lines,
        };
        assert_eq!(
            sides
                .locate_removed("check_admin(user)", 2)
                .map(|(place, _)| place.line),
            Some(3)
        );
        let lines = LineMap::default().with_removed([4]);
        let sides = Sides {
            base: BASE,
            head: "def delete(user, id):\n    check_admin(user)\n    db.drop(id)\n",
            lines: &lines,
        };
        assert_eq!(
            sides.locate_removed("return True", 4).map(|(place, _)| place.line),
            Some(3)
        );
    }

    #[test]
    fn a_patch_stands_where_its_new_side_does_if_its_old_one_is_gone() {
        let head = BASE.replace("check_admin", "check_user");
        let lines = LineMap::of_added([2]).with_removed([2]);
        let sides = Sides {
            base: BASE,
            head: &head,
            lines: &lines,
        };
        for quote in [
            "-    check_admin(user)\n+    check_user(user)",
            "@@ -1,4 +1,4 @@\n def delete(user, id):\n-    check_admin(user)\n+    check_user(user)",
        ] {
            let (place, _) = sides.locate_patch(quote, 1).expect(quote);
            assert_eq!(*place.lines().end(), 2, "{quote}");
        }
        for quote in [
            "-    check_owner(user)\n+    check_user(user)",
            "-    check_admin(user)\n+    check_all(user)",
            "+    check_all(user)",
        ] {
            assert_eq!(sides.locate_patch(quote, 1), None, "{quote}");
        }
    }
}
