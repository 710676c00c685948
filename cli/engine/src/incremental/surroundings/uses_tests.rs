//! Calls that a change takes away, goes around, or turns to other code.

use super::*;
use crate::diff::{ChangeKind, FileDiff, decoded_patch};

const GUARD: &str = "src/util.py";
const GUARD_TEXT: &str = "import re\n\n\nclass Checks(Base):\n    @cached\n    def guard(self, order):\n        if not order.id.isdigit():\n            \
                          raise ValueError\n\n\ndef other(order):\n    return order\n";
/// The line with the check.
const CHECK: u32 = 7;

const CALLER: &str = "from util import guard\nimport log\n\nLIMIT = 3\n\n\ndef pay(order, db):\n    log.start(order)\n    guard(order)\n    \
                      total = order.total\n    return total\n\n\ndef free(order):\n    return 0\n";
const ACCUSED: &str = "    db.execute(\"DELETE FROM a WHERE id = \" + order.id)";

fn used_as(accused: &str) -> UsedAs {
    let file = QuotedFile {
        path: GUARD,
        head: GUARD_TEXT,
        base: Some(GUARD_TEXT),
        change: None,
    };
    UsedAs::of(file, (CHECK, CHECK + 1), accused)
}

/// The line in which the change of a file alters how the check is used.
fn altered(accused: &str, path: &str, base: Option<&str>, head: &str) -> Option<u32> {
    let kind = if base.is_none() {
        ChangeKind::Added
    } else {
        ChangeKind::Modified
    };
    let mut change = FileDiff {
        path: path.to_owned(),
        old_path: path.to_owned(),
        kind,
        ..FileDiff::default()
    };
    let decoded = decoded_patch(&change, (None, None), base.unwrap_or_default(), head, 1 << 20);
    change.lines = decoded.expect("a patch").lines;
    used_as(accused).altered_in(QuotedFile {
        path,
        head,
        base,
        change: Some(&change),
    })
}

fn replaced(old: &str, new: &str) -> String {
    let head = CALLER.replacen(old, new, 1);
    assert_ne!(head, CALLER, "{old}");
    head
}

#[test]
fn a_call_that_goes_that_is_gone_around_or_that_is_another_one_alters_the_use() {
    for (old, new, line) in [
        ("    guard(order)\n", "", 9),
        ("    guard(order)\n", "    # guard(order)\n", 9),
        ("    guard(order)\n", "    if False:\n        guard(order)\n", 9),
        (
            "    guard(order)\n    total = order.total\n",
            "    total = order.total\n    guard(order)\n",
            10,
        ),
        ("    guard(order)\n", "    guard(other)\n", 9),
        ("    log.start(order)\n", "    log.start(order)\n    return 0\n", 10),
        ("    log.start(order)\n", "    order = copy(order)\n", 9),
        ("from util import guard\n", "from fakes import guard\n", 1),
        ("from util import guard\n", "import util\n", 1),
        ("LIMIT = 3\n", "LIMIT = 3\nguard = print\n", 5),
        ("LIMIT = 3\n", "def guard(order):\n    pass\n", 4),
        ("LIMIT = 3\n", "LIMIT = 3\nutil.guard = print\n", 5),
        ("LIMIT = 3\n", "setattr(util, \"guard\", print)\n", 4),
        ("LIMIT = 3\n", "class Checks:\n    pass\n", 4),
    ] {
        let head = replaced(old, new);
        assert_eq!(
            altered(ACCUSED, "src/calc.py", Some(CALLER), &head),
            Some(line),
            "{head}"
        );
    }
    // The whole file goes.
    assert_eq!(altered(ACCUSED, "src/calc.py", Some(CALLER), ""), Some(1));
    // A type that has it by another name.
    let base = "class Shop(Checks):\n    pass\n";
    assert_eq!(
        altered(ACCUSED, "src/shop.py", Some(base), "class Shop:\n    pass\n"),
        Some(1)
    );
    // Another type has it.
    let evil = "class Shop(Parent):\n    def guard(self, order):\n        pass\n";
    assert_eq!(altered(ACCUSED, "src/shop.py", None, evil), Some(2));
    // The import of a file for what it does.
    let base = "import util\n\nrun()\n";
    assert_eq!(altered(ACCUSED, "src/start.py", Some(base), "run()\n"), Some(1));
}

#[test]
fn more_calls_and_what_is_done_elsewhere_leave_it_as_it_was() {
    for (old, new) in [
        (
            "    total = order.total\n",
            "    db.execute(\"DELETE FROM a WHERE id = \" + order.id)\n",
        ),
        (
            "    return 0\n",
            "    guard(order)\n    db.execute(\"DELETE FROM a WHERE id = \" + order.id)\n",
        ),
        ("    return 0\n", "    if guard(order) == 3:\n        return 0\n"),
        ("import log\n", "import log, re\n"),
        ("LIMIT = 3\n", "LIMIT = 4\n"),
    ] {
        let head = replaced(old, new);
        assert_eq!(altered(ACCUSED, "src/calc.py", Some(CALLER), &head), None, "{head}");
    }
    let added = "from util import guard\n\n\ndef drop(order):\n    guard(order)\n";
    assert_eq!(altered(ACCUSED, "src/drop.py", None, added), None);
}

#[test]
fn what_the_accused_code_calls_itself_is_for_the_finding() {
    let head = replaced("    guard(order)\n", "    guard(order, db)\n");
    assert_eq!(
        altered("    guard(order, db)", "src/calc.py", Some(CALLER), &head),
        None
    );
}

#[test]
fn a_file_is_imported_by_its_name_or_its_directorys() {
    for (path, name) in [
        ("src/util.py", "util"),
        ("util.test.js", "util"),
        ("src/util/index.ts", "util"),
        ("src/util/__init__.py", "util"),
        ("main.go", "main"),
    ] {
        assert_eq!(import_name(path), name, "{path}");
    }
}

#[test]
fn where_there_are_too_many_calls_to_compare_the_use_counts_as_altered() {
    let base = format!(
        "LIMIT = 3\n\n\ndef pay(order):\n{}",
        "    guard(order)\n".repeat(MAX_CALLS + 1)
    );
    let head = base.replace("LIMIT = 3", "LIMIT = 4");
    assert!(altered(ACCUSED, "src/calc.py", Some(&base), &head).is_some());
    let one_less = |text: &str| text.replacen("    guard(order)\n", "", 1);
    assert_eq!(
        altered(ACCUSED, "src/calc.py", Some(&one_less(&base)), &one_less(&head)),
        None
    );
}

/// The line in which a new file alters how a guard of another one is used, of which this line is quoted.
fn altered_by_new(guard: (&str, &str, &str), accused: &str, (path, head): (&str, &str)) -> Option<u32> {
    altered_by(guard, accused, (path, "", head))
}

/// The line in which a change of a file from one text to another alters how the quoted line is used.
fn altered_by(guard: (&str, &str, &str), accused: &str, (path, base, head): (&str, &str, &str)) -> Option<u32> {
    let (guard_path, text, quoted) = guard;
    let at = text
        .lines()
        .position(|line| line.contains(quoted))
        .expect("the quoted line");
    let line = u32::try_from(at + 1).expect("few lines");
    let file = QuotedFile {
        path: guard_path,
        head: text,
        base: Some(text),
        change: None,
    };
    let mut change = FileDiff {
        path: path.to_owned(),
        old_path: path.to_owned(),
        kind: ChangeKind::Added,
        ..FileDiff::default()
    };
    if !base.is_empty() {
        change.kind = ChangeKind::Modified;
    }
    change.lines = decoded_patch(&change, (None, None), base, head, 1 << 20)
        .expect("a patch")
        .lines;
    UsedAs::of(file, (line, line), accused).altered_in(QuotedFile {
        path,
        head,
        base: (!base.is_empty()).then_some(base),
        change: Some(&change),
    })
}

const MODEL: (&str, &str, &str) = (
    "base.py",
    "class Model:\n    PATTERN = \"[a-z]+\"\n\n    def clean(self):\n        if not self.is_good(self.slug, self.PATTERN):\n            raise ValueError\n",
    "is_good",
);

#[test]
fn a_parameter_of_the_guards_type_uses_it() {
    let rust = (
        "src/id.rs",
        "pub struct Slug(String);\n\nimpl Slug {\n    pub fn parse(raw: &str) -> Self {\n        check(raw);\n    }\n}\n",
        "check(raw)",
    );
    let order = ("t.ts", "export interface Order {\n  amount: number;\n}\n", "amount");
    for (guard, path, head) in [
        (
            MODEL,
            "m.py",
            "def path(model: Model, more: list[Model] = ()) -> Model:\n    return model\n",
        ),
        (MODEL, "m.py", "def path(\n    model: Model,\n):\n    return model\n"),
        (
            rust,
            "h.rs",
            "pub fn get(slug: &Slug, all: Vec<Slug>) -> Option<Slug> {\n    let other: Slug = slug.clone();\n}\n",
        ),
        (
            rust,
            "h.rs",
            "pub async fn get(raw: &str) {\n    let slug = Slug::parse(raw);\n}\n",
        ),
        (
            order,
            "p.ts",
            "import type { Order } from \"./t\";\n\nexport const drop = (order: Order): Order => order;\n",
        ),
        (
            order,
            "p.ts",
            "export default async function drop(order: Order): Promise<Order> {\n  const other: Order = order;\n}\n",
        ),
        (
            order,
            "p.go",
            "func drop(o Order) (Order, error) {\n\treturn o, nil\n}\n",
        ),
        (
            order,
            "p.go",
            "func (o *Order) Total(in []Order) int {\n\treturn 0\n}\n",
        ),
        (
            order,
            "p.php",
            "<?php\nfunction drop(Order $order): Order {\n    return $order;\n}\n",
        ),
        (order, "p.kt", "fun drop(order: Order): Order =\n    order\n"),
        (
            order,
            "p.kt",
            "class P(private val order: Order = Order()) {\n    fun total() = order.amount\n}\n",
        ),
        (
            order,
            "p.kt",
            "class P @Inject constructor(private val order: Order) {\n}\n",
        ),
        (order, "P.cs", "public class P(Order order)\n{\n}\n"),
        (order, "P.java", "record P(Order order) {\n}\n"),
        (
            order,
            "P.cs",
            "class P\n{\n    private readonly Order _order;\n\n    public object Total(string raw) => Order.Of(raw);\n}\n",
        ),
        (
            order,
            "p.php",
            "<?php\nclass P\n{\n    public function __construct(private Order $order) {}\n}\n",
        ),
        (
            MODEL,
            "m.py",
            "def path(raw: str, model: Model = Depends(make)) -> Model:\n    return model\n",
        ),
        (
            order,
            "P.cs",
            "class P\n{\n    void Drop(List<Order> all, Order order)\n    {\n    }\n}\n",
        ),
    ] {
        assert_eq!(altered_by_new(guard, "open(x)", (path, head)), None, "{head}");
    }
}

#[test]
fn a_new_subclass_may_do_without_the_guard_and_a_method_of_an_old_one_uses_it() {
    let base = (
        "Base.java",
        "abstract class Base {\n    void guard(Order order) {\n        check(order.id);\n    }\n}\n",
        "check(order.id)",
    );
    for (guard, path, header, body) in [
        (
            MODEL,
            "m.py",
            "class Page(Model):\n",
            "    def path(self):\n        return open(self.slug)\n",
        ),
        (
            MODEL,
            "m.py",
            "class Page(Loose, Model):\n",
            "    def path(self):\n        return open(self.slug)\n",
        ),
        (MODEL, "m.rb", "class Page < Model\n", "  def path\n  end\nend\n"),
        (
            base,
            "Pay.java",
            "class Pay extends Base {\n",
            "    void drop(Order order) {\n        guard(order);\n    }\n}\n",
        ),
        (
            base,
            "pay.ts",
            "export class Pay extends Base {\n",
            "  drop(order: Order) {\n    this.guard(order);\n  }\n}\n",
        ),
        (
            base,
            "P.cs",
            "class P : Base\n",
            "{\n    void Drop(Order order)\n    {\n    }\n}\n",
        ),
    ] {
        let head = format!("{header}{body}");
        assert_eq!(altered_by_new(guard, "open(x)", (path, &head)), Some(1), "{head}");
        assert_eq!(altered_by(guard, "open(x)", (path, header, &head)), None, "{head}");
    }
    let header = "class Page(\n    Model,\n):\n";
    let head = format!("{header}    def path(self):\n        return open(self.slug)\n");
    assert_eq!(altered_by_new(MODEL, "open(x)", ("m.py", &head)), Some(2), "{head}");
}

#[test]
fn a_subclass_that_goes_around_the_guard_alters_its_use() {
    let header = "class Page(Model):\n";
    for (accused, member) in [
        // The guard itself, also where the accused code calls it.
        ("open(x)", "    def clean(self):\n        pass\n"),
        ("self.clean()\nopen(self.slug)", "    def clean(self):\n        pass\n"),
        // What the guard goes by.
        (
            "open(x)",
            "    def is_good(self, slug, pattern):\n        return True\n",
        ),
        ("open(x)", "    PATTERN = \".*\"\n"),
        ("open(x)", "    PATTERN: str = \".*\"\n"),
        ("open(x)", "    @csrf_exempt\n    def post(self):\n        pass\n"),
        (
            "open(x)",
            "    def __getattribute__(self, name):\n        return noop\n",
        ),
        ("open(x)", "    reset_callbacks :process_action\n"),
        ("open(x)", "    include Loose\n"),
        ("open(x)", "    x = Object.assign(Page.prototype, {})\n"),
        (
            "class Page(Model):\n    def post(self):",
            "    skip_before_action = 1\n",
        ),
    ] {
        let head = format!("{header}{member}");
        assert_eq!(altered_by(MODEL, accused, ("m.py", header, &head)), Some(2), "{head}");
        let elsewhere = format!("class Page(Other):\n{member}");
        let is_own = member.contains("clean");
        assert_eq!(
            altered_by_new(MODEL, "open(x)", ("m.py", &elsewhere)).is_some(),
            is_own,
            "{elsewhere}"
        );
    }
    for (path, head) in [
        (
            "Page.java",
            "class Page extends Model {\n    boolean is_good(String a, String b) { return true; }\n}\n",
        ),
        (
            "page.ts",
            "class Page extends Model {\n  is_good(a, b) { return true; }\n}\n",
        ),
        (
            "page.rs",
            "impl Model for Page {\n    fn is_good(&self) -> bool {\n        true\n    }\n}\n",
        ),
    ] {
        let header = &head[..=head.find('\n').expect("a line")];
        assert_eq!(altered_by(MODEL, "open(x)", (path, header, head)), Some(2), "{head}");
    }
}

#[test]
fn an_argument_can_set_the_guards_name() {
    let guard = (GUARD, GUARD_TEXT, "isdigit");
    let call = ("a.rb", "run(check: guard = noop)\n");
    assert_eq!(altered_by_new(guard, "db.run(order.id)", call), Some(1));
}

#[test]
fn another_thing_under_the_guards_name_alters_its_use() {
    let guard = (GUARD, GUARD_TEXT, "isdigit");
    for accused in ["db.run(order.id)", "guard(order)\ndb.run(order.id)"] {
        for (path, line) in [
            ("a.py", "from fakes import guard"),
            ("a.py", "from util import noop as guard"),
            ("a.py", "def guard(order): pass"),
            ("a.py", "def drop(order, guard):"),
            ("a.py", "with noop() as guard:"),
            ("a.py", "except Failure as guard:"),
            ("a.py", "def drop(order, guard=noop):"),
            ("a.py", "drop = lambda guard: guard(1)"),
            ("a.py", "class guard(Base):"),
            ("a.ts", "import { guard } from \"./fakes\";"),
            ("a.ts", "import type { guard } from \"./fakes\";"),
            ("a.ts", "export default function drop({ check: guard }: Checks) {"),
            ("a.ts", "const drop = (order, guard) => guard(order);"),
            ("a.ts", "  drop(order, guard) {"),
            ("a.ts", "  function guard(order) {}"),
            ("a.ts", "const guard = () => {};"),
            ("a.go", "func drop(o Order, guard Guard) error {"),
            ("a.go", "func drop(o Order) (guard Guard, err error) {"),
            ("a.go", "func (t *T) guard(o Order) error {"),
            ("A.java", "    void guard(Order order) {}"),
            ("A.java", "    void drop(Order order, Guard guard) {"),
            ("a.rb", "  def self.guard(order)"),
            ("a.rb", "  def drop order, guard"),
            ("a.rs", "pub async fn guard(order: &Order) {"),
            ("a.rs", "pub fn drop(guard: impl Fn(Order)) {"),
        ] {
            let head = format!("{line}\n");
            assert_eq!(altered_by_new(guard, accused, (path, &head)), Some(1), "{line}");
        }
    }
    for (module, line) in [("fakes", Some(1)), ("util", None)] {
        let head = format!("from {module} import *\n\nguard(order)\n");
        assert_eq!(altered_by_new(guard, "db.run(1)", ("a.py", &head)), line, "{head}");
    }
    for (path, line) in [
        ("a.ts", "type Checks = { a: 1 };"),
        ("a.ts", "import { Checks } from \"./fakes\";"),
        ("a.ts", "function drop<Checks>(order) {"),
        ("a.js", "function drop(Checks) {"),
        ("a.rs", "impl Checks {"),
        ("a.rs", "impl From<String> for Checks {"),
        ("a.go", "type Checks struct{}"),
        ("a.rb", "module Checks"),
    ] {
        let head = format!("{line}\n");
        assert_eq!(altered_by_new(guard, "db.run(1)", (path, &head)), Some(1), "{line}");
    }
}

#[test]
fn names_in_calls_and_values_are_used() {
    let guard = (GUARD, GUARD_TEXT, "isdigit");
    for (path, line) in [
        ("a.py", "    if guard(order) is None:"),
        ("a.py", "def drop(order, check=None, other=1): return guard(order)"),
        ("a.py", "    total = guard(order)"),
        ("a.py", "from src.util import guard"),
        ("a.ts", "app.use(\"/users\", guard, (request) => {"),
        ("a.ts", "wrap(guard, async () => {"),
        ("a.ts", "const total = await guard(order, {"),
        ("a.ts", "  guard(order);"),
        ("a.ts", "if (guard) {"),
        ("a.ts", "orders.map((order) => guard(order));"),
        ("A.java", "    boolean ok = guard(order);"),
        ("A.java", "    return guard(order);"),
        ("a.php", "    $this->guard($order);"),
        ("a.php", "    Util::guard($order);"),
        ("a.rb", "  before_action :guard"),
    ] {
        let head = format!("{line}\n  more\n");
        assert_eq!(altered_by_new(guard, "db.run(1)", (path, &head)), None, "{line}");
    }
}
