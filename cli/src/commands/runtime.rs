//! `conclave runtime`: the programs that Conclave fetches for itself.

use conclave_opencode::{InstallError, InstallSettings, InstallSource, install, remove_installed};

use crate::{
    args::{InstallArguments, RuntimeCommand},
    context::Context,
    env::NamedRegistry,
    exit::{Exit, Failure},
    run::{
        directory::programs_directory,
        start::sandbox::{around_question, required_here},
    },
};

/// The registry by default.
const REGISTRY: &str = "https://registry.npmjs.org";

pub(super) async fn run(command: RuntimeCommand, context: &Context) -> Result<Exit, Failure> {
    // A stop drops what is half done, and that removes it.
    context.watch_signals()?;
    let work = async {
        match command {
            RuntimeCommand::Install(arguments) => install_programs(&arguments, context).await,
            RuntimeCommand::Remove => remove_programs(context).await,
        }
    };
    tokio::select! {
        exit = context.signals.arrived() => Ok(exit),
        done = work => done,
    }
}

async fn install_programs(arguments: &InstallArguments, context: &Context) -> Result<Exit, Failure> {
    let Context { env, output, .. } = context;
    let directory = programs_directory(env).ok_or(InstallError::NoDirectory)?;
    let named = match (&arguments.registry, arguments.tarball.as_slice()) {
        (None, []) => env.npm_registry()?,
        (None, _) => None,
        (Some(address), _) => Some(NamedRegistry {
            address: address.clone(),
            setting: "--registry (CONCLAVE_REGISTRY)".to_owned(),
        }),
    };
    let (registry, registry_setting) = match &named {
        Some(named) => (named.address.as_str(), named.setting.as_str()),
        None => (REGISTRY, "the address"),
    };
    install(InstallSettings {
        directory: &directory,
        source: match arguments.tarball.as_slice() {
            [] => {
                env.check_proxies()?;
                InstallSource::Registry(registry)
            }
            files => InstallSource::Files(files),
        },
        registry_setting,
        proxy: env.proxy_for(registry).as_ref(),
        path: env.path(),
        sandbox: &around_question(env, &[], required_here(env)?).await?,
        extra_ca_file: arguments.ca_file.as_deref(),
        progress: &|text: &str| output.note(text),
    })
    .await?;
    Ok(Exit::Reviewed)
}

async fn remove_programs(context: &Context) -> Result<Exit, Failure> {
    let directory = programs_directory(&context.env).ok_or(InstallError::NoDirectory)?;
    let removed = remove_installed(&directory, &|text: &str| context.output.note(text)).await?;
    context.output.note(&if removed {
        format!("Removed what was installed in {directory}")
    } else {
        format!("Nothing is installed in {directory}")
    });
    Ok(Exit::Reviewed)
}
