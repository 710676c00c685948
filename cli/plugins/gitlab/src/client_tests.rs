//! Pages, and what is never printed.

use super::*;

#[test]
fn the_next_page_is_in_one_header_or_the_other() {
    let link =
        r#"<https://x/api/v4/a?page=1&per_page=2>; rel="first", <https://x/api/v4/a?page=3&per_page=2>; rel="next""#;
    let last = r#"<https://x/api/v4/a?page=1&per_page=2>; rel="first""#;
    for (headers, expected) in [
        (vec![("x-next-page", "2")], Some(2)),
        (vec![("x-next-page", ""), ("link", link)], None),
        (vec![("link", link)], Some(3)),
        (vec![("link", last)], None),
        (vec![], None),
    ] {
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        assert_eq!(next_page(&map), expected, "{headers:?}");
    }
}

#[test]
fn the_token_is_not_printed() {
    let settings = GitLabSettings {
        api_url: "https://gitlab.example/api/v4".parse().unwrap(),
        token: "glpat-x".to_owned().into(),
        project: "1".to_owned(),
        iid: 1,
        secret: "s".to_owned().into(),
        ca_files: Vec::new(),
    };
    let client = Client::new(settings, Patience::default()).unwrap();
    assert!(!format!("{client:?}").contains("glpat"));
}
