use conclave_resilience::budget::Budget;

use super::*;

fn model(name: &str) -> ModelId {
    name.parse().expect("a model")
}

fn session() -> SessionId {
    SessionId("ses_a".to_owned())
}

fn accounting(facts: Option<ModelFacts>) -> Arc<UsageAccounting> {
    let prices: Prices = Arc::new(move |_| facts);
    Arc::new(UsageAccounting::new(
        Budget::default(),
        prices,
        None,
        Arc::new(Events::new(Arc::new(|_| ()))),
    ))
}

/// Both sides are counted.
const ALL: Counted = Counted {
    prompt: true,
    answer: true,
};

fn begin(accounting: &Arc<UsageAccounting>, name: &str) -> UsageEntry {
    let entry = accounting.begin(&session(), "security".to_owned(), &model(name), &model(name));
    entry.expect("there is no limit")
}

#[test]
fn an_entry_replaces_what_it_said_before() {
    let accounting = accounting(None);
    let usage = |input, output| TokenUsage {
        input,
        output,
        ..TokenUsage::default()
    };
    let (mut first, mut second) = (begin(&accounting, "a/one"), begin(&accounting, "a/one"));
    first.set(Some(usage(100, 1)), ALL, 0, 0);
    second.set(Some(usage(50, 7)), ALL, 0, 0);
    first.set(Some(usage(100, 42)), ALL, 0, 0);
    first.set(Some(usage(100, 42)), ALL, 0, 0);
    drop(first);
    let account = accounting.usage(&session()).remove(0);
    assert_eq!((account.calls, account.tokens), (2, usage(150, 49)));
}

#[test]
fn each_call_has_its_own_price() {
    let facts = conclave_shared::pricing::facts(&model("openai/gpt-6-sol"));
    let accounting = accounting(facts);
    let mut sum = 0.0;
    for input in [200_000, 300_000] {
        let usage = TokenUsage {
            input,
            output: 1_000,
            ..TokenUsage::default()
        };
        let mut entry = begin(&accounting, "openai/gpt-6-sol");
        entry.set(Some(TokenUsage { output: 1, ..usage }), ALL, 0, 0);
        entry.set(Some(usage), ALL, 0, 0);
        sum += facts.expect("known").cost_usd(&usage);
    }
    let account = accounting.usage(&session()).remove(0);
    assert!((account.cost_usd - sum).abs() < 1e-9);
    let as_one = facts.expect("known").cost_usd(&account.tokens);
    assert!(
        (as_one - sum).abs() > 0.1,
        "the sum of both prompts would be a long one"
    );
}

/// A provider may report any number; the sums of a run stay numbers, and its budget is spent rather than begun again.
#[test]
fn usage_beyond_belief_overflows_no_sum() {
    let accounting = accounting(None);
    for part in [u64::MAX, u64::MAX / 4 + 1] {
        for _ in 0..8 {
            let usage = TokenUsage {
                input: part,
                output: part,
                reasoning: part,
                cache_read: part,
                cache_write: part,
            };
            begin(&accounting, "a/one").set(Some(usage), ALL, 0, 0);
        }
    }
    let account = accounting.usage(&session()).remove(0);
    assert_eq!(account.calls, 16);
    assert_eq!(account.tokens.total(), 16 * 5 * (1 << 40));
    accounting.set_budget(Budget {
        run_tokens: Some(1_000_000),
        ..Budget::default()
    });
    assert!(matches!(accounting.level(), BudgetLevel::Spent(_)));
}

#[test]
fn what_a_provider_does_not_count_is_estimated_for_the_budget_and_told() {
    let facts = conclave_shared::pricing::facts(&model("openai/gpt-6-sol"));
    let usage = |input, output| TokenUsage {
        input,
        output,
        ..TokenUsage::default()
    };
    let counted = |prompt, answer| Counted { prompt, answer };
    for (reported, counted, known, estimated) in [
        (None, counted(false, false), 0, 1_000 + 500),
        (Some(usage(0, 0)), ALL, 0, 1_000 + 500),
        (Some(usage(300, 0)), counted(true, false), 300, 500),
        (Some(usage(300, 1)), counted(true, false), 301, 499),
        (Some(usage(0, 40)), counted(false, true), 40, 1_000),
        (Some(usage(300, 40)), ALL, 340, 0),
    ] {
        let accounting = accounting(facts);
        let mut entry = begin(&accounting, "openai/gpt-6-sol");
        entry.asks(2_000);
        entry.set(reported, counted, 1_000, 0);
        entry.ended(CallOutcome::Complete);
        let limit = |tokens| Budget {
            run_tokens: Some(tokens),
            ..Budget::default()
        };
        accounting.set_budget(limit(known + estimated));
        assert!(matches!(accounting.level(), BudgetLevel::Spent(_)), "{reported:?}");
        accounting.set_budget(limit((known + estimated) * 2));
        assert_eq!(accounting.level(), BudgetLevel::Free, "{reported:?}");
        drop(entry);
        let account = accounting.usage(&session()).remove(0);
        assert_eq!(
            account.tokens.total(),
            known,
            "{reported:?}: what is shown is the provider's word"
        );
        assert_eq!(account.uncounted, u64::from(estimated > 0), "{reported:?}");
        assert_eq!(account.estimated_usd > 0.0, estimated > 0, "{reported:?}");
        accounting.set_budget(Budget {
            run_usd: Some(account.cost_usd + account.estimated_usd),
            ..Budget::default()
        });
        assert!(matches!(accounting.level(), BudgetLevel::Spent(_)), "{reported:?}");
    }
}

#[test]
fn a_call_that_brought_no_answer_is_free() {
    let accounting = accounting(None);
    let mut entry = begin(&accounting, "a/one");
    entry.asks(2_000);
    entry.ended(CallOutcome::Failed("overloaded".to_owned()));
    drop(entry);
    let account = accounting.usage(&session()).remove(0);
    assert_eq!((account.calls, account.uncounted), (1, 0));
}

#[test]
fn what_a_call_that_is_cut_off_used_is_unknown_from_its_sending_on() {
    let accounting = accounting(conclave_shared::pricing::facts(&model("openai/gpt-6-sol")));
    let mut entry = begin(&accounting, "openai/gpt-6-sol");
    entry.asks(2_000);
    let account = |accounting: &Arc<UsageAccounting>| accounting.usage(&session()).remove(0);
    assert_eq!(account(&accounting).uncounted, 1, "it is under way");
    drop(entry);
    let cut = account(&accounting);
    assert_eq!((cut.uncounted, cut.tokens.total()), (1, 0));
    assert!(cut.estimated_usd > 0.0);
    // Nothing was sent.
    drop(begin(&accounting, "openai/gpt-6-sol"));
    assert_eq!(account(&accounting).uncounted, 1);
}
