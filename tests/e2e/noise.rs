//! What leaves the diff, and what is said of it all the same.

use serde_json::json;

use crate::support::{Conclave, Repository, provider};

on_both_runtimes! {
    a_finding_of_the_rules_goes_the_way_of_all_findings_and_what_is_too_large_is_a_gap
    a_lock_file_alone_is_checked_without_a_model
}

const LOCK: &str = "version = 4

[[package]]
name = \"serde\"
version = \"1.0.0\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
checksum = \"aaaa\"
";

/// A repository whose branch `feature` moves a package of its lock file to another registry.
fn moved() -> Repository {
    let repository = Repository::new();
    repository.write("Cargo.lock", LOCK);
    repository.commit("Lock");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write("Cargo.lock", &LOCK.replace("rust-lang/crates.io-index", "evil/index"));
    repository
}

async fn a_finding_of_the_rules_goes_the_way_of_all_findings_and_what_is_too_large_is_a_gap() {
    let (provider, repository) = (provider().await, moved());
    repository.write("src/a.py", "def a():\n    return 1\n");
    repository.write("src/table.py", &format!("X = \"{}\"\n", "x".repeat(2 << 20)));
    repository.commit("Work");
    let outcome = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let review = outcome.review();
    assert_eq!(
        review["coverage"]["filtered"],
        json!([{"path": "Cargo.lock", "reason": "lock_file"}, {"path": "src/table.py", "reason": "too_large"}])
    );
    assert_eq!(review["coverage"]["reviewed"], json!(["src/a.py"]));
    assert_eq!(
        review["coverage"]["gaps"],
        json!(["src/table.py: too large to be read"])
    );
    assert_eq!(
        review["verdict"], "inconclusive",
        "nobody approves what nobody could read"
    );
    let entry = &review["findings"][0];
    assert_eq!(entry["finding"]["category"], "lock-file-registry");
    assert_eq!(
        (&entry["finding"]["file"], &entry["finding"]["line"]),
        (&json!("Cargo.lock"), &json!(6))
    );
    assert_eq!(entry["fate"], "kept");
    let asked = format!("{:?}", provider.requests());
    assert!(asked.contains("lock-file-registry"), "the coordinator was not told");
    assert!(outcome.stdout.contains("Cargo.lock:6"), "{}", outcome.stdout);
}

async fn a_lock_file_alone_is_checked_without_a_model() {
    let (provider, repository) = (provider().await, moved());
    repository.commit("Update the lock file");
    let outcome = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let review = outcome.review();
    assert_eq!(review["verdict"], "approved_with_comments");
    assert_eq!(outcome.categories(), ["lock-file-registry"]);
    assert_eq!(review["degraded"], json!(null));
    assert!(provider.requests().is_empty(), "a model was asked");
}
