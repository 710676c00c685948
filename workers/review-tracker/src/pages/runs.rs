//! `GET /runs`: the reviews one by one, searched and a page at a time.

use conclave_worker_common::{
    Outcome,
    html::{Html, html},
};
use uuid::Uuid;
use worker::{Env, Request, Response, Url};

use super::{
    cells::{VERDICTS, runs_table},
    filter::parameter,
    format,
    page::{Asked, Content, RUNS, finished, option},
};
use crate::store::{self, Cursor, Ended, RunSearch};

/// Runs on a page, and in a file.
const PAGE_SIZE: u32 = 50;
const FILE_SIZE: u32 = 5_000;

/// Stands for runs without an end.
const NOT_YET: &str = "open";
/// Stand for runs that failed, and for those whose end was not reported within their limit.
const FAILED: &str = "failed";
const LOST: &str = "lost";

/// Answers with the page.
pub(crate) async fn page(request: &Request, env: &Env) -> Outcome<Response> {
    let asked = Asked::of(request, env).await?;
    let search = Search::of(&asked.url);
    let query = asked.filter.query(asked.now_ms);
    let after = parameter(&asked.url, "after").and_then(|after| read_cursor(&after));
    // A file has more than a page.
    let file = parameter(&asked.url, "csv").is_some();
    let size = if file { FILE_SIZE } else { PAGE_SIZE };
    let found = store::runs(env, &query, &search.query(), after, size).await?;
    let own = search.parameters();
    let href = |more: Option<(&str, &str)>| {
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        asked.filter.href(RUNS.path, &own.chain(more).collect::<Vec<_>>())
    };
    let next = found.next.map(|next| format!("{}_{}", next.at_ms, next.run_id));
    let ways = html! {
        nav.pages aria-label=(RUNS.title) {
            @if after.is_some() { a href=(href(None)) rel="prev" { "Newest reviews" } }
            @if let Some(next) = &next { a href=(href(Some(("after", next)))) rel="next" { "Older reviews" } }
        }
    };
    let table = runs_table(RUNS.title, &found.runs, asked.now_ms).after(ways).build();
    let content = Content {
        fields: search.fields(),
        own,
        ..Content::new(RUNS, Html::default(), vec![table])
    };
    finished(&asked, env, content).await
}

/// The search as it stands in the URL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Search {
    text: Option<String>,
    ended: Option<String>,
}

impl Search {
    fn of(url: &Url) -> Self {
        Self {
            text: parameter(url, "q").filter(|text| text.len() <= 256),
            ended: parameter(url, "verdict").filter(|verdict| {
                VERDICTS.contains(&verdict.as_str()) || [NOT_YET, FAILED, LOST].contains(&verdict.as_str())
            }),
        }
    }

    /// A run's id, a merge request's number, or a part of a project's path.
    fn query(&self) -> RunSearch {
        let text = self.text.as_deref().unwrap_or_default();
        let run = Uuid::parse_str(text).ok();
        let number = text.strip_prefix('!').unwrap_or(text);
        let merge_request = number
            .parse()
            .ok()
            .filter(|number| (1..=1_000_000_000).contains(number));
        let ended = self.ended.as_deref();
        RunSearch {
            run,
            merge_request,
            part: (!text.is_empty() && run.is_none() && merge_request.is_none()).then(|| text.to_owned()),
            ended: match VERDICTS.into_iter().find(|verdict| Some(*verdict) == ended) {
                Some(verdict) => Some(Ended::With(verdict)),
                None => ended.map(|ended| match ended {
                    FAILED => Ended::Failed,
                    LOST => Ended::Lost,
                    _ => Ended::NotYet,
                }),
            },
        }
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let text = self.text.iter().map(|text| ("q", text.clone()));
        text.chain(self.ended.iter().map(|ended| ("verdict", ended.clone())))
            .collect()
    }

    fn fields(&self) -> Html {
        let verdicts = VERDICTS.map(|verdict| (verdict, format::words(verdict)));
        let others = [(FAILED, "Failed"), (LOST, "Lost"), (NOT_YET, "No end seen")];
        let others = others.map(|(ended, name)| (ended, name.to_owned()));
        html! {
            label.wide {
                "Search"
                input type="search" name="q" value=(self.text.as_deref().unwrap_or_default()) placeholder="Project, !number or run"
                    maxlength="256" autocomplete="off" spellcheck="false";
            }
            label {
                "Verdict"
                select name="verdict" {
                    (option("", "Any verdict", self.ended.is_none()))
                    @for (ended, name) in verdicts.into_iter().chain(others) {
                        (option(ended, &name, self.ended.as_deref() == Some(ended)))
                    }
                }
            }
        }
    }
}

fn read_cursor(text: &str) -> Option<Cursor> {
    let (at_ms, run_id) = text.split_once('_')?;
    Some(Cursor {
        at_ms: at_ms.parse().ok().filter(|at_ms| (0..1_i64 << 53).contains(at_ms))?,
        run_id: Uuid::parse_str(run_id).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(query: &str) -> RunSearch {
        Search::of(&Url::parse(&format!("https://x/runs?{query}")).expect("a URL")).query()
    }

    #[test]
    fn what_is_typed_is_a_run_a_merge_request_or_a_part_of_a_path() {
        let run = "01900000-0000-7000-8000-000000000001";
        assert_eq!(search(&format!("q={run}")).run, Uuid::parse_str(run).ok());
        assert_eq!(search("q=%2142").merge_request, Some(42));
        assert_eq!(search("q=42").merge_request, Some(42));
        assert_eq!(search("q=Pay%2Fledger").part.as_deref(), Some("Pay/ledger"));
        assert_eq!(search("q=0").part.as_deref(), Some("0"));
        assert_eq!(search("verdict=inconclusive").ended, Some(Ended::With("inconclusive")));
        assert_eq!(search("verdict=open").ended, Some(Ended::NotYet));
        assert_eq!(search("verdict=failed").ended, Some(Ended::Failed));
        assert_eq!(search("verdict=lost").ended, Some(Ended::Lost));
        assert_eq!(search("q=&verdict=x%27"), RunSearch::default());
    }

    #[test]
    fn positions_read_back_and_nonsense_does_not() {
        let run = "01900000-0000-7000-8000-000000000001";
        assert!(read_cursor(&format!("1800000000000_{run}")).is_some());
        for nonsense in ["", "x", "1_2", "-1_x", &format!("99999999999999999_{run}")] {
            assert_eq!(read_cursor(nonsense), None, "{nonsense}");
        }
    }
}
