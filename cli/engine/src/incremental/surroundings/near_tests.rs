//! Guards of accused code that share no name with it, and code that has nothing to do with it.

use conclave_shared::severity::Severity;

use super::*;
use crate::judge::test_support::finding as sample;

const PYTHON: &str = "@admin\ndef purge(request):\n    if not staff(request):\n        raise Denied\n    Order.all().delete()\n    log(1)\n\n\ndef other():\n    go()\n";
const SCRIPT: &str = "export async function purge(ctx) {\n  if (!ctx.user.isAdmin) throw new Forbidden();\n  await db.order.deleteMany();\n}\n";
const JAVA: &str = "@RolesAllowed(\"admin\")\nclass Users {\n    int count;\n\n    @Transactional\n    void purge(long id) {\n        users.deleteAll();\n    }\n}\n";
const RUBY: &str = "class Posts < Base\n  before_action :require_admin\n  LIMIT = 3\n\n  def destroy\n    Post.find(1).destroy\n  end\nend\n";
const GO: &str = "package a\n\nfunc price(ord *Order) int {\n\treturn ord.Total * 2\n}\n";
const IMAGE: &str = "FROM node:20\nUSER app\nCMD [\"node\"]\nEXPOSE 80\n";
const PIPELINE: &str =
    "test:\n  only: main\ndeploy:\n  rules:\n    - if: $PROTECTED\n  script:\n    - ./deploy.sh\n  when: manual\n";
const DATA: &str = "{\n  \"first\": 1,\n  \"second\": 2\n}\n";

/// The place of some code in a text, from 1.
fn place(text: &str, code: &str) -> (u32, u32) {
    let before = text.split(code).next().expect("a text");
    assert!(text.contains(code), "{code}");
    let number = |lines: usize| u32::try_from(lines).expect("few lines");
    let line = number(before.matches('\n').count() + 1);
    (line, line + number(code.matches('\n').count()))
}

fn is_near_to(path: &str, text: &str, accused: &str, (other, quoting): (&str, &str), code: &str) -> bool {
    let finding = Finding {
        evidence: accused.to_owned(),
        ..sample("F1", Severity::Critical, "authorization", path, place(text, accused).0)
    };
    let (line, end_line) = place(quoting, code);
    let quoted = Refuting {
        line,
        end_line,
        code: code.to_owned(),
        is_of_this_change: false,
    };
    let file = QuotedFile {
        path: other,
        head: quoting,
        base: Some(quoting),
        change: None,
    };
    is_near(text, &finding, file, &quoted)
}

#[test]
fn a_guard_around_the_accused_line_has_to_do_with_it() {
    let guard = "    if not staff(request):\n        raise Denied";
    let header = "@admin\ndef purge(request):";
    let (delete, java, ruby) = (
        "    Order.all().delete()",
        "        users.deleteAll();",
        "    Post.find(1).destroy",
    );
    let (command, job) = ("CMD [\"node\"]", "    - ./deploy.sh");
    for (path, text, accused, code) in [
        // In front of it in its function.
        ("a.py", PYTHON, delete, guard),
        (
            "a.ts",
            SCRIPT,
            "  await db.order.deleteMany();",
            "  if (!ctx.user.isAdmin) throw new Forbidden();",
        ),
        // Its header and a mark of it.
        ("a.py", PYTHON, delete, header),
        ("a.py", PYTHON, "def purge(request):", "@admin"),
        ("A.java", JAVA, java, "    @Transactional\n    void purge(long id) {"),
        // The same of its type, and what that has run before its methods.
        ("A.java", JAVA, java, "@RolesAllowed(\"admin\")\nclass Users {"),
        ("a.rb", RUBY, ruby, "class Posts < Base\n  before_action :require_admin"),
        ("Dockerfile", IMAGE, command, "USER app"),
        (".gitlab-ci.yml", PIPELINE, job, "    - if: $PROTECTED"),
    ] {
        assert!(is_near_to(path, text, accused, (path, text), code), "{path}: {code}");
    }
    // Behind it, in another function, or another member or job.
    for (path, text, accused, code) in [
        ("a.py", PYTHON, delete, "    log(1)"),
        ("a.py", PYTHON, "    go()", guard),
        ("a.py", PYTHON, "    go()", header),
        ("A.java", JAVA, java, "    int count;"),
        ("a.rb", RUBY, ruby, "  LIMIT = 3"),
        ("Dockerfile", IMAGE, command, "EXPOSE 80"),
        (".gitlab-ci.yml", PIPELINE, job, "  only: main"),
        (".gitlab-ci.yml", PIPELINE, job, "  when: manual"),
        ("a.json", DATA, "  \"second\": 2", "  \"first\": 1,"),
    ] {
        assert!(!is_near_to(path, text, accused, (path, text), code), "{path}: {code}");
    }
}

#[test]
fn a_line_that_names_the_function_of_the_accused_line_has_to_do_with_it() {
    let python = ("a.py", PYTHON, "    Order.all().delete()");
    let script = ("a.ts", SCRIPT, "  await db.order.deleteMany();");
    let go = ("p.go", GO, "\treturn ord.Total * 2");
    for ((path, text, accused), other, quoting, code, expected) in [
        (
            python,
            "urls.py",
            "urls = [\n    path(\"x/\", admin_required(views.purge)),\n]\n",
            "    path(\"x/\", admin_required(views.purge)),",
            true,
        ),
        (
            script,
            "r.ts",
            "router.delete(\"/orders\", requireAdmin, purge);\n",
            "router.delete(\"/orders\", requireAdmin, purge);",
            true,
        ),
        (
            go,
            "c.go",
            "package a\n\nfunc run(o *Order) {\n\tif o == nil {\n\t\treturn\n\t}\n\tprice(o)\n}\n",
            "\tif o == nil {\n\t\treturn\n\t}\n\tprice(o)",
            true,
        ),
        // A function of the same name, a value of it, a comment, and other names.
        (
            python,
            "b.py",
            "def purge(orders):\n    keep(orders)\n",
            "def purge(orders):",
            false,
        ),
        (python, "b.py", "def run():\n    purge = 3\n", "    purge = 3", false),
        (python, "b.py", "keep(1)  # purge\n", "keep(1)  # purge", false),
        (
            go,
            "c.go",
            "package a\n\nfunc run(o *Order) {\n\tprices(o)\n}\n",
            "\tprices(o)",
            false,
        ),
    ] {
        assert_eq!(
            is_near_to(path, text, accused, (other, quoting), code),
            expected,
            "{other}: {code}"
        );
    }
}

#[test]
fn lines_that_are_gone_have_no_place_at_head() {
    let finding = Finding {
        evidence: "    removed(request)".to_owned(),
        ..sample("F1", Severity::Critical, "authorization", "a.py", 5)
    };
    let quoted = Refuting {
        line: 3,
        end_line: 4,
        code: String::new(),
        is_of_this_change: false,
    };
    let file = QuotedFile {
        path: "a.py",
        head: PYTHON,
        base: Some(PYTHON),
        change: None,
    };
    assert!(!is_near(PYTHON, &finding, file, &quoted));
}
