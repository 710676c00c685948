//! The part of the data that is looked at, as it stands in the URL of every page.

use conclave_shared::project;
use url::form_urlencoded::Serializer;
use worker::Url;

use super::format;
use crate::{clock, store::Window};

/// Windows that are offered, in days.
pub(crate) const WINDOWS: [u16; 4] = [1, 7, 30, 90];

/// The window that is shown first.
const DEFAULT_WINDOW: u16 = 30;

/// Maximum days of a period: everything is kept by the day, and more days are more to read.
const MAX_DAYS: i64 = 731;

/// Tiers that are offered.
pub(crate) const TIERS: [&str; 3] = ["trivial", "lite", "full"];

/// The period that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Period {
    /// So many days, today included.
    Last(u16),
    /// From one day to another, both included.
    Days(i64, i64),
}

/// The filters of every page. Nonsense in the URL is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    /// One project, or all.
    pub(crate) project: Option<String>,
    /// One tier, or all.
    pub(crate) tier: Option<&'static str>,
    /// The period.
    pub(crate) period: Period,
}

/// A parameter of a URL.
pub(crate) fn parameter(url: &Url, wanted: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs
        .find(|(name, _)| name == wanted)
        .map(|(_, value)| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

impl Filter {
    /// Reads the filters of a URL.
    pub(crate) fn of(url: &Url, now_ms: i64) -> Self {
        let value = |wanted| parameter(url, wanted);
        let window = value("days")
            .and_then(|days| days.parse().ok())
            .filter(|days| WINDOWS.contains(days));
        let day = |wanted| value(wanted).and_then(|day| format::read_day(&day));
        let today = clock::day(now_ms);
        let period = match (window, day("from"), day("to")) {
            (Some(days), ..) => Period::Last(days),
            (None, None, None) => Period::Last(DEFAULT_WINDOW),
            (None, first, last) => {
                let last = last.unwrap_or(today);
                let first = first.unwrap_or(last - i64::from(DEFAULT_WINDOW) + 1);
                period(first.min(last).max(last - MAX_DAYS + 1), last, today)
            }
        };
        Self {
            project: value("project")
                .filter(|project| project.len() <= 256)
                .map(project::identity),
            tier: value("tier").and_then(|tier| TIERS.into_iter().find(|known| *known == tier)),
            period,
        }
    }

    /// The address of a page with these filters and parameters of its own.
    pub(crate) fn href(&self, path: &str, more: &[(&str, &str)]) -> String {
        let mut query = Serializer::new(String::new());
        if let Some(project) = &self.project {
            query.append_pair("project", project);
        }
        if let Some(tier) = self.tier {
            query.append_pair("tier", tier);
        }
        match self.period {
            Period::Last(DEFAULT_WINDOW) => {}
            Period::Last(days) => {
                query.append_pair("days", &days.to_string());
            }
            Period::Days(first, last) => {
                query.append_pair("from", &format::iso_day(first));
                query.append_pair("to", &format::iso_day(last));
            }
        }
        for (name, value) in more {
            query.append_pair(name, value);
        }
        let query = query.finish();
        if query.is_empty() {
            path.to_owned()
        } else {
            format!("{path}?{query}")
        }
    }

    /// The same with another period.
    pub(crate) fn with_days(&self, days: u16) -> Self {
        Self {
            period: Period::Last(days),
            ..self.clone()
        }
    }

    /// The window to ask the store for.
    pub(crate) fn query(&self, now_ms: i64) -> Window {
        let (first_day, last_day) = match self.period {
            Period::Last(days) => {
                let today = clock::day(now_ms);
                (today - i64::from(days) + 1, today)
            }
            Period::Days(first, last) => (first, last),
        };
        Window {
            project: self.project.clone(),
            tier: self.tier.map(str::to_owned),
            first_day,
            last_day,
        }
    }
}

/// A period by its days; one of the windows, if it is one that ends today: then a link to it goes along with the days.
fn period(first: i64, last: i64, today: i64) -> Period {
    let window = WINDOWS
        .into_iter()
        .find(|days| last == today && last - first + 1 == i64::from(*days));
    window.map_or(Period::Days(first, last), Period::Last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: i64 = 20_000;

    fn read(path: &str) -> Filter {
        let url = Url::parse(&format!("https://x{path}")).expect("a URL");
        Filter::of(&url, clock::DAY_MS * TODAY + 5)
    }

    #[test]
    fn what_is_written_reads_back() {
        for path in [
            "/models",
            "/models?project=group%2Fa+b%26c&tier=full&days=7",
            "/models?from=2024-03-10&to=2024-04-09",
        ] {
            assert_eq!(read(path).href("/models", &[]), path);
        }
        assert_eq!(
            read("/?tier=lite").href("/runs", &[("q", "a b")]),
            "/runs?tier=lite&q=a+b"
        );
    }

    #[test]
    fn nonsense_is_taken_as_not_said() {
        for path in [
            "/?tier=huge&days=0",
            "/?days=99999999",
            "/?project=",
            "/?tier=FULL",
            "/?from=yesterday&to=2024-13-01",
            "/?from=&to=",
        ] {
            assert_eq!(read(path).href("/", &[]), "/", "{path}");
        }
    }

    #[test]
    fn a_form_that_names_the_days_of_a_window_is_that_window() {
        // 2024-10-04 is day 20,000.
        assert_eq!(read("/?from=2024-09-28&to=2024-10-04").period, Period::Last(7));
        assert_eq!(read("/?from=2024-09-28").period, Period::Last(7));
        assert_eq!(
            read("/?from=2024-09-27&to=2024-10-03").period,
            Period::Days(TODAY - 7, TODAY - 1)
        );
    }

    #[test]
    fn periods_are_the_right_way_round_and_not_endless() {
        let query = |path| read(path).query(clock::DAY_MS * TODAY);
        let days = |path| (query(path).first_day - TODAY, query(path).last_day - TODAY);
        assert_eq!(days("/?days=1"), (0, 0));
        assert_eq!(days("/?from=2024-10-04&to=2024-10-01"), (-3, -3));
        assert_eq!(days("/?from=1970-01-01&to=2024-10-04"), (1 - MAX_DAYS, 0));
    }
}
