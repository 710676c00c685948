//! `reviewer_completed`: the session of a reviewer or of the coordinator ended.

use std::collections::BTreeMap;

use conclave_shared::telemetry::{ReviewerCompleted, TokensByModel};

use super::{
    Checked, Families, Kind, Meaning, Writer,
    limits::{MAX_COUNT, MAX_DURATION_MS, MAX_REVIEWER, cost, count, text, tokens},
    rollup::{Key, Rollup},
    rows::{name, word},
    write::json,
};
use crate::sketch::float;

const MAX_MODELS: usize = 50;

/// Sessions. One ended when its event was made, and began its duration before.
const SESSIONS: &str = "INSERT OR IGNORE INTO sessions
  (event_id, run_id, at_ms, reviewer, outcome, duration_ms, attempts, findings, started_ms, models_tried)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>2 - value->>5,
  value->>8 FROM json_each(?1)";

/// The usage of sessions, one row a model.
const USAGE_ROWS: &str = "INSERT OR IGNORE INTO usage
  (event_id, position, run_id, reviewer, model, calls, input, output, reasoning, cache_read, cache_write, cost_usd)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
  value->>10, value->>11 FROM json_each(?1)";

/// Tokens and cost by model and reviewer.
static USAGE: Rollup = Rollup::Table {
    table: "daily_usage",
    keys: &[
        Key::Tier,
        Key::Name("model", "model"),
        Key::Name("reviewer", "reviewer"),
    ],
    sums: "calls, input, output, reasoning, cache_read, cache_write, cost_usd",
    max: None,
};

pub(super) const KIND: Kind = Kind {
    statements: &[SESSIONS, USAGE_ROWS],
    rollups: &[&USAGE],
    families,
};

impl Meaning for ReviewerCompleted {
    fn check(&self) -> Checked {
        text("reviewer", self.reviewer.as_str(), MAX_REVIEWER)?;
        count("duration_ms", self.duration_ms, MAX_DURATION_MS)?;
        count("findings", self.findings, MAX_COUNT)?;
        count("repair_turns", self.repair_turns, MAX_COUNT)?;
        for (field, models) in [("usage", self.usage.len()), ("models_tried", self.models_tried.len())] {
            if models > MAX_MODELS {
                return Err(format!("`{field}` has more than {MAX_MODELS} models"));
            }
        }
        self.usage.iter().try_for_each(|usage| {
            cost(usage.cost_usd)?;
            count("calls", usage.calls, MAX_COUNT)?;
            tokens(&usage.tokens)
        })
    }

    /// Most events are sessions: their rows are short arrays, which the database reads faster than objects.
    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        let event = to.event;
        let tried = (!self.models_tried.is_empty()).then(|| json(&self.models_tried));
        to.cells(
            SESSIONS,
            &(
                event.id,
                event.run_id,
                event.at_ms,
                &self.reviewer,
                self.outcome,
                self.duration_ms,
                self.attempts,
                self.findings,
                tried,
            ),
        );
        to.count(
            "session",
            &[name("reviewer", &self.reviewer), word(self.outcome.as_str())],
            1,
        );
        if self.repair_turns > 0 {
            to.count("repair", &[name("reviewer", &self.reviewer)], self.repair_turns);
        }
        for (position, used) in self.usage.iter().enumerate() {
            let TokensByModel {
                model, tokens, calls, ..
            } = used;
            to.cells(
                USAGE_ROWS,
                &(
                    event.id,
                    position,
                    event.run_id,
                    &self.reviewer,
                    model,
                    calls,
                    tokens.input,
                    tokens.output,
                    tokens.reasoning,
                    tokens.cache_read,
                    tokens.cache_write,
                    used.cost_usd,
                ),
            );
            to.name("model", model.as_str());
            let [calls, input, output, reasoning, cache_read, cache_write] = [
                *calls,
                tokens.input,
                tokens.output,
                tokens.reasoning,
                tokens.cache_read,
                tokens.cache_write,
            ]
            .map(float);
            let values = [calls, input, output, reasoning, cache_read, cache_write, used.cost_usd];
            to.sum(&USAGE, [to.tier, model.as_str(), &self.reviewer], &values);
        }
    }
}

fn families(to: &mut Families<'_>) {
    to.counts(
        "conclave_sessions",
        "Sessions by agent and outcome.",
        "session",
        ["agent", "outcome"],
        |names, [agent, outcome, _]| [names.agent(agent), outcome],
    );
    to.counts(
        "conclave_repair_turns",
        "Turns in which an agent was asked once more, by agent.",
        "repair",
        ["agent"],
        |names, [agent, _, _]| [names.agent(agent)],
    );
    let mut tokens: BTreeMap<[&str; 2], [u64; 5]> = BTreeMap::new();
    let mut costs: BTreeMap<[&str; 2], f64> = BTreeMap::new();
    for row in &to.all.usage {
        let labels = [to.names.model(&row.model), to.names.agent(&row.reviewer)];
        let kinds = [row.input, row.output, row.reasoning, row.cache_read, row.cache_write];
        for (sum, tokens) in tokens.entry(labels).or_default().iter_mut().zip(kinds) {
            *sum += tokens;
        }
        *costs.entry(labels).or_default() += row.cost_usd;
    }
    to.out.counter(
        "conclave_tokens",
        "Tokens by model, agent and kind; the kinds do not overlap.",
    );
    for ([model, agent], sums) in &tokens {
        let kinds = ["input", "output", "reasoning", "cache_read", "cache_write"];
        for (kind, sum) in kinds.into_iter().zip(sums) {
            to.out
                .sample(&[("model", model), ("agent", agent), ("kind", kind)], *sum);
        }
    }
    to.out.counter(
        "conclave_cost_usd",
        "Cost of model calls in US dollars, by model and agent.",
    );
    for ([model, agent], cost) in costs {
        to.out.sample(&[("model", model), ("agent", agent)], cost);
    }
}
