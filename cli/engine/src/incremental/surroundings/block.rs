//! The code that decides together with a piece of it what happens there: the rest of its function or block, and outside of any the
//! statements next to it.
//!
//! What runs before a check may leave it out, what comes behind it may undo it, at whatever distance in one function. Other functions of
//! the file are none of its business.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::{
    assigned::sets,
    declared::{declares, defined_names, derives, given_name, is_control, is_declaration_of},
    parameters::Syntax,
};
use crate::findings::code_words::{first_word, has_word, is_of_word, is_one_of};
use crate::findings::{CodeLine, code_lines, is_guard, is_import, opens_holder};

/// So many statements either side belong to code that is in no function.
const NEIGHBORS: usize = 3;

/// Over so many lines a header may go.
const MAX_HEADER: usize = 30;

/// Words with which code takes itself out of what a base class or a framework does for it, or replaces that at run time: their
/// beginnings, and their ends.
const OPT_OUTS: ([&str; 14], [&str; 6]) = (
    [
        "skip_",
        "Skip",
        "AllowAnonymous",
        "reset_callback",
        "__getattr",
        "__new__",
        "__class__",
        "metaclass",
        "class_eval",
        "instance_eval",
        "define_method",
        "method_missing",
        "setPrototypeOf",
        "Proxy",
    ],
    [
        "exempt",
        "Exempt",
        "PermitAll",
        "prototype",
        "defineProperty",
        "defineProperties",
    ],
);

/// Words with which a type takes in the methods of another one.
const MIXINS: &str = "include extend prepend use";

/// The lines of a text without their comments. In a file that no grammar is known for they are as they stand.
pub(super) struct Code {
    read: Arc<[CodeLine]>,
    syntax: Syntax,
}

impl Code {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let as_it_stands = || text.lines().map(CodeLine::unread).collect();
        Self {
            read: code_lines(path, text).unwrap_or_else(as_it_stands),
            syntax: Syntax::of(path),
        }
    }

    pub(super) const fn syntax(&self) -> Syntax {
        self.syntax
    }

    /// All lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.read.iter().map(|line| line.code.as_str())
    }

    /// The lines before this one, counted from 0.
    pub(super) fn above(&self, first: usize) -> impl Iterator<Item = &str> {
        self.read.iter().take(first).map(|line| line.code.as_str())
    }

    /// The code that decides with these lines, from 0, what happens in them; they are a part of it.
    pub(super) fn around(&self, lines: Range<usize>) -> Vec<String> {
        let Range { start, end } = lines;
        let written = (start..end).filter(|at| !self.is_empty(*at));
        let own = written.map(|at| self.indentation(at)).min().unwrap_or_default();
        let (outermost, block) = match self.outermost(start, own) {
            Some(header) => (
                header,
                self.with_marks(header)..self.end_of(self.indentation(header), end),
            ),
            None => (start, start..self.end_of(own, end)),
        };
        let mut around: Vec<usize> = Vec::new();
        if outermost == start {
            around.extend(self.statements((0..start).rev(), own));
            around.extend(self.statements(block.end..self.read.len(), own));
        }
        around.extend(self.namesakes(outermost));
        around.extend(block.filter(|at| !self.is_empty(*at)));
        around.into_iter().map(|at| self.text(at).to_owned()).collect()
    }

    /// The code that runs in the function or block of a line, from 0, before it does, and the line.
    pub(super) fn until(&self, line: usize) -> Vec<&str> {
        let own = self.indentation(line);
        let mut before: Vec<usize> = match self.outermost(line, own) {
            Some(header) => (self.with_marks(header)..line)
                .filter(|at| !self.is_empty(*at))
                .collect(),
            None => self.statements((0..line).rev(), own),
        };
        before.push(line);
        before.into_iter().map(|at| self.text(at)).collect()
    }

    /// The names by which other code uses these lines, from 0: of the functions that they are in, or else those that they define
    /// themselves; and of the types and modules around them.
    pub(super) fn names(&self, lines: Range<usize>) -> (Vec<&str>, Vec<&str>) {
        let written = lines.clone().filter(|at| !self.is_empty(*at));
        let own = written.map(|at| self.indentation(at)).min().unwrap_or_default();
        let headers = self.headers(lines.start, own);
        let is_holder = |header: &usize| holds_others(self.text(*header));
        let (holders, blocks): (Vec<usize>, Vec<usize>) = headers.into_iter().partition(is_holder);
        let mut functions: Vec<&str> = blocks.into_iter().flat_map(|at| defined_names(self.text(at))).collect();
        if functions.is_empty() {
            let outermost = lines.filter(|at| self.indentation(*at) == own);
            functions.extend(outermost.flat_map(|at| defined_names(self.text(at))));
        }
        let holders = holders.into_iter().flat_map(|at| defined_names(self.text(at)));
        (functions, holders.collect())
    }

    /// The line that opens the outermost block around a line, of those that hold statements: a type or a module holds functions.
    fn outermost(&self, line: usize, own: usize) -> Option<usize> {
        let statements = |header: &usize| !holds_others(self.text(*header));
        self.headers(line, own).into_iter().take_while(statements).last()
    }

    /// The lines that open the blocks around a line, from the innermost on.
    fn headers(&self, line: usize, own: usize) -> Vec<usize> {
        let mut bound = own;
        let mut headers = Vec::new();
        for at in (0..line).rev() {
            if self.is_empty(at) || self.is_directive(at) || self.indentation(at) >= bound {
                continue;
            }
            bound = self.indentation(at);
            headers.push(self.beginning(at));
        }
        headers
    }

    /// The line with which a header begins whose last line this is: `{`, `) -> str:` and `} else {` are the end of one.
    fn beginning(&self, last: usize) -> usize {
        let own = self.indentation(last);
        let is_end = |at: usize| {
            let text = self.text(at).trim_start();
            text.starts_with(['{', '}', ')', ']']) || text.starts_with("where")
        };
        let mut header = last;
        for at in (0..last).rev() {
            if !is_end(header) || (!self.is_empty(at) && self.indentation(at) < own) {
                break;
            }
            if !self.is_empty(at) && self.indentation(at) == own {
                header = at;
            }
        }
        header
    }

    /// The first of the lines right above a header that are marks of it, as decorators are, or else its own.
    fn with_marks(&self, header: usize) -> usize {
        let is_mark = |at: &usize| {
            let text = self.text(*at).trim_start();
            !self.begins_in_text(*at) && (text.starts_with(['@', '[']) || text.starts_with("#["))
        };
        let marks = (0..header).rev().take_while(is_mark);
        marks.last().unwrap_or(header)
    }

    /// The line, from this one on, at which a block ends whose header has this indentation.
    fn end_of(&self, header: usize, from: usize) -> usize {
        let is_behind = |at: &usize| !self.is_empty(*at) && !self.is_directive(*at) && self.indentation(*at) <= header;
        (from..self.read.len()).find(is_behind).unwrap_or(self.read.len())
    }

    /// The nearest of these lines that are statements of this indentation, as far as the block around them goes.
    fn statements(&self, lines: impl Iterator<Item = usize>, own: usize) -> Vec<usize> {
        let is_inside = |at: &usize| self.is_empty(*at) || self.indentation(*at) >= own;
        let is_statement = |at: &usize| {
            let text = self.text(*at);
            self.indentation(*at) == own
                && text.contains(char::is_alphanumeric)
                && !is_import(text.trim_start())
                && !self.is_definition(*at)
        };
        lines
            .take_while(is_inside)
            .filter(is_statement)
            .take(NEIGHBORS)
            .collect()
    }

    /// Returns whether a line, from 0, declares this name: as a function, a type or a parameter.
    pub(super) fn defines(&self, at: usize, name: &str) -> bool {
        let is_there = self.text(at).contains(name);
        is_there && declares(&self.whole(at), name, self.syntax, self.is_definition(at))
    }

    /// Returns whether a line, from 0, gives a type what the one of this name has.
    pub(super) fn derives(&self, at: usize, name: &str) -> bool {
        self.text(at).contains(name) && derives(&self.whole(at), name, self.syntax)
    }

    /// Returns whether a line, from 0, gives a member of one of these names another meaning in a type, or takes that type out of something.
    pub(super) fn overrides(&self, at: usize, names: &[String]) -> bool {
        let line = self.text(at);
        let is_in_type = || {
            let headers = self.headers(at, self.indentation(at));
            headers.first().is_some_and(|header| holds_others(self.text(*header)))
        };
        let is_member = |name: &String| {
            is_declaration_of(line, name, self.syntax, self.is_definition(at)) || (sets(line, name) && is_in_type())
        };
        opts_out(line) || names.iter().any(is_member)
    }

    /// Returns whether lines, from 0, stand in front of accused ones in the same function or block, belong to the header of it or of a type
    /// around it, or are what that type has run before each of its methods.
    pub(super) fn is_ahead(&self, quoted: &Range<usize>, accused: &Range<usize>) -> bool {
        if quoted.start >= accused.start || quoted.end > accused.end {
            return false;
        }
        let own = self.indentation(accused.start);
        let first = self.outermost(accused.start, own).unwrap_or(accused.start);
        // The bracket around all data of a file holds no statements.
        let is_data = self.text(first).trim_start().starts_with(['{', '[']);
        if !is_data && self.with_marks(first) <= quoted.start {
            return true;
        }
        let is_of_type = |header: usize| {
            let mut lines = quoted.clone().filter(|at| !self.is_empty(*at));
            self.with_marks(header) <= quoted.start
                && lines.all(|at| at <= header || self.text(at).trim() == "{" || is_guard(self.text(at)))
        };
        let headers = self.headers(accused.start, own).into_iter();
        headers
            .filter(|header| holds_others(self.text(*header)))
            .any(is_of_type)
    }

    /// Returns whether a line, from 0, uses what has this name, as a call or a table of routes does.
    pub(super) fn uses(&self, at: usize, name: &str) -> bool {
        let line = self.text(at);
        let is_there = self.read.get(at).is_some_and(|read| has_word(&read.runs, name));
        is_there && !sets(line, name) && !is_declaration_of(line, name, self.syntax, self.is_definition(at))
    }

    /// A line, with the rest of the header in whose brackets it stands.
    fn whole(&self, at: usize) -> Cow<'_, str> {
        let own = self.indentation(at);
        let above = (at.saturating_sub(MAX_HEADER)..at).rev();
        let header = above
            .filter(|line| !self.is_empty(*line))
            .find(|line| self.indentation(*line) < own);
        let Some(header) = header.filter(|header| self.text(*header).ends_with('(')) else {
            return Cow::Borrowed(self.text(at));
        };
        let end = self.end_of(self.indentation(header), at).min(header + MAX_HEADER);
        Cow::Owned(
            (header..=end)
                .map(|line| self.text(line).trim())
                .collect::<Vec<_>>()
                .join(" "),
        )
    }

    fn is_definition(&self, at: usize) -> bool {
        let next = (at + 1..self.read.len()).find(|next| !self.is_empty(*next) && !self.begins_in_text(*next));
        let opens = next.is_some_and(|next| {
            self.indentation(next) > self.indentation(at) || self.text(next).trim_start().starts_with('{')
        });
        opens && !is_control(self.text(at))
    }

    /// The lines outside of any block that give another meaning to the name that this one gives one.
    fn namesakes(&self, line: usize) -> Vec<usize> {
        let named = |at: usize| given_name(self.text(at)).filter(|_| !self.is_empty(at) && self.indentation(at) == 0);
        let Some(name) = named(line).filter(|_| !holds_others(self.text(line))) else {
            return Vec::new();
        };
        (0..self.read.len()).filter(|at| named(*at) == Some(name)).collect()
    }

    fn text(&self, at: usize) -> &str {
        self.read.get(at).map(|line| line.code.as_str()).unwrap_or_default()
    }

    fn begins_in_text(&self, at: usize) -> bool {
        self.read.get(at).is_some_and(|line| line.begins_in_text)
    }

    fn is_empty(&self, at: usize) -> bool {
        self.text(at).trim().is_empty()
    }

    /// Returns whether a line is for a preprocessor, which does not indent it with the code.
    fn is_directive(&self, at: usize) -> bool {
        !self.begins_in_text(at) && self.text(at).starts_with('#')
    }

    /// The indentation of a line. That of a line of a text ends no block.
    fn indentation(&self, at: usize) -> usize {
        if self.begins_in_text(at) {
            return usize::MAX;
        }
        let text = self.text(at);
        text.len() - text.trim_start().len()
    }
}

fn opts_out(line: &str) -> bool {
    let (beginnings, ends) = OPT_OUTS;
    if line.starts_with(char::is_whitespace) && is_one_of(MIXINS, first_word(line)) {
        return true;
    }
    let mut words = line.split(|character| !is_of_word(character));
    words.any(|word| {
        beginnings.iter().any(|known| word.starts_with(known)) || ends.iter().any(|known| word.ends_with(known))
    })
}

/// Returns whether a header opens a type, a module or an object: what holds functions.
fn holds_others(header: &str) -> bool {
    let is_object = ["= {", ": {", "default {"].iter().any(|end| header.ends_with(end));
    is_object || opens_holder(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the lines around the one with this text are the same in both versions of a file.
    fn is_same_around(path: &str, code: &str, before: &str, after: &str) -> bool {
        let around = |text: &str| {
            let at = text.lines().position(|line| line.contains(code)).expect("the code");
            Code::new(path, text).around(at..at + 1)
        };
        around(before) == around(after)
    }

    const PYTHON: &str = "import re\n\nLIMIT = 3\n\n\n@route\ndef guard(input, raw):\n    if raw:\n        input = raw\n    log(input)\n    \
         input = escape(input)\n    log(input)\n\n    return input\n\n\ndef other(v):\n    return v\n";

    #[test]
    fn what_is_done_anywhere_in_its_function_belongs_to_it() {
        for (old, new) in [
            ("    if raw:\n", "    return input\n    if raw:\n"),
            ("    if raw:\n", "    if not raw:\n"),
            ("        input = raw\n", "        return raw\n"),
            ("\n    return input", "\n    input = raw\n    return input"),
            ("    return input\n", "    return raw\n"),
            ("    return input\n", "    return input\n    x = 1\n"),
            ("def guard(", "def unused("),
            ("@route\n", ""),
            ("@route\n", "@skipped\n@route\n"),
            ("    return v\n", "    return v\n\n\nguard = None\n"),
            (
                "    return v\n",
                "    return v\n\n\ndef guard(input, raw):\n    return raw\n",
            ),
        ] {
            let after = PYTHON.replacen(old, new, 1);
            assert_ne!(after, PYTHON, "{old}");
            assert!(!is_same_around("a.py", "escape(input)", PYTHON, &after), "{after}");
        }
    }

    #[test]
    fn what_is_done_in_other_functions_and_in_comments_does_not() {
        for (old, new) in [
            ("import re\n", "import os\nimport re\n"),
            ("LIMIT = 3\n", "LIMIT = 4\nMORE = {\"a\": 1}\n"),
            ("    if raw:\n", "    # of the request\n\n    if raw:\n"),
            ("    log(input)\n", "    log(input)  # see above\n"),
            ("    return v\n", "    v = raw\n    return guard(v, raw)\n"),
            (
                "    return v\n",
                "    return v\n\n\ndef third(input):\n    return input\n",
            ),
            ("@route\n", "def before(input):\n    return input\n\n\n@route\n"),
        ] {
            let after = PYTHON.replacen(old, new, 1);
            assert_ne!(after, PYTHON, "{old}");
            assert!(is_same_around("a.py", "escape(input)", PYTHON, &after), "{after}");
        }
    }

    #[test]
    fn what_stands_in_a_text_ends_no_function() {
        for (path, before) in [
            (
                "a.js",
                "function guard(input) {\n  const q = `\n}\n`;\n  check(input);\n}\n",
            ),
            ("a.go", "func guard(input X) {\n\tq := `\n}\n`\n\tcheck(input)\n}\n"),
            (
                "a.rb",
                "def guard(input)\n  q = <<~SQL\nend\n  SQL\n  check(input)\nend\n",
            ),
            ("a.rb", "def guard(input)\n=begin\nend\n=end\n  check(input)\nend\n"),
            (
                "a.py",
                "def guard(input):\n    q = \"\"\"\nend\n\"\"\"\n    check(input)\n",
            ),
        ] {
            let (header, rest) = before.split_once('\n').expect("two lines");
            let after = format!("{header}\n  return input\n{rest}");
            assert!(!is_same_around(path, "check(input)", before, &after), "{after}");
            let other = before
                .replace("}\n`", "};\n`")
                .replace("end\n  SQL", "end;\n  SQL")
                .replace("end\n\"", "end;\n\"");
            let is_text = other != before;
            assert_eq!(
                is_same_around(path, "check(input)", before, &other),
                !is_text,
                "{other}"
            );
        }
    }

    #[test]
    fn a_type_or_an_object_holds_functions_and_is_none() {
        let cases = [
            (
                "a.java",
                "public class A {\n    void one(X x) {\n        check(x);\n    }\n\n    void two() {\n    }\n}\n",
            ),
            (
                "a.cs",
                "class A\n{\n    void One(X x)\n    {\n        check(x);\n    }\n\n    void two()\n    {\n    }\n}\n",
            ),
            (
                "a.js",
                "export default {\n    one(x) {\n        check(x);\n    },\n\n    two() {\n    },\n}\n",
            ),
            (
                "a.rs",
                "impl A {\n    fn one(x: X) {\n        check(x);\n    }\n\n    fn two() {\n    }\n}\n",
            ),
            ("a.go", "func one(x X) {\n\tcheck(x)\n}\n\nfunc two() {\n}\n"),
        ];
        for (path, text) in cases {
            let in_two = text.replace("two()", "two(int y)");
            assert!(is_same_around(path, "check(x)", text, &in_two), "{text}");
            let line = text.lines().find(|line| line.contains("check(x)")).expect("a line");
            for behind in [
                line.replace("check(x)", "x = y"),
                format!("\n{}", line.replace("check(x)", "return")),
            ] {
                let after = text.replace(line, &format!("{line}\n{behind}"));
                assert!(!is_same_around(path, "check(x)", text, &after), "{after}");
            }
        }
    }

    #[test]
    fn outside_of_functions_the_statements_next_to_it_belong_to_it() {
        let text = "import re\n\nRAW = read()\n\ninput = escape(RAW)\n\n\ndef checked(name):\n    return name\n\n\nrun(input)\n";
        let around = |after: &str| is_same_around("a.py", "escape(RAW)", text, after);
        for after in [
            text.replace("input = e", "exit(0)\n\ninput = e"),
            text.replace("\n\ndef", "\ninput = RAW\n\ndef"),
            text.replace("run(", "input = RAW\nrun("),
            text.to_owned() + "\n\n\na = 1\nb = 2\nc = 3\ninput = RAW\n",
        ] {
            assert!(!around(&after), "{after}");
        }
        for after in [
            text.replace("import re", "import os\nimport re"),
            text.replace("    return name", "    return str(name)"),
            text.replace("def checked", "def more(name):\n    return name\n\n\ndef checked"),
        ] {
            assert!(around(&after), "{after}");
        }
    }
}
