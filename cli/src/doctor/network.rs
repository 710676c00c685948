//! What stands between here and the servers: proxies, and certificates of one's own.

use std::{path::PathBuf, time::Duration};

use conclave_certificates::{ExtraCertificates, Unusable};

use super::{Check, Found, Request};
use crate::env::{Environment, NamedProxy, names};

pub(super) async fn examine(request: &Request<'_>) -> Found {
    let mut found = Found::default();
    for named in request.env.named_proxies() {
        found.checks.push(proxy(&named, request.limit).await);
    }
    found.checks.extend(certificates(request.env));
    found
}

/// A check of each file of certificates that is named: besides the system's, or in their place.
fn certificates(env: &Environment) -> Vec<Check> {
    const NAME: &str = "certificates";
    let system = env.get(names::SSL_CERT_FILE).map(PathBuf::from);
    let system = system.map(|file| (file, names::SSL_CERT_FILE));
    let check = |(file, correct): (PathBuf, &str)| match ExtraCertificates::read([&file]) {
        // The system's certificates count as far as they can be read.
        Err(error) if correct != names::SSL_CERT_FILE || !matches!(error.problem, Unusable::Damaged(_)) => {
            Check::failure(NAME, error.to_string()).next(format!("correct {correct}"))
        }
        _ => Check::ok(NAME, file.display().to_string()),
    };
    env.named_ca_files().chain(system).map(check).collect()
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

/// The next step for a server that cannot be reached.
pub(super) fn unreachable_step(problem: &str) -> String {
    conclave_certificates::next_step(problem, "the address")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    /// The only check of a file of certificates that this variable names.
    fn check(variable: &str, file: &str) -> Check {
        let mut checks = certificates(&Environment::default().with(variable, file));
        assert_eq!(checks.len(), 1, "{checks:?}");
        checks.remove(0)
    }

    #[test]
    fn a_file_of_certificates_that_cannot_be_used_names_what_names_it() {
        assert!(certificates(&Environment::default()).is_empty());
        for (variable, step) in [
            (names::CA_FILE, "correct CONCLAVE_CA_FILE, or what --ca-file names"),
            (names::SSL_CERT_FILE, "correct SSL_CERT_FILE"),
        ] {
            let check = check(variable, "/nonexistent/ca.pem");
            assert_eq!(check.status, Status::Failure);
            assert!(check.detail.contains("/nonexistent/ca.pem cannot be used"), "{check:?}");
            assert_eq!(check.next_step.as_deref(), Some(step));
        }
    }

    #[test]
    fn certificates_of_the_system_count_as_far_as_they_can_be_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("ca.pem");
        let damaged = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        std::fs::write(&file, damaged).expect("written");
        let file = file.to_str().expect("UTF-8");
        assert_eq!(check(names::SSL_CERT_FILE, file).status, Status::Ok);
        assert_eq!(check(names::CA_FILE, file).status, Status::Failure);
    }
}
