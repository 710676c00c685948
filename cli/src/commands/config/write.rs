//! The commands that change something: each says what it will do, and asks where it hurts.

use std::{collections::BTreeMap, io::IsTerminal};

use conclave_plugin_reviewer_config::{AdminError, StoredDocument, empty_document, without_revision};
use conclave_shared::{
    config::{ProviderSwitch, provider_spelling, used_providers},
    model::ModelId,
    nearest::{Spelling, nearest},
};
use serde_json::{Value, json};

use super::{
    super::confirm::confirm,
    Session,
    effects::{left_without, on_again, rollback_questions, with_by_hand, with_switched_off, without_model},
    file, page,
};
use crate::{
    args::{ApplyArguments, ChangeArguments, FailbackArguments, ProviderArguments, ProviderState, RollbackArguments},
    exit::{Exit, Failure},
};

/// Maximum number of attempts at a switch when other changes come first. In an incident several people write at once, and the command
/// should succeed without being typed again.
const SWITCH_ATTEMPTS: usize = 4;
const STALE_SWITCH: &str = "note: the configuration was changed meanwhile; looking at it again";

impl Session<'_> {
    pub(super) async fn apply(&self, arguments: &ApplyArguments) -> Result<Exit, Failure> {
        let document = self.good(&arguments.file)?;
        let reason = needed(&arguments.change)?;
        let admin = self.admin()?;
        let stored = admin.document().await?;
        let is_unusable = self.note_unusable(&stored);
        let before = stored.value();
        if without_revision(&before) == without_revision(&document) {
            return Ok(self.nothing_to_change(&arguments.change));
        }
        if !arguments.change.shown.json {
            self.print_diff(&before, &document);
        }
        if let Some((of_file, now)) = stale(&document, &before) {
            let fault = format!(
                "{} is of revision {of_file}, and the stored document is of revision {now}: it would undo what was changed since",
                arguments.file
            );
            if arguments.change.yes || !std::io::stdin().is_terminal() {
                return Err(Failure::Settings(format!(
                    "{fault}. Nothing was changed: begin with what `conclave config get` prints now, or leave `revision` out of the file to \
                     write it all the same"
                )));
            }
            self.confirm(&format!("{fault}. Do you want that?"), &arguments.change)?;
        }
        self.confirm("Write this document?", &arguments.change)?;
        if is_unusable {
            self.keep(&stored)?;
        }
        let revision = admin.replace(&document, &stored.tag, reason).await?;
        Ok(self.done(&arguments.change, revision, "The document is written"))
    }

    /// Keeps a copy of a document that cannot be used: what was written to KV by hand is in no revision of the history.
    fn keep(&self, stored: &StoredDocument) -> Result<(), Failure> {
        let copy = file::keep(stored)?;
        self.output
            .note(&format!("The document that was stored until now is kept in {copy}."));
        Ok(())
    }

    pub(super) async fn roll_back(&self, arguments: &RollbackArguments) -> Result<Exit, Failure> {
        let reason = needed(&arguments.change)?;
        let admin = self.admin()?;
        // First: a change that comes after this is refused in the end, whichever of the answers below has it already.
        let newest = admin.newest().await?;
        let (stored, target) = tokio::try_join!(admin.document(), admin.revision(arguments.revision))?;
        let recorded = match newest {
            0 => BTreeMap::new(),
            newest => admin.revision(newest).await?.switches,
        };
        let in_force = self.effective("").await?.config.providers;
        let now = with_by_hand(&recorded, &stored.value(), &in_force);
        let whole = |document: &Value, switches: &BTreeMap<String, ProviderSwitch>| json!({ "document": without_revision(document), "switches": switches });
        let is_unusable = self.note_unusable(&stored);
        let before = whole(&stored.value(), &now);
        let after = whole(&target.document.unwrap_or_else(empty_document), &target.switches);
        // What is in force may come from a moment ago: then the newest revision knows better.
        if before == after && recorded == target.switches {
            return Ok(self.nothing_to_change(&arguments.change));
        }
        if !arguments.change.shown.json {
            self.print_diff(&before, &after);
        }
        // Its own question: who goes back for the sake of a document need not know that a provider was switched off since.
        let switched_on = on_again(&whole(&stored.value(), &with_switched_off(recorded, in_force)), &after);
        let switched_off = on_again(&after, &before);
        for question in rollback_questions(&switched_on, &switched_off, &left_without(&before, &after)) {
            self.confirm(&question, &arguments.change)?;
        }
        let question = format!("Go back to revision {}?", arguments.revision);
        self.confirm(&question, &arguments.change)?;
        if is_unusable {
            self.keep(&stored)?;
        }
        let revision = admin.roll_back(arguments.revision, newest, reason).await?;
        let mut text = format!("It is as in revision {} again", arguments.revision);
        for (what, names) in [("on again", &switched_on), ("off", &switched_off)] {
            if !names.is_empty() {
                text = format!("{text}; switched {what}: {}", names.join(", "));
            }
        }
        Ok(self.done(&arguments.change, revision, &text))
    }

    pub(super) async fn provider(&self, arguments: &ProviderArguments) -> Result<Exit, Failure> {
        for _ in 1..SWITCH_ATTEMPTS {
            match self.switch(arguments).await {
                Err(Failure::Config(AdminError::Stale)) => self.output.note(STALE_SWITCH),
                ended => return ended,
            }
        }
        self.switch(arguments).await
    }

    async fn switch(&self, arguments: &ProviderArguments) -> Result<Exit, Failure> {
        let ProviderArguments { state, name, change } = arguments;
        let enabled = *state == ProviderState::On;
        // Switching on needs no excuse.
        let reason = if enabled {
            change.reason.as_deref()
        } else {
            Some(needed(change)?)
        };
        let admin = self.admin()?;
        // First what only this token reads: one that is refused is named as what it is. And first the revision: the questions below
        // are asked again if a colleague's change came after it.
        let newest = admin.newest().await?;
        let stored = admin.document().await?;
        let in_force = self.effective("").await?.config;
        let mut used = used_providers(&in_force);
        // The answer for all projects lacks what some of them have otherwise.
        if let Ok(stored) = stored.in_force() {
            used.extend(used_providers(&stored));
        }
        let (name, is_used) = match provider_spelling(name, &used) {
            Spelling::Known(known) => (known, true),
            // Also with `--yes`: it would change nothing, and look as if it did.
            Spelling::Mistake(near) if !enabled => {
                return Err(Failure::Settings(format!(
                    "`{name}` is not a provider; did you mean `{near}`? Nothing was changed"
                )));
            }
            Spelling::Mistake(_) | Spelling::Unknown => (name.as_str(), false),
        };
        if !is_used {
            let known: Vec<&str> = used.iter().map(String::as_str).collect();
            let meant = nearest(name, known.iter().copied()).map(|near| format!(" Did you mean `{near}`?"));
            let question = format!(
                "No model of `{name}` is used; known are {}.{} Go on with `{name}`?",
                known.join(", "),
                meant.unwrap_or_default()
            );
            self.confirm(&question, change)?;
        }
        if !enabled {
            let left_alone = without_model(&in_force, name);
            if !left_alone.is_empty() {
                let question = format!(
                    "Without {name} no model is left for {}, even with the keys of every provider. Switch it off all the same?",
                    left_alone.join(", ")
                );
                self.confirm(&question, change)?;
            }
        }
        let switch = ProviderSwitch {
            enabled,
            reason: reason.map(str::to_owned),
        };
        let revision = admin.switch(name, &switch, newest).await?;
        let text = match (is_used, enabled) {
            (true, true) => format!("{name} is on: sessions that start from now on use it"),
            (true, false) => format!("{name} is off: running reviews go round it within five seconds"),
            (false, _) => format!(
                "{name} is {state}, which changes only reviews with an endpoint of this name: no model in force is of it",
                state = if enabled { "on" } else { "off" }
            ),
        };
        Ok(self.done(change, revision, &text))
    }

    pub(super) async fn failback(&self, arguments: &FailbackArguments) -> Result<Exit, Failure> {
        let change = &arguments.change;
        let admin = self.admin()?;
        let stored = admin.document().await?;
        let mut chains = chains(&stored)?;
        let Some(model) = &arguments.model else {
            if change.shown.json {
                self.output.print_json(&chains);
            } else {
                self.output.print(&page::config_failback(&chains));
            }
            return Ok(Exit::Reviewed);
        };
        let parsed = |name: &str| {
            name.parse::<ModelId>()
                .map_err(|error| Failure::Settings(error.to_string()))
        };
        let model = parsed(model)?;
        let Some(stand_in) = &arguments.stand_in else {
            self.output.print(&page::config_chain(&model, &chains));
            return Ok(Exit::Reviewed);
        };
        let reason = needed(change)?;
        let before = chains.clone();
        match stand_in.as_str() {
            "none" => drop(chains.insert(model.to_string(), None)),
            "default" => drop(chains.remove(model.as_str())),
            name => drop(chains.insert(model.to_string(), Some(parsed(name)?))),
        }
        if before == chains {
            return Ok(self.nothing_to_change(change));
        }
        if !change.shown.json {
            self.output.print(&page::config_chain(&model, &chains));
        }
        self.confirm("Write this chain?", change)?;
        let revision = admin.failback(&chains, &stored.tag, reason).await?;
        Ok(self.done(change, revision, "The chain is written"))
    }

    /// Asks the person. Where nobody can be asked, `--yes` has to be there.
    fn confirm(&self, question: &str, change: &ChangeArguments) -> Result<(), Failure> {
        confirm(question, change.yes, self.output)
    }

    fn nothing_to_change(&self, change: &ChangeArguments) -> Exit {
        if change.shown.json {
            self.output.print_json(&json!({ "changed": false }));
        } else {
            self.output.print("There is nothing to change.");
        }
        Exit::Reviewed
    }

    fn done(&self, change: &ChangeArguments, revision: u64, text: &str) -> Exit {
        let result = json!({ "changed": true, "revision": revision });
        let text = format!("{text} (revision {revision}).");
        self.output.print_change(text, change.shown.json.then_some(&result));
        Exit::Reviewed
    }
}

/// The revisions of a document from a file and of the stored one, if the file is of another one: another change came between.
/// A file without a revision says that it replaces whatever is stored.
fn stale(document: &Value, stored: &Value) -> Option<(u64, u64)> {
    let revision = |document: &Value| document.get("revision").and_then(Value::as_u64);
    let (of_file, now) = (revision(document)?, revision(stored)?);
    (of_file != now).then_some((of_file, now))
}

/// The reason, which the history of what matters must not lack.
fn needed(change: &ChangeArguments) -> Result<&str, Failure> {
    let reason = change
        .reason
        .as_deref()
        .map(str::trim)
        .filter(|reason| !reason.is_empty());
    reason.ok_or_else(|| {
        Failure::Settings("a reason is missing: say why with --reason, as in --reason 'incident 7'".to_owned())
    })
}

/// Who stands in for whom in the stored document.
fn chains(stored: &StoredDocument) -> Result<BTreeMap<String, Option<ModelId>>, Failure> {
    match stored.in_force() {
        Ok(document) => Ok(document.failback),
        Err(faults) => Err(Failure::Settings(format!(
            "the stored document cannot be used; mend it with `conclave config get` and `apply` first:\n{}",
            page::config_faults(&faults)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_revision_than_the_stored_one_is_stale() {
        let of = |revision: Value| json!({ "schema_version": 1, "revision": revision });
        assert_eq!(stale(&of(json!(3)), &of(json!(5))), Some((3, 5)));
        assert_eq!(stale(&of(json!(7)), &of(json!(5))), Some((7, 5)));
        assert_eq!(stale(&of(json!(5)), &of(json!(5))), None);
        assert_eq!(
            stale(&empty_document(), &of(json!(5))),
            None,
            "it replaces whatever is stored"
        );
        assert_eq!(stale(&of(json!(3)), &empty_document()), None);
        assert_eq!(stale(&of(json!(3)), &json!("no document")), None);
    }
}
