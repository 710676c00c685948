//! What sounds like security, and what only looks like it.

use super::*;

#[test]
fn security_sounding_paths_are_found() {
    let paths = SecurityPaths::default();
    for path in [
        // Directories, at any depth and in any case, whatever is in them.
        "auth/x.rs",
        "auth/README.md",
        "src/crypto/aes.c",
        "Services/Auth/Startup.cs",
        "app/security/headers.rb",
        // Each word of the specification, and its relatives.
        "app/login.py",
        "web/loginForm.test.tsx",
        "src/SessionStore.ts",
        "src/sessions/store.go",
        "lib/access_token.rb",
        "lib/accesstoken.rb",
        "src/tokens.rs",
        "src/user_password.rs",
        "src/forgotPasswordPage.vue",
        "deploy/secrets.yaml",
        "config/permissions.yml",
        "fs/acl.c",
        "api/oauth2_callback.rb",
        "src/OAuthClient.java",
        "lib/jwt-verify.js",
        "src/JWTVerifier.swift",
        "ops/cert.go",
        "ops/certs/renew.sh",
        "tls.go",
        "net/TLSConfig.go",
        "pkg/signing/key.go",
        "services/Payment/charge.kt",
        "src/payments.ts",
        "middleware/csrf.py",
        "src/authenticate.rs",
        "src/authorization.py",
        "src/EncryptionService.cs",
        "src/x509.c",
        // Files that hold secrets or decide about access.
        "config/.env",
        "config/.env.production",
        "deploy/server.pem",
        "id.KEY",
        ".github/CODEOWNERS",
        "passwords.txt",
    ] {
        assert!(paths.reason(path).is_some(), "{path}");
    }
}

#[test]
fn look_alikes_are_not() {
    let paths = SecurityPaths::default();
    for path in [
        "author.md",
        "docs/authors.rs",
        "src/authority.rs",
        "src/tokenizer.rs",
        "src/tokenize.py",
        "src/BertTokenizer.java",
        "docs/login.md",
        "docs/security.md",
        "certainly.py",
        "concert/list.py",
        "obsession.py",
        "src/possession.ts",
        "sessionize.rs",
        "README.md",
        "src/secretary.py",
        "src/catalogindex.py",
        "src/analoginput.c",
        "src/design.ts",
        "src/signals.rs",
        "src/assigning.rs",
        "src/titles.go",
        "src/outlast.go",
        "src/environment.ts",
        "src/keyboard.ts",
        "src/monkey.rs",
        "src/payload.rs",
        "src/account.rs",
        "cryptic.rs",
    ] {
        assert_eq!(paths.reason(path), None, "{path}");
    }
}

#[test]
fn the_reason_names_what_was_found() {
    let paths = SecurityPaths::default();
    for (path, reason) in [
        ("x/auth/a.rs", "under `auth/`"),
        ("src/SessionStore.ts", "`session` in the path"),
        ("a.pem", "matches `*.{pem,key,p12,pfx,jks,crt,cer,der}`"),
    ] {
        assert_eq!(paths.reason(path).as_deref(), Some(reason), "{path}");
    }
}

#[test]
fn an_operator_adds_removes_and_exempts() {
    let settings = RiskSettings {
        security_paths: vec!["infra/**/*.tf".into(), "ledger".into(), "*vip".into()],
        security_paths_removed: vec!["session".into()],
        not_security_paths: vec!["tools/token-gen/".into()],
        ..RiskSettings::default()
    };
    let paths = SecurityPaths::new(&settings).expect("valid");
    for path in [
        "infra/prod/main.tf",
        "Infra/main.TF",
        "src/LedgerBook.java",
        "src/supervip.c",
        "src/token.rs",
    ] {
        assert!(paths.reason(path).is_some(), "{path}");
    }
    for path in ["infra/prod/readme.md", "src/session.rs", "tools/token-gen/token.rs"] {
        assert_eq!(paths.reason(path), None, "{path}");
    }
}

#[test]
fn every_pattern_that_cannot_be_used_is_named() {
    let settings = RiskSettings {
        security_paths: vec!["ok".into(), "a[b/".into(), "*".into(), "two words".into()],
        security_paths_removed: vec!["sesion".into(), "token".into()],
        not_security_paths: vec!["fine/**".into(), "!x".into()],
        ..RiskSettings::default()
    };
    let mut faults: Vec<(&str, usize)> = Vec::new();
    let named = SecurityPaths::new(&settings).expect_err("faults");
    faults.extend(named.iter().map(|fault| (fault.list, fault.index)));
    faults.sort_unstable();
    assert_eq!(
        faults,
        [
            ("not_security_paths", 1),
            ("security_paths", 1),
            ("security_paths", 2),
            ("security_paths", 3),
            ("security_paths_removed", 0),
            ("security_paths_removed", 1),
        ]
    );
    assert!(
        named
            .iter()
            .any(|fault| fault.detail.contains("did you mean `session`?")),
        "{named:?}"
    );
}

#[test]
fn the_documentation_lists_every_pattern() {
    let documentation = include_str!("../../../docs/security-paths.md");
    for pattern in security_patterns() {
        assert!(
            documentation.contains(&format!("`{pattern}`")),
            "docs/security-paths.md lacks {pattern}"
        );
    }
}

#[test]
fn no_built_in_pattern_is_there_twice() {
    let mut sorted: Vec<&str> = security_patterns().collect();
    sorted.sort_unstable();
    for pair in sorted.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
}
