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
    if text.len() > MAX_TEXT {
        return Vec::new();
    }
    let seen = visible(text);
    if seen.is_unclosed {
        return Vec::new();
    }
    let text = seen.text.as_str();
    let is_json = !tags(text).any(|tag| tag.name != Name::Findings) || json::is_around(text, first_tag(text));
    if is_json {
        json::scan(text).map(|outcome| outcome.findings).unwrap_or_default()
    } else {
        of_tags(text)
    }
}

/// The finding that an answer was telling when it broke off, as far as it came, if that is critical or of a severity that it had not told.
pub fn half_finding(text: &str) -> Option<RawFinding> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let seen = visible(text);
    let is_finding = |tag: &Tag| tag.name == Name::Finding;
    let last = tags(&seen.text).filter(is_finding).last()?;
    if seen.is_unclosed || last.kind != Kind::Open {
        return None;
    }
    let answer = format!("<findings>{}</finding></findings>", &seen.text[last.start..]);
    let half = lenient::read(&answer)?.findings.pop()?;
    let severity = half.severity().filter(|severity| !severity.is_empty());
    let is_told = half.get("claim").is_some_and(|claim| !claim.is_empty());
    let is_critical = severity.and_then(Severity::parse_lenient) == Some(Severity::Critical);
    (is_critical || (severity.is_none() && is_told)).then_some(half)
}

fn first_tag(text: &str) -> Option<usize> {
    next_tag(text).map(|tag| tag.start)
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
