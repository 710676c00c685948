use super::*;

/// The part that runs of each line, without empty ones.
fn running(path: &str, content: &str) -> Vec<String> {
    let lines = code_lines(path, content).unwrap_or_else(|| panic!("{path} can be read"));
    assert_eq!(lines.len(), content.lines().count(), "{path}");
    let running = lines.iter().map(|line| line.runs.trim().to_owned());
    running.filter(|line| !line.is_empty()).collect()
}

#[test]
fn comments_do_not_run_in_any_language() {
    for (path, comment) in [
        ("a.py", "# check(order)"),
        ("a.py", "\"\"\"The caller\ncheck(order)\n\"\"\""),
        ("a.rs", "// check(order)"),
        ("a.rs", "/* a /* b */ check(order) */"),
        ("a.c", "// a \\\ncheck(order);"),
        ("a.c", "#if 0\ncheck(order);\n#endif"),
        ("a.rb", "=begin\ncheck(order)\n=end"),
        ("a.rb", "__END__\ncheck(order)"),
        ("a.pl", "=pod\n\ncheck(order)\n\n=cut"),
        ("a.bat", "REM check order"),
        ("a.ml", "(* check order *)"),
        ("a.pas", "{ check(order) }"),
        ("a.nim", "#[ check(order) ]#"),
        ("a.jl", "#=\ncheck(order)\n=#"),
        ("a.d", "/+ /+ a +/ check(order) +/"),
        ("a.lisp", "#|\n(check order)\n|#"),
        ("a.coffee", "###\ncheck order\n###"),
        ("a.vim", "\" check(order)"),
        ("a.html", "<!-- b\ncheck(order) -->"),
        ("a.html", "{# check(order) #}"),
        ("a.hbs", "{{!-- check(order) --}}"),
        ("a.sql", "-- check(order)"),
        ("Dockerfile", "# check order"),
        ("Dockerfile.test", "# check order"),
        ("a.m", "% check(order)"),
        ("a.m", "@implementation A\n// check(order)\n@end"),
        ("a.inc", "<?php\n// check(order)"),
        ("a.fs", "(* check order *)"),
        ("a.mjs", "/* check(order) */"),
        ("a.jsx", "// check(order)"),
        ("BUILD", "# check(order)"),
    ] {
        let running = running(path, comment);
        assert!(
            !running.iter().any(|line| line.contains("check")),
            "{path}: {running:?}"
        );
    }
}

#[test]
fn a_text_of_several_lines_does_not_run_and_what_is_behind_it_does() {
    for (path, text) in [
        ("a.py", "SQL = \"\"\"\ncheck(order)\n\"\"\"\nrun(order)"),
        ("a.py", "db.all(f'''\ncheck(order)\n''')\nrun(order)"),
        ("a.js", "const q = `\ncheck(order)\n`;\nrun(order);"),
        ("a.js", "const slash = /\\/*/;\nrun(order);"),
        ("a.go", "var q = `\ncheck(order)\n`\nvar x = run(order)"),
        (
            "a.rs",
            "const Q: &str = r#\"\ncheck(order)\n\"#;\nfn a() { run(order) }",
        ),
        ("a.rb", "sql = <<~SQL\n  check(order)\nSQL\nrun(order)"),
        ("a.sh", "cat <<EOF\ncheck order\nEOF\nrun order"),
        ("a.kt", "val q = \"\"\"\ncheck(order)\n\"\"\"\nval x = run(order)"),
        (
            "a.java",
            "String q = \"\"\"\n  check(order)\n  \"\"\";\n// three: \"\"\"\nrun(order);",
        ),
        ("a.cs", "var q = \"\"\"\n  check(order)\n  \"\"\".Trim(); run(order);"),
        ("a.cs", "var q = @\"\n  check(order)\n\";\nrun(order);"),
        ("a.swift", "let q = \"\"\"\n  check(order)\n\"\"\"\nrun(order)"),
        ("a.scala", "val q = \"\"\"\n  check(order)\n\"\"\"\nrun(order)"),
        ("a.dart", "var q = '''\n  check(order)\n''';\nrun(order);"),
        ("a.fs", "let q = \"\"\"\ncheck(order)\n\"\"\"\nlet x = run(order)"),
        ("a.ex", "q = \"\"\"\ncheck(order)\n\"\"\"\nrun(order)"),
        ("a.pl", "my $q = <<SQL;\ncheck(order)\nSQL\nrun(order);"),
        ("a.php", "<?php\n$q = <<<X\ncheck(order)\nX;\nrun(order);"),
        ("a.cpp", "auto q = R\"(\ncheck(order)\n)\";\nint x = run(order);"),
        ("a.lua", "q = [[\ncheck(order)\n]]\nrun(order)"),
        ("a.tf", "locals {\n q = <<EOT\ncheck(order)\nEOT\n}\nx = run(order)"),
    ] {
        let running = running(path, text);
        assert!(
            !running.iter().any(|line| line.contains("check")),
            "{path}: {running:?}"
        );
        assert!(running.iter().any(|line| line.contains("run")), "{path}: {running:?}");
    }
}

#[test]
fn imports_and_exports_do_not_run() {
    for (path, text) in [
        ("a.py", "from x import (\n    order,\n)"),
        ("a.js", "import {\n  order,\n} from 'x';"),
        ("a.js", "export { order } from 'x';"),
        ("a.js", "export * as order from 'x';"),
        ("a.ts", "export { order, db };"),
        ("a.js", "const order = await import('order');"),
        ("a.go", "import (\n\t\"order\"\n)"),
        ("a.rs", "use a::{\n    order,\n};"),
        ("a.lua", "local order = require 'order'"),
        ("a.ex", "alias Shop.{Order,\n  order}"),
        ("a.sh", "source order.sh"),
        ("a.py", "order = importlib.import_module('order')"),
        ("a.c", "#include \"order.h\""),
    ] {
        let running = running(path, text).into_iter().filter(|line| line.contains("order"));
        assert_eq!(running.collect::<Vec<_>>(), Vec::<String>::new(), "{path}: {text}");
    }
}

#[test]
fn code_runs_as_it_stands() {
    for (path, code) in [
        ("a.py", "def pay(order):\n    return int(order.id)"),
        ("a.js", "export function guard(order) {\n  return Number(order.id);\n}"),
        ("a.js", "export const check = (order) => int(order);"),
        (
            "a.ts",
            "export class A {\n  run(order: Order) { return check(order); }\n}",
        ),
        ("a.cs", "using (var scope = Begin())\n{\n    Check(order);\n}"),
        ("a.kt", "fun f(order: Int) {\n    require(order > 0)\n}"),
        ("a.sol", "function f(uint order) public {\n    require(order > 0);\n}"),
        ("a.rb", "module Shop\n  def a(order)\n    Integer(order.id)\n  end\nend"),
        ("a.tf", "module \"order\" {\n  encrypted = true\n}"),
        ("ci.yml", "job:\n  script: |\n    check order\n"),
        ("a.json", "{\n  \"id\": {\"type\": \"integer\"}\n}"),
        ("a.html", "<p>{{ order.name|escape }}</p>"),
        ("Dockerfile", "USER order"),
        ("run", "#!/bin/sh\ncheck \"$order\""),
    ] {
        let written: Vec<_> = code.lines().map(|line| line.trim().to_owned()).collect();
        let running = running(path, code);
        for line in written
            .iter()
            .filter(|line| line.contains("rder") && !line.starts_with("module"))
        {
            assert!(running.contains(line), "{path}: {running:?}");
        }
    }
}

#[test]
fn what_is_no_code_and_what_is_too_large_is_not_read() {
    let long = format!("x = '{}'\n", "x".repeat(1000)).repeat(MAX_WORK / 1_000_000);
    let large = "check(order)\n".repeat(MAX_FILE / 10);
    for (path, content) in [
        ("a.patch", "-check(order)"),
        ("a.diff", "-check(order)"),
        (".gitignore", "order"),
        ("CODEOWNERS", "order @team"),
        ("a.svg", "<svg><text>check(order)</text></svg>"),
        ("yarn.lock", "order@1:\n  version 1"),
        ("a.min.js", "check(order)"),
        ("vendor/a.go", "var x = check(order)"),
        ("a.csv", "order,check"),
        ("a.log", "check(order)"),
        ("a.unknown", "check(order)"),
        ("a.ps1", "check(order)"),
        ("a.inc", "; check(order)"),
        ("a.py", &long),
        ("a.py", &large),
    ] {
        assert_eq!(code_lines(path, content), None, "{path}");
    }
    let half = long.get(..long.len() / 2).expect("one byte a sign");
    assert!(code_lines("a.py", half).is_some());
}
