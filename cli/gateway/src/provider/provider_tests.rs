use super::*;

fn upstream(name: &str, url: &str) -> Upstream {
    Upstream {
        name: name.to_owned(),
        wire: Wire::Anthropic,
        base_url: url.parse().expect("a URL"),
        credential: Some(SecretString::from("hidden-credential")),
        extra_headers: vec![("x-extra".to_owned(), SecretString::from("Bearer hidden-extra"))],
    }
}

#[test]
fn the_endpoint_is_below_the_base_url() {
    for url in ["https://api.anthropic.com/v1", "https://api.anthropic.com/v1/"] {
        let provider = Provider::new(&upstream("anthropic", url)).expect("valid");
        assert_eq!(provider.endpoint.as_str(), "https://api.anthropic.com/v1/messages");
    }
}

#[test]
fn unusable_addresses_and_names_are_refused() {
    for url in [
        "ftp://host/v1",
        "https://user@host/v1",
        "https://user:password@host/v1",
        "https://host/v1?key=x",
        "https://host/v1#x",
    ] {
        let error = providers(&[upstream("anthropic", url)]).expect_err(url);
        assert!(matches!(error, ConfigError::BaseUrl(_)), "{url}: {error}");
        assert!(!error.to_string().contains("password@"));
    }
    for names in [&[""][..], &["a/b"], &["a", "a"], &["a b"]] {
        let list: Vec<Upstream> = names.iter().map(|name| upstream(name, "https://host/v1")).collect();
        assert!(
            matches!(providers(&list), Err(ConfigError::ProviderName(_))),
            "{names:?}"
        );
    }
}

#[test]
fn nothing_secret_shows_in_debug() {
    let upstreams = [upstream("anthropic", "https://host/v1")];
    assert!(!format!("{upstreams:?}").contains("hidden"), "{upstreams:?}");
    let providers = providers(&upstreams).expect("valid");
    assert!(!format!("{providers:?}").contains("hidden"), "{providers:?}");
    let secrets = secrets(&upstreams, &SecretString::from("hidden-run-key"));
    assert!(secrets.contains(&"hidden-extra".to_owned()) && secrets.contains(&"hidden-run-key".to_owned()));
}

#[test]
fn a_missing_ca_file_is_an_error() {
    let http = HttpSettings {
        system_proxy: false,
        extra_ca_file: Some("does/not/exist.pem".into()),
    };
    let error = client(&http, Duration::from_secs(1), []).expect_err("no such file");
    assert!(matches!(error, ConfigError::CaFile { .. }), "{error}");
}
