//! Those who have a part in the commits of a merge request: none of them decides about it as another member does.

use std::collections::HashSet;

use conclave_engine::review::AuthorRole;
use tokio::sync::Mutex;

/// Committers, in the form in which a forge names them; read when they are first asked for.
#[derive(Debug)]
pub struct Committers<T>(Mutex<Option<Committed<T>>>);

/// Committers as a forge shows them.
#[derive(Debug)]
pub enum Committed<T> {
    /// All of them.
    By(HashSet<T>),
    /// The forge did not say, or not all of them: any account may be one.
    Unknown,
}

impl<T> Default for Committers<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Committers<T> {
    /// Forgets them, as where the merge request is read again.
    pub async fn forget(&self) {
        *self.0.lock().await = None;
    }

    /// The role of an account that may decide, on a merge request with this author; `read` asks the forge for the committers, `is_own`
    /// knows the account among them.
    pub async fn role(
        &self,
        user: u64,
        author: Option<u64>,
        read: impl Future<Output = Committed<T>>,
        is_own: impl Fn(&T) -> bool,
    ) -> AuthorRole {
        if author.is_none_or(|author| author == user) {
            return AuthorRole::Author;
        }
        let mut known = self.0.lock().await;
        let known = match &mut *known {
            Some(known) => known,
            unread => unread.insert(read.await),
        };
        let has_part = match known {
            Committed::By(people) => people.iter().any(is_own),
            Committed::Unknown => true,
        };
        if has_part {
            AuthorRole::Author
        } else {
            AuthorRole::Member
        }
    }
}
