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

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = &arguments[..] else {
        eprintln!("usage: conclave-evidence FOLDER");
        return ExitCode::from(2);
    };
    let pairs = read::<Pair>(folder, "martian_dedup_pairs.jsonl");
    let comments = read::<Comment>(folder, "labelled_comments.jsonl");
    println!(
        "{:#}",
        serde_json::json!({"matching": matching::measure(&pairs, &comments), "doubts": doubts::measure(&comments)})
    );
    ExitCode::SUCCESS
}
