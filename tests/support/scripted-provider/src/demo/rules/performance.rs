//! Performance: work in loops that belongs outside of them.

use crate::demo::finding::Severity::{Suggestion, Warning};
use crate::demo::language::Language;
use crate::demo::pattern::{found, group};
use crate::demo::rule::{Rule, Scope};
use crate::demo::spot::{Spot, loop_variable};

pub(super) const RULES: &[Rule] = &[
    Rule {
        category: "select-star-in-loop",
        severity: Warning,
        confidence: 0.88,
        scope: Scope::Code,
        claim: "`SELECT *` runs once for every element of the loop.",
        scenario: "With 1,000 elements: 1,000 round trips, each with columns that nobody needs.",
        fix: "Load the needed columns of all elements with one statement before the loop.",
        check: |spot| (found!(spot.text(), r"(?i)\bSELECT\s+\*") && spot.item_loop().is_some()).then(String::new),
    },
    Rule {
        category: "n-plus-one",
        severity: Warning,
        confidence: 0.87,
        scope: Scope::Code,
        claim: "A database call runs once for every element of the loop.",
        scenario: "With 1,000 elements: 1,000 round trips one after the other, where one statement would do.",
        fix: "Fetch or write all elements with one statement.",
        check: |spot| (is_query(spot.code()) && spot.item_loop().is_some()).then(String::new),
    },
    Rule {
        category: "n-plus-one",
        severity: Warning,
        confidence: 0.85,
        scope: Scope::Code,
        claim: "`{}` asks the database once for every element of the loop.",
        scenario: "With 1,000 elements: 1,000 queries one after the other, where one for all of them would do.",
        fix: "Load what belongs to all elements with one query before the loop.",
        check: repository_lookup,
    },
    Rule {
        category: "request-in-loop",
        severity: Warning,
        confidence: 0.85,
        scope: Scope::Code,
        claim: "An HTTP request is sent for every element of the loop, one after the other.",
        scenario: "With 100 elements and 200 ms a request this takes 20 seconds.",
        fix: "Use a bulk endpoint, or send a bounded number of requests at once.",
        check: |spot| (is_request(spot.code()) && spot.item_loop().is_some()).then(String::new),
    },
    Rule {
        category: "regex-compiled-in-loop",
        severity: Warning,
        confidence: 0.86,
        scope: Scope::Code,
        claim: "The same regular expression is compiled in every step of the loop.",
        scenario: "Compiling costs far more than matching; the loop spends its time on it.",
        fix: "Compile it once, before the loop.",
        check: |spot| fixed_regex_in_loop(spot).then(String::new),
    },
    Rule {
        category: "string-built-in-loop",
        severity: Suggestion,
        confidence: 0.82,
        scope: Scope::Code,
        claim: "`{}` grows by copying the whole string in every step of the loop.",
        scenario: "For n pieces the work is n²: 100,000 lines take minutes instead of milliseconds.",
        fix: "Collect the pieces and join them once.",
        check: |spot| {
            let copies = matches!(spot.language(), Language::Python | Language::Go | Language::Braces);
            let name = group!(
                spot.text(),
                r#"^\s*(\w+)\s*\+=\s*(?:[fr]?["']|str\(|String\.valueOf\(|fmt\.Sprint)"#
            )?;
            (copies && spot.item_loop().is_some()).then(|| name.to_owned())
        },
    },
    Rule {
        category: "read-before-size-check",
        severity: Warning,
        confidence: 0.86,
        scope: Scope::Code,
        claim: "The whole of `{}` is read into memory before its size is checked.",
        scenario: "A file of some gigabytes exhausts the memory before the check can refuse it.",
        fix: "Check the size from the metadata, or read at most the limit plus one byte.",
        check: read_before_check,
    },
    Rule {
        category: "blocking-call-in-handler",
        severity: Warning,
        confidence: 0.84,
        scope: Scope::Code,
        claim: "`{}` blocks the event loop inside of a request handler or an async function.",
        scenario: "While it runs, the process serves no other request.",
        fix: "Use the asynchronous form.",
        check: blocking_call,
    },
    Rule {
        category: "sleep-in-loop",
        severity: Suggestion,
        confidence: 0.7,
        scope: Scope::Code,
        claim: "The loop sleeps for every element.",
        scenario: "The time grows with the number of elements, however fast the rest is.",
        fix: "Limit the rate only where a limit is known.",
        check: |spot| {
            let sleeps = found!(
                spot.code(),
                r"\b(time\.sleep|Thread\.sleep|thread::sleep|time\.Sleep|usleep)\("
            );
            (sleeps && spot.item_loop().is_some()).then(String::new)
        },
    },
];

fn is_query(code: &str) -> bool {
    found!(
        code,
        r"(?i)\b(cursor|cur|conn|connection|db|session|pool|client|database|tx|prisma\.\w+|knex|repo|repository|\w+_repo|\w+Repository)\.(execute|query|query_row|QueryRow|Query|Exec|fetch_one|fetchone|find_one|findOne|findUnique|findFirst|find_by_id|findById|get_by_id|getById)\b"
    ) || found!(
        code,
        r"\b[A-Z]\w*\.objects\.(get|filter)\(|\bsqlx::query|\b[A-Z]\w*\.(findOne|findById|findByPk)\("
    )
}

/// A lookup in a repository (of the kind that hides a database) by the element of the loop.
fn repository_lookup(spot: &Spot) -> Option<String> {
    let code = spot.code();
    let call = group!(
        code,
        r"\b((?:\w+_)?(?:repository|repo|dao)\.(?:(?:get|find|fetch|load|look_?up|select|list|count)(?:_\w+|[A-Z]\w*)?|\w+(?:_of|_for|_by_id|Of|For|ById)))\("
    )
    .or_else(|| group!(code, r"\b(\w+(?:Repository|Repo|Dao)\.(?:get|find|fetch|load|lookup|select|list|count)(?:[A-Z]\w*)?)\("))?;
    let argument = group!(
        code,
        r"(?i)(?:repository|repo|dao)\.\w+\(\s*&?(\w+)(?:\.\w+(?:\(\))?)?\s*[,)]"
    )?;
    // The repositories of version control are no databases, and a cache is the remedy.
    let other = found!(code, r"(?i)cache|memo")
        || found!(
            call,
            r"(?i)commit|branch|refs?\b|tags?\b|blob|tree|diff|patch|issue|pull|file"
        )
        || found!(&spot.file.path, r"(?i)git|(^|/)(vcs|hg|svn)");
    let head = spot.item_loop()?;
    (!other && loop_variable(&head.code) == Some(argument)).then(|| call.to_owned())
}

fn is_request(code: &str) -> bool {
    found!(
        code,
        r"\b(requests|httpx)\.(get|post|put|delete|patch)\(|\bawait\s+fetch\(|\baxios(\.\w+)?\(|\bhttp\.(Get|Post)\(|\breqwest::(blocking::)?get\(|\burllib\.request\.urlopen\("
    )
}

fn fixed_regex_in_loop(spot: &Spot) -> bool {
    // Only a literal is the same in every step.
    found!(
        spot.text(),
        r#"\b(re\.compile|Regex::new|regexp\.(MustCompile|Compile)|Pattern\.compile|new RegExp)\(\s*&?[rR]?#*["'`][^{$]*["'`]#*\s*[,)]"#
    ) && spot.item_loop().is_some()
}

fn read_before_check(spot: &Spot) -> Option<String> {
    let code = spot.code();
    let data = group!(
        code,
        r"^\s*(?:let\s+|const\s+|var\s+)?(?:mut\s+)?(\w+)\s*:?=\s*(?:await\s+)?[\w.:]*(?:\.read\(\)|fs::read\(|readFileSync\(|\.readFile\(|io\.ReadAll\(|ReadAllBytes\()"
    )?;
    let checks = [
        format!("len({data}) >"),
        format!("{data}.length >"),
        format!("{data}.len() >"),
        format!("{data}.byteLength >"),
    ];
    spot.after(6)
        .any(|line| checks.iter().any(|check| line.code.contains(check.as_str())))
        .then(|| data.to_owned())
}

fn blocking_call(spot: &Spot) -> Option<String> {
    let code = spot.code();
    match spot.language() {
        Language::JavaScript => {
            let call = group!(code, r"\b((?:readFile|writeFile|exec|readdir|pbkdf2|scrypt)Sync)\(")?;
            spot.before(15)
                .any(|line| {
                    found!(
                        &line.code,
                        r"\(req,\s*res\b|\b(app|router)\.(get|post|put|delete|use)\("
                    )
                })
                .then(|| call.to_owned())
        }
        Language::Python => {
            let call = group!(code, r"\b(time\.sleep|requests\.(?:get|post|put|delete|patch))\(")?;
            let function = spot
                .before(60)
                .find(|line| found!(&line.code, r"^\s*(async\s+)?def\s"))?;
            found!(&function.code, r"^\s*async\s+def\s").then(|| call.to_owned())
        }
        _ => None,
    }
}
