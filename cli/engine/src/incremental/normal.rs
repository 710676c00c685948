//! One form of code, in which lines are the same whose writing alone differs: their quotation marks, the case of texts of several words,
//! brackets that only group, comments, a `;` at their ends, what is escaped as in texts of JSON or HTML, and whether a text is written in one
//! piece or in several.

use std::collections::HashSet;

use crate::findings::{decoded, text_length};

/// So many times a text with escaped marks is read as code: it may hold such texts itself.
const MAX_DEPTH: usize = 3;
/// The longest text, in bytes, that takes up the next one: each time the whole of it is written anew.
const MAX_JOINED: usize = 2_000;
/// Signs that join two texts, in one language or another.
const JOINING: [char; 3] = ['+', '.', '~'];
/// Marks around texts in code.
const QUOTES: [char; 3] = ['"', '\'', '`'];
/// Words behind which brackets hold the whole of what follows.
const HOLDING: [&str; 13] = [
    "return", "if", "elif", "else", "while", "until", "unless", "raise", "throw", "assert", "case", "when", "yield",
];
/// Words that are operators, so that brackets behind them are not those of a call.
const OPERATORS: [&str; 10] = [
    "not", "and", "or", "in", "is", "await", "new", "typeof", "delete", "void",
];
/// Signs of several characters that lead to a part of a value, and those that compare.
const ACCESS: [&str; 3] = ["->", "::", "?."];
const COMPARING: [&str; 6] = ["===", "!==", "==", "!=", "<=", ">="];

/// The lines of code in that form. There are as many.
pub(super) fn normal(lines: &[String]) -> Vec<String> {
    let has_slashes = lines.iter().any(|line| is_of_slashes(line.trim_end()));
    let lines = lines.iter().map(|line| decoded(line).into_owned());
    Form::of(lines, has_slashes, MAX_DEPTH)
}

/// Returns whether a line ends as in languages whose comments begin with two slashes, which divide in others.
fn is_of_slashes(line: &str) -> bool {
    let ends_statement = line.ends_with(';') && !line.ends_with(";;");
    ends_statement || line.ends_with(") {")
}

/// The kind of what stands before a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The beginning of a value, which goes on up to where brackets around it would end.
    Start,
    /// Any other sign, or nothing.
    Sign,
    /// A value or its end, of this line.
    Value(usize),
    /// A sign that leads to a part of a value.
    Access,
}

/// The use of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// They are those of a call, or others than round ones.
    Needed,
    /// They only group.
    Groups,
    /// They only group, and begin where a value begins.
    GroupsValue,
}

/// The contents of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Nothing,
    /// A name, a number, a text or a call, with what is taken from it.
    One,
    /// More, with signs between them.
    Several,
    /// Values with commas between them.
    List,
}

/// Brackets that are open.
#[derive(Debug)]
struct Group {
    open: char,
    at: (usize, usize),
    role: Role,
    held: Held,
}

/// A text behind which nothing else stands so far.
#[derive(Debug)]
struct Joint {
    /// The place of its first mark.
    at: (usize, usize),
    text: String,
    /// True if a sign says that it goes on.
    goes_on: bool,
}

/// Code on its way to the form.
#[derive(Debug)]
struct Form {
    has_slashes: bool,
    depth: usize,
    lines: Vec<String>,
    groups: Vec<Group>,
    before: Before,
    /// Brackets that are closed, and that are left out if a value ends there.
    closed: Option<[(usize, usize); 2]>,
    /// The places of brackets that are left out.
    redundant: HashSet<(usize, usize)>,
    /// The text that the next one belongs to.
    joint: Option<Joint>,
}

impl Form {
    fn of(lines: impl Iterator<Item = String>, has_slashes: bool, depth: usize) -> Vec<String> {
        let mut form = Self {
            has_slashes,
            depth,
            lines: Vec::new(),
            groups: Vec::new(),
            before: Before::Sign,
            closed: None,
            redundant: HashSet::new(),
            joint: None,
        };
        for line in lines {
            form.lines.push(String::with_capacity(line.len()));
            form.read(&line);
            form.end_line();
        }
        form.ends(true);
        let redundant = &form.redundant;
        let without = |(number, line): (usize, &String)| {
            let signs = line.char_indices();
            let left = signs.map(|(at, sign)| if redundant.contains(&(number, at)) { ' ' } else { sign });
            left.collect::<String>()
        };
        form.lines.iter().enumerate().map(without).collect()
    }

    fn read(&mut self, line: &str) {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            if self.begins_comment(rest) {
                break;
            }
            let length = if let Some(length) = block_comment(rest) {
                self.put(" ");
                length
            } else if let Some((text, length)) = text_of(rest) {
                self.text(text);
                length
            } else if is_of_word(first) {
                let length = rest.find(|sign: char| !is_of_word(sign)).unwrap_or(rest.len());
                let (word, behind) = rest.split_at(length);
                // Where a text goes on, its first part says whether values are put into it.
                let letters = if self.joint.is_some() { "rbuf" } else { "rbu" };
                if !is_prefix(word, behind, letters) {
                    self.word(word);
                }
                length
            } else {
                self.sign(rest, first)
            };
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// Returns whether the rest of the line is a comment.
    fn begins_comment(&self, rest: &str) -> bool {
        let last = self.line().chars().next_back();
        if self.has_slashes && rest.starts_with("//") {
            return last != Some(':');
        }
        let mut signs = rest.chars();
        let is_mark = signs.next() == Some('#') && last.is_none_or(char::is_whitespace);
        is_mark && (!self.has_slashes || signs.next().is_none_or(char::is_whitespace))
    }

    fn line(&self) -> &str {
        self.lines.last().map_or("", String::as_str)
    }

    fn number(&self) -> usize {
        self.lines.len()
    }

    /// Where the next sign will stand.
    fn place(&self) -> (usize, usize) {
        (self.number().saturating_sub(1), self.line().len())
    }

    fn put(&mut self, code: &str) {
        if let Some(line) = self.lines.last_mut() {
            line.push_str(code);
        }
    }

    /// A mark of a text: one stands for several.
    fn put_mark(&mut self) {
        if !self.line().ends_with('"') {
            self.put("\"");
        }
    }

    /// The end of a statement says nothing at the end of a line.
    fn end_line(&mut self) {
        if let Some(line) = self.lines.last_mut() {
            let code = line.trim_end_matches(|sign: char| sign == ';' || sign.is_whitespace());
            let length = code.len();
            line.truncate(length);
        }
        // Outside of brackets, another line may be another statement.
        if self.groups.is_empty() && self.joint.as_ref().is_some_and(|joint| !joint.goes_on) {
            self.joint = None;
        }
    }

    /// A text, with the one that it goes on with, which is taken out where it stands.
    fn joined(&mut self, text: &str) -> String {
        let Some(joint) = self.joint.take().filter(|joint| joint.text.len() <= MAX_JOINED) else {
            return text.to_owned();
        };
        let (number, length) = joint.at;
        if let Some(line) = self.lines.get_mut(number) {
            line.truncate(length);
        }
        for line in self.lines.iter_mut().skip(number + 1) {
            let indentation = line.len() - line.trim_start().len();
            line.truncate(indentation);
        }
        joint.text + text
    }

    fn text(&mut self, text: &str) {
        self.value();
        let text = self.joined(text);
        let at = self.place();
        self.put_mark();
        if text.contains('\\') && self.depth > 0 {
            let lines = text.replace("\\n", "\n").replace("\\t", " ");
            let lines = lines.replace("\\\"", "\"").replace("\\'", "'");
            let lines = lines.lines().map(str::to_owned);
            let code = Self::of(lines, self.has_slashes, self.depth - 1).join(" ");
            self.put(&code);
        } else if text.contains(char::is_whitespace) {
            // Of several words, as a statement of SQL. One word may be a name.
            self.put(&text.replace(QUOTES, "\"").to_ascii_lowercase());
        } else {
            self.put(&text.replace(QUOTES, "\""));
        }
        self.put_mark();
        self.joint = Some(Joint {
            at,
            text,
            goes_on: false,
        });
    }

    fn word(&mut self, word: &str) {
        self.joint = None;
        let is_part = self.before == Before::Access;
        if HOLDING.contains(&word) && !is_part {
            self.operator();
            self.before = Before::Start;
        } else if OPERATORS.contains(&word) && !is_part {
            self.operator();
        } else {
            if matches!(self.before, Before::Value(_)) {
                self.hold(Held::Several);
            }
            self.value();
        }
        self.put(word);
    }

    /// A name, a number or a text.
    fn value(&mut self) {
        self.ends(false);
        self.hold(Held::One);
        self.before = Before::Value(self.number());
    }

    fn operator(&mut self) {
        self.ends(false);
        self.hold(Held::Several);
        self.before = Before::Sign;
    }

    /// Notes that the innermost brackets hold this at least.
    fn hold(&mut self, held: Held) {
        if let Some(group) = self.groups.last_mut() {
            group.held = group.held.max(held);
        }
    }

    /// Leaves out the brackets that are closed, if a value ends there: before a sign that ends one, or in an earlier line.
    fn ends(&mut self, by_sign: bool) {
        let number = self.number();
        let is_over = |[_, (line, _)]: &[(usize, usize); 2]| by_sign || line + 1 < number;
        if let Some(both) = self.closed.take().filter(is_over) {
            self.redundant.extend(both);
            self.hold(Held::Several);
        }
    }

    /// Takes the sign that this begins with, and returns its length.
    fn sign(&mut self, rest: &str, first: char) -> usize {
        if JOINING.contains(&first) || rest == "\\" {
            if let Some(joint) = &mut self.joint {
                joint.goes_on = true;
            }
        } else if !first.is_whitespace() {
            self.joint = None;
        }
        let is_any = |signs: &[&'static str]| signs.iter().copied().find(|sign| rest.starts_with(sign));
        if let Some(sign) = is_any(&ACCESS) {
            self.closed = None;
            self.before = Before::Access;
            self.put(sign);
            return sign.len();
        }
        if let Some(sign) = is_any(&COMPARING) {
            self.closed = None;
            self.operator();
            self.put(sign);
            return sign.len();
        }
        match first {
            _ if first.is_whitespace() => {}
            // It goes on in the next line.
            '\\' if rest.len() == 1 => {}
            '(' | '[' | '{' => self.open(first),
            ')' | ']' | '}' => self.close(first),
            '.' => {
                self.closed = None;
                self.before = Before::Access;
            }
            ',' => {
                self.ends(true);
                self.hold(Held::List);
                self.before = Before::Start;
            }
            ';' | ':' => {
                self.ends(true);
                self.hold(Held::Several);
                self.before = Before::Start;
            }
            _ => {
                self.closed = None;
                self.operator();
                let is_arrow = first == '>' && self.line().ends_with('=');
                if first == '=' || is_arrow {
                    self.before = Before::Start;
                }
            }
        }
        if QUOTES.contains(&first) {
            self.put_mark();
        } else {
            self.put(first.encode_utf8(&mut [0; 4]));
        }
        first.len_utf8()
    }

    fn open(&mut self, open: char) {
        let is_of_call = match self.before {
            Before::Value(line) => line == self.number(),
            Before::Access => true,
            Before::Start | Before::Sign => false,
        };
        if open == '{' {
            self.ends(true);
        }
        self.closed = None;
        let is_beside_value = !is_of_call && matches!(self.before, Before::Value(_));
        self.hold(if is_beside_value { Held::Several } else { Held::One });
        self.groups.push(Group {
            open,
            at: self.place(),
            role: match self.before {
                _ if open != '(' || is_of_call => Role::Needed,
                Before::Start => Role::GroupsValue,
                _ => Role::Groups,
            },
            held: Held::Nothing,
        });
        self.before = Before::Start;
    }

    fn close(&mut self, close: char) {
        self.ends(true);
        let is_its = |group: &mut Group| matches!((group.open, close), ('(', ')') | ('[', ']') | ('{', '}'));
        if let Some(group) = self.groups.pop_if(is_its) {
            let both = [group.at, self.place()];
            match (group.held, group.role) {
                (Held::One, Role::Groups | Role::GroupsValue) => self.redundant.extend(both),
                (Held::Several, Role::GroupsValue) => self.closed = Some(both),
                _ => {}
            }
        }
        self.before = Before::Value(self.number());
    }
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// Returns whether these letters only say how the text behind them is written.
fn is_prefix(word: &str, behind: &str, letters: &str) -> bool {
    let is_one = |letter: char| letters.contains(letter.to_ascii_lowercase());
    word.len() <= 2 && word.chars().all(is_one) && behind.starts_with(['"', '\''])
}

/// The length of a comment that ends on its line.
fn block_comment(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix("/*")?;
    inner.find("*/").map(|length| length + 4)
}

/// The text that this begins with, between marks that are escaped or not, and its length with them.
fn text_of(rest: &str) -> Option<(&str, usize)> {
    if let Some(length) = text_length(rest) {
        return Some((rest.get(1..length - 1)?, length));
    }
    let mark = rest
        .get(..2)
        .filter(|mark| mark.starts_with('\\') && mark.ends_with(QUOTES))?;
    let text = &rest[2..];
    let length = text.find(mark)?;
    Some((&text[..length], length + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of a text, without white space.
    fn of(text: &str) -> String {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let code = normal(&lines);
        assert_eq!(code.len(), lines.len(), "{text}");
        code.concat().split_whitespace().collect()
    }

    #[test]
    fn another_writing_is_the_same_code() {
        let find = "return find(\"a\" + id)";
        let drop = "db.run(\"DROP TABLE \" + order.id)";
        for (code, other) in [
            (find, "return find('a' + id)"),
            (find, "return find(`a` + id)"),
            (find, "return find(\"\"\"a\"\"\" + id)"),
            (find, "return find('''a''' + id)"),
            (find, "return find(r'a' + id)"),
            (find, "return find(&quot;a&quot; + id)"),
            (find, "return find(\\\"a\\\" + id)"),
            (find, "return/* x */find(\"a\" + id)"),
            (find, "return find(  # x\n    \"a\" + id)"),
            (drop, "db.run(\"drop table \" + order.id)"),
            (drop, "db.run('''Drop Table ''' + (order.id))"),
            ("db.run(\"TRUNCATE \" + t)", "db.run('truncate ' + t)"),
            ("db.run(\"GRANT ALL ON \" + t)", "db.run(\"grant all on \" + t)"),
            (drop, "db.run(\"DROP \" \"TABLE \" + order.id)"),
            (drop, "db.run(\"DROP\" + \" TABLE \" + order.id)"),
            (drop, "db.run('DROP ' . 'TABLE ' + order.id)"),
            (drop, "db.run('DROP ' ~ r'TABLE ' + order.id)"),
            (drop, "db.run('DROP ' .. \"TABLE \" + order.id)"),
            (drop, "db.run(\n    \"DROP \"\n    # x\n    \"TABLE \"\n    + order.id)"),
            (drop, "db.run(\"DROP \" \\\n    \"TABLE \" + order.id)"),
            ("run(f\"a {x} b\")", "run(f\"a {x}\" f\" b\")"),
            ("x = \"a b\"", "x = \"a\" + \\\n    \" b\""),
            ("eval(x)", "eval(x)  # ok"),
            ("eval(x)", "eval(x) ;"),
            ("f(x) {\n  eval(x);\n}", "f(x) {\n  eval(x); // ok\n}"),
        ] {
            assert_eq!(of(other), of(code), "{other}");
        }
        let escaped = "{\"code\": \"def a():\\n    return find(\\\"A B\\\" + id)\\n\"}";
        assert!(of(escaped).contains(&of("    return find(\"A B\" + id)")), "{escaped}");
    }

    #[test]
    fn brackets_that_only_group_are_left_out() {
        let render = "v = render(req.query)";
        for (code, other) in [
            ("return req.user.session(x)", "return (req).user.session(x)"),
            ("return req.user.session(x)", "return (req.user.session(x))"),
            (render, "v = render((req).query)"),
            (render, "v = (render)(req.query)"),
            (render, "v = render((req.query))"),
            (render, "v = (\n    render(req.query)\n)"),
            ("return render_it", "return (render_it)"),
            ("return render_it", "return(render_it)"),
            ("if a + b:\n    x", "if (a + b):\n    x"),
            ("if a + b:\n    x", "if ((a) + (b)):\n    x"),
            ("x = f(a + b, c)", "x = f((a + b), (c))"),
            ("x = f(a + b, c)", "x = (f(a + b, c))"),
        ] {
            assert_eq!(of(other), of(code), "{other}");
        }
    }

    #[test]
    fn what_may_be_a_fix_is_another_code() {
        for (code, fixed) in [
            ("eval(x)", "literal_eval(x)"),
            ("db.run(\"DROP TABLE \" + name)", "db.run(\"DROP TABLE ?\", [name])"),
            ("v = render(req.query)", "v = render(str(req.query))"),
            ("x = (a + b) * c", "x = a + b * c"),
            ("(a + b) * c", "a + b * c"),
            ("x = (a or b)\n    .c", "x = a or b\n    .c"),
            ("x = a - (b - c)", "x = a - b - c"),
            ("x = a & (b | c)", "x = a & b | c"),
            ("not (a and b)", "not a and b"),
            ("f(x)", "fx"),
            ("f((a, b))", "f(a, b)"),
            ("x = (a,)", "x = a"),
            ("x = n * m", "x = (size_t) n * m"),
            ("rm $(x)", "rm $x"),
            ("x = \"a + (b)\"", "x = \"a + b\""),
            ("run(\"{x}\")", "run(f\"{x}\")"),
            ("f(\"a\", \"b\")", "f(\"ab\")"),
            ("f(\"a\" + x + \"b\")", "f(\"ab\")"),
            ("x = \"a\"\n\"b\".run()", "x = \"ab\".run()"),
            ("if method == \"delete\":", "if method == \"DELETE\":"),
            ("x = a // b", "x = a // max(b, 1)"),
            ("color: #ffffff;", "color: #000000;"),
        ] {
            assert_ne!(of(code), of(fixed), "{code}");
        }
    }
}
