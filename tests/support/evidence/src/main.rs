//! Measures how well findings are matched and doubted, on labelled data: see `scripts/evidence`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a measuring program: it prints, and a failure ends it"
)]

mod data;
mod doubts;
mod folds;
mod matching;

use std::process::ExitCode;

use data::{Comment, Pair, read};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [command @ ("measure" | "likeness" | "background"), folder] = arguments[..] else {
        eprintln!("usage: conclave-evidence measure|likeness|background FOLDER");
        return ExitCode::from(2);
    };
    let pairs = || read::<Pair>(folder, "martian_dedup_pairs.jsonl");
    let comments = || read::<Comment>(folder, "labelled_comments.jsonl");
    match command {
        "likeness" => print!("{}", matching::likeness(&pairs())),
        "background" => print!("{}", data::background(&comments())),
        _ => println!(
            "{:#}",
            serde_json::json!({"matching": matching::measure(&pairs()), "doubts": doubts::measure(&comments())})
        ),
    }
    ExitCode::SUCCESS
}
