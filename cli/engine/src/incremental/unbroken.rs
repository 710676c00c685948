//! Code as it would stand on one line, whatever breaks it over several.

const CLOSING: [&str; 3] = [")", "]", "}"];

/// The lines without what only shows that code goes on: the mark of a continuation at their ends, and the comma that formatters put
/// before a closing bracket.
pub(super) fn unbroken(lines: &[String]) -> Vec<String> {
    let mut unbroken: Vec<String> = Vec::with_capacity(lines.len());
    let mut before: Option<usize> = None;
    for line in lines {
        let line = line.trim_end();
        let line = line.strip_suffix('\\').unwrap_or(line).trim_end();
        let is_closing = CLOSING.iter().any(|close| line.trim_start().starts_with(close));
        if is_closing && let Some(before) = before.and_then(|at| unbroken.get_mut(at)) {
            before.truncate(before.trim_end_matches(',').len());
        }
        if !line.trim().is_empty() {
            before = Some(unbroken.len());
        }
        let code = CLOSING
            .iter()
            .fold(line.to_owned(), |code, close| code.replace(&format!(",{close}"), close));
        unbroken.push(code);
    }
    unbroken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_the_same_on_one_line_and_on_several() {
        let joined = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let words = unbroken(&lines).concat();
            words.split_whitespace().collect::<String>()
        };
        for text in [
            "return query(\n    one,\n    two,\n)",
            "return query(\n    one,\n    two,\n\n)",
            "return \\\n    query(one, two)",
            "return query(one, \\\n    two,)",
        ] {
            assert_eq!(joined(text), "returnquery(one,two)", "{text}");
        }
        assert_eq!(joined("one,\ntwo,"), "one,two,");
    }
}
