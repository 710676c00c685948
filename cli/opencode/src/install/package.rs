//! The file of a package: fetched or brought, checked, unpacked.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    os::unix::fs::OpenOptionsExt,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use camino::{Utf8Path, Utf8PathBuf};
use conclave_certificates::{ExtraCertificates, FailedConnection, Proxy, innermost};
use flate2::read::GzDecoder;
use futures_util::StreamExt;
use nix::libc::O_NONBLOCK;
use reqwest::{Client, header::CONTENT_TYPE};
use sha2::{Digest, Sha512};
use tokio::task::yield_now;
use url::Url;

use super::{InstallSettings, errors::InstallError, pins::Pin};

/// Time for a connection.
const CONNECT: Duration = Duration::from_secs(20);
/// Time in which something has to come.
const SILENCE: Duration = Duration::from_secs(30);

/// Time after which a download has to be as quick as the minimum on the whole.
const SETTLED: Duration = Duration::from_mins(1);
/// Minimum of a download, in bytes for each second: the largest package takes hours with it.
const MIN_RATE: u64 = 10_000;

/// Maximum number of unpacked bytes that are looked at: twice what any of our packages has.
pub(super) const MAX_UNPACKED: u64 = 512 << 20;

/// Bytes that are read at once.
pub(super) const PIECE: usize = 1 << 20;

/// The client of a registry.
pub(super) struct Registry<'a> {
    url: Url,
    client: Client,
    /// The flag, variable or file that has its address.
    setting: &'a str,
    /// The proxy that the environment names for it.
    proxy: Option<&'a Proxy>,
}

impl<'a> Registry<'a> {
    /// A registry at this address. The system's proxies are used.
    pub(super) fn new(address: &str, settings: InstallSettings<'a>) -> Result<Self, InstallError> {
        let setting = settings.registry_setting;
        // Without the slash the last part of its path would be replaced.
        let url = Url::parse(&format!("{}/", address.trim_end_matches('/')))
            .map_err(|error| unusable(setting, &error.to_string()))?;
        if !["http", "https"].contains(&url.scheme()) || !url.has_host() {
            return Err(unusable(setting, "it begins with neither https:// nor http://"));
        }
        let builder = Client::builder().connect_timeout(CONNECT).read_timeout(SILENCE);
        let client = ExtraCertificates::read(settings.extra_ca_file)?.client(builder, [&url])?;
        Ok(Self {
            url,
            client,
            setting,
            proxy: settings.proxy,
        })
    }

    /// The registry's name for people.
    pub(super) fn host(&self) -> String {
        host(&self.url)
    }

    /// Fetches the file of a package to this path, which has the pinned checksum.
    pub(super) async fn fetch(&self, pin: &Pin, to: &Utf8Path) -> Result<(), InstallError> {
        let package = named(pin);
        let unreachable = |error: reqwest::Error| InstallError::Unreachable {
            host: self.host(),
            connection: FailedConnection::by_way_of(error, self.setting, self.proxy),
            package: package.clone(),
        };
        let url = self
            .url
            .join(&pin.path())
            .map_err(|error| unusable(self.setting, &error.to_string()))?;
        let began = Instant::now();
        let response = self.client.get(url).send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(InstallError::Status {
                host: self.host(),
                status: response.status().as_u16(),
                package,
            });
        }
        // A registry may lead elsewhere, as to its storage or to a login.
        let from = match host(response.url()) {
            from if from == self.host() => from,
            other => format!("{other} (where {} led)", self.host()),
        };
        let is_page = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        let write = |error| InstallError::write(to, pin.megabytes)(error);
        let mut file = Summing::new(File::create_new(to).map_err(write)?);
        let mut room = pin.megabytes * 1_000_000;
        let mut body = response.bytes_stream();
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| InstallError::Interrupted {
                host: self.host(),
                cause: innermost(&error),
                package: package.clone(),
            })?;
            // What is larger is another file: its end is not awaited.
            let Some(left) = room.checked_sub(piece.len() as u64) else {
                break;
            };
            room = left;
            file.write_all(&piece).map_err(write)?;
            if is_too_slow(pin.megabytes * 1_000_000 - room, began.elapsed()) {
                return Err(InstallError::Interrupted {
                    host: self.host(),
                    cause: format!("it sends less than {} KB in a second", MIN_RATE / 1000),
                    package,
                });
            }
        }
        let found = file.sum();
        if found == pin.sha512 {
            return Ok(());
        }
        Err(match unpacked(to) {
            Some(fault) => InstallError::NoArchive {
                from,
                package,
                fault: if is_page { "it is a web page" } else { fault },
            },
            None => InstallError::Checksum {
                from,
                package,
                found,
                expected: pin.sha512,
            },
        })
    }
}

/// The error for an address that this setting has.
fn unusable(setting: &str, problem: &str) -> InstallError {
    InstallError::Registry {
        setting: setting.to_owned(),
        problem: problem.to_owned(),
    }
}

/// The name of a server for people: its address may have a password in it.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the registry");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The first bytes of each package.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Returns the difference between a file that is not packed and a package; completes "It is not the package: ".
fn unpacked(file: &Utf8Path) -> Option<&'static str> {
    let mut first = Vec::new();
    let read = open(file).ok()?.take(GZIP.len() as u64).read_to_end(&mut first);
    match (read, first.as_slice()) {
        (Ok(0), _) => Some("it is empty"),
        (Ok(_), first) if first != GZIP => Some("it is not packed with gzip"),
        _ => None,
    }
}

/// Returns the fault of a file that a person has brought and that is not the file of any package.
pub(super) async fn fault_of(file: &Utf8Path) -> Option<&'static str> {
    if let Some(fault) = unpacked(file) {
        return Some(fault);
    }
    let from = &mut GzDecoder::new(BufReader::new(open(file).ok()?)).take(MAX_UNPACKED);
    let ended = copy(from, &mut io::sink(), |error| error, |error| error).await;
    let is_cut = ended.is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof);
    is_cut.then_some("it ends too early")
}

/// Returns whether a download that has come so far in this time is not worth waiting for.
fn is_too_slow(bytes: u64, time: Duration) -> bool {
    time > SETTLED && bytes < MIN_RATE * time.as_secs()
}

/// Opens a file that a person has named. A pipe would be waited for, and a device may have no end.
pub(super) fn open(path: &Utf8Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        let kind = "it is not a file: name the file that `npm pack` makes";
        Err(io::Error::new(io::ErrorKind::InvalidInput, kind))
    }
}

/// Returns the checksum of a file.
pub(super) async fn sum_of(file: &Utf8Path) -> io::Result<String> {
    let mut to = Summing::new(io::sink());
    copy(&mut open(file)?, &mut to, |error| error, |error| error).await?;
    Ok(to.sum())
}

/// Copies the file of a package to this path, and returns the checksum of the copy. Of a file that is larger than the package, only the
/// beginning is copied.
pub(super) async fn take_over(file: &Utf8Path, pin: &Pin, to: &Utf8Path) -> Result<String, InstallError> {
    let read = |error| InstallError::Read(file.to_owned(), error);
    let write = |error| InstallError::write(to, pin.megabytes)(error);
    let mut from = open(file).map_err(read)?.take(pin.megabytes * 1_000_000);
    let mut copied = Summing::new(File::create_new(to).map_err(write)?);
    copy(&mut from, &mut copied, read, write).await?;
    Ok(copied.sum())
}

/// Writes on what is written to it, and sums it up.
struct Summing<W> {
    to: W,
    sum: Sha512,
}

impl<W> Summing<W> {
    fn new(to: W) -> Self {
        Self { to, sum: Sha512::new() }
    }

    /// The checksum, as a registry has it.
    fn sum(self) -> String {
        STANDARD.encode(self.sum.finalize())
    }
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let count = self.to.write(piece)?;
        self.sum.update(&piece[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Copies to the end.
async fn copy<E>(
    from: &mut impl Read,
    to: &mut impl Write,
    read: impl Fn(io::Error) -> E,
    write: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece).map_err(&read)? {
            0 => return Ok(()),
            count => to.write_all(&piece[..count]).map_err(&write)?,
        }
        yield_now().await;
    }
}

/// Unpacks the program alone, into a directory that is there. Returns its path.
pub(super) async fn unpack(tarball: &Utf8Path, pin: &Pin, into: &Utf8Path) -> Result<Utf8PathBuf, InstallError> {
    let read = |error| InstallError::Read(tarball.to_owned(), error);
    let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(open(tarball).map_err(read)?)));
    for entry in archive.entries().map_err(read)? {
        let mut entry = entry.map_err(read)?;
        if entry.path_bytes().as_ref() != pin.member.as_bytes() || !entry.header().entry_type().is_file() {
            continue;
        }
        let path = into.join(pin.file_name());
        let write = |error| InstallError::write(&path, pin.megabytes)(error);
        let mut options = File::options();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(&path)
            .map_err(write)?;
        copy(&mut entry, &mut file, read, write).await?;
        file.sync_all().map_err(write)?;
        return Ok(path);
    }
    Err(read(io::Error::new(
        io::ErrorKind::NotFound,
        format!("there is no {} in it", pin.member),
    )))
}

/// A package with its version, as npm writes it.
pub(super) fn named(pin: &Pin) -> String {
    format!("{}@{}", pin.package, pin.release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_that_would_take_days_is_given_up() {
        let minutes = Duration::from_mins;
        for (bytes, time, is_slow) in [
            (0, minutes(1), false),
            (100, minutes(2), true),
            (1_000_000, minutes(2), true),
            (2_000_000, minutes(2), false),
            (60_000_000, minutes(60), false),
        ] {
            assert_eq!(is_too_slow(bytes, time), is_slow, "{bytes} in {time:?}");
        }
    }
}
