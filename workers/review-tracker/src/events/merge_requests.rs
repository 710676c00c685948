//! Merge requests: the day on which each was heard of first, and how often it was reviewed.

use std::collections::{BTreeMap, BTreeSet};

use conclave_shared::telemetry::Event;

use super::write::json;
use crate::clock::day;

/// Merge requests on the day of their first review. What decides is whether the request is known.
const FIRST_SEEN: &str = "INSERT INTO daily_counts (project, kind, day, tier, n)
  SELECT CASE grain WHEN 0 THEN j.value->>0 ELSE '*' END, 'merge_request', CASE grain WHEN 2 THEN 0 ELSE j.value->>2 END,
  CASE grain WHEN 2 THEN '' ELSE j.value->>3 END, count(*) FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2)))
  WHERE NOT EXISTS (SELECT 1 FROM merge_requests AS m
    WHERE m.project = j.value->>0 AND m.merge_request = j.value->>1)
  GROUP BY 1, 3, 4 ON CONFLICT DO UPDATE SET n = n + excluded.n";

/// Merge requests that are known from now on.
const KNOWN: &str = "INSERT OR IGNORE INTO merge_requests (project, merge_request, reviews)
  SELECT value->>0, value->>1, 0 FROM json_each(?1)";

/// Reviews of merge requests, told apart by whether the merge request had been reviewed before. What decides is how often it was
/// until now.
const REVIEWS: &str = "INSERT INTO daily_counts (project, kind, day, tier, a, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'mr_review', CASE grain WHEN 2 THEN 0 ELSE day END,
  CASE grain WHEN 2 THEN '' ELSE tier END, part, sum(CASE part WHEN 'first' THEN is_first ELSE reviews - is_first END)
  FROM (SELECT value->>0 AS project, value->>2 AS day, value->>3 AS tier, value->>4 AS reviews,
      value->>5 AND NOT EXISTS (SELECT 1 FROM merge_requests AS m WHERE m.project = value->>0 AND m.merge_request = value->>1
        AND m.reviews > 0) AS is_first FROM json_each(?1))
  CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2)))
  CROSS JOIN (SELECT column1 AS part FROM (VALUES ('first'), ('again')))
  WHERE part = 'first' AND is_first = 1 OR part = 'again' AND reviews > is_first
  GROUP BY 1, 3, 4, 5 ON CONFLICT DO UPDATE SET n = n + excluded.n";

/// Adds the numbers of reviews.
const REVIEWED: &str = "UPDATE merge_requests SET reviews = reviews + j.n
  FROM (SELECT value->>0 AS project, value->>1 AS number, sum(value->>4) AS n FROM json_each(?1) GROUP BY 1, 2) AS j
  WHERE merge_requests.project = j.project AND merge_requests.merge_request = j.number";

/// Reviews that are taken back out of the counts of their days. A later one goes first: which of them was the first one is not stored,
/// and as long as there is one, one of them was.
const UNCOUNTED: &str = "UPDATE daily_counts SET n = max(0, n - back.reviews) FROM (
    SELECT project, day, tier, sum(1) AS reviews, coalesce((SELECT 'again' FROM daily_counts AS d WHERE d.project = r.project
      AND d.kind = 'mr_review' AND d.day = r.day AND d.tier = r.tier AND d.a = 'again' AND d.b = '' AND d.c = '' AND d.n > 0), 'first') AS part
    FROM (SELECT CASE grain WHEN 0 THEN j.value->>0 ELSE '*' END AS project, j.value->>2 AS day, j.value->>3 AS tier
      FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1)))) AS r GROUP BY 1, 2, 3, 5) AS back
  WHERE daily_counts.project = back.project AND kind = 'mr_review' AND daily_counts.day = back.day
  AND daily_counts.tier = back.tier AND a = back.part AND b = '' AND c = ''";

/// Takes away what is then empty.
const NONE_LEFT: &str = "DELETE FROM daily_counts WHERE n = 0 AND (project, kind, day, tier) IN (
  SELECT CASE grain WHEN 0 THEN j.value->>0 ELSE '*' END, 'mr_review', j.value->>2, j.value->>3
  FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1))))
  AND day IN (SELECT value->>2 FROM json_each(?1))";

/// Takes them off the numbers of reviews.
const UNREVIEWED: &str = "UPDATE merge_requests SET reviews = max(0, reviews - j.n)
  FROM (SELECT value->>0 AS project, value->>1 AS number, count(*) AS n FROM json_each(?1) GROUP BY 1, 2) AS j
  WHERE merge_requests.project = j.project AND merge_requests.merge_request = j.number";

/// A merge request: its project and its number.
type MergeRequest<'a> = (&'a str, u64);

/// The merge requests of a write.
#[derive(Default)]
pub(super) struct MergeRequests<'a> {
    mentioned: BTreeMap<MergeRequest<'a>, (i64, &'static str)>,
    /// Reviews by day and tier, and whether the first one here is among them: that may be the first one ever.
    reviews: BTreeMap<(MergeRequest<'a>, i64, &'static str), (u64, bool)>,
    reviewed: BTreeSet<MergeRequest<'a>>,
    /// Reviews that are taken back, as rows.
    back: Vec<String>,
}

impl<'a> MergeRequests<'a> {
    /// Adds the merge request of an event, if it states one, and a review of it, if the event is one that counts.
    pub(super) fn add(&mut self, event: &'a Event, tier: &'static str, number: Option<u64>, is_review: bool) {
        let Some(number) = number else { return };
        let merge_request = (event.project.as_str(), number);
        let day = day(event.at_ms);
        self.mentioned.entry(merge_request).or_insert((day, tier));
        if is_review {
            let is_leading = self.reviewed.insert(merge_request);
            let review = self.reviews.entry((merge_request, day, tier)).or_insert((0, false));
            review.0 += 1;
            review.1 |= is_leading;
        }
    }

    /// Takes a review back that was counted before.
    pub(super) fn take_back(&mut self, event: &'a Event, tier: &'static str, number: Option<u64>) {
        let Some(number) = number else { return };
        self.back.push(json(&(&event.project, number, day(event.at_ms), tier)));
    }

    /// Its rows by statement, in order.
    pub(super) fn rows(self) -> [(&'static str, Vec<String>); 7] {
        let mentioned = self.mentioned.into_iter();
        let mentioned: Vec<String> = mentioned
            .map(|((project, number), (day, tier))| json(&(project, number, day, tier)))
            .collect();
        let reviews = self.reviews.into_iter();
        let reviews: Vec<String> = reviews
            .map(|(((project, number), day, tier), (count, leading))| {
                json(&(project, number, day, tier, count, leading))
            })
            .collect();
        [
            (FIRST_SEEN, mentioned.clone()),
            (KNOWN, mentioned),
            (REVIEWS, reviews.clone()),
            (REVIEWED, reviews),
            (UNCOUNTED, self.back.clone()),
            (NONE_LEFT, self.back.clone()),
            (UNREVIEWED, self.back),
        ]
    }
}
