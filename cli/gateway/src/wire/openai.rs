//! Both formats of `OpenAI`: counts of tokens.

use conclave_shared::pricing::TokenUsage;
use serde_json::Value;

use super::{
    Counted, Seen,
    counts::{count, part},
};

/// Takes over the tokens of the prompt and of the answer, which stand under these names with their details beside them. In our kinds,
/// which do not overlap: `OpenAI`'s prompt contains what the cache served, and its answer contains the reasoning. Others count one of
/// these beside it, which their total shows. A side is not counted where its figures cannot be true.
pub(super) fn take_counts(seen: &mut Seen, usage: &Value, prompt: &str, answer: &str) {
    let (input, output) = (count(&usage[prompt]), count(&usage[answer]));
    if input.is_none() && output.is_none() {
        return;
    }
    let detail = |of: &str, name: &str| part(&usage[format!("{of}_details")][name]);
    let (cached, written) = (detail(prompt, "cached_tokens"), detail(prompt, "cache_write_tokens"));
    let (thought, total) = (detail(answer, "reasoning_tokens"), part(&usage["total_tokens"]));
    let mut counted = Counted {
        prompt: input.is_some() && cached.is_some() && written.is_some(),
        answer: output.is_some() && thought.is_some() && total.is_some(),
    };
    // Of one side alone nothing can be said by the total.
    let total = total.filter(|total| *total > 0 && input.is_some() && output.is_some());
    let (mut input, mut output) = (input.unwrap_or_default(), output.unwrap_or_default());
    let (mut cache_read, cache_write) = (cached.unwrap_or_default(), written.unwrap_or_default());
    let mut reasoning = thought.unwrap_or_default();
    let of_cache = [cache_read, cache_write, cache_read + cache_write];
    let sum = input + output;
    match total {
        Some(total) if total > sum => {
            let more = total - sum;
            if more != reasoning && of_cache.contains(&more) {
                input += more;
            } else {
                output += more;
                reasoning = reasoning.max(more);
            }
        }
        Some(total) if total < sum => {
            let less = sum - total;
            if less != reasoning && !of_cache.contains(&less) {
                counted = Counted::default();
            }
        }
        None if reasoning > output => output += reasoning,
        _ => {}
    }
    if cache_read > input {
        // All of the prompt at the price of the cache would be less than it can cost.
        (counted.prompt, cache_read) = (false, 0);
    }
    counted.answer &= reasoning <= output;
    let reasoning = reasoning.min(output);
    let uncached = input - cache_read;
    seen.usage = Some(TokenUsage {
        // Some count what was written to the cache beside the prompt.
        input: uncached.checked_sub(cache_write).unwrap_or(uncached),
        output: output - reasoning,
        reasoning,
        cache_read,
        cache_write,
    });
    seen.counted = counted;
}

/// The facts about an answer in one piece that says this of its usage.
pub(super) fn counted(usage: &Value, prompt: &str, answer: &str) -> Seen {
    let mut seen = Seen::default();
    take_counts(&mut seen, usage, prompt, answer);
    seen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Input, output, reasoning, read from and written to the cache; the sides that are counted.
    type Read = ([u64; 5], (bool, bool));

    fn read(usage: &Value, prompt: &str, answer: &str) -> Read {
        let seen = counted(usage, prompt, answer);
        let tokens = seen.usage.expect("counted");
        (
            [
                tokens.input,
                tokens.output,
                tokens.reasoning,
                tokens.cache_read,
                tokens.cache_write,
            ],
            (seen.counted.prompt, seen.counted.answer),
        )
    }

    /// The same usage in both formats.
    fn read_both(prompt: &Value, answer: &Value, total: &Value, [cached, written, thought]: [&Value; 3]) -> Read {
        let usage = |of: &str, to: &str| {
            json!({of: prompt, to: answer, "total_tokens": total,
                   format!("{of}_details"): {"cached_tokens": cached, "cache_write_tokens": written},
                   format!("{to}_details"): {"reasoning_tokens": thought}})
        };
        let chat = read(
            &usage("prompt_tokens", "completion_tokens"),
            "prompt_tokens",
            "completion_tokens",
        );
        let responses = read(&usage("input_tokens", "output_tokens"), "input_tokens", "output_tokens");
        assert_eq!(chat, responses);
        chat
    }

    #[test]
    fn what_a_total_counts_beyond_both_sides_is_counted() {
        const ALL: (bool, bool) = (true, true);
        for (usage, expected) in [
            // Reasoning and cache within both sides, with and without a total.
            ([1000, 100, 1100, 800, 0, 60], [200, 40, 60, 800, 0]),
            ([1000, 100, 0, 800, 0, 60], [200, 40, 60, 800, 0]),
            // Reasoning beside the answer.
            ([10_120, 1499, 14_428, 128, 0, 2809], [9992, 1499, 2809, 128, 0]),
            ([1000, 100, 1600, 0, 0, 500], [1000, 100, 500, 0, 0]),
            ([1000, 100, 0, 0, 0, 500], [1000, 100, 500, 0, 0]),
            // In the total alone.
            ([20, 198, 623, 0, 0, 0], [20, 198, 405, 0, 0]),
            // The cache beside the prompt.
            ([100, 10, 1110, 1000, 0, 0], [100, 10, 0, 1000, 0]),
            ([100, 10, 1310, 1000, 200, 0], [100, 10, 0, 1000, 200]),
            ([339, 10, 349, 318, 700, 0], [21, 10, 0, 318, 700]),
            // A total without the cache, or without the reasoning.
            ([1000, 100, 300, 800, 0, 0], [200, 100, 0, 800, 0]),
            ([1000, 100, 1040, 0, 0, 60], [1000, 40, 60, 0, 0]),
        ] {
            let [prompt, answer, total, cached, written, thought] = usage.map(|count| json!(count));
            let read = read_both(&prompt, &answer, &total, [&cached, &written, &thought]);
            assert_eq!(read, (expected, ALL), "{usage:?}");
        }
    }

    #[test]
    fn a_side_whose_figures_cannot_be_true_is_not_counted() {
        let none = Value::Null;
        for (usage, cached, thought, expected) in [
            // More from the cache than the prompt has: all of it may cost its full price.
            (
                [1000, 100, 1100],
                json!(5000),
                &none,
                ([1000, 100, 0, 0, 0], (false, true)),
            ),
            (
                [1000, 100, 1100],
                json!(-50),
                &none,
                ([1000, 100, 0, 0, 0], (false, true)),
            ),
            (
                [1000, 100, 1100],
                none.clone(),
                &json!(-1),
                ([1000, 100, 0, 0, 0], (true, false)),
            ),
            (
                [1000, 100, 1100],
                none.clone(),
                &json!(500),
                ([1000, 0, 100, 0, 0], (true, false)),
            ),
            // Less than its parts.
            (
                [1000, 100, 900],
                none.clone(),
                &none,
                ([1000, 100, 0, 0, 0], (false, false)),
            ),
            (
                [1000, 100, -1],
                none.clone(),
                &none,
                ([1000, 100, 0, 0, 0], (true, false)),
            ),
        ] {
            let [prompt, answer, total] = usage.map(|count: i64| json!(count));
            let read = read_both(&prompt, &answer, &total, [&cached, &none, thought]);
            assert_eq!(read, expected, "{usage:?} {cached} {thought}");
        }
        let one_side = json!({"prompt_tokens": 1000, "total_tokens": 1100});
        assert_eq!(
            read(&one_side, "prompt_tokens", "completion_tokens"),
            ([1000, 0, 0, 0, 0], (true, false))
        );
    }
}
