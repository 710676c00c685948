//! Correctness: mistakes that give a wrong result or a crash.

use crate::demo::finding::Severity::{Critical, Suggestion, Warning};
use crate::demo::language::Language;
use crate::demo::pattern::{found, group};
use crate::demo::rule::{Rule, Scope};
use crate::demo::spot::Spot;

pub(super) const RULES: &[Rule] = &[
    Rule {
        category: "merge-conflict-marker",
        severity: Critical,
        confidence: 0.97,
        scope: Scope::CodeAndData,
        claim: "A merge conflict marker was committed.",
        scenario: "The file does not parse any more, so whatever loads it fails at once.",
        fix: "Resolve the conflict and remove the markers.",
        check: |spot| found!(spot.text(), r"^(<{7}|>{7}) \S").then(String::new),
    },
    Rule {
        category: "division-by-zero",
        severity: Warning,
        confidence: 0.88,
        scope: Scope::Code,
        claim: "The division by the size of `{}` has no check for an empty `{}`.",
        scenario: "With an empty `{}` the divisor is 0: an exception, a panic or NaN instead of a result.",
        fix: "Handle the empty case before the division.",
        check: unguarded_division,
    },
    Rule {
        category: "off-by-one",
        severity: Critical,
        confidence: 0.92,
        scope: Scope::Code,
        claim: "The loop runs one step past the end of `{}`.",
        scenario: "In the last step the index equals the length of `{}`: an out-of-range error or an undefined element.",
        fix: "Stop before the length: `<` instead of `<=`.",
        check: past_the_end,
    },
    Rule {
        category: "dropped-remainder",
        severity: Warning,
        confidence: 0.9,
        scope: Scope::Code,
        claim: "The division rounds down, so the last, incomplete part of `{}` is left out.",
        scenario: "250 elements in parts of 100: two parts are made, and 50 elements are missing without an error.",
        fix: "Round up, or go over the starts (0, 100, 200, ...) up to the length.",
        check: dropped_remainder,
    },
    Rule {
        category: "mutable-default-argument",
        severity: Warning,
        confidence: 0.93,
        scope: Scope::Code,
        claim: "The default of `{}` is one object that all calls share.",
        scenario: "What the first call puts into `{}` is still there in the second call.",
        fix: "Use None as the default and make the object inside the function.",
        check: |spot| {
            let python = spot.language() == Language::Python;
            let header = r"^\s*(?:async\s+)?def\s+\w+\(.*?\b(\w+)\s*(?::\s*[\w.]+(?:\[[^\]]*\])?\s*(?:\|\s*\w+\s*)?)?=\s*(?:\[\]|\{\}|set\(\)|list\(\)|dict\(\))";
            python.then(|| matched(header, spot.code())).flatten()
        },
    },
    Rule {
        category: "async-callback-not-awaited",
        severity: Warning,
        confidence: 0.9,
        scope: Scope::Code,
        claim: "`forEach` does not wait for its async callback.",
        scenario: "The code after the loop runs before the callbacks end, and their errors become unhandled rejections.",
        fix: "Use `for ... of` with await, or `await Promise.all(items.map(...))`.",
        check: |spot| found!(spot.code(), r"\.forEach\(\s*async\b").then(String::new),
    },
    Rule {
        category: "missing-await",
        severity: Warning,
        confidence: 0.88,
        scope: Scope::Code,
        claim: "The coroutine of `{}` is made but never awaited.",
        scenario: "The call does nothing, or is still running when the next line needs its effect; its error is lost.",
        fix: "Add `await`.",
        check: missing_await,
    },
    Rule {
        category: "swallowed-exception",
        severity: Warning,
        confidence: 0.86,
        scope: Scope::Code,
        claim: "Every error is caught here and dropped without a trace.",
        scenario: "When the guarded code fails, the program goes on as if it had worked, and nobody sees why.",
        fix: "Catch only what is expected, and log or pass on the rest.",
        check: |spot| swallowed(spot).then(String::new),
    },
    Rule {
        category: "assignment-in-condition",
        severity: Critical,
        confidence: 0.9,
        scope: Scope::Code,
        claim: "The condition assigns to `{}` instead of comparing it.",
        scenario: "The branch depends on the assigned value only, and `{}` is overwritten.",
        fix: "Compare with `===` (or `==`).",
        check: |spot| {
            let braces = matches!(spot.language(), Language::JavaScript | Language::Php | Language::Braces);
            let assigned = r#"\bif\s*\(\s*(\$?[A-Za-z_][\w.$]*)\s*=\s*(?:["'][^"']*["']|-?\d[\w.]*|true|false|null|[A-Za-z_]\w*)\s*\)"#;
            braces.then(|| matched(assigned, spot.code())).flatten()
        },
    },
    Rule {
        category: "float-equality",
        severity: Warning,
        confidence: 0.82,
        scope: Scope::Code,
        claim: "A computed float is compared for equality with {}.",
        scenario: "Rounding makes sums that should be {} differ in the last digit, so the comparison is false.",
        fix: "Compare with a tolerance, or count in whole units.",
        check: |spot| group!(spot.code(), r"\w\s*[=!]==?\s*(\d+\.\d*[1-9]\d*)\b").map(str::to_owned),
    },
    Rule {
        category: "comparison-always-false",
        severity: Critical,
        confidence: 0.92,
        scope: Scope::Code,
        claim: "The comparison with {} never does what it says.",
        scenario: "NaN equals nothing, and `is` compares identity: the branch is never (or by accident) taken.",
        fix: "Use isNaN / math.isnan, or `==` for values.",
        check: |spot| {
            let nan = group!(spot.code(), r"[=!]==?\s*((?:Number\.|math\.|np\.)?(?:NaN|nan))\b");
            let python = spot.language() == Language::Python;
            let literal = || {
                group!(
                    spot.text(),
                    r#"^\s*(?:if|elif|while|assert|return)\b[^"']*\bis\s+(?:not\s+)?(["'][^"']*["']|\d+)"#
                )
            };
            nan.or_else(|| if python { literal() } else { None }).map(str::to_owned)
        },
    },
    Rule {
        category: "unchecked-lookup",
        severity: Warning,
        confidence: 0.84,
        scope: Scope::Code,
        claim: "The result of `{}` is used as if something was always found.",
        scenario: "When nothing is found, this panics or reads a property of undefined.",
        fix: "Handle the missing case.",
        check: unchecked_lookup,
    },
    Rule {
        category: "unreachable-default",
        severity: Suggestion,
        confidence: 0.82,
        scope: Scope::Code,
        claim: "`{}` in front of a comparison binds to one value only, so the condition is always true.",
        scenario: "`x == 'a' or 'b'` is true for every x.",
        fix: "Compare each value, or test membership.",
        check: |spot| {
            let python = spot.language() == Language::Python;
            let always = || {
                group!(
                    spot.text(),
                    r#"^\s*(?:if|elif|while)\b.*==\s*["'][^"']*["']\s+(or)\s+["'][^"']*["']\s*:"#
                )
            };
            if python { always().map(str::to_owned) } else { None }
        },
    },
];

/// The first group of a pattern that is used in one place only.
fn matched(pattern: &'static str, text: &str) -> Option<String> {
    let groups = compiled(pattern);
    groups.captures(text)?.get(1).map(|group| group.as_str().to_owned())
}

/// The three groups of a pattern that is used in one place only.
fn matched_three<'t>(pattern: &'static str, text: &'t str) -> Option<[&'t str; 3]> {
    let (_, groups) = compiled(pattern).captures(text)?.extract();
    Some(groups)
}

fn compiled(pattern: &'static str) -> regex::Regex {
    use std::collections::HashMap;
    use std::sync::{LazyLock, Mutex};
    static PATTERNS: LazyLock<Mutex<HashMap<&'static str, regex::Regex>>> = LazyLock::new(Mutex::default);
    crate::locked(&PATTERNS)
        .entry(pattern)
        .or_insert_with(|| crate::demo::pattern::compile(pattern))
        .clone()
}

fn unguarded_division(spot: &Spot) -> Option<String> {
    let code = spot.code();
    let name = group!(code, r"[\w)\]]\s*/\s*(?:float\()?len\((\w+(?:\.\w+)*)\)")
        // In whole numbers only where the sum of the elements is divided: much else is, by lists that are never empty.
        .or_else(|| {
            let python = spot.language() == Language::Python;
            let mean = || group!(code, r"\b(?:sum\(.*\)|\w*(?:total|sum))\s*//\s*len\((\w+(?:\.\w+)*)\)");
            if python { mean() } else { None }
        })
        .or_else(|| {
            group!(
                code,
                r"[\w)\]]\s*/\s*([A-Za-z_][\w.]*?)\.(?:length\b|size\(\)|count\(\)|len\(\)|Count\b)"
            )
        })
        .or_else(|| group!(code, r"[\w)\]]\s*/\s*\(?(\w*_count|count|num_\w+)\b"))?;
    let last = name.rsplit('.').next().unwrap_or(name);
    let guard = |text: &str| {
        text.contains(last)
            && found!(
                text,
                r"\b(if|assert|unless|guard|while|when|match)\b|\bor\s+1\b|\|\|\s*1|\bmax\(|\.max\(|\?|is_empty|isEmpty"
            )
    };
    let own_line = format!(" {code}");
    let guarded = guard(&own_line) || spot.before(12).any(|line| guard(&line.code));
    // A constant is never empty.
    (!guarded && !found!(last, r"^[A-Z][A-Z_0-9]*$")).then(|| name.to_owned())
}

fn past_the_end(spot: &Spot) -> Option<String> {
    let code = spot.code();
    let (index, list) = if let Some(list) = group!(
        code,
        r"\bfor\s*\(?.*\b\w+\s*:?=\s*0\s*;\s*\w+\s*<=\s*(?:len\()?([\w.]+?)(?:\.length|\.len\(\)|\.size\(\)|\))"
    ) {
        (group!(code, r"\b(\w+)\s*:?=\s*0\s*;")?, list)
    } else if let Some(list) = group!(code, r"^\s*for\s+\w+\s+in\s+range\(len\(([\w.]+)\)\s*\+\s*1\)") {
        (group!(code, r"^\s*for\s+(\w+)\s+in")?, list)
    } else {
        (
            group!(code, r"^\s*for\s+(\w+)\s+in\s+0\.\.=\s*[\w.]+\.len\(\)")?,
            group!(code, r"\b0\.\.=\s*([\w.]+)\.len\(\)")?,
        )
    };
    // Going one past the end is right for prefix sums and slices: only an index proves the mistake.
    let access = format!("{list}[{index}]");
    spot.after(12)
        .any(|line| line.code.contains(&access))
        .then(|| list.to_owned())
}

/// `count = len(list) // page_size`, then `count` slices of that size, and nothing for what is left.
fn dropped_remainder(spot: &Spot) -> Option<String> {
    let code = spot.code();
    let quotient = match spot.language() {
        Language::Python => r"^\s*(\w+)\s*=\s*len\(([\w.]+)\)\s*//\s*([\w.]+)\s*$",
        Language::JavaScript => {
            r"^\s*(?:const|let|var)\s+(\w+)\s*=\s*Math\.floor\(\s*([\w.]+)\.length\s*/\s*([\w.]+)\s*\)\s*;?\s*$"
        }
        Language::Rust => r"^\s*let\s+(\w+)\s*=\s*([\w.]+)\.len\(\)\s*/\s*([\w.]+)\s*;\s*$",
        Language::Go => r"^\s*(\w+)\s*:=\s*len\(([\w.]+)\)\s*/\s*([\w.]+)\s*$",
        _ => return None,
    };
    let [count, list, size] = matched_three(quotient, code)?;
    // Records of a fixed size have no remainder, and training drops the last batch on purpose.
    if !found!(&format!("{count} {size}"), r"(?i)page|chunk") || found!(code, r"(?i)batch|epoch|record") {
        return None;
    }
    let after: Vec<&str> = spot.after(10).map(|line| line.code.as_str()).collect();
    let after = after.join("\n");
    let dense: String = after.split_whitespace().collect();
    let any = |parts: &[String]| parts.iter().any(|part| dense.contains(part.as_str()));
    let steps = [format!("range({count})"), format!("<{count}"), format!("0..{count}")];
    let slices = [format!("{list}["), format!("{list}.slice(")];
    let sized = [format!("*{size}"), format!("{size}*")];
    // Somebody thought of what is left: a second slice, a remainder, one page more.
    let thought = [
        format!("{count}*{size}"),
        format!("{size}*{count}"),
        format!("{count}+"),
    ];
    let remainder = |text: &str| found!(text, r"(?i)%|remainder|\brest\b|\btail\b|leftover|divmod|ceil");
    let handled = any(&thought) || remainder(&after) || spot.before(6).any(|line| remainder(&line.code));
    (any(&steps) && any(&slices) && any(&sized) && !handled).then(|| list.to_owned())
}

fn missing_await(spot: &Spot) -> Option<String> {
    let code = spot.code();
    let called = match spot.language() {
        Language::Python => group!(code, r"^\s*((?:self\.|asyncio\.)?\w+)\("),
        Language::JavaScript => group!(code, r"^\s*((?:this\.)?\w+)\([^{]*\);?\s*$"),
        _ => None,
    }?;
    if called == "asyncio.sleep" {
        return Some(called.to_owned());
    }
    let name = called.trim_start_matches("self.").trim_start_matches("this.");
    // A statement that continues the line before is an argument, which may well be awaited there.
    let continues = spot
        .before(1)
        .any(|line| found!(&line.code, r"[(\[,=+]\s*$|=>\s*$|\b(return|await)\s*$"));
    (!continues && spot.file.async_functions.contains(name)).then(|| called.to_owned())
}

fn swallowed(spot: &Spot) -> bool {
    let (text, code) = (spot.text(), spot.code());
    let next = spot.after(1).map(|line| line.text.trim()).next().unwrap_or_default();
    match spot.language() {
        Language::Python => {
            found!(text, r"^\s*except(\s+(Base)?Exception(\s+as\s+\w+)?)?\s*:\s*pass\s*$")
                || found!(text, r"^\s*except(\s+(Base)?Exception(\s+as\s+\w+)?)?\s*:\s*$") && next == "pass"
        }
        Language::JavaScript | Language::Braces | Language::Php => {
            found!(text, r"\bcatch\s*(\([^)]*\))?\s*\{\s*\}")
                || found!(code, r"\bcatch\s*(\([^)]*\))?\s*\{\s*$") && next == "}"
        }
        _ => false,
    }
}

fn unchecked_lookup(spot: &Spot) -> Option<String> {
    let code = spot.code();
    match spot.language() {
        Language::Rust => {
            let call = group!(
                code,
                r"(\w+\.(?:get|get_mut|find|first|last|position)\([^;]*?\))\.unwrap\(\)"
            )?;
            let name = call.split('.').next().unwrap_or(call);
            let known = spot.before(8).any(|line| {
                line.code.contains(name) && found!(&line.code, r"contains|is_empty|insert|push|assert|is_some|len\(\)")
            });
            (!known).then(|| call.to_owned())
        }
        Language::JavaScript => group!(code, r"(\w+\.find\(\s*\(?\w+\)?\s*=>[^;{}]*?\))\.[A-Za-z_]").map(str::to_owned),
        _ => None,
    }
}
