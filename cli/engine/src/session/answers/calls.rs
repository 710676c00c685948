//! Findings and words for the review that a reviewer gives to a tool.

use serde_json::Value;

use crate::{
    findings::{RawFinding, is_listed, may_tell, scan},
    ports::{StrayCall, WORKSPACE_TOOLS},
};

/// Something meant for the review that a tool was given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// A text that holds findings.
    Findings(String),
    /// Words that may tell a problem.
    Words(String),
}

/// Reads the arguments of a call. Of a tool that every reviewer has only a whole finding counts, or an item that names a severity
/// and a place: the rest is what it is to look for.
pub(super) fn given(call: &StrayCall, paths: &[&str]) -> Option<Given> {
    let value = serde_json::from_str::<Value>(&call.arguments).ok();
    let mut texts = Vec::new();
    if let Some(value) = &value {
        collect(value, &mut texts);
    }
    let all = value.as_ref().map_or_else(|| call.arguments.clone(), Value::to_string);
    if WORKSPACE_TOOLS.contains(&call.tool.as_str()) {
        let is_whole = |finding: &RawFinding| finding.severity().is_some() && finding.get("claim").is_some();
        let holds = |text: &&str| scan(text, paths).findings.iter().any(is_whole);
        let found = texts.iter().copied().chain([all.as_str()]).find(holds);
        let listed = || texts.iter().find(|text| is_listed(text, paths));
        let findings = found.map(|text| Given::Findings(text.to_owned()));
        return findings.or_else(|| listed().map(|text| Given::Words((*text).to_owned())));
    }
    let words = words_of(texts).unwrap_or(all);
    let scanned = scan(&words, paths);
    if !scanned.findings.is_empty() || scanned.lost > 0 {
        return Some(Given::Findings(words));
    }
    may_tell(&words, paths).then_some(Given::Words(words))
}

/// Collects all texts of a value.
fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, texts)),
        _ => {}
    }
}

/// All texts, if one of them holds findings. Those with findings are the last ones, as a list is in an answer.
fn words_of(texts: Vec<&str>) -> Option<String> {
    let (lists, mut words): (Vec<&str>, Vec<&str>) = texts.into_iter().partition(|text| text.contains("<find"));
    let holds_any = !lists.is_empty();
    words.extend(lists);
    holds_any.then(|| words.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINDING: &str = "<finding><severity>critical</severity><file>a.py</file><line>4</line><claim>It runs input.</claim>\
                           <evidence>eval(x)</evidence></finding>";

    fn read(tool: &str, arguments: &Value) -> Option<Given> {
        let call = StrayCall {
            tool: tool.to_owned(),
            arguments: arguments.to_string(),
        };
        given(&call, &["a.py"])
    }

    #[test]
    fn a_finding_in_the_arguments_of_a_tool_that_exists_is_not_lost() {
        let json = serde_json::json!({"severity": "critical", "file": "a.py", "claim": "It runs input."});
        for arguments in [
            serde_json::json!({"pattern": FINDING}),
            serde_json::json!({"pattern": format!("<findings>{FINDING}</findings>"), "path": "src"}),
            serde_json::json!({"filePath": "a.py", "findings": [json]}),
            serde_json::json!({"pattern": json.to_string()}),
        ] {
            let given = read("grep", &arguments);
            assert!(matches!(given, Some(Given::Findings(_))), "{arguments}: {given:?}");
        }
        for arguments in [
            serde_json::json!({"pattern": "CRITICAL a.py:4: eval runs input"}),
            serde_json::json!({"pattern": "<severity>critical</severity><file>a.py</file><claim>It runs input.</claim>"}),
        ] {
            let given = read("read", &arguments);
            assert!(matches!(given, Some(Given::Words(_))), "{arguments}: {given:?}");
        }
    }

    #[test]
    fn what_a_tool_is_to_look_for_is_no_finding() {
        for arguments in [
            serde_json::json!({"pattern": "severity", "path": "a.py"}),
            serde_json::json!({"pattern": "\"severity\": \"critical\"", "path": "a.py"}),
            serde_json::json!({"pattern": "<finding>|</finding>"}),
            serde_json::json!({"pattern": "<severity>critical</severity>"}),
            serde_json::json!({"pattern": "critical|severe", "include": "*.py"}),
            serde_json::json!({"filePath": "a.py", "offset": 1, "limit": 20}),
        ] {
            assert_eq!(read("grep", &arguments), None, "{arguments}");
        }
    }

    #[test]
    fn what_a_tool_that_does_not_exist_is_given_is_read_or_asked_about() {
        let found = read("report", &serde_json::json!({"summary": "One.", "findings": FINDING}));
        assert_eq!(found, Some(Given::Findings(format!("One.\n{FINDING}"))));
        let told = read(
            "report",
            &serde_json::json!({"title": "Anyone can read all of the rows."}),
        );
        assert!(matches!(told, Some(Given::Words(_))), "{told:?}");
        assert_eq!(read("report", &serde_json::json!({"findings": []})), None);
    }
}
