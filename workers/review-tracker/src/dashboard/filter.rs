//! What of the data is looked at, as it stands in the URL.

use url::form_urlencoded::Serializer;
use uuid::Uuid;
use worker::Url;

use crate::{
    clock,
    store::{Cursor, OverviewQuery},
};

/// Windows that are offered, in days.
pub(crate) const WINDOWS: [u16; 4] = [1, 7, 30, 90];

/// The window that is shown first.
const DEFAULT_WINDOW: u16 = 30;

/// Tiers that are offered.
pub(crate) const TIERS: [&str; 3] = ["trivial", "lite", "full"];

/// The filters of an overview. What the URL has that makes no sense is taken as not said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    /// One project, or all.
    pub(crate) project: Option<String>,
    /// One tier, or all.
    pub(crate) tier: Option<&'static str>,
    /// The window, today included.
    pub(crate) days: u16,
    /// Where the table of runs begins.
    pub(crate) after: Option<Cursor>,
}

impl Filter {
    /// Reads the filters of a URL.
    pub(crate) fn of(url: &Url) -> Self {
        let value = |wanted: &str| {
            let mut pairs = url.query_pairs();
            pairs
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| value.into_owned())
        };
        Self {
            project: value("project").filter(|project| !project.is_empty() && project.len() <= 256),
            tier: value("tier").and_then(|tier| TIERS.into_iter().find(|known| *known == tier)),
            days: value("days")
                .and_then(|days| days.parse().ok())
                .filter(|days| WINDOWS.contains(days))
                .unwrap_or(DEFAULT_WINDOW),
            after: value("after").and_then(|after| read_cursor(&after)),
        }
    }

    /// The address of the overview with these filters.
    pub(crate) fn href(&self) -> String {
        let mut query = Serializer::new(String::new());
        if let Some(project) = &self.project {
            query.append_pair("project", project);
        }
        if let Some(tier) = self.tier {
            query.append_pair("tier", tier);
        }
        if self.days != DEFAULT_WINDOW {
            query.append_pair("days", &self.days.to_string());
        }
        if let Some(after) = self.after {
            query.append_pair("after", &format!("{}_{}", after.at_ms, after.run_id));
        }
        let query = query.finish();
        if query.is_empty() {
            "/".to_owned()
        } else {
            format!("/?{query}")
        }
    }

    /// These filters from the first run on.
    pub(crate) fn first_page(&self) -> Self {
        Self {
            after: None,
            ..self.clone()
        }
    }

    /// What to ask the store for.
    pub(crate) fn query(&self, now_ms: i64) -> OverviewQuery {
        let last_day = clock::day(now_ms);
        OverviewQuery {
            project: self.project.clone(),
            tier: self.tier.map(str::to_owned),
            first_day: last_day - i64::from(self.days) + 1,
            last_day,
        }
    }
}

fn read_cursor(text: &str) -> Option<Cursor> {
    let (at_ms, run_id) = text.split_once('_')?;
    Some(Cursor {
        at_ms: at_ms.parse().ok()?,
        run_id: Uuid::parse_str(run_id).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Filter {
        Filter::of(&Url::parse(&format!("https://x{path}")).expect("a URL"))
    }

    #[test]
    fn what_is_written_reads_back() {
        for path in [
            "/",
            "/?project=group%2Fa+b%26c&tier=full&days=7",
            "/?days=90&after=1800000000000_01900000-0000-7000-8000-000000000001",
        ] {
            assert_eq!(read(path).href(), path);
        }
    }

    #[test]
    fn nonsense_is_taken_as_not_said() {
        for path in [
            "/?tier=huge&days=0&after=x",
            "/?days=99999999",
            "/?after=1_2&project=",
            "/?tier=FULL",
        ] {
            assert_eq!(read(path).href(), "/");
        }
    }

    #[test]
    fn a_window_of_one_day_is_today() {
        let query = read("/?days=1").query(clock::DAY_MS * 20_000 + 5);
        assert_eq!((query.first_day, query.last_day), (20_000, 20_000));
    }
}
