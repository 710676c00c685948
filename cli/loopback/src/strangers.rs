//! Connections that have not shown the run's key yet.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

/// Maximum number of strangers at once.
pub(crate) const MAX_STRANGERS: usize = 128;

#[derive(Debug)]
struct Inner {
    known: AtomicBool,
    replaced: CancellationToken,
    all: Strangers,
}

/// The other end of a connection, as an extension of its requests.
#[derive(Debug, Clone)]
pub struct Caller(Arc<Inner>);

impl Caller {
    /// A request came with the run's key: the connection stays as long as it is used.
    pub fn has_proved_itself(&self) {
        if !self.0.known.swap(true, Ordering::AcqRel) {
            self.0.all.remove(&self.0);
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.0.known.load(Ordering::Acquire)
    }
}

/// All strangers of a server, the oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Strangers(Arc<Mutex<VecDeque<Arc<Inner>>>>);

impl Strangers {
    /// A new stranger; where there is no room, in the place of the oldest.
    pub(crate) fn admit(&self) -> Stranger {
        let inner = Arc::new(Inner {
            known: AtomicBool::new(false),
            replaced: CancellationToken::new(),
            all: self.clone(),
        });
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back(Arc::clone(&inner));
        if all.len() > MAX_STRANGERS
            && let Some(oldest) = all.pop_front()
        {
            oldest.replaced.cancel();
        }
        Stranger(Caller(inner))
    }

    fn remove(&self, inner: &Arc<Inner>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| !Arc::ptr_eq(other, inner));
    }
}

/// A stranger's place, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Stranger(Caller);

impl Stranger {
    pub(crate) fn caller(&self) -> Caller {
        self.0.clone()
    }

    /// Waits until another connection has taken the place.
    pub(crate) async fn replaced(&self) {
        self.0.0.replaced.cancelled().await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.0.all.remove(&self.0.0);
    }
}
