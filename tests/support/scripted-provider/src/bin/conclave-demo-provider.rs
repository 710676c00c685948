//! `conclave-demo-provider`: the demo model behind the real provider protocols.

use clap::Parser;
use conclave_scripted_provider::{DemoModel, ScriptedProvider};
use std::io::{self, Write};
use std::time::Duration;

const ABOUT: &str = "A scripted stand-in for a paid model provider; it costs nothing";

const LONG_ABOUT: &str = "A scripted stand-in for a paid model provider.

It answers with rules, not with a language model: it reads the patches that it is asked to review, looks for a fixed \
list of patterns, and reports what it finds. It speaks the protocols of real providers (Anthropic Messages, OpenAI Chat \
Completions, OpenAI Responses), calls nobody and costs nothing. It listens on 127.0.0.1 until it is killed.";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "conclave-demo-provider", version, about = ABOUT, long_about = LONG_ABOUT)]
struct Arguments {
    /// The port to listen on; 0 is any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Wait this long before the first byte of every answer.
    #[arg(long, value_name = "N", default_value_t = 0)]
    delay_ms: u64,
    /// The key that clients must send; without it any key will do.
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let mut builder = ScriptedProvider::builder()
        .port(arguments.port)
        .delay(Duration::from_millis(arguments.delay_ms))
        .model(DemoModel::new());
    if let Some(key) = arguments.api_key {
        builder = builder.api_key(key);
    }
    let provider = builder.start().await?;
    writeln!(io::stdout(), "conclave-demo-provider listening on {}", provider.url())?;
    io::stdout().flush()?;
    std::future::pending().await
}
