//! The facts of this machine that decide which program runs on it.

/// A kind of machine, as packages tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    /// Linux with glibc on x86-64, with AVX2.
    LinuxX64,
    /// The same without AVX2.
    LinuxX64Baseline,
}

impl Platform {
    /// Returns whether this kind of machine runs what is made for `other`.
    pub(crate) fn runs(self, other: Self) -> bool {
        self == other || (self, other) == (Self::LinuxX64, Self::LinuxX64Baseline)
    }
}

/// The facts of a machine that decide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) system: &'static str,
    pub(crate) processor: &'static str,
    pub(crate) avx2: bool,
    /// The loader of programs that need glibc is there.
    pub(crate) glibc: bool,
}

impl Machine {
    /// This one.
    pub(crate) fn here() -> Self {
        #[cfg(target_arch = "x86_64")]
        let avx2 = std::arch::is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        let avx2 = false;
        let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
        Self {
            system: std::env::consts::OS,
            processor: std::env::consts::ARCH,
            avx2,
            glibc: loaders.iter().any(|loader| std::path::Path::new(loader).exists()),
        }
    }

    /// Its platform, if there are packages for it.
    pub(crate) fn platform(self) -> Option<Platform> {
        match (self.system, self.processor) {
            ("linux", _) if !self.glibc => None,
            ("linux", "x86_64") if self.avx2 => Some(Platform::LinuxX64),
            ("linux", "x86_64") => Some(Platform::LinuxX64Baseline),
            _ => None,
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lacks = [
            ("AVX2", self.processor == "x86_64" && !self.avx2),
            ("glibc", self.system == "linux" && !self.glibc),
        ];
        let lacks: Vec<&str> = lacks
            .iter()
            .filter(|(_, lacks)| *lacks)
            .map(|(what, _)| *what)
            .collect();
        write!(formatter, "{} on {}", self.system, self.processor)?;
        if lacks.is_empty() {
            return Ok(());
        }
        write!(formatter, " without {}", lacks.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::USUAL;

    #[test]
    fn a_machine_is_named_with_what_it_lacks() {
        let without_avx2 = Machine { avx2: false, ..USUAL };
        let musl = Machine { glibc: false, ..USUAL };
        let arm = Machine {
            processor: "aarch64",
            avx2: false,
            ..USUAL
        };
        for (machine, platform, name) in [
            (USUAL, Some(Platform::LinuxX64), "linux on x86_64"),
            (
                without_avx2,
                Some(Platform::LinuxX64Baseline),
                "linux on x86_64 without AVX2",
            ),
            (musl, None, "linux on x86_64 without glibc"),
            (
                Machine { avx2: false, ..musl },
                None,
                "linux on x86_64 without AVX2 and glibc",
            ),
            (arm, None, "linux on aarch64"),
        ] {
            assert_eq!((machine.platform(), machine.to_string().as_str()), (platform, name));
        }
    }
}
