//! The rows that batches of events add to the database, statement by statement.

use std::collections::{BTreeMap, BTreeSet};

use conclave_shared::telemetry::{Event, EventBody};
use serde::Serialize;
use uuid::Uuid;

use super::{
    Batch, KINDS, KnownRuns,
    ends::{Ends, Part},
    known_names::{is_known, quota},
    known_runs::is_failure,
    meaning,
    merge_requests::MergeRequests,
    rollup::{COUNTS, DISTRIBUTIONS, RUNS, Rollup, SHARED, Sums},
    write::{Write, json, open},
};
use crate::{clock::day, sketch};

/// The events themselves. Fails if one of them is known.
const EVENTS: &str = "INSERT INTO events
  (id, run_id, project, kind, schema_version, at_ms, received_ms, body, proven)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8 FROM json_each(?1)";

/// Names with their rank, in the order in which they are first seen. The product's own have rank 0 and no project; of free names
/// each project may bring so many, and one beyond them has no row, so that another project can still bring it.
const NAMES: &str = "INSERT INTO names (kind, name, rank, project)
  SELECT kind, name, iif(known, 0, coalesce((SELECT max(rank) FROM names AS n WHERE n.kind = fit.kind), 0)
    + row_number() OVER (PARTITION BY kind, known ORDER BY name)), project
  FROM (SELECT kind, name, project, known, quota, row_number() OVER (PARTITION BY kind, project ORDER BY name)
      + (SELECT count(*) FROM names AS n WHERE n.kind = new.kind AND n.project = new.project AND n.project <> '') AS place
    FROM (SELECT value->>0 AS kind, value->>1 AS name, value->>2 AS project, value->>3 AS known, value->>4 AS quota
      FROM json_each(?1)) AS new
    WHERE NOT EXISTS (SELECT 1 FROM names AS n WHERE n.kind = new.kind AND n.name = new.name
      AND (n.rank = 0 OR NOT new.known))) AS fit
  WHERE known OR quota IS NULL OR place <= quota
  ON CONFLICT (kind, name) DO UPDATE SET rank = min(rank, excluded.rank)";

/// The kind of counts of runs that were counted as completed and then reported as failed.
pub(super) const WITHDRAWN: &str = "withdrawn";

/// A row a run, so that whatever arrives first can be shown.
const RUN_ROWS: &str = "INSERT OR IGNORE INTO runs (run_id, project, at_ms)
  SELECT value->>0, value->>1, value->>2 FROM json_each(?1)";

/// Takes batches apart into every statement of a transaction, in order, those without rows included. An event that is known, and an
/// id that comes twice, is left out, and so is what another project says of a run.
///
/// A run counts once: as failed if one of its events says so, whichever comes first, else with its first verdict.
pub fn writes(batches: &[Batch], known: &BTreeSet<Uuid>, known_runs: &KnownRuns, now_ms: i64) -> Vec<Write> {
    let mut rows = Rows::new();
    let mut seen = known.clone();
    let mut ends = Ends::of(known_runs, batches);
    let mut runs = BTreeMap::new();
    for batch in batches {
        let mut is_news = false;
        for event in batch.events.iter().filter(|event| seen.insert(event.id)) {
            let run = event.run_id;
            let project = known_runs.project(run).unwrap_or(&event.project);
            let began = runs.entry(run).or_insert((project, event.at_ms));
            if began.0 != event.project {
                continue;
            }
            is_news = true;
            began.1 = began.1.min(event.at_ms);
            let part = ends.part(event);
            let mut writer = Writer {
                event,
                tier: known_runs.tier(run),
                proven: batch.proven.contains(&event.id),
                only_rows: part == Part::Rows,
                takes_back: false,
                rows: &mut rows,
            };
            writer.event(batch, part);
            if part == Part::InsteadOf {
                take_back(run, known_runs, &mut rows);
            }
        }
        if is_news {
            let waited_ms = u64::try_from(now_ms - batch.received_ms).unwrap_or_default();
            let bin = sketch::bin(sketch::float(waited_ms));
            let key = open(&("*", day(batch.received_ms), "", "lag_ms", bin));
            add(&mut rows.sums, &DISTRIBUTIONS, key, &[1.0]);
        }
    }
    for (run, (project, at_ms)) in runs {
        rows.add(RUN_ROWS, &(run, project, at_ms));
    }
    rows.finish()
}

/// Takes back what a run was counted as that turns out to have failed.
fn take_back<'a>(run: Uuid, known_runs: &'a KnownRuns, rows: &mut Rows<'a>) {
    let Some(event) = known_runs.counted(run) else {
        return;
    };
    let tier = known_runs.tier(run);
    rows.merge_requests
        .take_back(event, tier, meaning(&event.event).merge_request());
    let mut writer = Writer {
        event,
        tier,
        proven: false,
        only_rows: false,
        takes_back: true,
        rows,
    };
    meaning(&event.event).write(&mut writer);
    if let EventBody::RunCompleted(of) = &event.event {
        writer.takes_back = false;
        writer.count(WITHDRAWN, &[word(of.tier.as_str()), word(of.verdict.as_str())], 1);
    }
}

/// Rows by statement, and sums by rollup.
struct Rows<'a> {
    tables: Vec<(&'static str, Vec<String>)>,
    sums: Vec<(&'static Rollup, Sums)>,
    /// Sums that are taken back from those of days.
    back: Vec<(&'static Rollup, Sums)>,
    /// Names of kinds, with the projects that bring them.
    names: BTreeSet<(&'static str, &'a str, &'a str)>,
    merge_requests: MergeRequests<'a>,
}

impl Rows<'_> {
    fn new() -> Self {
        let of_kinds = KINDS.iter().flat_map(|kind| kind.statements).copied();
        let rollups = || KINDS.iter().flat_map(|kind| kind.rollups).copied();
        let ends = [&RUNS].into_iter().chain(SHARED);
        Self {
            // First what fails when an event is known.
            tables: [EVENTS, NAMES, RUN_ROWS]
                .into_iter()
                .chain(of_kinds)
                .map(|statement| (statement, Vec::new()))
                .collect(),
            sums: rollups()
                .chain(SHARED)
                .map(|rollup| (rollup, Sums::default()))
                .collect(),
            back: ends.map(|rollup| (rollup, Sums::default())).collect(),
            names: BTreeSet::new(),
            merge_requests: MergeRequests::default(),
        }
    }

    fn add(&mut self, statement: &'static str, row: &impl Serialize) {
        let row = json(row);
        match self.tables.iter_mut().find(|(known, _)| *known == statement) {
            Some((_, rows)) => rows.push(row),
            None => self.tables.push((statement, vec![row])),
        }
    }

    fn finish(mut self) -> Vec<Write> {
        for (kind, name, project) in std::mem::take(&mut self.names) {
            let known = u8::from(is_known(kind, name));
            self.add(NAMES, &(kind, name, project, known, quota(kind)));
        }
        let rows = self
            .tables
            .into_iter()
            .map(|(statement, rows)| (statement.into(), rows));
        let sums = self
            .sums
            .into_iter()
            .map(|(rollup, sums)| (rollup.statement(), sums.rows()));
        let back = self.back.into_iter().flat_map(|(rollup, sums)| {
            let rows = sums.rows();
            let statements = rollup.taking_back().into_iter();
            statements.map(move |statement| (statement, rows.clone()))
        });
        let merge_requests = self.merge_requests.rows().into_iter();
        rows.chain(sums)
            .chain(back)
            .chain(merge_requests.map(|(statement, rows)| (statement.into(), rows)))
            .map(|(statement, rows)| Write { statement, rows })
            .collect()
    }
}

/// Adds values to the sums of a key of a rollup, which is an array without its end.
fn add(all: &mut Vec<(&'static Rollup, Sums)>, rollup: &'static Rollup, key: String, values: &[f64]) {
    if let Some((_, sums)) = all.iter_mut().find(|(known, _)| std::ptr::eq(*known, rollup)) {
        sums.add(rollup, key, values);
    } else {
        let mut sums = Sums::default();
        sums.add(rollup, key, values);
        all.push((rollup, sums));
    }
}

/// Takes what one event adds to a write.
pub(super) struct Writer<'a, 'r> {
    /// The event.
    pub(super) event: &'a Event,
    /// The tier of its run, empty while that is not known.
    pub(super) tier: &'static str,
    proven: bool,
    /// Set for the end of a run that counts as something else: its rows are written, and nothing is counted.
    pub(super) only_rows: bool,
    /// Set if what it counts is taken back, without touching rows.
    takes_back: bool,
    rows: &'r mut Rows<'a>,
}

/// A label of a count: a word of ours, or a name of a kind that clients choose freely, of which only so many are kept apart.
#[derive(Clone, Copy)]
pub(super) struct Label<'a>(Option<&'static str>, &'a str);

/// A word of ours.
pub(super) const fn word(word: &str) -> Label<'_> {
    Label(None, word)
}

/// A name of a kind.
pub(super) const fn name<'a>(kind: &'static str, name: &'a str) -> Label<'a> {
    Label(Some(kind), name)
}

impl<'a> Writer<'a, '_> {
    /// Adds the event itself, and, if it counts, what it means.
    fn event(&mut self, batch: &Batch, part: Part) {
        let event = self.event;
        let body = json(&event.event);
        let kind = event.event.kind();
        self.cells(
            EVENTS,
            &(
                event.id,
                event.run_id,
                &event.project,
                kind,
                event.schema,
                event.at_ms,
                batch.received_ms,
                body,
                self.proven,
            ),
        );
        self.name("project", &event.project);
        self.count("event", &[word(kind)], 1);
        if batch.skewed.contains(&event.id) {
            self.count("skewed", &[], 1);
        }
        if part == Part::Nothing {
            return;
        }
        let meaning = meaning(&event.event);
        let is_review =
            part == Part::All && matches!(event.event, EventBody::RunCompleted(_)) && !is_failure(&event.event);
        let merge_request = meaning.merge_request();
        self.rows.merge_requests.add(event, self.tier, merge_request, is_review);
        meaning.write(self);
    }

    /// Adds a row that a statement reads by names: what every event has, and under `of` what this one is about.
    pub(super) fn row(&mut self, statement: &'static str, of: &impl Serialize) {
        #[derive(Serialize)]
        struct Row<'a, T> {
            id: Uuid,
            run_id: Uuid,
            project: &'a str,
            at_ms: i64,
            of: &'a T,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            proven: bool,
        }
        if self.takes_back {
            return;
        }
        let event = self.event;
        let row = Row {
            id: event.id,
            run_id: event.run_id,
            project: &event.project,
            at_ms: event.at_ms,
            of,
            proven: self.proven,
        };
        self.cells(statement, &row);
    }

    /// Adds a row that a statement reads by places: an array, which the database reads faster than an object.
    pub(super) fn cells(&mut self, statement: &'static str, cells: &impl Serialize) {
        self.rows.add(statement, cells);
    }

    /// Counts so many of a kind, by up to three labels.
    pub(super) fn count(&mut self, kind: &'static str, labels: &[Label<'a>], n: u64) {
        for Label(kind, name) in labels.iter().copied() {
            if let Some(kind) = kind {
                self.name(kind, name);
            }
        }
        let label = |place: usize| labels.get(place).copied().unwrap_or(word(""));
        let [Label(a_kind, a), Label(b_kind, b), Label(c_kind, c)] = [0, 1, 2].map(label);
        let (project, day) = (&self.event.project, day(self.event.at_ms));
        let key = (project, day, self.tier, kind, a, b, c, a_kind, b_kind, c_kind);
        self.add(&COUNTS, open(&key), &[sketch::float(n)]);
    }

    /// Adds values to a rollup, under the event's project and day and these further keys.
    pub(super) fn sum<const N: usize>(&mut self, rollup: &'static Rollup, keys: [&str; N], values: &[f64]) {
        let mut key = open(&(&self.event.project, day(self.event.at_ms)));
        for more in keys {
            key.push(',');
            key.push_str(&json(&more));
        }
        self.add(rollup, key, values);
    }

    fn add(&mut self, rollup: &'static Rollup, key: String, values: &[f64]) {
        let sums = if self.takes_back {
            &mut self.rows.back
        } else {
            &mut self.rows.sums
        };
        add(sums, rollup, key, values);
    }

    /// Adds a value to its distribution.
    pub(super) fn distribution(&mut self, metric: &'static str, tier: &'static str, value: f64) {
        let (project, day) = (&self.event.project, day(self.event.at_ms));
        let key = (project, day, tier, metric, sketch::bin(value));
        self.add(&DISTRIBUTIONS, open(&key), &[1.0]);
    }

    /// Notes a name of a kind.
    pub(super) fn name(&mut self, kind: &'static str, name: &'a str) {
        let event = self.event;
        let is_free = quota(kind).is_some() && !is_known(kind, name);
        let project = if is_free { event.project.as_str() } else { "" };
        self.rows.names.insert((kind, name, project));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_stands_once() {
        let all = writes(&[], &BTreeSet::new(), &KnownRuns::default(), 0);
        let distinct: BTreeSet<&str> = all.iter().map(|write| write.statement.as_ref()).collect();
        assert_eq!((all.len(), distinct.len()), (39, 39));
    }
}
