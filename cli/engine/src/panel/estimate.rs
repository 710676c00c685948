//! What a review will read, write and cost, before any model is asked.
//!
//! A session is played through turn by turn, as the runtime sends it: every turn repeats the whole conversation, the
//! provider's cache serves what it has seen, and the rest is paid in full. What is read is counted with a real tokenizer;
//! how many turns a session takes and how much a model writes can only be assumed, and [`Estimate::assumptions`] says how.

use conclave_shared::{
    config::{Capabilities, ClassEfforts, ModelRoute, NoModel, PriceList, model_tier},
    effort::{Effort, ThinkingRequest},
    model::ModelId,
    pricing::{ModelFacts, TokenUsage},
    reviewer::ReviewerName,
    risk::RiskTier,
};
use serde::Serialize;

use crate::prompt::{PromptLibrary, UnknownPrompt};
use crate::review::Plan;

/// Tokens that the runtime adds to a prompt: its tools, and its words about the surroundings. This and the next four are
/// what OpenCode 1.18.33 sends, counted; a test holds the first one against what it sends today.
const RUNTIME: u64 = 1_015;
/// The coordinator's two own tools.
const COORDINATOR_TOOLS: u64 = 440;
/// What the tool that reads files adds to each file, and to each line of it.
const READ_FILE: u64 = 60;
const READ_LINE: u64 = 2;
/// A call of that tool.
const CALL: u64 = 25;

/// A part of a source file that is opened to check something: about a hundred lines.
const LOOK: u64 = 1_500;
/// What a reviewer hands to the coordinator.
const REPORT: u64 = 350;

/// The input of an estimate.
pub struct EstimateInput<'a> {
    /// Tier, panel and models.
    pub plan: &'a Plan,
    /// The prompts.
    pub library: &'a PromptLibrary,
    /// The coordinator's first message.
    pub coordinator_message: &'a str,
    /// The patches, counted.
    pub patches: PatchTokens,
    /// Prices of models.
    pub prices: &'a PriceList,
    /// The capabilities of a model, as far as its provider can be asked for them.
    pub capabilities: &'a dyn Fn(&ModelId) -> Capabilities,
    /// How many tokens a text has for the tokenizer at hand (`o200k_base`).
    pub count: &'a dyn Fn(&str) -> u64,
}

/// Patches, counted one after the other: a large diff is never in memory as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PatchTokens {
    files: u64,
    tokens: u64,
}

impl PatchTokens {
    /// Counts one more patch, as the runtime shows it to a reviewer.
    pub fn add(&mut self, patch: &str, count: &dyn Fn(&str) -> u64) {
        let lines = u64::try_from(patch.lines().count()).unwrap_or(u64::MAX);
        self.files += 1;
        self.tokens += count(patch) + READ_FILE + READ_LINE * lines;
    }
}

/// What one session will use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionEstimate {
    /// Who.
    pub name: ReviewerName,
    /// The model that it starts with; none can be used where there is none.
    pub model: Option<ModelId>,
    /// Number of times that the model is asked.
    pub turns: u64,
    /// Tokens of all turns.
    pub tokens: TokenUsage,
    /// US dollars; unknown for a model without a known price.
    pub cost_usd: Option<f64>,
}

/// What was counted, in tokens of the tokenizer at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counted {
    /// What the runtime adds to every prompt of a reviewer: not counted here, but measured.
    pub runtime: u64,
    /// The rules that every reviewer gets.
    pub rules: u64,
    /// The context that stands at the beginning of every reviewer's message, with the patches that are given in it.
    pub context: u64,
    /// The patches that are opened, as they are read.
    pub patches: u64,
    /// The coordinator's prompt and first message.
    pub coordinator: u64,
}

/// What a review will use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// What was counted.
    pub counted: Counted,
    /// The reviewers, in the panel's order, then the coordinator.
    pub sessions: Vec<SessionEstimate>,
    /// Tokens of all sessions.
    pub tokens: TokenUsage,
    /// US dollars of all sessions whose model has a known price.
    pub cost_usd: f64,
    /// Models without a known price: they count as free here and in the budget.
    pub unpriced: Vec<ModelId>,
    /// What had to be assumed, in words.
    pub assumptions: Vec<String>,
}

/// How long sessions of a tier are, and how much is written in them. Turns and answers follow what 131,246 reviews of a
/// system of the same shape used on average.
struct Habits {
    /// Turns in which a reviewer looks something up in the source.
    looks: u64,
    /// Turns in which the coordinator does.
    coordinator_looks: u64,
    /// A reviewer's answer, its reasoning included.
    answer: u64,
    /// What the coordinator writes: its decisions, the summary, its reasoning.
    judgement: u64,
}

const fn habits(tier: RiskTier) -> Habits {
    match tier {
        RiskTier::Trivial => Habits {
            looks: 2,
            coordinator_looks: 1,
            answer: 1_200,
            judgement: 2_000,
        },
        RiskTier::Lite => Habits {
            looks: 4,
            coordinator_looks: 3,
            answer: 2_000,
            judgement: 5_000,
        },
        RiskTier::Full => Habits {
            looks: 6,
            coordinator_looks: 6,
            answer: 2_200,
            judgement: 9_000,
        },
    }
}

/// Parts of the text that a session writes.
#[derive(Clone, Copy)]
struct Written {
    answer: u64,
    thinking: u64,
}

/// The thinking in what a session writes on average. With the effort that such a session usually has, it is half of it, or
/// nothing where that is none; with each step of effort it doubles, as the room for it does.
fn written(
    total: u64,
    name: &ReviewerName,
    model: Option<&ModelId>,
    effort: Option<Effort>,
    input: &EstimateInput<'_>,
) -> Written {
    let (plan, name) = (input.plan, name.as_str());
    let trivial = plan.is_trivial();
    let class = plan.classes.get(name).copied();
    let usual = ClassEfforts::default().of(class.unwrap_or_else(|| model_tier(name, trivial)), trivial);
    let request = model.map(|model| (input.capabilities)(model).request(effort.unwrap_or(usual)));
    let Some(request) = request.filter(|request| *request != ThinkingRequest::Untold) else {
        return Written {
            answer: total,
            thinking: 0,
        };
    };
    let half = total / 2;
    let thinking = |of: Effort| half.saturating_mul(request.tokens()) / of.thinking_tokens();
    match usual {
        Effort::None => Written {
            answer: total,
            thinking: thinking(Effort::Medium),
        },
        usual => Written {
            answer: total - half,
            thinking: thinking(usual),
        },
    }
}

/// How many tokens of a provider's models a token of the tokenizer at hand is, in hundredths. `OpenAI`'s own models use
/// it. Anthropic does not publish its tokenizer; on source code it makes about a quarter more tokens.
fn hundredths(model: &ModelId) -> u64 {
    if model.provider() == "anthropic" || model.model().contains("claude") {
        125
    } else {
        100
    }
}

/// Estimates a review.
pub fn estimate(input: &EstimateInput<'_>) -> Result<Estimate, UnknownPrompt> {
    let count = input.count;
    let habits = habits(input.plan.assessment.tier);
    let shared_parts = |parts: &[String]| -> u64 {
        let shared = parts.split_last().map_or(&[][..], |(_, shared)| shared);
        shared.iter().map(|part| count(part)).sum()
    };
    let counted = Counted {
        runtime: RUNTIME,
        rules: count(input.library.shared()?),
        context: input
            .plan
            .members
            .first()
            .map_or(0, |member| shared_parts(&member.parts)),
        patches: input.patches.tokens,
        coordinator: count(input.library.get(ReviewerName::COORDINATOR)?) + count(input.coordinator_message),
    };
    let files = input.patches.files;
    // Without any key a plan still tells what the preferred models would cost.
    let hypothetical = input.plan.why_no_reviewer().is_some();
    let mut sessions = Vec::new();
    let mut warm: Vec<&ModelId> = Vec::new();
    for member in &input.plan.members {
        let role = member.parts.last().map_or(0, |role| count(role));
        let shared = RUNTIME + counted.rules + shared_parts(&member.parts);
        let mut turns = vec![Turn::new(shared + role, CALL.saturating_mul(files.max(1)))];
        if files > 0 {
            turns.push(Turn::new(counted.patches, CALL));
        }
        turns.extend((0..habits.looks).map(|_| Turn::new(LOOK, CALL)));
        let model = model_of(&member.route, hypothetical);
        if let Some(last) = turns.last_mut() {
            last.written = written(habits.answer, &member.name, model, effort_of(&member.route), input);
        }
        let known = if model.is_some_and(|model| warm.contains(&model)) {
            shared
        } else {
            0
        };
        warm.extend(model);
        sessions.push(session(&member.name, model, &turns, known, input.prices));
    }
    let reviewers = u64::try_from(input.plan.members.len()).unwrap_or(u64::MAX);
    let given = RUNTIME + COORDINATOR_TOOLS + counted.coordinator + reviewers.saturating_mul(REPORT);
    let mut turns = vec![Turn::new(given, CALL)];
    turns.extend((0..habits.coordinator_looks).map(|_| Turn::new(LOOK, CALL)));
    let coordinator = ReviewerName::coordinator();
    let model = model_of(&input.plan.coordinator, hypothetical);
    if let Some(last) = turns.last_mut() {
        let effort = effort_of(&input.plan.coordinator);
        last.written = written(habits.judgement, &coordinator, model, effort, input);
    }
    sessions.push(session(&coordinator, model, &turns, 0, input.prices));
    let mut estimate = total(counted, sessions, &habits);
    let models = estimate.sessions.iter().filter_map(|session| session.model.as_ref());
    let prices = input.prices.describe(models);
    estimate.assumptions.extend(prices);
    if hypothetical {
        let assumption = "no model can be used now: this is what those would cost that only lack a key".to_owned();
        estimate.assumptions.insert(0, assumption);
    }
    Ok(estimate)
}

/// The model that a session starts with, or would start with if there were a key for it.
fn model_of(route: &Result<ModelRoute, NoModel>, hypothetical: bool) -> Option<&ModelId> {
    match route {
        Ok(route) => Some(route.first()),
        Err(none) if hypothetical => {
            let without_key = none.skipped.iter().find(|skip| !skip.switched_off);
            without_key.map(|skip| &skip.model)
        }
        Err(_) => None,
    }
}

/// The effort of a route's models.
fn effort_of(route: &Result<ModelRoute, NoModel>) -> Option<Effort> {
    route.as_ref().ok().map(|route| route.effort)
}

/// A turn: what is new in its prompt besides the model's own last words, and what the model writes.
struct Turn {
    read: u64,
    written: Written,
}

impl Turn {
    const fn new(read: u64, answer: u64) -> Self {
        Self {
            read,
            written: Written { answer, thinking: 0 },
        }
    }
}

/// Plays a session through, with this much of its beginning in the provider's cache.
fn session(
    name: &ReviewerName,
    model: Option<&ModelId>,
    turns: &[Turn],
    known: u64,
    prices: &PriceList,
) -> SessionEstimate {
    let Some(model) = model else {
        return SessionEstimate {
            name: name.clone(),
            model: None,
            turns: 0,
            tokens: TokenUsage::default(),
            cost_usd: Some(0.0),
        };
    };
    let facts = prices.facts(model);
    let scale = |tokens: u64| tokens.saturating_mul(hundredths(model)) / 100;
    let mut tokens = TokenUsage::default();
    let mut cost = 0.0;
    let mut seen = scale(known);
    let mut new = scale(turns.first().map_or(0, |turn| turn.read)).saturating_sub(seen);
    for (at, turn) in turns.iter().enumerate() {
        let written = Written {
            answer: scale(turn.written.answer),
            thinking: scale(turn.written.thinking),
        };
        // Priced call by call: a long prompt can have another price.
        let usage = call(facts, seen, new, written);
        cost += facts.map_or(0.0, |facts| facts.cost_usd(&usage));
        tokens += usage;
        seen += new;
        new = scale(turns.get(at + 1).map_or(0, |next| next.read)) + written.answer + written.thinking;
    }
    SessionEstimate {
        name: name.clone(),
        model: Some(model.clone()),
        turns: u64::try_from(turns.len()).unwrap_or(u64::MAX),
        tokens,
        cost_usd: facts.map(|_| cost),
    }
}

/// One call: what the provider has seen before, what is new, what it writes.
fn call(facts: Option<ModelFacts>, seen: u64, new: u64, written: Written) -> TokenUsage {
    let caches = facts.is_some_and(|facts| facts.cache_read > 0.0);
    // Who charges for writing reports it; elsewhere the cache fills by itself, at the price of fresh tokens.
    let charges = facts.is_some_and(|facts| facts.cache_write > 0.0);
    TokenUsage {
        input: if caches { 0 } else { seen } + if charges { 0 } else { new },
        output: written.answer,
        reasoning: written.thinking,
        cache_read: if caches { seen } else { 0 },
        cache_write: if charges { new } else { 0 },
    }
}

fn total(counted: Counted, sessions: Vec<SessionEstimate>, habits: &Habits) -> Estimate {
    let mut tokens = TokenUsage::default();
    let mut cost_usd = 0.0;
    let mut unpriced: Vec<ModelId> = Vec::new();
    for session in &sessions {
        tokens += session.tokens;
        match (session.cost_usd, &session.model) {
            (Some(cost), _) => cost_usd += cost,
            (None, Some(model)) if !unpriced.contains(model) => unpriced.push(model.clone()),
            (None, _) => {}
        }
    }
    let assumptions = vec![
        format!(
            "each reviewer is given the context and, of a small change, the patches, reads every other patch, then looks {} times into the source ({LOOK} tokens each) and \
             writes {} tokens at its usual effort",
            habits.looks, habits.answer
        ),
        format!(
            "the coordinator looks {} times into the source and writes {} tokens at its usual effort; a review that finds nothing, \
             with nothing asked or open, needs none",
            habits.coordinator_looks, habits.judgement
        ),
        "half of what a session writes at its usual effort is thinking, and each step of effort doubles that".to_owned(),
        "the provider's cache serves each turn what the session's last one sent, and reviewers of one model share their \
         common beginning; nothing is retried"
            .to_owned(),
        "tokens are those of o200k_base, plus a quarter for Claude, whose tokenizer is not public".to_owned(),
    ];
    Estimate {
        counted,
        sessions,
        tokens,
        cost_usd,
        unpriced,
        assumptions,
    }
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
