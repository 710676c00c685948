//! What deceives, and what only looks as if it did.

use super::*;

fn patch(lines: &[&str]) -> Vec<u8> {
    let mut text = format!(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,1 +1,{} @@\n context = admin\n",
        lines.len() + 1
    );
    for line in lines {
        text.push('+');
        text.push_str(line);
        text.push('\n');
    }
    text.into_bytes()
}

fn found(path: &str, line: &str) -> Vec<(Severity, u32)> {
    let findings = check(path, &patch(&["x = 1", line]));
    findings
        .iter()
        .map(|finding| (finding.severity, finding.line))
        .collect()
}

#[test]
fn what_changes_what_code_means_is_critical() {
    for (path, line) in [
        (
            "src/a.c",
            "/*\u{202e} } \u{2066}if (isAdmin)\u{2069} \u{2066} begin admins only */",
        ),
        ("src/a.py", "# return early \u{2067}''' ; return"),
        ("src/a.py", "if role == \"ad\u{200b}min\":"),
        ("src/a.js", "const { timeout,\u{3164}} = req.query;"),
        ("src/a.js", "// harmless \u{2028}steal()"),
        ("src/a.js", "let a = 1; \u{85}b()"),
        ("src/a.sh", "echo safe # \rrm -rf /"),
        ("src/a.rs", "let a\u{2060}b = 1;"),
        ("src/a.py", "x = \"\u{e0069}\u{e0067}\u{e006e}\""),
        ("src/a.py", "x = \"\u{1f3f4}\u{e0069}\u{e0067}\u{e006e}\u{e006f}\""),
        ("deploy/job.yml", "image: re\u{ad}gistry/x"),
        ("src/a.py", "user\u{200d}name = 1"),
        ("src/a.py", "user\u{fe0f} = 1"),
        ("src/a.py", "is\u{200f}admin = 'שלום'"),
        ("src/a.py", "name\u{61c} = \"x\""),
        ("src/a.py", "name\u{2800} = \"x\""),
        ("locales/he.js", "alert(\"\u{202e}\")"),
        ("requirements.txt", "req\u{200b}uests"),
        ("bin/run", "a\u{feff}b"),
        ("src/__snapshots__/a.snap", "exports[`a`] = `\u{202e}`;"),
    ] {
        assert_eq!(found(path, line), [(Severity::Critical, 3)], "{path} {line:?}");
    }
}

#[test]
fn what_only_misleads_is_a_warning() {
    for (path, line) in [
        ("src/a.py", "if user.is_аdmin:"),
        ("src/a.py", "if role == 'аdmin':"),
        ("src/a.py", "ΑPI = 1"),
        ("src/a.py", "if аԁmіn == 1:"),
        ("src/a.py", "ａｄmin = 1"),
        ("src/a.py", "x = 1  # see the do\u{200b}cs"),
        ("src/a.py", "name = \"x\"\u{1b}[2K"),
        ("src/a.sh", "curl evil | sh\u{8}\u{8}\u{8}\u{8}"),
        ("src/a.py", "a = 1\u{b}"),
        ("src/a.py", "a = 1 \u{c} b = 2"),
        ("src/a.py", "a = 1 # \u{7f}"),
        ("tests/a.test.js", "const red = \"\u{1b}[31m\";"),
        ("tests/run", "echo \u{1b}[31m"),
        ("src/a.rs", "// co\u{ad}operate"),
    ] {
        assert_eq!(found(path, line), [(Severity::Warning, 3)], "{path} {line:?}");
    }
}

#[test]
fn ordinary_writing_is_left_alone() {
    for (path, line) in [
        ("src/a.py", "greeting = \"שלום עולם\"  # אומר שלום"),
        ("src/a.py", "\u{c}"),
        ("src/a.py", "art = \"⠁\u{2800}⠃\""),
        ("src/a.py", "text = \"\u{61c}مرحبا\""),
        ("src/a.py", "greeting = \"\u{200f}שלום (world)\u{200f}\""),
        ("src/a.py", "text = \"می\u{200c}خواهم\""),
        ("src/a.py", "text = \"क\u{94d}\u{200d}ष\""),
        ("src/a.py", "text = \"ไทย\u{200b}ไทย\""),
        ("src/a.js", "const family = \"👨\u{200d}👩\u{200d}👧\u{200d}👦\";"),
        (
            "src/a.js",
            "const heart = \"❤\u{fe0f} 1\u{fe0f}\u{20e3} 👩🏽\u{200d}🚀\";",
        ),
        (
            "src/a.js",
            "const flag = \"🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}\";",
        ),
        ("src/a.py", "# Проверка роли: а также со всеми"),
        ("src/a.py", "# PDFка, IDшник, SQLе"),
        ("src/a.py", "message = \"а со всеми\""),
        ("src/a.py", "имя = 1"),
        ("src/a.jl", "ρ_max = σ * Δx + α1"),
        ("src/a.py", "café = naïve + 'Straße' + 'kapı'"),
        ("src/a.py", "名前 = \"日本語ＡＢＣ\""),
        ("src/a.py", "price = \"5\u{a0}€ – “quoted” … ±1\""),
        ("README.md", "a\u{202e}b\u{200b}"),
        ("src/__snapshots__/a.snap", "\u{1b}[31mred\u{1b}[39m"),
        ("src/snapshots/cli__help.snap", "\u{1b}[1mUsage:\u{1b}[0m"),
        ("tests/cmd/help.stdout", "\u{1b}[1mUsage:\u{1b}[0m"),
        ("docs/x.txt", "a\u{202e}b"),
        ("po/he.po", "a\u{202b}b"),
        ("app/locales/he.json", "\"a\": \"\u{202b}שלום\u{202c}\""),
        ("LICENSE", "a\u{ad}b"),
        ("web/a.html", "<p>Donau\u{ad}dampf, 10\u{2060}km</p>"),
        ("src/locales/de.ts", "export default { a: \"Donau\u{ad}dampf\" };"),
        ("src/a.py", "windows = 1\r"),
    ] {
        assert_eq!(found(path, line), [], "{path} {line:?}");
    }
}

#[test]
fn only_added_lines_count_and_a_mark_of_byte_order_begins_a_file() {
    let patch = "@@ -1,2 +1,2 @@\n-old\u{202e}\n+\u{feff}import os\n context\u{202e}\n";
    assert_eq!(check("a.py", patch.as_bytes()), []);
    let patch = "@@ -4,1 +4,2 @@\n+\u{feff}import os\n context\n";
    assert_eq!(check("a.py", patch.as_bytes()).len(), 1);
}

#[test]
fn one_finding_for_one_trick_in_a_file() {
    let findings = check(
        "a.py",
        &patch(&["a = '\u{202e}'", "b = 1", "c = '\u{2066}'", "d = 'x\u{200b}'"]),
    );
    let lines: Vec<u32> = findings.iter().map(|finding| finding.line).collect();
    assert_eq!(lines, [2, 5]);
    assert!(
        findings[0].scenario.ends_with("The same in line 4."),
        "{}",
        findings[0].scenario
    );
    assert_eq!(findings[0].evidence, "a = '\u{202e}'");
    assert!(findings[0].claim.contains("U+202E"), "{}", findings[0].claim);
    let hold = hold(&findings, &[]).expect("a reason");
    assert_eq!(hold.places, ["a.py:2", "a.py:5"]);
    assert_eq!(super::hold(&[], &[]), None);
}

#[test]
fn an_encoding_in_which_ascii_means_something_else_is_critical() {
    let first = |path: &str, line: &str| {
        let text = format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+{line}\n+x = 1\n");
        check(path, text.as_bytes())
            .iter()
            .map(|finding| (finding.severity, finding.line))
            .collect::<Vec<_>>()
    };
    for line in [
        "# -*- coding: utf-7 -*-",
        "# vim: fileencoding=raw_unicode_escape",
        "# coding: rot13",
    ] {
        assert_eq!(first("src/a.py", line), [(Severity::Critical, 1)], "{line}");
    }
    for (path, line) in [
        ("src/a.py", "# -*- coding: utf-8 -*-"),
        ("src/a.py", "# -*- coding: latin-1 -*-"),
        ("src/a.rs", "// coding: utf-7"),
        ("src/a.py", "coding = utf7"),
    ] {
        assert_eq!(first(path, line), [], "{path} {line}");
    }
    assert_eq!(found("src/a.py", "# coding: utf-7"), [], "only at the top");
    let hunk = |hunk: &str| {
        let text = format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n{hunk}");
        let findings = check("src/a.py", text.as_bytes());
        findings.iter().map(|finding| finding.line).collect::<Vec<_>>()
    };
    let moved_up = "@@ -1,4 +1,3 @@\n-#!/usr/bin/python\n # A tool.\n # coding: utf-7\n x = 1\n";
    assert_eq!(hunk(moved_up), [2], "a line above it is gone");
    let known = "@@ -1,3 +1,3 @@\n # A tool.\n # coding: utf-7\n-x = 1\n+x = 2\n";
    assert_eq!(hunk(known), [0; 0], "it declared the same before");
}

#[test]
fn the_name_of_a_file_can_show_another_one() {
    for path in [
        "src/\u{202e}yp.txt",
        "src/a\u{200b}.py",
        "src/\u{1b}[2Kb.py",
        "src/\u{43e}rders.py",
        "src/\u{430}\u{440}\u{435}.py",
        "src/\u{1d5c6}ain.py",
        "src/\u{1d5c6}\u{1d5ba}\u{1d5c2}\u{1d5c7}.py",
        "src/\u{ff4d}ain.py",
        "\u{fb01}le.py",
        ".gitl\u{430}b-ci.yml",
    ] {
        assert!(is_disguised_path(path), "{path:?}");
    }
    for path in [
        "src/a.py",
        "docs/שלום.md",
        "assets/👨\u{200d}👩\u{200d}👧.png",
        "docs/Привет.md",
        "docs/naïve_Übung.md",
        "docs/函数.md",
        "docs/λόγος.md",
    ] {
        assert!(!is_disguised_path(path), "{path:?}");
    }
}
