//! Opening threads: none twice, none lost, and one where two jobs open the same.

use std::collections::HashMap;

use conclave_engine::publish::{BotIdentity, Openings, Shown};
use conclave_shared::finding::Fingerprint;

use crate::{
    ApiError, ForgeApi, Opened, Version,
    conversation::{LiveConversation, pause},
};

/// The notes beside their lines in the end.
#[derive(Debug, Default)]
pub(crate) struct BesideLines {
    /// The notes, by the finding that they show.
    pub(crate) shown: HashMap<Fingerprint, Shown>,
    /// Warnings about everything that did not work.
    pub(crate) warnings: Vec<String>,
}

impl BesideLines {
    /// Threads that this run has opened.
    pub(crate) fn opened(&self) -> usize {
        self.shown.values().filter(|shown| shown.is_new).count()
    }
}

/// Opens what is to be opened. Of which it is not known whether they were stored is looked for, and tried again.
pub(crate) async fn open(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    version: &Version,
    openings: Openings<'_>,
    conversation: &mut LiveConversation<'_>,
) -> Result<BesideLines, ApiError> {
    let Openings { shown, mut drafts } = openings;
    let mut beside = BesideLines {
        shown,
        warnings: Vec::new(),
    };
    let mut failed = 0;
    while !drafts.is_empty() {
        let (mut unknown, mut refused) = (None, Vec::new());
        for (draft, opened) in api.open_threads(version, std::mem::take(&mut drafts)).await? {
            match opened {
                Opened::Shown(shown) => drop(beside.shown.insert(draft.fingerprint, shown)),
                Opened::Refused(error) => refused.push(error),
                Opened::Unknown(error) => {
                    unknown = Some(error);
                    drafts.push(draft);
                }
            }
        }
        if let Some(error) = refused.first() {
            beside.warnings.push(in_summary(refused.len(), error));
        }
        let Some(error) = unknown else { break };
        // The forge may have stored notes and failed afterwards: look before anything is posted again.
        tracing::warn!(%error, "looking which findings were posted all the same");
        failed += 1;
        let again = pause(api.http().retry(), failed).await;
        conversation.read_on().await?;
        for own in bot.threads(conversation) {
            let print = own.record.fingerprint;
            if let Some(at) = drafts.iter().position(|draft| draft.fingerprint == print) {
                drafts.remove(at);
                beside.shown.insert(print, Shown::in_note(own.note, true));
            }
        }
        if !again {
            if !drafts.is_empty() {
                beside.warnings.push(in_summary(drafts.len(), &error));
            }
            break;
        }
    }
    Ok(beside)
}

/// Takes out what another job has posted at the same time: of several notes about one finding the first one stays.
pub(crate) async fn withdraw_twins(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    conversation: &mut LiveConversation<'_>,
    beside: &mut BesideLines,
) -> Result<(), ApiError> {
    if beside.opened() == 0 {
        return Ok(());
    }
    conversation.read_on().await?;
    let mut first: HashMap<Fingerprint, u64> = HashMap::new();
    for own in bot.threads(conversation).into_iter().filter(|own| !own.thread.resolved) {
        first.entry(own.record.fingerprint).or_insert(own.note.id);
    }
    for (print, shown) in &mut beside.shown {
        let Some(first) = first.get(print).filter(|first| shown.is_new && **first != shown.note) else {
            continue;
        };
        api.delete_thread_note(shown.note).await?;
        (shown.note, shown.is_new) = (*first, false);
    }
    Ok(())
}

fn in_summary(count: usize, error: &ApiError) -> String {
    let findings = if count == 1 {
        "1 finding".to_owned()
    } else {
        format!("{count} findings")
    };
    format!("{findings} could not be posted beside the code and stand in the summary: {error}")
}
