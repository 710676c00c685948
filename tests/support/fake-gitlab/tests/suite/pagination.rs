//! Pages: headers, links, short pages, missing totals.

use conclave_fake_gitlab::{AccessLevel, Pagination};
use reqwest::{Method, Response};
use serde_json::Value;

use crate::stage::Stage;

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

/// Follows `rel="next"` and returns the size of each page.
async fn page_sizes(stage: &Stage, path: &str) -> (Vec<usize>, Vec<u64>) {
    let (mut sizes, mut ids) = (Vec::new(), Vec::new());
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        let response = stage.bot.send(Method::GET, &path, None).await;
        assert_eq!(response.status(), 200);
        let links = header(&response, "link").unwrap().to_owned();
        let marked = links.split(", ").find_map(|link| link.strip_suffix("; rel=\"next\""));
        let api_url = stage.gitlab.api_url();
        next = marked.map(|link| link.trim_matches(['<', '>']).strip_prefix(&api_url).unwrap().to_owned());
        assert_eq!(header(&response, "x-next-page").unwrap().is_empty(), next.is_none());
        let rows: Vec<Value> = response.json().await.unwrap();
        sizes.push(rows.len());
        ids.extend(rows.iter().filter_map(|row| row["id"].as_u64()));
    }
    (sizes, ids)
}

fn write_notes(stage: &Stage, count: usize) {
    for number in 0..count {
        stage
            .gitlab
            .comment(stage.merge_request, stage.human, &format!("note {number}"));
    }
}

#[tokio::test]
async fn a_page_has_headers() {
    let stage = Stage::free().await;
    write_notes(&stage, 45);
    let response = stage
        .bot
        .send(Method::GET, &stage.at("/notes?sort=asc&page=2"), None)
        .await;
    let expected = [
        ("x-page", "2"),
        ("x-per-page", "20"),
        ("x-next-page", "3"),
        ("x-prev-page", "1"),
        ("x-total", "45"),
        ("x-total-pages", "3"),
    ];
    for (name, value) in expected {
        assert_eq!(header(&response, name), Some(value), "{name}");
    }
    let links = header(&response, "link").unwrap();
    for relation in ["prev", "next", "first", "last"] {
        assert!(links.contains(&format!("rel=\"{relation}\"")), "{links}");
    }
    assert!(links.contains("sort=asc"), "{links}");
    let beyond = stage.bot.send(Method::GET, &stage.at("/notes?page=9"), None).await;
    assert_eq!(beyond.json::<Vec<Value>>().await.unwrap().len(), 0);
    stage.assert_no_violations();
}

#[tokio::test]
async fn the_largest_page_is_limited() {
    let stage = Stage::free().await;
    write_notes(&stage, 120);
    assert_eq!(page_sizes(&stage, &stage.at("/notes?per_page=500")).await.0, [100, 20]);
    stage.gitlab.configure(|options| options.pagination.largest_page = 50);
    assert_eq!(
        page_sizes(&stage, &stage.at("/notes?per_page=100")).await.0,
        [50, 50, 20]
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_middle_page_can_be_short() {
    let stage = Stage::free().await;
    write_notes(&stage, 30);
    stage
        .gitlab
        .configure(|options| options.pagination.short_middle_page = true);
    let (sizes, mut ids) = page_sizes(&stage, &stage.at("/notes?per_page=10")).await;
    assert_eq!(sizes, [10, 5, 10, 5]);
    ids.dedup();
    assert_eq!(ids.len(), 30);
    assert_eq!(
        page_sizes(&stage, &stage.at("/discussions?per_page=10")).await.0,
        [10, 5, 10, 5]
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn totals_can_be_missing() {
    let stage = Stage::free().await;
    write_notes(&stage, 25);
    stage.gitlab.configure(|options| {
        options.pagination = Pagination {
            totals: false,
            ..Pagination::default()
        }
    });
    let response = stage.bot.send(Method::GET, &stage.at("/notes"), None).await;
    assert_eq!(
        (header(&response, "x-total"), header(&response, "x-total-pages")),
        (None, None)
    );
    assert!(!header(&response, "link").unwrap().contains("last"));
    assert_eq!(page_sizes(&stage, &stage.at("/notes")).await.0, [20, 5]);
    stage.assert_no_violations();
}

#[tokio::test]
async fn unreadable_notes_make_a_page_short() {
    let stage = Stage::free().await;
    write_notes(&stage, 3);
    stage
        .gitlab
        .comment_internally(stage.merge_request, stage.human, "among us");
    write_notes(&stage, 3);
    assert_eq!(page_sizes(&stage, &stage.at("/notes?per_page=4")).await.0, [4, 3]);
    stage
        .gitlab
        .add_member(stage.project, stage.bot_user, AccessLevel::Guest);
    assert_eq!(page_sizes(&stage, &stage.at("/notes?per_page=4")).await.0, [3, 3]);
    assert_eq!(page_sizes(&stage, &stage.at("/discussions?per_page=4")).await.0, [3, 3]);
    stage.assert_no_violations();
}
