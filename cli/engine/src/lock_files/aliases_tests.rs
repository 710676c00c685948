//! Packages of npm that are installed under other names.

use super::{ChangedLockFile, check, tests::claims};

/// A lock file of npm: names, each with the package and the version that are installed under it.
fn npm(installed: &[(&str, &str, &str)]) -> String {
    let package = |(name, package, version): &(&str, &str, &str)| {
        let bare = package.rsplit('/').next().unwrap_or_default();
        format!(
            "\"node_modules/{name}\": {{\"name\": \"{package}\", \"version\": \"{version}\", \"resolved\": \
             \"https://registry.npmjs.org/{package}/-/{bare}-{version}.tgz\", \"integrity\": \"sha512-A\"}}"
        )
    };
    let packages: Vec<String> = installed.iter().map(package).collect();
    format!(
        "{{\"lockfileVersion\": 3, \"packages\": {{\n{}\n}}}}\n",
        packages.join(",\n")
    )
}

const PLAIN: (&str, &str, &str) = ("a", "a", "1.0.0");

#[test]
fn an_alias_that_says_which_package_it_is_brings_no_finding_and_any_other_one_does() {
    let base = npm(&[PLAIN]);
    for alias in [
        ("string-width-cjs", "string-width", "4.2.3"),
        ("@s/x-esm", "@s/x", "1.0.0"),
        ("react17", "react", "17.0.2"),
        ("uuid-v4", "uuid", "4.0.0"),
        ("vue-2", "vue", "2.7.16"),
    ] {
        assert_eq!(claims("package-lock.json", &base, &npm(&[PLAIN, alias])), [""; 0]);
    }
    for alias in [
        ("lodash", "evil", "4.17.21"),
        ("string-width-cjs", "evil", "4.2.3"),
        ("string-width-cjs", "string", "4.2.3"),
        ("lodash", "lodash-cjs", "1.0.0"),
        ("web3", "web", "1.0.0"),
        ("react17", "react", "18.0.0"),
        ("react-evil", "react", "17.0.2"),
        ("@s/x-cjs", "x", "1.0.0"),
    ] {
        let claims = claims("package-lock.json", &base, &npm(&[PLAIN, alias]));
        let (name, package, version) = alias;
        let expected = format!("What is installed as `{name}` is another package: `{package}` in version `{version}`.");
        assert_eq!(claims, [expected]);
    }
    let yarn = |name: &str| {
        format!(
            "# yarn lockfile v1\n\n\"{name}@npm:string-width@^4.2.0\":\n  version \"4.2.3\"\n  resolved \
             \"https://registry.yarnpkg.com/string-width/-/string-width-4.2.3.tgz\"\n  integrity sha512-A\n"
        )
    };
    assert_eq!(
        claims("yarn.lock", "# yarn lockfile v1\n", &yarn("string-width-cjs")),
        [""; 0]
    );
    assert_eq!(
        claims("yarn.lock", "# yarn lockfile v1\n", &yarn("string-length")).len(),
        1
    );
}

#[test]
fn an_alias_in_the_place_of_another_package_is_found_whatever_its_name() {
    let bun = |id: &str| format!("{{\"packages\": {{\n\"react17\": [\"{id}\", \"\", {{}}, \"sha512-A\"]}}}}\n");
    assert_eq!(
        claims("bun.lock", &bun("react17@1.0.0"), &bun("react@17.0.2")),
        ["What is installed as `react17` is another package: `react` in version `17.0.2`."]
    );
    assert_eq!(
        claims("bun.lock", "{}", &bun("react@17.0.2")),
        [""; 0],
        "nothing had the name"
    );
}

#[test]
fn aliases_of_one_lock_file_are_one_finding() {
    let names: Vec<(String, String)> = (0..8).map(|at| (format!("x{at}"), format!("evil{at}"))).collect();
    let aliases = names.iter();
    let aliases: Vec<_> = aliases
        .map(|(name, package)| (&name[..], &package[..], "1.0.0"))
        .collect();
    let claims = claims("package-lock.json", &npm(&[PLAIN]), &npm(&aliases));
    let [claim] = &claims[..] else {
        panic!("{claims:?}");
    };
    let first = "What is installed as `x0` is another package: `evil0` in version `1.0.0`. So it is with `x1` (`evil1` in version `1.0.0`), ";
    assert!(claim.starts_with(first), "{claim}");
    assert!(
        claim.ends_with("`x5` (`evil5` in version `1.0.0`) and 2 more."),
        "{claim}"
    );
}

#[test]
fn the_project_decides_what_its_own_names_are() {
    for (manifest, name, package, expected) in [
        (r#"{"dependencies": {"pad": "npm:lodash@^4"}}"#, "pad", "lodash", 0),
        (r#"{"devDependencies": {"pad": "npm:lodash"}}"#, "pad", "lodash", 0),
        (r#"{"overrides": {"pad": "npm:@s/x@4"}}"#, "pad", "@s/x", 0),
        (r#"{"dependencies": {"pad": "npm:lodash@^4"}}"#, "pad", "evil", 1),
        (r#"{"dependencies": {"pad": "^4"}}"#, "pad", "lodash", 1),
        (r#"{"dependencies": {"lodash4": "^4"}}"#, "lodash4", "lodash", 1),
        (r#"{"description": {"pad": "npm:lodash@^4"}}"#, "pad", "lodash", 1),
        (r#"{"dependencies": ["#, "pad", "lodash", 1),
        (r#"{"dependencies": 1}"#, "lodash4", "lodash", 0),
    ] {
        let head = npm(&[(name, package, "4.17.21")]);
        let file = ChangedLockFile {
            path: "web/package-lock.json",
            base: None,
            head: &head,
            manifest: Some(manifest),
        };
        let findings = check(&file).expect("readable").findings;
        assert_eq!(
            findings.len(),
            expected,
            "{manifest}: {name} is {package}: {findings:?}"
        );
    }
}
