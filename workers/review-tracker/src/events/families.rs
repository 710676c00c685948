//! The families of `/metrics` that events make, from all-time sums.

use std::collections::BTreeMap;

use super::{KINDS, Totals, names::Names};
use crate::exposition::Exposition;

/// Takes the families of the kinds, one after another.
pub(crate) struct Families<'a> {
    /// The families so far.
    pub(crate) out: Exposition,
    /// The sums that they are made of.
    pub(crate) all: &'a Totals,
    /// The names that keep a series of their own; all others are `other`.
    pub(super) names: Names<'a>,
}

/// The families of every kind.
pub(crate) fn families(all: &Totals) -> Families<'_> {
    let mut families = Families {
        out: Exposition::default(),
        all,
        names: Names::of(all),
    };
    for kind in KINDS {
        (kind.families)(&mut families);
    }
    families
}

impl Families<'_> {
    /// A counter of a kind of counts without labels, also when it is zero: a rate needs its beginning.
    pub(crate) fn count(&mut self, name: &'static str, help: &'static str, kind: &str) {
        let counts = self.all.counts.iter().filter(|row| row.kind == kind);
        self.out.counter(name, help);
        self.out.sample(&[], counts.map(|row| row.n).sum::<u64>());
    }

    /// A counter of a kind of counts by labels, which are made of those of the counts.
    pub(crate) fn counts<const N: usize>(
        &mut self,
        name: &'static str,
        help: &'static str,
        kind: &str,
        labels: [&'static str; N],
        values: impl for<'x> Fn(&Names<'_>, [&'x str; 3]) -> [&'x str; N],
    ) {
        let mut sums: BTreeMap<[&str; N], u64> = BTreeMap::new();
        for row in self.all.counts.iter().filter(|row| row.kind == kind) {
            *sums.entry(values(&self.names, [&row.a, &row.b, &row.c])).or_default() += row.n;
        }
        self.out.counter(name, help);
        for (values, count) in sums {
            let labels: Vec<(&'static str, &str)> = labels.into_iter().zip(values).collect();
            self.out.sample(&labels, count);
        }
    }
}
