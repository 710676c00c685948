//! Openings that the rules of a start have and are not for: places of the user's, and mounts below.

use camino::{Utf8Path, Utf8PathBuf};
use conclave_sandbox::FileRule;

/// The remedy where a place of the user's is open.
pub(super) const MOVE: &str = "keep homes, checkouts, TMPDIR and mounts out of the system's directories, name single programs in \
     CONCLAVE_SANDBOX_PROGRAMS, and mount /proc without hidepid";
/// The mounts of this process.
const MOUNTS: &str = "/proc/self/mountinfo";
/// Maximum number of mounts that are named.
const MAX_NAMED: usize = 5;

/// Places that the rules of a start open.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    /// The rules for the machine's files and for programs.
    pub(super) shared: Vec<FileRule>,
    /// The rules for directories of the run.
    pub(super) own: Vec<FileRule>,
    /// Places of the user's.
    pub(super) private: Vec<Utf8PathBuf>,
}

impl Opened {
    /// The user's places that are open, these included, and whatever else could be.
    pub(super) fn list(&self, more: &[Utf8PathBuf]) -> Vec<String> {
        let private = [self.private.as_slice(), more].concat();
        let text = std::fs::read(MOUNTS).unwrap_or_default();
        let mounts = Mounts::parse(&String::from_utf8_lossy(&text));
        let mut open = exposed(&self.shared, &private, &mounts);
        if cfg!(target_os = "linux") {
            if mounts.0.is_empty() {
                open.push(format!(
                    "what is mounted below the system's directories: {MOUNTS} cannot be read"
                ));
            }
            open.extend(mounts.below(self.shared.iter().chain(&self.own)));
            open.extend(hidden_processes(&mounts));
        }
        open
    }
}

/// The places of the user that a rule opens with everything below them, under this name or another one.
fn exposed(rules: &[FileRule], private: &[Utf8PathBuf], mounts: &Mounts) -> Vec<String> {
    let open: Vec<(Utf8PathBuf, Option<Place>)> = rules
        .iter()
        .map(|rule| real(&rule.path))
        .map(|path| (path.clone(), mounts.place(&path)))
        .collect();
    let mut exposed: Vec<String> = private
        .iter()
        .filter_map(|place| {
            let place = real(place);
            let there = mounts.place(&place);
            let is_within =
                |open: &Option<Place>| matches!((open, &there), (Some(open), Some(there)) if there.is_in(open));
            let (rule, _) = open
                .iter()
                .find(|(path, open)| place.starts_with(path) || is_within(open))?;
            Some(format!("files below {place}, which {rule} opens"))
        })
        .collect();
    exposed.sort();
    exposed.dedup();
    exposed
}

/// The path without links. What is not there yet is taken as it will be made.
fn real(path: &Utf8Path) -> Utf8PathBuf {
    let absolute = camino::absolute_utf8(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find_map(|there| {
        let rest = absolute.strip_prefix(there).ok()?;
        let there = there.canonicalize_utf8().ok()?;
        Some(if rest == "" { there } else { there.join(rest) })
    });
    found.unwrap_or(absolute)
}

/// A `/proc` that hides processes from this user would hide what outlives the run.
fn hidden_processes(mounts: &Mounts) -> Option<String> {
    let hides = !nix::unistd::geteuid().is_root() && mounts.hide_processes();
    hides.then(|| "processes that outlive the run: /proc is mounted with `hidepid`".to_owned())
}

/// A place in a file system, whatever it is called.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    device: String,
    path: Utf8PathBuf,
}

impl Place {
    fn is_in(&self, other: &Self) -> bool {
        self.device == other.device && self.path.starts_with(&other.path)
    }
}

/// Part of a file system, and where it is mounted.
#[derive(Debug)]
struct Mount {
    source: Place,
    point: Utf8PathBuf,
    kind: String,
    /// The options of its file system.
    options: String,
}

/// All mounts. A later one hides an earlier one at the same point.
#[derive(Debug)]
struct Mounts(Vec<Mount>);

impl Mounts {
    /// Reads the lines of `/proc/PID/mountinfo`.
    fn parse(text: &str) -> Self {
        let mount = |line: &str| {
            let (of_mount, of_system) = line.split_once(" - ")?;
            let mut fields = of_mount.split(' ').skip(2);
            let (device, path, point) = (fields.next()?, fields.next()?, fields.next()?);
            Some(Mount {
                source: Place {
                    device: device.to_owned(),
                    path: unescaped(path).into(),
                },
                point: unescaped(point).into(),
                kind: of_system.split(' ').next()?.to_owned(),
                options: of_system.rsplit(' ').next()?.to_owned(),
            })
        };
        Self(text.lines().filter_map(mount).collect())
    }

    /// The place that a path without links leads to.
    fn place(&self, path: &Utf8Path) -> Option<Place> {
        Self::place_among(self.0.iter(), path)
    }

    fn place_among<'a>(mounts: impl Iterator<Item = &'a Mount>, path: &Utf8Path) -> Option<Place> {
        let above = mounts.filter(|mount| path.starts_with(&mount.point));
        // Of several at the same point, the last.
        let mount = above.max_by_key(|mount| mount.point.components().count())?;
        let rest = path.strip_prefix(&mount.point).ok()?;
        let there = &mount.source.path;
        Some(Place {
            device: mount.source.device.clone(),
            path: if rest == "" { there.clone() } else { there.join(rest) },
        })
    }

    /// Mounts below these rules that bring anything but what would be there without them.
    fn below<'a>(&self, rules: impl Iterator<Item = &'a FileRule>) -> Vec<String> {
        let rules: Vec<Utf8PathBuf> = rules.map(|rule| real(&rule.path)).collect();
        let mut found: Vec<String> = self
            .0
            .iter()
            .filter_map(|mount| {
                let point = &mount.point;
                let rule = rules.iter().find(|rule| point.starts_with(rule) && point != *rule)?;
                let others = self.0.iter().filter(|other| other.point != *point);
                let is_the_same = Self::place_among(others, point).is_some_and(|there| there == mount.source);
                (!is_the_same).then(|| format!("what is mounted at {point} ({}), which {rule} opens", mount.kind))
            })
            .collect();
        found.sort();
        found.dedup();
        let unnamed = found.len().saturating_sub(MAX_NAMED);
        if unnamed > 0 {
            found.truncate(MAX_NAMED);
            found.push(format!("{unnamed} more mounts like these"));
        }
        found
    }

    /// Returns whether the last mount at `/proc` hides processes.
    fn hide_processes(&self) -> bool {
        let of_proc = self.0.iter().rfind(|mount| mount.point == "/proc");
        let options = of_proc.map_or("", |mount| mount.options.as_str());
        let value = options.split(',').find_map(|option| option.strip_prefix("hidepid="));
        value.is_some_and(|value| !matches!(value, "0" | "off"))
    }
}

/// A path as the kernel writes it: spaces and the like are numbers.
fn unescaped(path: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(path.to_owned(), |path, (number, character)| {
            path.replace(number, character)
        })
}

#[cfg(test)]
#[path = "opened_tests.rs"]
mod tests;
