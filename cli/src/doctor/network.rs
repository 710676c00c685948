//! What stands between here and the servers: proxies, and certificates of one's own.

use std::time::Duration;

use conclave_plugin_gitlab::check_certificates;

use super::{Check, Found, Request};
use crate::env::{NamedProxy, names};

pub(super) async fn examine(request: &Request<'_>) -> Found {
    let mut found = Found::default();
    for named in request.env.named_proxies() {
        found.checks.push(proxy(&named, request.limit).await);
    }
    let files = request.env.ca_files();
    if !files.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        found.checks.push(match check_certificates(&files) {
            Ok(()) => Check::ok("certificates", names.join(", ")),
            Err(error) => Check::of_error("certificates", &error),
        });
    }
    found
}

async fn proxy(named: &NamedProxy<'_>, limit: Duration) -> Check {
    const NAME: &str = "proxy";
    let name = &named.variable;
    let Some((host, port)) = named.place() else {
        return Check::failure(NAME, named.problem()).next(named.remedy());
    };
    // Never the address as it stands: it may hold a password.
    let connected = tokio::time::timeout(limit, tokio::net::TcpStream::connect((host.as_str(), port))).await;
    let problem = match connected {
        Ok(Ok(_)) => return Check::ok(NAME, format!("{name}: {host}:{port} takes connections")),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", limit.as_secs()),
    };
    Check::failure(NAME, format!("{name}: {host}:{port} takes no connection: {problem}")).next(format!(
        "correct {name}; name hosts that need no proxy in {}",
        names::NO_PROXY
    ))
}

/// What to do about a server that cannot be reached.
pub(super) fn unreachable_step(problem: &str) -> String {
    if let Some(remedy) = conclave_certificates::remedy(problem) {
        return remedy.to_owned();
    }
    let problem = problem.to_lowercase();
    if problem.contains("dns") || problem.contains("resolve") || problem.contains("lookup") {
        return "correct the address, or the name service of this machine".to_owned();
    }
    format!(
        "see that this machine may connect there; a proxy goes into {}",
        names::HTTPS_PROXY
    )
}
