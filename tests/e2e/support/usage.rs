//! What a running program needs of the machine, and what the machine has for it.

/// What a process has used so far: seconds of processor time, its own only, and its peak of memory in MB.
pub(crate) fn used(pid: u32) -> Option<(f64, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    // The kernel's ticks are a hundredth of a second on every platform that this runs on.
    Some((ticks / 100.0, kilobytes / 1024))
}

/// How many processes share a processor: on a machine that is busy otherwise, everything takes longer.
pub(crate) fn crowd() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(1.0);
    let processors = u32::try_from(std::thread::available_parallelism().map_or(1, usize::from)).unwrap_or(1);
    (load / f64::from(processors)).max(1.0)
}
