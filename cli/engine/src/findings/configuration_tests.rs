//! Quotes of configuration, by the thing that they are about.

use conclave_shared::severity::Severity;

use super::*;
use crate::{
    findings::refutation::{QuotedFile, check_refutation},
    judge::test_support::finding as sample,
};

/// Returns whether this line of an unchanged file refutes a finding about that line of another one, or of the same.
fn refutes((accused_path, accused): (&str, &str), evidence: &str, (path, head): (&str, &str), quote: &str) -> bool {
    let number = |text: &str, line: &str| {
        let at = text.lines().position(|own| own == line).expect("the line");
        u32::try_from(at + 1).expect("few lines")
    };
    let finding = Finding {
        evidence: evidence.to_owned(),
        ..sample(
            "F1",
            Severity::Critical,
            "exposure",
            accused_path,
            number(accused, evidence),
        )
    };
    let file = QuotedFile {
        path,
        head,
        base: Some(head),
        change: None,
    };
    let line = number(head, quote.lines().next().expect("a line"));
    check_refutation(Some(accused), &finding, &[], file, line, quote).is_ok()
}

#[test]
fn in_terraform_the_block_counts_and_not_the_names_of_attributes() {
    let group = |name: &str, more: &str| {
        format!(
            "resource \"aws_security_group\" \"{name}\" {{\n  ingress {{\n    cidr_blocks = {more}\n    from_port = 22\n  }}\n  tags = local.tags\n}}\n"
        )
    };
    let open = "    cidr_blocks = [\"0.0.0.0/0\"]";
    let db = group("db", "[\"0.0.0.0/0\"]");
    let lb = group("lb", "[\"10.0.0.0/8\"]");
    let both = format!("{db}{lb}");
    let closed = "    cidr_blocks = [\"10.0.0.0/8\"]";
    assert!(!refutes(("s.tf", &db), open, ("net.tf", &lb), closed), "another group");
    assert!(
        !refutes(("s.tf", &both), open, ("s.tf", &both), closed),
        "another one in the file"
    );
    assert!(
        refutes(("s.tf", &db), open, ("s.tf", &db), "    from_port = 22"),
        "its own block"
    );
    let rule = "resource \"aws_security_group_rule\" \"x\" {\n  security_group_id = aws_security_group.db.id\n  type = \"egress\"\n}\n";
    let names = "  security_group_id = aws_security_group.db.id";
    assert!(
        refutes(("s.tf", &db), open, ("r.tf", rule), names),
        "a block that names it"
    );
    let by_variable = group("db", "var.allowed");
    let variable = |name: &str| {
        format!("variable \"{name}\" {{\n  validation {{\n    condition = alltrue(var.private)\n  }}\n}}\n")
    };
    let value = "    condition = alltrue(var.private)";
    for (name, expected) in [("allowed", true), ("other", false)] {
        let quoted = variable(name);
        let found = refutes(
            ("s.tf", &by_variable),
            "    cidr_blocks = var.allowed",
            ("v.tf", &quoted),
            value,
        );
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_dockerfile_refutes_in_its_own_stage_and_sql_behind_the_statement() {
    let image = "FROM a AS build\nUSER builder\nFROM a\nUSER root\nRUN make\nUSER nobody\n";
    let root = ("Dockerfile", image);
    assert!(refutes(root, "USER root", root, "USER nobody"));
    assert!(!refutes(root, "USER root", root, "USER builder"), "another stage");
    assert!(
        !refutes(root, "USER root", ("web.Dockerfile", image), "USER nobody"),
        "another image"
    );

    let grant = "REVOKE ALL ON orders FROM PUBLIC;\nGRANT ALL ON orders TO PUBLIC;\nREVOKE ALL ON orders FROM web;\n";
    let new = ("new.sql", grant);
    let accused = "GRANT ALL ON orders TO PUBLIC;";
    assert!(
        refutes(new, accused, new, "REVOKE ALL ON orders FROM web;"),
        "behind it"
    );
    assert!(
        !refutes(new, accused, new, "REVOKE ALL ON orders FROM PUBLIC;"),
        "before it"
    );
    assert!(
        !refutes(new, accused, ("old.sql", grant), "REVOKE ALL ON orders FROM web;"),
        "another file"
    );
    let query = "DELETE FROM orders WHERE total = 0;";
    let index = "CREATE UNIQUE INDEX by_total ON orders (total);";
    assert!(
        refutes(("q.sql", query), query, ("old.sql", index), index),
        "what it finds stands there"
    );
}

#[test]
fn a_key_of_another_file_is_a_word_of_the_schema_and_a_value_is_a_name() {
    let pay = "kind: Deployment\nspec:\n  privileged: true\n  user: {{ .Values.privileged }}\n";
    let web = "kind: Deployment\nprivileged: false\n";
    let accused = ("k/pay.yaml", pay);
    assert!(!refutes(
        accused,
        "  privileged: true",
        ("k/web.yaml", web),
        "privileged: false"
    ));
    assert!(refutes(
        accused,
        "  user: {{ .Values.privileged }}",
        ("k/values.yaml", web),
        "privileged: false"
    ));
}

#[test]
fn blocks_of_a_configuration_name_the_same_resource() {
    let named: Vec<_> = resources("  bucket = aws_s3_bucket.assets.id\n  region = var.region").collect();
    assert_eq!(named, [("aws_s3_bucket", "assets")]);
    let in_text: Vec<_> = resources("  arns = [\"${aws_s3_bucket.assets.arn}/*\"]").collect();
    assert_eq!(in_text, named);
}
