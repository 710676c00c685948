//! What a test does to the server from behind: people, projects, pushes, comments, faults.

mod conversation;
mod people;
mod projects;

use crate::fault::Fault;
use crate::options::Options;
use crate::server::FakeGitlab;

impl FakeGitlab {
    /// Changes the switches while the server runs.
    pub fn configure(&self, change: impl FnOnce(&mut Options)) {
        change(&mut self.server.core().state.options);
    }

    /// Lets requests go wrong.
    pub fn inject(&self, fault: Fault) {
        self.server.core().faults.add(fault);
    }

    /// Forgets the faults that did not happen yet.
    pub fn clear_faults(&self) {
        self.server.core().faults.clear();
    }

    /// How many injected faults did not happen yet.
    pub fn remaining_faults(&self) -> u64 {
        self.server.core().faults.remaining()
    }
}
