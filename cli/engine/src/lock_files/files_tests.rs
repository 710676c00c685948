//! Files of Python packages and their names.

use super::tests::{check, claims, found, one};

#[test]
fn a_file_of_another_package_or_version_is_found() {
    let uv = |sdist: &str, wheel: &str| {
        format!(
            "version = 1\n\n[[package]]\nname = \"my-requests\"\nversion = \"2.32.0\"\nsource = {{ registry = \"https://pypi.org/simple\" }}\n\
             sdist = {{ url = \"https://files.pythonhosted.org/aa/{sdist}\", hash = \"sha256:aa\" }}\nwheels = [\n    \
             {{ url = \"https://files.pythonhosted.org/bb/{wheel}\", hash = \"sha256:bb\" }},\n]\n"
        )
    };
    let (sdist, wheel) = ("my_requests-2.32.0.tar.gz", "my_requests-2.32.0-py3-none-any.whl");
    let base =
        uv("my_requests-2.31.0.tar.gz", "my_requests-2.31.0-py3-none-any.whl").replace("\"2.32.0\"", "\"2.31.0\"");
    for (sdist, wheel) in [
        (sdist, wheel),
        (
            "My-Requests-2.32.zip",
            "my.requests-2.32.0.0-1-cp312-cp312-linux_x86_64.whl",
        ),
        (
            "my.requests-2.32.0.linux-x86_64.tar.gz",
            "my_requests-02.32-py3-none-any.whl",
        ),
    ] {
        assert_eq!(found("uv.lock", Some(&base), &uv(sdist, wheel)), [], "{sdist} {wheel}");
        assert_eq!(found("uv.lock", None, &uv(sdist, wheel)), [], "{sdist} {wheel}");
    }
    for (sdist, wheel, line) in [
        (sdist, "evil-2.32.0-py3-none-any.whl", 9),
        (sdist, "my_requests-2.31.0-py3-none-any.whl", 9),
        (sdist, "my_requests_2.32.0-2.32.0-py3-none-any.whl", 9),
        (sdist, "x.whl", 9),
        ("requests-2.32.0.tar.gz", wheel, 7),
        ("my-requests-evil-2.32.0.tar.gz", wheel, 7),
        ("my-requests-2.32.0.1.tar.gz", wheel, 7),
        ("my-requests-2.32.0rc1.tar.gz", wheel, 7),
        ("my-requests.tar.gz", wheel, 7),
        ("evil.exe", wheel, 7),
    ] {
        let head = uv(sdist, wheel);
        assert_eq!(found("uv.lock", None, &head), one("source", line), "{sdist} {wheel}");
        assert_eq!(found("uv.lock", Some(&head), &head), [], "nothing new: {sdist} {wheel}");
    }
    assert_eq!(
        claims("uv.lock", &base, &uv(sdist, "evil-2.32.0-py3-none-any.whl")),
        [
            "`my-requests` in version `2.32.0` has the file `evil-2.32.0-py3-none-any.whl`, which is named as one of another package or \
             another version."
        ]
    );
    for (version, file) in [
        ("1.0.0b1", "a-1.0.0-beta.1.tar.gz"),
        ("1.0rc0", "a-1.0.c.tar.gz"),
        ("2022.7.1", "a-2022.07.01.tar.gz"),
        ("2.1.0+cu118", "a-2.1.0%2Bcu118-cp310-cp310-linux_x86_64.whl"),
        ("1.0.post1", "a-v1.0.rev1.zip"),
    ] {
        let poetry = |file: &str| {
            format!(
                "[[package]]\nname = \"a\"\nversion = \"{version}\"\nfiles = [\n    {{file = \"{file}\", hash = \"sha256:aa\"}},\n]\n"
            )
        };
        assert_eq!(found("poetry.lock", None, &poetry(file)), [], "{version} {file}");
        let evil = file.replacen('a', "evil", 1);
        assert_eq!(found("poetry.lock", None, &poetry(&evil)), one("source", 5), "{evil}");
        let newer = file.replacen('-', "-9.", 1);
        assert_eq!(found("poetry.lock", None, &poetry(&newer)), one("source", 5), "{newer}");
    }
    let own = "[[package]]\nname = \"a\"\nversion = \"1.0\"\nfiles = [{file = \"b.whl\", hash = \"sha256:aa\"}]\n\n[package.source]\ntype = \
               \"file\"\nurl = \"b.whl\"\n";
    assert_eq!(
        found("poetry.lock", None, own),
        [],
        "a file of the project has any name"
    );
    let pylock = |name: &str| {
        format!(
            "lock-version = \"1.0\"\n[[packages]]\nname = \"a\"\nversion = \"1.0\"\nindex = \"https://pypi.org/simple\"\n\
             wheels = [{{ name = \"{name}\", url = \"https://files.pythonhosted.org/a-1.0-py3-none-any.whl\", hashes = {{ sha256 = \"aa\" }} }}]\n"
        )
    };
    assert_eq!(found("pylock.toml", None, &pylock("a-1.0-py3-none-any.whl")), []);
    assert_eq!(
        found("pylock.toml", None, &pylock("b-1.0-py3-none-any.whl")),
        one("source", 6)
    );
    let place = "directory = { path = \"a\" }\nvcs = { type = \"git\", url = \"https://x.example/a.git\", commit-id = \"abc\" }\n";
    let both = format!("lock-version = \"1.0\"\n[[packages]]\nname = \"a\"\nversion = \"1.0\"\n{place}");
    let fault = check("pylock.toml", None, &both).expect_err("which of them is installed?");
    assert!(fault.to_string().contains("`a` names more than one place"), "{fault}");
}
