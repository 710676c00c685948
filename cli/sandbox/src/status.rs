//! Walls around a program, and their grade.

use conclave_shared::sandbox::SandboxLevel;
use serde::{Deserialize, Serialize};

/// The version of Landlock that knows rules for connections (Linux 6.7).
const WITH_PORTS: u8 = 4;
/// The version of Landlock that keeps signals inside (Linux 6.12).
const WITH_SIGNALS: u8 = 6;

/// The opening that stays around threads of the program itself.
const MEMORY: &str = "the memory of conclave itself, of which the native runtime is a part";

/// Walls around a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// The version of Landlock in force; 0 if there is none, and files are open.
    pub landlock: u8,
    /// True if system calls that Landlock does not see are refused.
    pub filter: bool,
    /// True if each connection is made by the parent, to exact addresses only.
    pub watch: bool,
    /// True if the program's limits are in force.
    pub limits: bool,
}

/// The grade of a sandbox, and why it is not a better one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxStatus {
    /// The grade.
    pub level: SandboxLevel,
    /// The walls around the program; nothing where none was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub walls: Option<Walls>,
    /// Openings that stay, each completing "open: …".
    pub open: Vec<String>,
    /// A change of the machine that would close them, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

impl SandboxStatus {
    /// No sandbox, for this reason.
    pub fn none(why: impl Into<String>) -> Self {
        Self {
            level: SandboxLevel::None,
            walls: None,
            open: vec![why.into()],
            next_step: None,
        }
    }

    /// The grade of these walls.
    pub fn of(walls: Walls) -> Self {
        let mut open = Vec::new();
        let mut steps = Vec::new();
        if walls.landlock == 0 {
            open.push(
                "files, and signals to other processes of this user: this kernel or container has no Landlock"
                    .to_owned(),
            );
            steps.push(
                "run it on Linux 5.13 or newer with Landlock in the kernel's list of security modules, and in a container \
                 whose seccomp profile allows landlock_create_ruleset (Docker's and containerd's of 2022 or later do)",
            );
        } else if walls.landlock < WITH_SIGNALS {
            open.push(format!(
                "signals to other processes of this user (Landlock {}, and {WITH_SIGNALS} of Linux 6.12 is needed)",
                walls.landlock
            ));
            steps.push("run it on Linux 6.12 or newer");
        }
        if !walls.filter {
            open.push(
                "rights, times and attributes of this user's files, datagrams, socket files, and all other system calls besides \
                 opening files and TCP: seccomp is refused here"
                    .to_owned(),
            );
            steps.push("use a container profile that allows seccomp(2)");
        }
        if !walls.watch {
            open.push(
                match walls.landlock {
                    WITH_PORTS.. => {
                        "connections to any host at the two ports that the run serves, servers of its own, and processes that start others until they \
                         outlive the run"
                    }
                    _ => "any TCP connection, servers of its own, and processes that start others until they outlive the run",
                }
                .to_owned(),
            );
            steps.push(
                "set kernel.yama.ptrace_scope to 1 at most, and use a container runtime without a seccomp listener of its own",
            );
        }
        if !walls.limits {
            open.push(
                "memory, file sizes and processes, which may outlive the run: the limits cannot be set here".to_owned(),
            );
        }
        let level = if walls.landlock == 0 {
            SandboxLevel::None
        } else if open.is_empty() {
            SandboxLevel::Enforced
        } else {
            SandboxLevel::Partial
        };
        Self {
            level,
            walls: Some(walls),
            open,
            next_step: (!steps.is_empty()).then(|| steps.join("; ")),
        }
    }

    /// The same with more that is open, which makes it no better than partial.
    #[must_use]
    pub fn also_open(mut self, more: &[String], step: &str) -> Self {
        if more.is_empty() || self.level == SandboxLevel::None {
            return self;
        }
        self.level = SandboxLevel::Partial;
        self.open.extend(more.iter().cloned());
        self.next_step = Some(match self.next_step.take() {
            Some(first) => format!("{first}; {step}"),
            None => step.to_owned(),
        });
        self
    }

    /// The grade of threads of `conclave` itself that can open one directory only, under this version of Landlock: code of our
    /// own that may be misled has no way out, but it is in the process that holds the keys.
    pub fn of_threads(landlock: u8) -> Self {
        if landlock == 0 {
            let Self { open, next_step, .. } = Self::of(Walls {
                landlock,
                filter: true,
                watch: true,
                limits: true,
            });
            let open = match crate::missing_here() {
                Some(why) => vec![why.to_owned()],
                None => open,
            };
            return Self {
                next_step,
                open: [open, vec![MEMORY.to_owned()]].concat(),
                ..Self::none("")
            };
        }
        Self {
            level: SandboxLevel::Partial,
            walls: Some(Walls {
                landlock,
                filter: false,
                watch: false,
                limits: false,
            }),
            open: vec![MEMORY.to_owned()],
            next_step: Some(OPENCODE.to_owned()),
        }
    }

    /// Returns whether nothing can be reached from inside but the ports of the run.
    pub fn shuts_other_addresses(&self) -> bool {
        self.walls
            .as_ref()
            .is_some_and(|walls| walls.watch || walls.landlock >= WITH_PORTS)
    }

    /// One line for people, as in `partial, open: any TCP connection`.
    pub fn describe(&self) -> String {
        if self.open.is_empty() {
            self.level.to_string()
        } else {
            format!("{}, open: {}", self.level, self.open.join("; "))
        }
    }
}

/// The way of the agents out of the process that holds the keys.
const OPENCODE: &str = "get OpenCode, where it is missing, with `conclave runtime install` (on x86-64 with glibc) or with its binary in \
                        CONCLAVE_OPENCODE, then review with `--runtime opencode`: it is a process of its own";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_opencode_says_where_it_comes_from() {
        let step = SandboxStatus::of_threads(WITH_PORTS).next_step.expect("a step");
        let (install, review) = (step.find("conclave runtime install"), step.find("--runtime opencode"));
        assert!(install.is_some() && install < review, "{step}");
    }

    fn walls(landlock: u8, filter: bool, watch: bool) -> Walls {
        Walls {
            landlock,
            filter,
            watch,
            limits: true,
        }
    }

    #[test]
    fn a_grade_is_never_better_than_its_weakest_wall() {
        for (walls, level, open) in [
            (walls(7, true, true), SandboxLevel::Enforced, &[][..]),
            (walls(6, true, true), SandboxLevel::Enforced, &[]),
            (
                walls(5, true, true),
                SandboxLevel::Partial,
                &["signals to other processes"],
            ),
            (
                walls(1, true, true),
                SandboxLevel::Partial,
                &["signals to other processes"],
            ),
            (
                walls(7, true, false),
                SandboxLevel::Partial,
                &["any host at the two ports"],
            ),
            (
                walls(4, true, false),
                SandboxLevel::Partial,
                &["signals", "any host at the two ports"],
            ),
            (
                walls(3, true, false),
                SandboxLevel::Partial,
                &["signals", "any TCP connection"],
            ),
            (walls(7, false, true), SandboxLevel::Partial, &["seccomp is refused"]),
            (walls(0, true, true), SandboxLevel::None, &["no Landlock"]),
            (
                walls(0, false, false),
                SandboxLevel::None,
                &["no Landlock", "seccomp", "any TCP"],
            ),
        ] {
            let status = SandboxStatus::of(walls.clone());
            assert_eq!(status.level, level, "{walls:?}");
            assert_eq!(status.open.len(), open.len(), "{status:?}");
            for (found, wanted) in status.open.iter().zip(open) {
                assert!(found.contains(wanted), "{found} {wanted}");
            }
            assert_eq!(status.next_step.is_none(), open.is_empty());
        }
        let open = ["files below /usr/app".to_owned()];
        let more = SandboxStatus::of(walls(7, true, true)).also_open(&open, "move it");
        assert_eq!(
            (more.level, more.next_step.as_deref()),
            (SandboxLevel::Partial, Some("move it"))
        );
        assert_eq!(more.describe(), "partial, open: files below /usr/app");
        let none = SandboxStatus::of(walls(0, true, true));
        assert_eq!(none.clone().also_open(&open, "move it"), none, "all files are open");
        let without_limits = SandboxStatus::of(Walls {
            limits: false,
            ..walls(7, true, true)
        });
        assert_eq!(without_limits.level, SandboxLevel::Partial);
    }
}
