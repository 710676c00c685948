//! Names that lines declare, and names that they only use.

use super::*;

#[test]
fn lines_define_names() {
    for (line, names) in [
        ("def guard(order):", "guard"),
        ("def self.guard", "guard"),
        ("def guard", "guard"),
        ("async def guard(", "guard"),
        ("func (s *Service) Guard(o Order) error {", "Guard"),
        ("fun Order.guard() {", "guard"),
        ("pub(crate) fn guard<T>(order: &T) -> bool {", "guard"),
        ("export const guard = (order) => {", "guard"),
        ("guard(order) {", "guard"),
        ("public static Order guard(Order order) {", "guard"),
        ("guard() {", "guard"),
        ("sub guard {", "guard"),
        ("CREATE FUNCTION guard(id text)", "guard"),
        ("class Orders < Base", "Orders"),
        ("class Orders(Base):", "Orders"),
        ("impl Display for Orders {", "Display"),
        ("LIMIT = 3", "LIMIT"),
        ("if allowed(order):", ""),
        ("app.get(\"/x\", (request) => {", ""),
        ("    return order", ""),
    ] {
        assert_eq!(defined_names(line).join(" "), names, "{line}");
    }
}

#[test]
fn lines_have_the_name_that_they_give_a_meaning() {
    for (line, name) in [
        ("def checked(name):", Some("checked")),
        ("static int check(char *x)", Some("check")),
        ("check() {", Some("check")),
        ("checked = lambda x: x", Some("checked")),
        ("const NAME: &str = \"x\";", Some("NAME")),
        ("permissions: read", Some("permissions")),
        ("app.get(\"/x\", (request) => {", None),
        ("describe(\"x\", () => {", None),
        ("std::run(x)", None),
        ("return x", None),
    ] {
        assert_eq!(given_name(line), name, "{line}");
    }
}

#[test]
fn a_line_made_to_cost_time_is_not_taken_apart() {
    let long = "guard(a, ".repeat(100_000);
    assert!(declares(&long, "guard", Syntax::Script, true) && derives(&long, "guard", Syntax::Script));
    assert!(!declares(&long, "other", Syntax::Script, true));
}

#[test]
fn lines_declare_some_names_and_use_others() {
    for (path, line, declared, used) in [
        (
            "a.go",
            "func (s *Service) Guard(o Order) error {",
            "Guard o",
            "Service Order error",
        ),
        ("a.rb", "def self.guard", "guard", "self"),
        ("a.kt", "fun Order.total(): Sum {", "total", "Order Sum"),
        (
            "a.rs",
            "pub async fn guard(order: &Order) -> Found {",
            "guard",
            "Order Found",
        ),
        ("a.java", "class A extends B {", "A", "B"),
        (
            "a.ts",
            "export default function drop(order: Order) {",
            "drop order",
            "Order",
        ),
        ("a.ts", "const drop = async (order: Order) => {", "order drop", "Order"),
        ("a.rs", "impl Guarded for Order {", "Order", "Guarded"),
        ("a.c", "int drop(struct order *one) {", "drop one", "order"),
        ("a.cs", "enum class Order : int {", "Order", "int"),
        (
            "a.php",
            "function drop(Order|null $order): Found {",
            "drop order",
            "Order Found",
        ),
        ("a.ex", "defp guard(order) do", "guard order", ""),
    ] {
        let declares = |name: &str| declares(line, name, Syntax::of(path), true);
        for name in declared.split_whitespace() {
            assert!(declares(name), "{line}: {name}");
        }
        for name in used.split_whitespace() {
            assert!(!declares(name), "{line}: {name}");
        }
    }
}
