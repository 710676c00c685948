//! The Durable Object that counts.

use std::{cell::RefCell, collections::BTreeMap};

use serde::Deserialize;
use worker::{DurableObject, Env, Request, Response, Result, SqlStorage, State, console_error, durable_object};

use super::{Answer, Ask, MINUTE_MS};
use crate::clock::day;

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS new_projects (
  account TEXT NOT NULL, project TEXT NOT NULL, day INTEGER NOT NULL, PRIMARY KEY (account, project)) WITHOUT ROWID";

/// See the module.
#[durable_object]
pub struct Quota {
    state: State,
    /// This minute.
    minute: RefCell<Minute>,
}

/// Events of a minute, by account. It ends with the object; then a new minute begins a little early.
#[derive(Debug, Default)]
struct Minute {
    number: i64,
    events: BTreeMap<String, u64>,
}

impl Minute {
    /// Counts events, if they are within the limit.
    fn take(&mut self, now_ms: i64, account: &str, events: u64, max: u64) -> bool {
        let number = now_ms.div_euclid(MINUTE_MS);
        if number != self.number {
            // Nothing of an earlier minute is kept, so there are never more accounts than came in one.
            *self = Self {
                number,
                events: BTreeMap::new(),
            };
        }
        let taken = self.events.get(account).copied().unwrap_or_default();
        let sum = taken.saturating_add(events);
        if sum > max {
            return false;
        }
        self.events.insert(account.to_owned(), sum);
        true
    }
}

impl DurableObject for Quota {
    fn new(state: State, _env: Env) -> Self {
        if let Err(error) = state.storage().sql().exec(SCHEMA, None) {
            console_error!("failed to make the quota's table: {error}");
        }
        Self {
            state,
            minute: RefCell::default(),
        }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        // Nothing is awaited after this, so no other request counts in between.
        let ask: Ask = request.json().await?;
        let granted = self
            .minute
            .borrow_mut()
            .take(ask.now_ms, &ask.account, ask.events, ask.max_events);
        let mut answer = Answer {
            events: granted,
            ..Answer::default()
        };
        if granted && !ask.new_projects.is_empty() {
            answer.new_projects = new_projects(&self.state.storage().sql(), &ask)?;
        }
        Response::from_json(&answer)
    }
}

/// Notes new projects of today, as many as may come; those of earlier days are forgotten.
fn new_projects(sql: &SqlStorage, ask: &Ask) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Row {
        project: String,
    }
    let today = day(ask.now_ms);
    sql.exec("DELETE FROM new_projects WHERE day < ?", vec![today.into()])?;
    let known: Vec<Row> = sql
        .exec(
            "SELECT project FROM new_projects WHERE account = ?",
            vec![ask.projects_account.as_str().into()],
        )?
        .to_array()?;
    let mut left = ask.max_new_projects.saturating_sub(known.len() as u64);
    let mut granted = Vec::new();
    for project in &ask.new_projects {
        if known.iter().any(|row| row.project == *project) {
            granted.push(project.clone());
        } else if left > 0 {
            left -= 1;
            sql.exec(
                "INSERT OR IGNORE INTO new_projects (account, project, day) VALUES (?, ?, ?)",
                vec![
                    ask.projects_account.as_str().into(),
                    project.as_str().into(),
                    today.into(),
                ],
            )?;
            granted.push(project.clone());
        }
    }
    Ok(granted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_takes_so_many_events_of_each_account_and_forgets_them_afterwards() {
        let mut minute = Minute::default();
        assert!(minute.take(60_000, "a", 7, 10));
        assert!(!minute.take(60_001, "a", 4, 10), "all or nothing");
        assert!(minute.take(60_002, "a", 3, 10));
        assert!(!minute.take(119_999, "a", 1, 10));
        assert!(minute.take(119_999, "b", 10, 10));
        assert!(minute.take(120_000, "a", 10, 10));
        assert_eq!(minute.events.len(), 1, "what was before is gone");
        assert!(!minute.take(120_000, "c", u64::MAX, 10));
        assert_eq!(minute.events.len(), 1, "what is refused is not kept");
    }
}
