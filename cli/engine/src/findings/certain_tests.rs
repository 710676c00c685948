//! Lines that run for certain, and lines that only look like it.

use super::*;

/// The doubt about the first line that holds this.
fn doubt(path: &str, text: &str, quoted: &str) -> Option<&'static str> {
    let at = text.lines().position(|line| line.contains(quoted)).expect("the line");
    let line = u32::try_from(at + 1).expect("few lines");
    doubt_about(path, path, text, line, line)
}

#[test]
fn ordinary_code_is_certain() {
    for (path, text, quoted) in [
        (
            "a.py",
            "import os\n\n\ndef a(x):\n    if x:\n        return None\n    return {\n        \"a\": check(x),\n    }\n",
            "check(x)",
        ),
        (
            "a.h",
            "#ifndef A_H\n#define A_H\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nint a(int x) {\n    if (!x)\n        return 0;\n    \
             do {\n        log(x);\n    } while (0);\n    check(x);\n    return 1;\n}\n#endif\n",
            "check(x)",
        ),
        (
            "a.ts",
            "export function a(x: X) {\n  switch (x.kind) {\n    case 'a':\n      return 1;\n    default:\n      check(x);\n  }\n}\n",
            "check(x)",
        ),
        (
            "a.js",
            "const a = `\n}\n`;\nfunction b(x) {\n  return db.query(\n    check(x),\n  );\n}\n",
            "check(x)",
        ),
        (
            "a.tsx",
            "const A = () => (\n  <ul title=\"x\">\n    {rows.map((row) => <li key={row.id} onClick={() => go(row)}>{row.name}</li>)}\n    \
             <br />\n  </ul>\n);\n\nfunction b<T,>(x: Foo<T>) {\n  check(x);\n}\n",
            "check(x)",
        ),
        (
            "a.rs",
            "#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n\nfn a(x: &'static str) -> bool {\n    let Some(y) = x.get() else { return \
             false };\n    let q = '{';\n    check(y)\n}\n",
            "check(y)",
        ),
        (
            "a.go",
            "package a\n\nfunc a(x X) error {\n\tif x.Bad() {\n\t\treturn errBad\n\t}\n\tq := [][]int{{1}}\n\tcheck(x, q)\n\treturn nil\n}\n",
            "check(x, q)",
        ),
        (
            "A.java",
            "class A {\n    String q = \"\"\"\n        a\n        \"\"\";\n\n    void a(X x) {\n        check(x);\n    }\n}\n",
            "check(x)",
        ),
        (
            "a.kt",
            "/** A. */\nfun a(x: X): X {\n    /* b */\n    check(x)\n    return x\n}\n",
            "check(x)",
        ),
        (
            "a.cs",
            "class A\n{\n#region a\n    void B(X x)\n    {\n        Check(x);\n    }\n#endregion\n}\n",
            "Check(x)",
        ),
        (
            "a.swift",
            "func a(x: X) throws {\n    guard x.ok else {\n        throw E.bad\n    }\n    check(x)\n}\n",
            "check(x)",
        ),
        (
            "a.rb",
            "class A\n  def a(x)\n    return unless x\n    raise ArgumentError,\n      \"no\" unless x.ok?\n    list << \"a b\"\n    \
             check(x)\n  end\nend\n",
            "check(x)",
        ),
        (
            "a.sh",
            "#!/bin/sh\nset -e\nif [ $# -eq 0 ]; then\n  echo no\n  exit 1\nfi\ncase $1 in\n  a) echo a; exit 2 ;;\nesac\nwhile true; \
             do\n  check \"$1\"\ndone\n",
            "check \"$1\"",
        ),
        ("run", "#!/bin/sh\ncheck \"$1\"\n", "check"),
        (
            "a.php",
            "<?php\nfunction a($x) {\n    if (!$x) {\n        return null;\n    }\n    check($x);\n}\n",
            "check($x)",
        ),
        (
            "a.tf",
            "resource \"a\" \"b\" {\n  block_public_acls = true\n}\n",
            "acls",
        ),
        (
            "ci.yml",
            "on: push\njobs:\n  a:\n    if: ${{ github.ref == 'x' }}\n    steps:\n      - name: b\n        uses: check@1\n",
            "uses",
        ),
        ("a.json", "{\n  \"verify\": true\n}\n", "verify"),
        ("Dockerfile", "FROM a\nUSER nobody\n", "USER"),
    ] {
        assert_eq!(doubt(path, text, quoted), None, "{path}: {text}");
    }
}

#[test]
fn texts_and_comments_that_look_like_code_are_not_certain() {
    for (path, text, reason) in [
        ("t/a.yaml", "kind: A\n{{- /*\ncheck: false\n*/}}\nx: 1\n", OF_TEMPLATE),
        ("a.html", "<p>\nThe {{order}} is in check\n</p>\n", OF_LANGUAGE),
        ("a.blade.php", "<p>\n{{-- check($x) --}}\n", OF_LANGUAGE),
        ("a.sql", "COMMENT ON TABLE a IS $$\ncheck (x > 0)\n$$;\n", OF_LANGUAGE),
        ("a.pl", "a;\n__END__\ncheck($x) or die;\n", OF_LANGUAGE),
        ("a.md", "The names are in check.\n", OF_LANGUAGE),
        ("ci.yml", "a:\n  script: |\n    check order\n", IN_TEXT),
        ("ci.yml", "v:\n  description: >-\n    Order: in check\n", IN_TEXT),
        ("ci.yml", "v:\n  a: \"as follows:\n    order: check\"\n", IN_TEXT),
        ("Dockerfile", "FROM a\nCOPY <<EOF /a\ncheck order\nEOF\n", IN_TEXT),
        ("a.ini", "a = b \\\n  order = check\n", IN_TEXT),
        ("a.php", "<?php\n?>\ncheck($x);\n", OF_PAGE),
        ("a.php", "<p>\n<?php\ncheck($x);\n", OF_PAGE),
        ("a.php", "<?php\n__halt_compiler();\ncheck($x);\n", OF_PAGE),
        (
            "A.java",
            "class A {\n String a = \"\"\"\n  \\\"\"\"\n check(x);\n\"\"\";\n}\n",
            BEHIND_TEXT,
        ),
        ("A.java", "\\u002f\\u002a\ncheck(x);\n*/\n", BEHIND_TEXT),
        (
            "a.cs",
            "class A {\n string a = \"\"\"\"\n\"\"\"\n check(x);\n\"\"\"\";\n}\n",
            BEHIND_TEXT,
        ),
        (
            "a.swift",
            "let b = #\"a \"\"\" b\"#\nlet a = \"\"\"\ncheck(x)\n\"\"\"\n",
            BEHIND_TEXT,
        ),
        ("a.swift", "/* /* a */\ncheck(x)\n*/\n", BEHIND_TEXT),
        ("a.kt", "/* /* a */\ncheck(x)\n*/\n", BEHIND_TEXT),
        ("a.c", "/\\\n/ x \\\ncheck(x);\n", BEHIND_TEXT),
        ("a.sh", "cat <<'A B'\ncheck x\nA B\n", BEHIND_TEXT),
        ("a.jsx", "const A = () => <p>\ncheck(x)\n</p>;\n", IN_MARKUP),
        ("a.tsx", "const A = () => (\n  <>\n    check(x)\n  </>\n);\n", IN_MARKUP),
    ] {
        assert_eq!(doubt(path, text, "check"), Some(reason), "{path}: {text}");
    }
}

#[test]
fn code_that_may_never_run_is_not_certain() {
    for (path, text, reason) in [
        ("a.c", "#ifdef NEVER\ncheck(x);\n#endif\n", OF_BUILD),
        ("a.c", "#if (0)\ncheck(x);\n#endif\n", OF_BUILD),
        (
            "a.cs",
            "class A {\n#if NEVER\n void a() { check(x); }\n#endif\n}\n",
            OF_BUILD,
        ),
        ("a.swift", "#if false\ncheck(x)\n#endif\n", OF_BUILD),
        ("a.rs", "#[cfg(any())]\nfn a() { check(x); }\n", OF_BUILD),
        (
            "a.rs",
            "#[cfg(any())]\nmod a {\nfn b() {\nc();\ncheck(x);\n}\n}\n",
            OF_BUILD,
        ),
        ("a.go", "//go:build never\n\npackage a\n\nvar b = check(x)\n", OF_BUILD),
        ("Makefile", "all:\nifeq (0,1)\n\tcheck x\nendif\n", OF_BUILD),
        ("a.c", "#define A(x) check(x)\n", OF_MACRO),
        ("a.rs", "macro_rules! a {\n    () => { check(x) };\n}\n", OF_MACRO),
        ("a.sh", "#!/bin/sh\nif false; then\ncheck x\nfi\n", OF_CONSTANT),
        ("a.py", "if 0:\n    check(x)\n", OF_CONSTANT),
        ("a.js", "if (false && x) {\n  check(x);\n}\n", OF_CONSTANT),
        ("a.rb", "check(x) if false\n", OF_CONSTANT),
        ("a.sh", "#!/bin/sh\nexit 0\ncheck x\n", BEHIND_EXIT),
        ("a.sh", "a\n  exit 0\ncheck x\n", BEHIND_EXIT),
        (
            "a.py",
            "def a(x):\n    return b(\n        x,\n    )\n    check(x)\n",
            BEHIND_EXIT,
        ),
        ("a.ts", "function a(x: X) {\n  throw x;\n  check(x);\n}\n", BEHIND_EXIT),
        (
            "a.ts",
            "function a(x: X) {\n  b();\n  return\n    check(x);\n}\n",
            BEHIND_EXIT,
        ),
    ] {
        assert_eq!(doubt(path, text, "check"), Some(reason), "{path}: {text}");
    }
}
