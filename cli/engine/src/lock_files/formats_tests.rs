//! Each format: a harmless update, and each of the things that are found.

use super::tests::{Row, after, check, claims, found, one, table};

#[test]
fn npm() {
    let base = r#"{
  "name": "app", "lockfileVersion": 3, "requires": true,
  "packages": {
    "": {"name": "app", "dependencies": {"left-pad": "^1.0.0"}},
    "node_modules/left-pad": {
      "version": "1.0.0",
      "resolved": "https://registry.npmjs.org/left-pad/-/left-pad-1.0.0.tgz",
      "integrity": "sha512-AAAA"
    },
    "node_modules/@scope/x": {
      "version": "2.0.0",
      "resolved": "https://registry.npmjs.org/@scope/x/-/x-2.0.0.tgz",
      "integrity": "sha512-BBBB"
    },
    "node_modules/local": {"resolved": "packages/local", "link": true},
    "packages/local": {"version": "1.0.0"}
  }
}
"#;
    table(
        "web/package-lock.json",
        base,
        &[
            ("1.0.0", "1.0.1", &[]),
            (
                "https://registry.npmjs.org/left",
                "https://evil.example/left",
                &[("registry", 7)],
            ),
            (
                "https://registry.npmjs.org/left",
                "http://registry.npmjs.org/left",
                &[("registry", 7)],
            ),
            (
                "https://registry.npmjs.org/left",
                "https://user:pw@evil.example/left",
                &[("registry", 7)],
            ),
            (
                "https://registry.npmjs.org",
                "https://registry.npmjs.org@evil.example",
                &[("registry", 12)],
            ),
            (
                "https://registry.npmjs.org/left-pad/-/left-pad-1.0.0.tgz",
                "git+ssh://git@github.com/x/left-pad.git#abcdef",
                &[("source", 7)],
            ),
            (
                "https://registry.npmjs.org/left-pad/-/left-pad-1.0.0.tgz",
                "https://codeload.github.com/x/left-pad/tar.gz/abcdef",
                &[("source", 7)],
            ),
            (",\n      \"integrity\": \"sha512-AAAA\"", "", &[("integrity", 7)]),
            (
                "https://registry.npmjs.org/left-pad/-/",
                "HTTPS://evil.example/",
                &[("source", 7)],
            ),
            (
                "https://registry.npmjs.org/left-pad/-/",
                "ftp://evil.example/",
                &[("source", 7)],
            ),
        ],
    );
    let old = r#"{"lockfileVersion": 1, "dependencies": {
  "a": {"version": "1.0.0", "resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz", "integrity": "sha1-x",
    "dependencies": {
      "b": {"version": "1.0.0", "resolved": "https://registry.npmjs.org/b/-/b-1.0.0.tgz", "integrity": "sha1-x"}
    }}
}}
"#;
    table(
        "package-lock.json",
        old,
        &[
            (
                "https://registry.npmjs.org/b",
                "https://evil.example/b",
                &[("registry", 4)],
            ),
            (
                r#""version": "1.0.0", "resolved": "https://registry.npmjs.org/b/-/b-1.0.0.tgz", "integrity": "sha1-x""#,
                r#""version": "git+https://github.com/x/b.git#abc", "from": "b""#,
                &[("source", 4)],
            ),
        ],
    );
}

#[test]
fn bun() {
    let base = r#"{
  "lockfileVersion": 1,
  "workspaces": {"": {"name": "app", "dependencies": {"a": "1"},},},
  "packages": {
    "a": ["a@1.0.0", "", {"dependencies": {"b": "^1"}}, "sha512-AAAA"],

    "@s/b": ["@s/b@1.0.0", "", {}, "sha512-BBBB"],

    "local": ["local@workspace:packages/local"],
  }
}
"#;
    table(
        "bun.lock",
        base,
        &[
            ("a@1.0.0", "a@1.0.1", &[]),
            (
                r#"["a@1.0.0", "","#,
                r#"["a@1.0.0", "https://evil.example/a/-/a-1.0.0.tgz","#,
                &[("registry", 5)],
            ),
            (r#""a@1.0.0", "", "#, r#""a@github:x/a#abc", "#, &[("source", 5)]),
            (
                r#""a@1.0.0", "", "#,
                r#""a@https://x.example/a.tgz", "#,
                &[("source", 5)],
            ),
            (r#", {}, "sha512-BBBB"]"#, ", {}]", &[("integrity", 7)]),
        ],
    );
}

#[test]
fn yarn() {
    let classic = r#"# yarn lockfile v1


"@s/a@^1.0.0", "@s/a@^1.1.0":
  version "1.1.0"
  resolved "https://registry.yarnpkg.com/@s/a/-/a-1.1.0.tgz#0123456789012345678901234567890123456789"
  integrity sha512-AAAA
  dependencies:
    resolved "^2.0.0"

old@^1.0.0:
  version "1.0.0"
  resolved "https://registry.yarnpkg.com/old/-/old-1.0.0.tgz#0123456789012345678901234567890123456789"
"#;
    table(
        "yarn.lock",
        classic,
        &[
            ("1.1.0", "1.2.0", &[]),
            (
                "https://registry.yarnpkg.com/@s",
                "https://evil.example/@s",
                &[("registry", 6)],
            ),
            (
                "https://registry.yarnpkg.com/old/-/old-1.0.0.tgz#",
                "https://codeload.github.com/x/old/tar.gz/abc#",
                &[("source", 13)],
            ),
            (
                "https://registry.yarnpkg.com/old/-/old-1.0.0.tgz#",
                "git+https://github.com/x/old.git#",
                &[("source", 13)],
            ),
            ("\n  integrity sha512-AAAA", "", &[("integrity", 4)]),
        ],
    );
    let berry = r#"__metadata:
  version: 8
  cacheKey: 10c0

"a@npm:^1.0.0":
  version: 1.0.0
  resolution: "a@npm:1.0.0"
  checksum: 10c0/aaaa
  languageName: node
  linkType: hard

"fsevents@npm:2":
  version: 2.3.3
  resolution: "fsevents@npm:2.3.3"
  conditions: os=darwin
  languageName: node
  linkType: hard

"app@workspace:.":
  version: 0.0.0-use.local
  resolution: "app@workspace:."
  languageName: unknown
  linkType: soft
"#;
    table(
        "yarn.lock",
        berry,
        &[
            ("1.0.0", "1.0.1", &[]),
            (
                "a@npm:1.0.0",
                "a@npm:1.0.0::__archiveUrl=https%3A%2F%2Fevil.example%2Fa.tgz",
                &[("registry", 7)],
            ),
            (
                "a@npm:1.0.0",
                "a@https://github.com/x/a.git#commit=abc",
                &[("source", 7)],
            ),
            ("a@npm:1.0.0", "a@https://x.example/a.tgz", &[("source", 7)]),
            ("  checksum: 10c0/aaaa\n", "", &[("integrity", 7)]),
        ],
    );
}

#[test]
fn pnpm() {
    let base = "lockfileVersion: '9.0'
packages:
  '@s/a@1.0.0':
    resolution: {integrity: sha512-AAAA}
  b@1.0.0:
    resolution: {integrity: sha512-BBBB}
    engines: {node: '>=4'}
";
    table(
        "pnpm-lock.yaml",
        base,
        &[
            ("1.0.0", "1.0.1", &[]),
            (
                "{integrity: sha512-AAAA}",
                "{integrity: sha512-AAAA, tarball: https://evil.example/a/-/a-1.0.0.tgz}",
                &[("registry", 4)],
            ),
            (
                "{integrity: sha512-AAAA}",
                "{tarball: https://codeload.github.com/x/a/tar.gz/abc}",
                &[("source", 4)],
            ),
            // What pnpm does not write, but reads.
            (
                "{integrity: sha512-AAAA}",
                "\n      commit: abc\n      repo: https://github.com/x/a.git\n      type: git",
                &[("source", 6)],
            ),
            ("{integrity: sha512-BBBB}", "{}", &[("integrity", 6)]),
            (
                "{integrity: sha512-AAAA}",
                "{integrity: sha512-AAAA, type: binary, url: https://evil.example/a.tgz}",
                &[("registry", 4)],
            ),
            (
                "{integrity: sha512-AAAA}",
                "{integrity: sha512-AAAA, variants: [{resolution: {type: binary, url: https://evil.example/a.tgz}}]}",
                &[("registry", 4)],
            ),
        ],
    );
    let old =
        "lockfileVersion: 5.4\npackages:\n  /@s/a/1.0.0:\n    resolution: {integrity: sha512-AAAA}\n    dev: true\n";
    table(
        "pnpm-lock.yaml",
        old,
        &[("{integrity: sha512-AAAA}", "{}", &[("integrity", 4)])],
    );
}

#[test]
fn cargo() {
    let base = r#"version = 4

[[package]]
name = "app"
version = "0.1.0"
dependencies = ["serde"]

[[package]]
name = "serde"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "aaaa"
"#;
    table(
        "Cargo.lock",
        base,
        &[
            ("1.0.0", "1.0.1", &[]),
            ("rust-lang/crates.io-index", "evil/index", &[("registry", 11)]),
            (
                "registry+https://github.com/rust-lang/crates.io-index",
                "sparse+https://crates.evil.example/",
                &[("registry", 11)],
            ),
            (
                "source = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"aaaa\"",
                "source = \"git+https://github.com/x/serde?branch=main#abc\"",
                &[("source", 11)],
            ),
            ("checksum = \"aaaa\"\n", "", &[("integrity", 9)]),
        ],
    );
    let first = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n\n\
        [metadata]\n\"checksum a 1.0.0 (registry+https://github.com/rust-lang/crates.io-index)\" = \"aaaa\"\n";
    let line = "\"checksum a 1.0.0 (registry+https://github.com/rust-lang/crates.io-index)\" = \"aaaa\"\n";
    table("Cargo.lock", first, &[(line, "", &[("integrity", 2)])]);
}

#[test]
fn go() {
    let base = "github.com/x/y v1.0.0 h1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=
github.com/x/y v1.0.0/go.mod h1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=
golang.org/x/net v0.1.0 h1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=
";
    table(
        "go.sum",
        base,
        &[
            ("v1.0.0", "v1.0.1", &[]),
            ("golang.org/x/net", "go.evil.example/net", &[("registry", 3)]),
            (
                "v0.1.0 h1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=",
                "v0.1.1",
                &[("integrity", 3)],
            ),
        ],
    );
}

#[test]
fn poetry() {
    let poetry = r#"[[package]]
name = "requests"
version = "2.0.0"
files = [
    {file = "requests-2.0.0.tar.gz", hash = "sha256:aaaa"},
]

[[package]]
name = "local"
version = "1.0.0"
files = []

[package.source]
type = "directory"
url = "../local"
"#;
    table(
        "poetry.lock",
        poetry,
        &[
            ("2.0.0", "2.0.1", &[]),
            (
                "]\n\n[[package]]\nname = \"local\"",
                "]\n\n[package.source]\ntype = \"legacy\"\nurl = \"https://pypi.evil.example/simple\"\n\n[[package]]\nname = \"local\"",
                &[("registry", 10)],
            ),
            (
                "type = \"directory\"\nurl = \"../local\"",
                "type = \"git\"\nurl = \"https://github.com/x/y.git\"",
                &[("source", 15)],
            ),
            (
                "type = \"directory\"\nurl = \"../local\"",
                "type = \"url\"\nurl = \"https://x.example/y.whl\"",
                &[("source", 15)],
            ),
            (", hash = \"sha256:aaaa\"", "", &[("integrity", 5)]),
        ],
    );
}

#[test]
fn uv() {
    let uv = r#"version = 1

[[package]]
name = "app"
source = { virtual = "." }

[[package]]
name = "idna"
version = "3.0"
source = { registry = "https://pypi.org/simple" }
sdist = { url = "https://files.pythonhosted.org/x/idna-3.0.tar.gz", hash = "sha256:aaaa", size = 1 }
wheels = [
    { url = "https://files.pythonhosted.org/x/idna-3.0.whl", hash = "sha256:bbbb", size = 1 },
]
"#;
    table(
        "uv.lock",
        uv,
        &[
            ("3.0", "3.1", &[]),
            (
                "https://pypi.org/simple",
                "https://pypi.evil.example/simple",
                &[("registry", 10)],
            ),
            (
                "https://files.pythonhosted.org/x/idna-3.0.whl",
                "https://evil.example/idna-3.0.whl",
                &[("registry", 13)],
            ),
            (
                "registry = \"https://pypi.org/simple\"",
                "git = \"https://github.com/x/idna?rev=1#abc\"",
                &[("source", 10)],
            ),
            (
                "registry = \"https://pypi.org/simple\"",
                "url = \"https://x.example/idna.whl\"",
                &[("source", 10)],
            ),
            (", hash = \"sha256:bbbb\"", "", &[("integrity", 13)]),
        ],
    );
}

#[test]
fn pylock() {
    let base = r#"lock-version = "1.0"
created-by = "uv"

[[packages]]
name = "idna"
version = "3.0"
index = "https://pypi.org/simple"
sdist = { url = "https://files.pythonhosted.org/x/idna-3.0.tar.gz", hashes = { sha256 = "aaaa" } }
wheels = [
    { url = "https://files.pythonhosted.org/x/idna-3.0.whl", size = 1, hashes = { sha256 = "bbbb" } },
]

[[packages]]
name = "own"
directory = { path = "packages/own", editable = true }
"#;
    let rows: &[Row<'_>] = &[
        ("3.0", "3.1", &[]),
        (
            "https://pypi.org/simple",
            "https://pypi.evil.example/simple",
            &[("registry", 7)],
        ),
        (
            "https://files.pythonhosted.org/x/idna-3.0.whl",
            "https://evil.example/idna-3.0.whl",
            &[("registry", 10)],
        ),
        (
            "url = \"https://files.pythonhosted.org/x/idna-3.0.whl\"",
            "path = \"idna-3.0.whl\"",
            &[("registry", 10)],
        ),
        (
            "index = \"https://pypi.org/simple\"",
            "vcs = { type = \"git\", url = \"https://github.com/x/idna\", commit-id = \"abc\" }",
            &[("source", 7)],
        ),
        (
            "directory = { path = \"packages/own\", editable = true }",
            "archive = { url = \"https://x.example/own.whl\", hashes = { sha256 = \"cccc\" } }",
            &[("source", 15)],
        ),
        ("{ sha256 = \"bbbb\" }", "{}", &[("integrity", 10)]),
        ("bbbb", "EVIL", &[("integrity", 10)]),
    ];
    table("pylock.toml", base, rows);
    table("api/pylock.api.toml", base, rows);
    // As pip writes it: no index, and only files.
    let pip = base.replace("index = \"https://pypi.org/simple\"\n", "");
    assert_eq!(found("pylock.toml", None, &pip), []);
    assert_eq!(found("pylock.toml", Some(&pip), base), []);
    assert_eq!(found("pylock.toml", Some(base), &pip), []);
    assert_eq!(
        after(
            "pylock.toml",
            &pip,
            "files.pythonhosted.org/x/idna-3.0.whl",
            "evil.example/x/idna-3.0.whl"
        ),
        one("registry", 9)
    );
    let newer = base.replace("lock-version = \"1.0\"", "lock-version = \"2.0\"");
    let fault = check("pylock.toml", None, &newer).expect_err("another format");
    assert!(fault.to_string().contains("`lock-version` is not 1"), "{fault}");
}

#[test]
fn pipenv() {
    let pipfile = r#"{
    "_meta": {"hash": {"sha256": "x"}, "pipfile-spec": 6, "requires": {},
        "sources": [{"name": "pypi", "url": "https://pypi.org/simple", "verify_ssl": true}]
    },
    "default": {
        "requests": {
            "hashes": ["sha256:aaaa"],
            "version": "==2.0.0"
        }
    },
    "develop": {}
}
"#;
    table(
        "Pipfile.lock",
        pipfile,
        &[
            ("2.0.0", "2.0.1", &[]),
            (
                "https://pypi.org/simple",
                "https://pypi.evil.example/simple",
                &[("registry", 3)],
            ),
            (
                "\"hashes\": [\"sha256:aaaa\"],\n            \"version\": \"==2.0.0\"",
                "\"git\": \"https://github.com/x/requests.git\", \"ref\": \"abc\"",
                &[("source", 7)],
            ),
            (
                "\"hashes\": [\"sha256:aaaa\"],\n            \"version\": \"==2.0.0\"",
                "\"file\": \"https://x.example/requests.whl\"",
                &[("source", 7)],
            ),
            ("\"hashes\": [\"sha256:aaaa\"],\n", "", &[("integrity", 7)]),
        ],
    );
}

#[test]
fn composer() {
    let composer = r#"{
    "packages": [
        {
            "name": "a/b",
            "version": "1.0.0",
            "source": {"type": "git", "url": "https://github.com/a/b.git", "reference": "abc"},
            "dist": {"type": "zip", "url": "https://api.github.com/repos/a/b/zipball/abc", "shasum": ""},
            "notification-url": "https://packagist.org/downloads/"
        }
    ],
    "packages-dev": []
}
"#;
    table(
        "composer.lock",
        composer,
        &[
            ("1.0.0", "1.0.1", &[]),
            (
                "https://packagist.org/downloads/",
                "https://evil.example/downloads/",
                &[("registry", 8)],
            ),
            (
                "https://api.github.com/repos/a/b",
                "https://evil.example/a/b",
                &[("registry", 7)],
            ),
            (
                "\"shasum\": \"\"},\n            \"notification-url\": \"https://packagist.org/downloads/\"",
                "\"shasum\": \"\"}",
                &[("source", 7)],
            ),
        ],
    );
    let hashed = composer.replace("\"shasum\": \"\"", "\"shasum\": \"aaaa\"");
    assert_eq!(
        found("composer.lock", Some(&hashed), composer),
        [("integrity".to_owned(), 7)]
    );
}

#[test]
fn bundler() {
    let gems = "GIT
  remote: https://github.com/x/known.git
  revision: abc
  specs:
    known (1.0)

GEM
  remote: https://rubygems.org/
  specs:
    rails (7.0.0)
      rack (>= 2)

DEPENDENCIES
  rails

CHECKSUMS
  known (1.0)
  rails (7.0.0) sha256=aaaa
";
    let head = |from: &str, to: &str| gems.replace(from, to);
    let seen = |head: &str| found("Gemfile.lock", Some(gems), head);
    assert_eq!(seen(&head("7.0.0", "7.0.1")), []);
    assert_eq!(seen(&head("revision: abc", "revision: def")), []);
    assert_eq!(
        seen(&head("https://rubygems.org/", "https://evil.example/")),
        [("registry".to_owned(), 8)]
    );
    assert_eq!(
        seen(&head("https://github.com/x/known", "https://github.com/y/known")),
        [("source".to_owned(), 2)]
    );
    assert_eq!(seen(&head(" sha256=aaaa", "")), [("integrity".to_owned(), 10)]);
    let without = gems.split("\nCHECKSUMS").next().expect("the rest");
    assert_eq!(
        seen(&format!("{without}\n")),
        [("integrity".to_owned(), 10)],
        "no hashes any more"
    );
    assert_eq!(found("Gemfile.lock", Some(without), without), [], "never any");
    let two = "GEM\n  remote: https://gems.example/\n  specs:\n    own (1.0)\n\nGEM\n  remote: https://rubygems.org/\n  specs:\n    \
               rails (7.0.0)\n";
    let moved = two.replace("own (1.0)", "own (1.0)\n    rails (7.0.0)").replace(
        "https://rubygems.org/\n  specs:\n    rails (7.0.0)",
        "https://rubygems.org/\n  specs:",
    );
    assert_eq!(
        claims("Gemfile.lock", two, &moved),
        ["`rails` comes from `https://gems.example/`, and came from another place before."]
    );
}

#[test]
fn nix_flakes() {
    let flake = r#"{
  "nodes": {
    "nixpkgs": {
      "locked": {
        "lastModified": 1,
        "narHash": "sha256-aaaa",
        "owner": "NixOS",
        "repo": "nixpkgs",
        "rev": "abc",
        "type": "github"
      },
      "original": {"owner": "NixOS", "repo": "nixpkgs", "type": "github"}
    },
    "root": {"inputs": {"nixpkgs": "nixpkgs"}}
  },
  "root": "root",
  "version": 7
}
"#;
    let seen = |from: &str, to: &str| found("flake.lock", Some(flake), &flake.replace(from, to));
    assert_eq!(seen("\"rev\": \"abc\"", "\"rev\": \"def\""), []);
    assert_eq!(
        seen("\"owner\": \"NixOS\",\n", "\"owner\": \"evil\",\n"),
        [("source".to_owned(), 7)]
    );
    assert_eq!(
        seen("\"rev\": \"abc\",\n", "\"rev\": \"abc\", \"host\": \"evil.example\",\n"),
        [("source".to_owned(), 9)]
    );
    assert_eq!(
        seen(
            "\"type\": \"github\"\n",
            "\"type\": \"tarball\", \"url\": \"https://x.example/n.tar.gz\"\n"
        ),
        [("source".to_owned(), 10)]
    );
    assert_eq!(
        found("flake.lock", None, flake),
        [("source".to_owned(), 8)],
        "every input is a repository"
    );
}

#[test]
fn an_input_of_a_flake_that_becomes_another_node_of_the_file_is_found() {
    let node = |owner: &str, inputs: &str| {
        format!(
            "{{\"inputs\": {{{inputs}}}, \"locked\": {{\"type\": \"github\", \"owner\": \"{owner}\", \"repo\": \"nixpkgs\", \
             \"rev\": \"{owner}\", \"narHash\": \"sha256-{owner}\"}}}}"
        )
    };
    let flake = |root: &str, of_utils: &str| {
        format!(
            "{{\"nodes\": {{\n\"bob\": {},\n\"nixpkgs\": {},\n\"nixpkgs_2\": {},\n\"utils\": {},\n\"root\": {{\"inputs\": {{\n{root},\n\
             \"utils\": \"utils\", \"bob\": \"bob\"}}}}}},\n\"root\": \"root\", \"version\": 7}}\n",
            node("bob", ""),
            node("NixOS", ""),
            node("NixOS", ""),
            node("utils", of_utils),
        )
    };
    let (own, of_utils) = ("\"nixpkgs\": \"nixpkgs\"", "\"nixpkgs\": \"nixpkgs_2\"");
    let base = flake(own, of_utils);
    let seen = |root: &str, of_utils: &str| super::tests::claims("flake.lock", &base, &flake(root, of_utils));
    for same in [of_utils, "\"nixpkgs\": [\"nixpkgs\"]", "\"nixpkgs\": [\"missing\"]"] {
        assert_eq!(seen(own, same), [""; 0], "{same}");
    }
    assert_eq!(
        seen("\"nixpkgs\": \"bob\"", of_utils),
        ["`root/nixpkgs` comes from `https://github.com/bob/nixpkgs`, and came from another place before."]
    );
    for other in ["\"nixpkgs\": \"bob\"", "\"nixpkgs\": [\"bob\"]"] {
        let claims = seen(own, other);
        assert!(
            matches!(claims.as_slice(), [claim] if claim.starts_with("`utils/nixpkgs` comes from `https://github.com/bob/nixpkgs`")),
            "{claims:?}"
        );
    }
    // A path that leads back to itself ends.
    assert_eq!(seen("\"nixpkgs\": [\"nixpkgs\"]", of_utils), [""; 0]);
}
