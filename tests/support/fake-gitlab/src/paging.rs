//! Pages of a list, with the headers that describe them.

use serde_json::Value;
use url::form_urlencoded;

use crate::options::Pagination;
use crate::reply::{Reply, ReplyBody};

const DEFAULT_PAGE_SIZE: usize = 20;

/// What the query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Request {
    page: usize,
    per_page: usize,
}

/// Cuts the page that the query asks for out of a list. A `null` row is one that the caller may not read: GitLab filters
/// those after paging, so such a page is short.
pub(crate) fn cut(rows: Vec<Value>, query: &[(String, String)], address: &str, settings: &Pagination) -> Reply {
    let request = read(query, settings);
    let starts = page_starts(rows.len(), request.per_page, settings.short_middle_page);
    let total_pages = starts.len();
    let start = starts.get(request.page - 1).copied().unwrap_or(rows.len());
    let end = starts.get(request.page).copied().unwrap_or(rows.len());
    let total = rows.len();
    let page: Vec<Value> = rows
        .into_iter()
        .skip(start)
        .take(end - start)
        .filter(|row| !row.is_null())
        .collect();
    let next = (request.page < total_pages).then_some(request.page + 1);
    let previous = (request.page > 1).then(|| request.page - 1);

    let number = |page: Option<usize>| page.map_or_else(String::new, |page| page.to_string());
    let mut reply = Reply::json(200, Value::Array(page))
        .header("x-page", &request.page.to_string())
        .header("x-per-page", &request.per_page.to_string())
        .header("x-next-page", &number(next))
        .header("x-prev-page", &number(previous));
    let mut links = vec![("prev", previous), ("next", next), ("first", Some(1))];
    if settings.totals {
        reply = reply
            .header("x-total", &total.to_string())
            .header("x-total-pages", &total_pages.to_string());
        links.push(("last", Some(total_pages.max(1))));
    }
    let links: Vec<String> = links
        .into_iter()
        .filter_map(|(relation, page)| Some((relation, page?)))
        .map(|(relation, page)| link(address, query, Request { page, ..request }, relation))
        .collect();
    reply.header("link", &links.join(", "))
}

/// Turns a list that the operation does not page into a JSON array.
pub(crate) fn whole(reply: Reply) -> Reply {
    match reply.body {
        ReplyBody::List(rows) => Reply {
            body: ReplyBody::Json(Value::Array(rows)),
            ..reply
        },
        _ => reply,
    }
}

fn read(query: &[(String, String)], settings: &Pagination) -> Request {
    let find = |name: &str| {
        query
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .and_then(|(_, value)| value.parse().ok())
    };
    let page: usize = find("page").unwrap_or(1);
    let per_page: usize = find("per_page").unwrap_or(DEFAULT_PAGE_SIZE);
    Request {
        page: page.max(1),
        per_page: per_page.clamp(1, settings.largest_page.max(1)),
    }
}

/// The index of the first row of each page. A list without rows has one empty page.
fn page_starts(total: usize, per_page: usize, short_middle_page: bool) -> Vec<usize> {
    let mut starts = vec![0];
    let mut next = per_page;
    while next < total {
        starts.push(next);
        next += if short_middle_page && starts.len() == 2 {
            per_page / 2
        } else {
            per_page
        };
    }
    starts
}

fn link(address: &str, query: &[(String, String)], request: Request, relation: &str) -> String {
    let mut serializer = form_urlencoded::Serializer::new(String::new());
    serializer.extend_pairs(
        query
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "page" | "per_page")),
    );
    serializer.append_pair("page", &request.page.to_string());
    serializer.append_pair("per_page", &request.per_page.to_string());
    format!("<{address}?{}>; rel=\"{relation}\"", serializer.finish())
}

#[cfg(test)]
mod tests {
    use super::page_starts;

    #[test]
    fn a_short_middle_page_shifts_the_rest() {
        assert_eq!(page_starts(10, 4, false), [0, 4, 8]);
        assert_eq!(page_starts(10, 4, true), [0, 4, 6]);
        assert_eq!(page_starts(3, 1, true), [0, 1, 1, 2]);
        assert_eq!(page_starts(0, 20, true), [0]);
    }
}
