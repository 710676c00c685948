//! `conclave config`: the configuration of all reviews, for the people who run them.

mod effects;
mod file;
mod page;
mod write;

use std::collections::BTreeSet;

use camino::Utf8Path;
use conclave_plugin_reviewer_config::{
    AdminClient, AdminError, ConfigAccess, ConfigSource, StoredDocument, Unanswered, effective, without_revision,
};
use conclave_shared::{
    config::{ConfigDocument, ConfigFault, EffectiveConfig, check, named_models, remarks, unknown_fields},
    model::ModelId,
    pricing::mistyped,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use url::Url;

use crate::{
    args::{ConfigCommand, HistoryArguments, ShowArguments},
    context::Context,
    env::{Environment, names, providers::url},
    exit::{Exit, Failure},
    output::Output,
};

/// What every command has.
struct Session<'a> {
    env: &'a Environment,
    output: &'a Output,
}

pub(crate) async fn run(command: ConfigCommand, context: &Context) -> Result<Exit, Failure> {
    let session = Session {
        env: &context.env,
        output: &context.output,
    };
    match command {
        ConfigCommand::Show(arguments) => session.show(&arguments).await,
        ConfigCommand::Get => session.get().await,
        ConfigCommand::Validate(arguments) => session.validate(&arguments.file, arguments.shown.json),
        ConfigCommand::Diff(arguments) => session.diff(&arguments.file, arguments.shown.json).await,
        ConfigCommand::Apply(arguments) => session.apply(&arguments).await,
        ConfigCommand::History(arguments) => session.history(&arguments).await,
        ConfigCommand::Rollback(arguments) => session.roll_back(&arguments).await,
        ConfigCommand::Provider(arguments) => session.provider(&arguments).await,
        ConfigCommand::Failback(arguments) => session.failback(&arguments).await,
    }
}

impl Session<'_> {
    /// The address of the service, which every request needs.
    fn url(&self) -> Result<Url, Failure> {
        self.env.check_proxies()?;
        let name = names::CONFIG_URL;
        let hint = "set it to the address of the reviewer-config Worker";
        url(name, self.env.required(name, hint)?)
    }

    fn admin(&self) -> Result<AdminClient, Failure> {
        let hint = "set it to one of the Worker's ADMIN_TOKENS";
        let token = self.env.required(names::CONFIG_ADMIN_TOKEN, hint)?;
        Ok(AdminClient::new(
            self.url()?,
            SecretString::from(token),
            &self.env.certificates()?,
        )?)
    }

    /// What is in force for a project, read with the first credential that is let in.
    async fn effective(&self, project: &str) -> Result<EffectiveConfig, Failure> {
        let admin = self.env.secret(names::CONFIG_ADMIN_TOKEN).map(ConfigAccess::Admin);
        let listed = self.env.secret(names::CONFIG_TOKEN).map(ConfigAccess::Token);
        let job = self.env.job_token(names::CONFIG_OIDC_TOKEN)?.map(ConfigAccess::Job);
        let access: Vec<ConfigAccess> = admin.into_iter().chain(listed).chain(job).collect();
        if access.is_empty() {
            return Err(Failure::Settings(format!(
                "{} is not set: set it to one of the Worker's ADMIN_TOKENS, or {} to one of its READER_TOKENS",
                names::CONFIG_ADMIN_TOKEN,
                names::CONFIG_TOKEN
            )));
        }
        let url = self.url()?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let source = ConfigSource {
            url,
            access,
            project: project.to_owned(),
            certificates: self.env.certificates()?,
        };
        match effective(source).await {
            Ok(answered) => {
                for refused in answered.refused {
                    self.output.warn(format!(
                        "the configuration service at {host} {refused}; another credential was let in"
                    ));
                }
                Ok(answered.config)
            }
            Err(Unanswered {
                problem,
                is_denied: true,
                ..
            }) => Err(Failure::Config(AdminError::Denied { host, problem })),
            Err(Unanswered { problem, .. }) => Err(Failure::Config(AdminError::Service { host, problem })),
        }
    }

    async fn show(&self, arguments: &ShowArguments) -> Result<Exit, Failure> {
        let project = arguments.project.as_deref();
        let answer = self.effective(project.unwrap_or_default()).await?;
        if arguments.shown.json {
            self.output.print_json(&answer);
        } else {
            self.output.print(&page::config(&answer, project));
            self.note_remarks(&remarks(&answer.config));
        }
        Ok(Exit::Reviewed)
    }

    async fn get(&self) -> Result<Exit, Failure> {
        let stored = self.admin()?.document().await?;
        match &stored.document {
            Ok(document) => self.output.print_json(document),
            Err(_) => self.output.print(&stored.text),
        }
        match stored.in_force() {
            Ok(_) => Ok(Exit::Reviewed),
            Err(faults) => Err(Failure::Settings(format!(
                "the stored document cannot be used, so reviews go without it:\n{}\nIt is printed as it is stored. Write a good one with \
                 `conclave config apply FILE --reason …`, which keeps a copy of this one",
                page::config_faults(&faults)
            ))),
        }
    }

    /// The same check as the Worker's: it is the same code.
    fn validate(&self, file: &Utf8Path, as_json: bool) -> Result<Exit, Failure> {
        let (faults, remarks, unknown) = match file::document(file)? {
            Err(fault) => (vec![fault], Vec::new(), Vec::new()),
            Ok(document) => {
                let unknown = unknown_fields(&document);
                match check(&document) {
                    Ok(good) => (Vec::new(), all_remarks(&good), unknown),
                    Err(faults) => (faults, Vec::new(), unknown),
                }
            }
        };
        if as_json {
            self.output.print_json(&json!({
                "valid": faults.is_empty(),
                "errors": faults,
                "unknown": unknown,
                "mistyped": remarks,
            }));
        } else {
            self.note_unknown(&unknown);
            self.note_remarks(&remarks);
            if faults.is_empty() {
                self.output.print("The document is valid.");
            } else {
                self.output.print(&page::config_faults(&faults));
            }
        }
        Ok(if faults.is_empty() {
            Exit::Reviewed
        } else {
            Exit::Blocked
        })
    }

    async fn diff(&self, file: &Utf8Path, as_json: bool) -> Result<Exit, Failure> {
        let document = self.good(file)?;
        let stored = self.admin()?.document().await?;
        self.note_unusable(&stored);
        let before = stored.value();
        let changed = without_revision(&before) != without_revision(&document);
        if as_json {
            let diff = page::json_diff(&before, &document);
            self.output.print_json(&json!({ "changed": changed, "diff": diff }));
        } else if changed {
            self.print_diff(&before, &document);
        } else {
            self.output.print("The stored document is the same.");
        }
        Ok(if changed { Exit::Blocked } else { Exit::Reviewed })
    }

    async fn history(&self, arguments: &HistoryArguments) -> Result<Exit, Failure> {
        let history = self.admin()?.history(arguments.limit, arguments.before).await?;
        if arguments.shown.json {
            self.output.print_json(&json!({ "revisions": history }));
        } else {
            self.output.print(&page::config_history(&history, arguments.before));
        }
        Ok(Exit::Reviewed)
    }

    /// A document from a file, if it has no fault.
    fn good(&self, file: &Utf8Path) -> Result<Value, Failure> {
        let document = file::document(file)?.map_err(|fault| faulty(file, &[fault]))?;
        let good = check(&document).map_err(|faults| faulty(file, &faults))?;
        self.note_unknown(&unknown_fields(&document));
        self.note_remarks(&all_remarks(&good));
        Ok(document)
    }

    /// Says that the stored document does not count, and why. Returns whether it does not.
    fn note_unusable(&self, stored: &StoredDocument) -> bool {
        let Err(faults) = stored.in_force() else { return false };
        self.output.warn(format!(
            "the stored document cannot be used, so reviews go without it:\n{}",
            page::config_faults(&faults)
        ));
        true
    }

    fn note_unknown(&self, unknown: &[String]) {
        for pointer in unknown {
            let text = format!("note: {pointer} is not known to this version and has no effect here");
            self.output.note(&text);
        }
    }

    fn note_remarks(&self, remarks: &[String]) {
        for text in remarks {
            self.output.note(&format!("note: {text}"));
        }
    }

    fn print_diff(&self, before: &Value, after: &Value) {
        let diff = page::colored_diff(&page::json_diff(before, after));
        self.output.print(diff.trim_end());
    }
}

/// Remarks about a valid document: its models, its names, and what has no effect.
fn all_remarks(document: &ConfigDocument) -> Vec<String> {
    let models: BTreeSet<&ModelId> = named_models(document).collect();
    let mistyped = models.into_iter().filter_map(mistyped);
    mistyped.chain(remarks(document)).collect()
}

fn faulty(file: &Utf8Path, faults: &[ConfigFault]) -> Failure {
    let faults = page::config_faults(faults);
    Failure::Settings(format!("{file} cannot be used, and nothing was changed:\n{faults}"))
}
