//! A grammar of sentences, and whether a sentence is derived from it.
//!
//! A rule is `name = alternatives`, over as many lines as it takes. In an alternative a word stands for itself, `<name>` for a rule,
//! `@path`, `@code` and `@number` for such a token, `[…]` for something that may be missing, `(… | …)` for a choice. Parentheses of a
//! text are `{` and `}`. No rule begins with itself.

use std::collections::HashMap;

use super::tokens::{Token, tokens_of_rule};

/// A part of a rule.
#[derive(Debug)]
enum Pattern {
    Token(Token),
    Rule(usize),
    All(Vec<Self>),
    Any(Vec<Self>),
    Maybe(Box<Self>),
}

/// Rules, the first of which is what a whole sentence has to be.
#[derive(Debug)]
pub(super) struct Grammar {
    rules: Vec<Pattern>,
    /// Names of rules that are used, and stand nowhere.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test holds that there are none"))]
    pub(super) unknown: Vec<String>,
}

/// Where each rule can end that begins at a token.
type Memory = HashMap<(usize, usize), Vec<usize>>;

impl Grammar {
    /// Reads the rules.
    pub(super) fn new(text: &str) -> Self {
        let mut sources: Vec<(&str, String)> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            match line.split_once(" = ") {
                Some((name, alternatives)) if !line.starts_with(' ') => sources.push((name, alternatives.to_owned())),
                _ => {
                    if let Some((_, alternatives)) = sources.last_mut() {
                        alternatives.push(' ');
                        alternatives.push_str(line.trim());
                    }
                }
            }
        }
        let numbers: HashMap<&str, usize> = sources.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
        let mut unknown = Vec::new();
        let rules = sources.iter().map(|(_, source)| {
            let parts = parts(source);
            let mut reader = Reader {
                parts: &parts,
                at: 0,
                numbers: &numbers,
                unknown: &mut unknown,
            };
            reader.alternatives()
        });
        let rules = rules.collect();
        Self { rules, unknown }
    }

    /// Returns whether the tokens are a whole sentence.
    pub(super) fn derives(&self, tokens: &[Token]) -> bool {
        let mut memory = Memory::new();
        !self.rules.is_empty() && self.rule(0, tokens, 0, &mut memory).contains(&tokens.len())
    }

    fn rule(&self, rule: usize, tokens: &[Token], at: usize, memory: &mut Memory) -> Vec<usize> {
        if let Some(known) = memory.get(&(rule, at)) {
            return known.clone();
        }
        // Should a rule begin with itself all the same, it ends here and not never.
        memory.insert((rule, at), Vec::new());
        let mut ends = self.ends(&self.rules[rule], tokens, at, memory);
        ends.sort_unstable();
        ends.dedup();
        memory.insert((rule, at), ends.clone());
        ends
    }

    fn ends(&self, pattern: &Pattern, tokens: &[Token], at: usize, memory: &mut Memory) -> Vec<usize> {
        match pattern {
            Pattern::Token(token) => tokens
                .get(at)
                .filter(|found| *found == token)
                .map(|_| at + 1)
                .into_iter()
                .collect(),
            Pattern::Rule(rule) => self.rule(*rule, tokens, at, memory),
            Pattern::Any(choices) => {
                let ends = choices.iter().flat_map(|choice| self.ends(choice, tokens, at, memory));
                ends.collect()
            }
            Pattern::Maybe(inner) => {
                let mut ends = self.ends(inner, tokens, at, memory);
                ends.push(at);
                ends
            }
            Pattern::All(parts) => {
                let mut ends = vec![at];
                for part in parts {
                    let mut next: Vec<usize> = Vec::new();
                    for end in ends {
                        next.extend(self.ends(part, tokens, end, memory));
                    }
                    next.sort_unstable();
                    next.dedup();
                    ends = next;
                }
                ends
            }
        }
    }
}

/// Splits a rule into words, names and signs.
fn parts(source: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in source.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find(['(', ')', '[', ']', '|']) {
            let (before, behind) = rest.split_at(at);
            if !before.is_empty() {
                parts.push(before.to_owned());
            }
            let (sign, behind) = behind.split_at(1);
            parts.push(sign.to_owned());
            rest = behind;
        }
        if !rest.is_empty() {
            parts.push(rest.to_owned());
        }
    }
    parts
}

struct Reader<'a> {
    parts: &'a [String],
    at: usize,
    numbers: &'a HashMap<&'a str, usize>,
    unknown: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn alternatives(&mut self) -> Pattern {
        let mut choices = vec![self.sequence()];
        while self.parts.get(self.at).is_some_and(|part| part == "|") {
            self.at += 1;
            choices.push(self.sequence());
        }
        Pattern::Any(choices)
    }

    fn sequence(&mut self) -> Pattern {
        let mut all = Vec::new();
        while let Some(part) = self.parts.get(self.at) {
            match part.as_str() {
                "|" | ")" | "]" => break,
                "(" | "[" => {
                    let is_optional = part == "[";
                    self.at += 1;
                    let inner = self.alternatives();
                    self.at += 1;
                    all.push(if is_optional {
                        Pattern::Maybe(Box::new(inner))
                    } else {
                        inner
                    });
                }
                name if name.starts_with('<') && name.ends_with('>') => {
                    self.at += 1;
                    let name = name.trim_matches(['<', '>']);
                    match self.numbers.get(name) {
                        Some(rule) => all.push(Pattern::Rule(*rule)),
                        None => self.unknown.push(name.to_owned()),
                    }
                }
                words => {
                    self.at += 1;
                    all.extend(tokens_of_rule(words).into_iter().map(Pattern::Token));
                }
            }
        }
        Pattern::All(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_derived_or_it_is_not() {
        let grammar =
            Grammar::new("# Greetings\nall = hello [<name>]\n  | (good | bad) day , <all>\nname = world | @number");
        assert!(grammar.unknown.is_empty());
        let derives = |text: &str| grammar.derives(&tokens_of_rule(text));
        for sentence in [
            "hello",
            "hello world",
            "hello 7",
            "good day, hello",
            "bad day, good day, hello world",
        ] {
            assert!(derives(sentence), "{sentence}");
        }
        for other in ["", "hello hello", "day, hello", "good day", "hello world world"] {
            assert!(!derives(other), "{other}");
        }
        assert_eq!(Grammar::new("a = <b>").unknown, ["b"]);
        assert!(
            !Grammar::new("a = <a> x | x").derives(&tokens_of_rule("x y")),
            "it comes to an end"
        );
    }
}
