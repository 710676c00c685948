//! `scripts/bench pipeline`: our stages side by side with the `git diff` that makes their input.
//!
//! Both do the same work alternately, so that what else the machine does meets both. The least disturbed round of each
//! counts.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a program for developers, without users"
)]

mod stages;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use serde_json::json;

use self::stages::{Source, Stages, pipeline};

/// Our stages take at most as long as git's own diff.
const MAX_TIMES_GIT: f64 = 1.0;
/// Besides this many times the largest patch …
const MAX_TIMES_PATCH: u64 = 3;
/// … this much memory.
const MAX_MEMORY: u64 = 50 << 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [repository, base, head, rounds, output] = arguments.as_slice() else {
        eprintln!("run `scripts/bench pipeline`, which makes the repository that this measures on");
        std::process::exit(2);
    };
    let rounds: usize = rounds.parse().expect("the number of rounds");
    let repository = Path::new(repository);
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let given = scratch.path().join("git-output");
    // Straight into the file: it must not count as memory of ours.
    let output_file = std::fs::File::create(&given).expect("a file");
    git_diff(repository, base, head, &FULL, output_file.into());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let stages = |source: Source<'_>, name: &str| -> Stages {
        let directory = scratch.path().join(name);
        if directory.exists() {
            std::fs::remove_dir_all(&directory).expect("removed");
        }
        std::fs::create_dir_all(&directory).expect("a directory");
        runtime
            .block_on(pipeline(repository, (base, head), source, &directory))
            .expect("the pipeline runs")
    };
    let (mut git, mut ours, mut total) = (Best::default(), Best::default(), Best::default());
    let mut last: Option<Stages> = None;
    let mut quickest = Stages::slowest();
    for round in 0..=rounds {
        // The first round warms the caches.
        let counts = round > 0;
        // The diff as a person asks for it, thrown away.
        git.measure(counts, || git_diff(repository, base, head, &["--patch"], Stdio::null()));
        let round = ours.measure(counts, || stages(Source::File(&given), "given"));
        quickest = quickest.quicker(&round);
        last = Some(round);
        total.measure(counts, || stages(Source::Git, "whole"));
    }
    let last = last.expect("at least one round");
    let memory = peak_memory();
    let memory_bar = MAX_TIMES_PATCH * last.largest_patch + MAX_MEMORY;
    let ratio = ours.seconds / git.seconds;
    let holds = ratio <= MAX_TIMES_GIT && memory <= memory_bar;
    let result = json!({
        "benchmark": "pipeline",
        "files": last.files,
        "changed_lines": last.changed_lines,
        "rounds": rounds,
        "git_diff_seconds": git.seconds,
        "git_diff_processor_seconds": git.processor_seconds,
        "stages_seconds": ours.seconds,
        "stages_processor_seconds": ours.processor_seconds,
        "stages_to_git": ratio,
        "stages_to_git_at_most": MAX_TIMES_GIT,
        "with_git_seconds": total.seconds,
        "quickest": {
            "parse_seconds": quickest.parse.as_secs_f64(),
            "filter_seconds": quickest.filter.as_secs_f64(),
            "tier_seconds": quickest.tier.as_secs_f64(),
            "write_seconds": quickest.write.as_secs_f64(),
        },
        "largest_patch_bytes": last.largest_patch,
        "peak_memory_bytes": memory,
        "peak_memory_bytes_at_most": memory_bar,
        "held": holds,
    });
    let text = format!("{result:#}\n");
    print!("{text}");
    std::fs::write(PathBuf::from(output), text).expect("the result is stored");
    if !holds {
        eprintln!("a bar is missed: stages_to_git or peak_memory_bytes is beyond its `_at_most`");
        std::process::exit(1);
    }
}

/// What the program itself asks git for.
const FULL: [&str; 5] = ["-z", "--raw", "--no-abbrev", "--full-index", "--patch"];

fn git_diff(repository: &Path, base: &str, head: &str, format: &[&str], output: Stdio) {
    let status = Command::new("git")
        .current_dir(repository)
        .args(["diff", "--no-ext-diff", "--no-textconv", "--no-color", "-M"])
        .args(format)
        .args([base, head])
        .stdout(output)
        .status()
        .expect("git runs");
    assert!(status.success(), "git diff failed");
}

/// The least disturbed of several rounds.
struct Best {
    seconds: f64,
    processor_seconds: f64,
}

impl Default for Best {
    fn default() -> Self {
        Self {
            seconds: f64::INFINITY,
            processor_seconds: f64::INFINITY,
        }
    }
}

impl Best {
    fn measure<T>(&mut self, counts: bool, work: impl FnOnce() -> T) -> T {
        let (started, processor) = (Instant::now(), processor_ticks());
        let result = work();
        if counts {
            self.seconds = self.seconds.min(started.elapsed().as_secs_f64());
            let ticks = processor_ticks() - processor;
            self.processor_seconds = self.processor_seconds.min(f64::from(ticks) / TICKS_A_SECOND);
        }
        result
    }
}

/// Of Linux's own accounts; it is the same on every machine.
const TICKS_A_SECOND: f64 = 100.0;

/// Processor time of this process and of the children that have ended.
fn processor_ticks() -> u32 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    // Behind the name, which may hold anything: user and system time, of this process and of its children.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields
        .skip(11)
        .take(4)
        .filter_map(|ticks| ticks.parse::<u32>().ok())
        .sum()
}

/// The most memory that this process has ever had.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("the high-water mark");
    let kilobytes = line
        .split_whitespace()
        .nth(1)
        .and_then(|number| number.parse::<u64>().ok());
    kilobytes.expect("a number") << 10
}
