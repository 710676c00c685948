//! Measures how well findings are matched and doubted, on labelled data: see `scripts/evidence`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a measuring program: it prints, and a failure ends it"
)]

mod data;
mod doubts;
mod matching;

use std::process::ExitCode;

use data::{Comment, Pair, read};
use serde_json::{Value, json};

/// Distinct claims that are merged without a judge, in per cent of all distinct ones: at most so many.
const MAX_FALSE_MERGES: f64 = 1.0;
/// A doubt that weighs comes at least so many times as often with rejected comments as with accepted ones.
const MIN_TIMES: f64 = 2.0;

/// The bars: where the figure stands, and whether it may be no higher, or no lower.
const BARS: [(&str, f64, bool); 5] = [
    (
        "/matching/pairs_put_on_the_same_lines/merged_without_a_judge/all/false_merges_in_per_cent",
        MAX_FALSE_MERGES,
        true,
    ),
    (
        "/matching/border_chosen_without_the_repository/merged_without_a_judge/held_out/all/false_merges_in_per_cent",
        MAX_FALSE_MERGES,
        true,
    ),
    (
        "/matching/accepted_comments_whose_lines_overlap/merged_without_a_judge/all/false_merges_in_per_cent",
        MAX_FALSE_MERGES,
        true,
    ),
    ("/doubts/asked_for_second_quote/all/times", MIN_TIMES, false),
    (
        "/doubts/asked_for_second_quote/without_the_best_repository/row/times",
        MIN_TIMES,
        false,
    ),
];

/// The bars that are missed, or whose figure is not there.
fn missed(measured: &Value) -> Vec<String> {
    let holds = |place: &str, bar: f64, is_max: bool| {
        let figure = measured.pointer(place).and_then(Value::as_f64);
        figure.is_some_and(|figure| if is_max { figure <= bar } else { figure >= bar })
    };
    let missed = BARS.iter().filter(|(place, bar, is_max)| !holds(place, *bar, *is_max));
    missed
        .map(|(place, bar, is_max)| format!("{place} has to be at {} {bar}", if *is_max { "most" } else { "least" }))
        .collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = &arguments[..] else {
        eprintln!("usage: conclave-evidence FOLDER");
        return ExitCode::from(2);
    };
    let pairs = read::<Pair>(folder, "martian_dedup_pairs.jsonl");
    let comments = read::<Comment>(folder, "labelled_comments.jsonl");
    let measured = json!({"matching": matching::measure(&pairs, &comments), "doubts": doubts::measure(&comments)});
    println!("{measured:#}");
    let missed = missed(&measured);
    for line in &missed {
        eprintln!("evidence: {line}");
    }
    if missed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_beyond_its_bar_or_missing_is_named() {
        let side = |false_merges: f64| json!({"all": {"false_merges_in_per_cent": false_merges}});
        let measured = |held_out: f64, times: f64| {
            json!({
                "matching": {
                    "pairs_put_on_the_same_lines": {"merged_without_a_judge": side(0.0)},
                    "accepted_comments_whose_lines_overlap": {"merged_without_a_judge": side(1.0)},
                    "border_chosen_without_the_repository": {"merged_without_a_judge": {"held_out": side(held_out)}},
                },
                "doubts": {"asked_for_second_quote": {
                    "all": {"times": 2.0}, "without_the_best_repository": {"row": {"times": times}},
                }},
            })
        };
        assert_eq!(missed(&measured(0.4, 2.0)), [""; 0]);
        assert_eq!(missed(&measured(1.1, 1.9)).len(), 2);
        assert_eq!(missed(&json!({})).len(), BARS.len());
    }
}
