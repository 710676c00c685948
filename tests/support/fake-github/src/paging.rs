//! Pages of a list, with the `Link` header that leads to the others.

use serde_json::Value;
use url::form_urlencoded;

use crate::reply::{Reply, ReplyBody};

const DEFAULT_PAGE_SIZE: usize = 30;
const MAX_PAGE_SIZE: usize = 100;

/// Cuts the page that the query asks for out of a list; other answers stay as they are.
pub(crate) fn cut(reply: Reply, query: &[(String, String)], address: &str, short_middle_page: bool) -> Reply {
    let Reply { status, headers, body } = reply;
    let ReplyBody::List { rows, frame } = body else {
        return Reply { status, headers, body };
    };
    let number = |name: &str, default: usize| {
        let found = query.iter().rev().find(|(key, _)| key == name);
        found
            .and_then(|(_, value)| value.parse().ok())
            .unwrap_or(default)
            .max(1)
    };
    let (page, size) = (
        number("page", 1),
        number("per_page", DEFAULT_PAGE_SIZE).min(MAX_PAGE_SIZE),
    );
    let starts = page_starts(rows.len(), size, short_middle_page);
    let start = starts.get(page - 1).copied().unwrap_or(rows.len());
    let end = starts.get(page).copied().unwrap_or(rows.len());
    let rows: Value = rows[start..end].to_vec().into();
    let body = match frame {
        None => rows,
        Some((name, mut frame)) => {
            frame[name] = rows;
            frame
        }
    };
    let mut reply = Reply::json(status, body);
    reply.headers = headers;
    let mut links = Vec::new();
    if page > 1 {
        links.extend([("prev", page - 1), ("first", 1)]);
    }
    if page < starts.len() {
        links.extend([("next", page + 1), ("last", starts.len())]);
    }
    // A list of one page has no such header.
    if links.is_empty() {
        return reply;
    }
    let links: Vec<String> = links
        .into_iter()
        .map(|(relation, page)| link(address, query, page, relation))
        .collect();
    reply.header("link", &links.join(", "))
}

/// The index of the first row of each page. A list without rows has one empty page.
fn page_starts(total: usize, size: usize, short_middle_page: bool) -> Vec<usize> {
    let mut starts = vec![0];
    let mut next = size;
    while next < total {
        starts.push(next);
        next += if short_middle_page && starts.len() == 2 {
            size.div_ceil(2)
        } else {
            size
        };
    }
    starts
}

fn link(address: &str, query: &[(String, String)], page: usize, relation: &str) -> String {
    let mut serializer = form_urlencoded::Serializer::new(String::new());
    serializer.extend_pairs(query.iter().filter(|(name, _)| name != "page"));
    serializer.append_pair("page", &page.to_string());
    format!("<{address}?{}>; rel=\"{relation}\"", serializer.finish())
}
