//! The type in which accused code stands, and the guards that it has from its base classes: a mark of the class, as an attribute or
//! a decorator is, or a line in it that has a check run before each method.

use super::{
    fold::single_blanks,
    relation::{opens_holder, without_texts},
    reserved::Reserved,
};

/// The beginnings of the names of what runs before the methods of a class.
const GUARDS: [&str; 8] = [
    "before_",
    "around_",
    "prepend_before_",
    "authenticat",
    "authoriz",
    "permission",
    "protect_from",
    "middleware",
];

/// The header of a type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Holder<'a> {
    /// The type's own name.
    pub(super) name: &'a str,
    /// The names behind it: of base classes and interfaces.
    bases: Vec<&'a str>,
}

impl<'a> Holder<'a> {
    /// The innermost type around a line of a text, counted from 1, of which this is the code.
    pub(super) fn around(text: &'a str, line: u32, code: &str) -> Option<Self> {
        let at = usize::try_from(line).ok()?.checked_sub(1)?;
        let accused = text.lines().nth(at)?;
        let first = code.lines().find(|line| !line.trim().is_empty())?;
        if !single_blanks(accused).contains(&single_blanks(first)) {
            return None;
        }
        if let Some(own) = Self::of(accused) {
            return Some(own);
        }
        let above: Vec<&str> = text.lines().take(at).collect();
        let mut bound = indentation(accused);
        for line in above.into_iter().rev() {
            if is_blank(line) || indentation(line) >= bound {
                continue;
            }
            bound = indentation(line);
            if let Some(holder) = Self::of(line) {
                return Some(holder);
            }
        }
        None
    }

    fn of(header: &'a str) -> Option<Self> {
        if !opens_holder(&without_texts(header)) {
            return None;
        }
        let words = header.split(|character: char| !(character.is_alphanumeric() || character == '_'));
        // Types may have the names of keywords, in capital letters.
        let is_keyword = |word: &str| !word.starts_with(char::is_uppercase) && Reserved::OF_ALL.has(word);
        let mut names = words.filter(|word| word.chars().nth(1).is_some() && !is_keyword(word));
        Some(Self {
            name: names.next()?,
            bases: names.collect(),
        })
    }

    /// Returns whether quoted lines hold the header of a base class with a guard of it that is among the lines that tell something.
    pub(super) fn is_guarded_by(&self, quoted: &[&str], telling: &[String]) -> bool {
        let is_base = |line: &str| Holder::of(line).is_some_and(|base| self.bases.contains(&base.name));
        let tells = |line: &&str| telling.contains(&single_blanks(line));
        let mut headers = quoted.iter().enumerate().filter(|(_, line)| is_base(line));
        headers.any(|(at, header)| {
            let mut marks = quoted[..at].iter().rev().take_while(|line| is_mark(line));
            let inside = quoted[at + 1..]
                .iter()
                .take_while(|line| is_blank(line) || indentation(line) > indentation(header));
            marks.any(tells) || inside.filter(|line| is_guard(line)).any(tells)
        })
    }
}

fn is_mark(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('@') || line.starts_with("#[") || (line.starts_with('[') && line.ends_with(']'))
}

/// Returns whether a line of a type has something run before its methods.
pub(crate) fn is_guard(line: &str) -> bool {
    let line = line.trim_start();
    GUARDS.iter().any(|guard| line.starts_with(guard))
}

fn is_blank(line: &str) -> bool {
    line.trim().trim_matches('{').is_empty()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCUSED: &str =
        "class UsersController < AdminController\n  def show\n    one\n  end\n\n  def destroy\n    two\n  end\nend\n";

    #[test]
    fn accused_code_stands_in_the_innermost_type_around_it() {
        let name = |text, line, code| Holder::around(text, line, code).map(|holder| holder.name);
        assert_eq!(name(ACCUSED, 6, "  def destroy"), Some("UsersController"));
        assert_eq!(name(ACCUSED, 7, "    two"), Some("UsersController"));
        assert_eq!(name(ACCUSED, 7, "    other"), None, "other code stands there");
        assert_eq!(name("def a\n  two\nend\n", 2, "  two"), None);
        let sharp = "public class Users : AdminBase\n{\n    public void Delete()\n    {\n    }\n}\n";
        assert_eq!(name(sharp, 3, "public void Delete()"), Some("Users"));
    }

    #[test]
    fn a_base_class_guards_by_its_mark_or_by_what_runs_before_its_methods() {
        let holder = Holder::around(ACCUSED, 6, "  def destroy").expect("a type");
        let is_guarded = |quote: &str| {
            let quoted: Vec<&str> = quote.lines().collect();
            let telling: Vec<String> = quoted.iter().map(|line| single_blanks(line)).collect();
            holder.is_guarded_by(&quoted, &telling)
        };
        for guard in [
            "class AdminController < Base\n  before_action :require_admin",
            "[Authorize(Roles = \"Admin\")]\npublic abstract class AdminController : ControllerBase",
            "@admin_only\nclass AdminController(Base):",
        ] {
            assert!(is_guarded(guard), "{guard}");
        }
        for other in [
            "class AdminController < Base",
            "class OtherController < Base\n  before_action :require_admin",
            "class AdminController < Base\n  LIMIT = 3",
            "class AdminController < Base\nend\nclass OtherController < Base\n  before_action :require_admin",
            "[Authorize]\nclass OtherController : Base\nclass AdminController : Base",
        ] {
            assert!(!is_guarded(other), "{other}");
        }
    }
}
