//! Who is given what.

use proptest::prelude::*;

use super::*;

fn name(name: &str) -> ReviewerName {
    ReviewerName::new(name).expect("a valid name")
}

fn panel(names: &[(&str, bool)]) -> Vec<(ReviewerName, bool)> {
    names.iter().map(|(text, required)| (name(text), *required)).collect()
}

fn full() -> Vec<(ReviewerName, bool)> {
    panel(&[
        ("security", true),
        ("correctness", true),
        ("performance", true),
        ("code_quality", true),
        ("documentation", false),
        ("agents_md", false),
        ("release", false),
    ])
}

#[test]
fn every_reviewer_gets_its_field() {
    let paths = [
        "src/a.rs",
        "README.md",
        "Cargo.toml",
        "db/migrations/1.sql",
        "tests/a.rs",
        "web/site.css",
    ];
    let fields = assign(&full(), &paths, &BTreeMap::new());
    let field = |reviewer: &str| fields[&name(reviewer)].clone();
    assert_eq!(field("security"), [0, 2, 3]);
    // The style sheet and the README are in no required reviewer's field: somebody required reads them all the same.
    assert_eq!(field("correctness"), [0, 1, 3, 5]);
    assert_eq!(field("performance"), [0, 3]);
    assert_eq!(field("code_quality"), [0, 4]);
    assert_eq!(field("documentation"), [0, 1]);
    assert_eq!(field("agents_md"), [2]);
    assert_eq!(field("release"), [2, 3]);
    let alone = assign(&panel(&[("generalist", true)]), &paths, &BTreeMap::new());
    assert_eq!(alone[&name("generalist")], [0, 1, 2, 3, 4, 5]);
    let own = assign(
        &panel(&[("house_rules", true), ("codex", true)]),
        &paths,
        &BTreeMap::new(),
    );
    assert!(own.values().all(|field| field.len() == paths.len()), "{own:?}");
}

proptest! {
    #[test]
    fn a_required_reviewer_reads_every_file(
        paths in proptest::collection::vec("[a-z.]{1,8}(/[a-zA-Z_.]{1,10}){0,2}(\\.(md|rs|sql|css|csv|yml|proto|json|txt))?", 1..30),
        members in proptest::sample::subsequence(ReviewerName::STANDING.to_vec(), 1..=11),
        optional in proptest::collection::vec(any::<bool>(), 11),
    ) {
        let panel: Vec<_> = members.iter().zip(optional).map(|(text, required)| (name(text), required)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let fields = assign(&panel, &paths, &BTreeMap::new());
        let some_required = panel.iter().any(|(_, required)| *required);
        for (position, path) in paths.iter().enumerate() {
            let read = panel.iter().any(|(name, required)| {
                (*required || !some_required) && fields[name].contains(&position)
            });
            prop_assert!(read, "{path} is nobody's");
        }
        // In order and once, so that the list can be written as ranges.
        for field in fields.values() {
            prop_assert!(field.is_sorted_by(|a, b| a < b));
        }
    }
}

#[test]
fn the_field_of_a_projects_own_reviewer_is_what_the_project_says() {
    let own = BTreeMap::from([(name("queries"), PathGlobs::new(&["*.sql"]).expect("a pattern"))]);
    let paths = ["src/main.rs", "q/users.sql", "README.md"];
    let fields = assign(&panel(&[("security", true), ("queries", false)]), &paths, &own);
    assert_eq!(fields[&name("queries")], [1]);
    // Nothing is left to it alone: it is optional here.
    assert_eq!(fields[&name("security")], [0, 1, 2]);
}
