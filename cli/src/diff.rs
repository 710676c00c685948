//! The diff, read once: patches into a spool on disk, everything else into memory, noise taken out.

pub(crate) mod attributes;
mod decode;
mod intake;
mod links;
mod noise;
pub mod patches;
mod spool;
mod whole;

pub use self::{
    intake::{Intake, read},
    noise::without_noise,
    patches::Written,
    spool::Spool,
};

#[cfg(test)]
#[path = "diff/diff_tests.rs"]
mod tests;
