//! The whole findings of an answer that broke off.

use conclave_shared::severity::Severity;

use super::{RawFinding, json, lenient, strict, visible::visible};
use crate::findings::tags::{Kind, Name, Tag, next_tag, tags};

/// Number of places at which the last whole finding may end: quoted code can hold the tag.
const MAX_ENDS: usize = 8;
/// Maximum length of a text that is read, in bytes.
const MAX_TEXT: usize = 300_000;

/// The findings that an answer told to their ends before it broke off. What is cut off is not one, and neither is what may only be
/// thought.
pub fn whole_findings(text: &str) -> Vec<RawFinding> {
    let Some(text) = seen(text) else { return Vec::new() };
    if is_json(&text) {
        json::scan(&text, 1).map(|outcome| outcome.findings).unwrap_or_default()
    } else {
        of_tags(&text)
    }
}

/// The finding that an answer was telling when it broke off, as far as it came, if that is critical or of a severity that it had not
/// told in full.
pub fn half_finding(text: &str) -> Option<RawFinding> {
    let text = seen(text)?;
    let half = if is_json(&text) {
        json::half(&text)
    } else {
        half_of_tags(&text)
    }?;
    let is_told = half.get("claim").is_some_and(|claim| !claim.is_empty());
    let severity = half.severity().and_then(Severity::parse_lenient);
    let counts = severity.map_or(is_told, |severity| severity == Severity::Critical);
    counts.then_some(half)
}

/// The part of an answer that its reader sees; nothing of one that is too long, or that may all be thought.
fn seen(text: &str) -> Option<String> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let seen = visible(text);
    seen.unclosed.is_none().then_some(seen.text)
}

/// Returns whether an answer holds its findings as JSON, if it holds any.
fn is_json(text: &str) -> bool {
    let first = next_tag(text).map(|tag| tag.start);
    !tags(text).any(|tag| tag.name != Name::Findings) || json::is_around(text, first)
}

fn half_of_tags(text: &str) -> Option<RawFinding> {
    let last = tags(text).filter(|tag| tag.name == Name::Finding).last()?;
    if last.kind != Kind::Open {
        return None;
    }
    let answer = format!("<findings>{}</finding></findings>", &text[last.start..]);
    lenient::read(&answer)?.findings.pop()
}

/// The findings in tags, read as an answer that ends behind the last whole one.
fn of_tags(text: &str) -> Vec<RawFinding> {
    let closes = |tag: &Tag| tag.name == Name::Finding && tag.kind == Kind::Close;
    let ends: Vec<usize> = tags(text).filter(closes).map(|tag| tag.end).collect();
    let is_block = tags(text).any(|tag| tag.name == Name::Findings && tag.kind == Kind::Open);
    let ended = |end: usize| {
        let begin = if is_block { "" } else { "<findings>" };
        format!("{begin}{}</findings>", &text[..end])
    };
    for end in ends.iter().rev().take(MAX_ENDS) {
        let reading = strict::read(&ended(*end), false).filter(|reading| !reading.blocks.is_empty());
        if let Some(reading) = reading {
            return reading.blocks.into_iter().flatten().collect();
        }
    }
    let last = ends.last().map(|end| ended(*end));
    let read = last.and_then(|answer| lenient::read(&answer));
    read.map(|outcome| outcome.findings).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(claim: &str) -> String {
        format!(
            "<finding>\n<severity>critical</severity>\n<file>a.py</file>\n<claim>{claim}</claim>\n\
             <evidence>\nx = 1\n</evidence>\n</finding>"
        )
    }

    fn claims(text: &str) -> Vec<String> {
        let findings = whole_findings(text);
        findings
            .iter()
            .map(|finding| finding.get("claim").unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn wherever_an_answer_breaks_off_its_whole_findings_are_read_and_no_half_one() {
        let (one, two) = (finding("One."), finding("Two."));
        for (before, between) in [("<findings>\n", "\n"), ("I read it.\n<findings>\n", ""), ("", "\n")] {
            let text = format!("{before}{one}{between}{two}\n</findings>");
            let first = before.len() + one.len();
            let second = first + between.len() + two.len();
            for at in 0..=text.len() {
                let expected: &[&str] = match at {
                    at if at < first => &[],
                    at if at < second => &["One."],
                    _ => &["One.", "Two."],
                };
                assert_eq!(claims(&text[..at]), expected, "{:?}", &text[..at]);
            }
        }
    }

    #[test]
    fn code_with_our_own_tags_is_quoted_code() {
        let quoting = finding("One.").replace("x = 1", "x = '</finding>'");
        let text = format!(
            "<findings>\n{quoting}\n{}",
            finding("Two.").replace("x = 1", "y = '</finding>")
        );
        let half = &text[..text.rfind("</evidence>").unwrap_or_default()];
        assert_eq!(claims(half), ["One."]);
    }

    #[test]
    fn a_finding_with_a_field_twice_is_whole() {
        let twice = finding("One.").replace("</file>", "</file>\n<line>1</line>\n<line>2</line>");
        assert_eq!(claims(&format!("<findings>\n{twice}\n<finding>")), ["One."]);
    }

    #[test]
    fn json_is_read_as_far_as_it_is_whole() {
        let one = r#"{"severity":"critical","file":"a.py","claim":"One.","evidence":"x = 1"}"#;
        let list = format!("{{\"findings\":[{one},{one}]}}").replacen("One.", "Two.", 1);
        let first = list.find("},{").unwrap_or_default() + 1;
        assert_eq!(claims(&list[..first - 1]), [""; 0]);
        assert_eq!(claims(&list[..first]), ["Two."]);
        assert_eq!(claims(&list[..list.len() - 3]), ["Two."]);
        assert_eq!(claims(&list), ["Two.", "One."]);
        assert_eq!(claims(&format!("<findings>{}", &list[..list.len() - 3])), ["Two."]);
    }

    #[test]
    fn what_is_thought_is_not_told() {
        assert_eq!(claims(&format!("<think>{}", finding("One."))), [""; 0]);
        assert_eq!(
            claims(&format!("<think>hm</think><findings>{}", finding("One."))),
            ["One."]
        );
        for text in [
            "",
            "words",
            "<findings></findings>",
            "<findings>",
            &"<finding>".repeat(40_000),
        ] {
            assert_eq!(claims(text), [""; 0]);
        }
    }

    #[test]
    fn half_a_critical_finding_in_json_counts_like_one_in_tags() {
        let one = r#"{"severity":"critical","file":"a.py","second":{"file":"b.py","line":3},"claim":"One.","line":1}"#;
        let claim = |text: &str| half_finding(text).map(|half| half.get("claim").unwrap_or_default().to_owned());
        let whole = format!("{{\"findings\":[{},{one}]}}", one.replace("One.", "Two."));
        let begins = whole.rfind("{\"severity").unwrap_or_default();
        for at in 0..=whole.len() {
            let half = claim(&whole[..at]);
            let told = at
                .checked_sub(begins)
                .map_or("", |length| &one[..length.min(one.len())]);
            // Without its last letter it is a word of other languages.
            let is_half = told.contains("\"critica") && !told.ends_with("\"line\":1}");
            if at >= begins {
                assert_eq!(half.is_some(), is_half, "{}", &whole[..at]);
            }
            if is_half && told.contains("One.") {
                assert_eq!(half.as_deref(), Some("One."), "{}", &whole[..at]);
            }
        }
        for (text, expected) in [
            (
                r#"[{"severity": "critical", "file": "a.py", "claim": "It is \"#,
                Some("It is"),
            ),
            (r#"```json [{"claim": "One.", "severity": "#, Some("One.")),
            (r#"I found: {"findings": [{"severity": "critical", "fi"#, Some("")),
            (r#"<findings>[{"severity": "critical", "claim": "One."#, Some("One.")),
            (r#"[{"severity": "warning", "claim": "One."#, None),
            (r#"[{"file": "a.py", "line": 3"#, None),
            (r#"{"findings": []"#, None),
            ("I read a[0] and {b: [", None),
        ] {
            assert_eq!(claim(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_finding_that_is_cut_off_is_known_if_it_is_critical() {
        let whole = format!("<findings>\n{}\n", finding("One."));
        let cut = |text: &str, without: &str| text.replace(without, "");
        for (text, claim) in [
            (cut(&whole, "\n</finding>"), Some("One.")),
            (cut(&whole, "\n</evidence>\n</finding>"), Some("One.")),
            (cut(&whole.replace("critical", "warning"), "\n</finding>"), None),
            (
                cut(&cut(&whole, "\n</finding>"), "<severity>critical</severity>"),
                Some("One."),
            ),
            ("<findings>\n<finding>\n<severity>crit".to_owned(), None),
            (whole.clone(), None),
            (format!("{whole}</findings>"), None),
            ("<findings>".to_owned(), None),
            ("I look for a <finding>".to_owned(), None),
        ] {
            let half = half_finding(&text);
            assert_eq!(half.as_ref().and_then(|half| half.get("claim")), claim, "{text}");
        }
    }
}
