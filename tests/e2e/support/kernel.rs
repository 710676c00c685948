//! Kernels and containers that have less than this one.

/// Programs that this thread starts from now on are on a kernel that does not know these calls.
pub(crate) fn without(calls: &[i64], error: i32) {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(u32::try_from(error).unwrap());
    let architecture = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    apply_filter(&program).unwrap();
}
