//! `finding`: a finding was judged.

use conclave_shared::{
    severity::Severity,
    telemetry::{FindingEvent, FindingFate},
};

use super::{
    Checked, Families, Kind, Meaning, Writer,
    limits::{MAX_REVIEWER, text},
    rollup::Rollup,
    rows::{name, word},
};

const FINDINGS: &str = "INSERT OR IGNORE INTO findings
  (event_id, run_id, at_ms, reviewer, severity, category, path, fingerprint, fate, reason_code, placement)
  SELECT value->>'id', value->>'run_id', value->>'at_ms', value->>'$.of.reviewer', value->>'$.of.severity',
  value->>'$.of.category', value->>'$.of.path', value->>'$.of.fingerprint', value->>'$.of.fate',
  value->>'$.of.reason_code', value->>'$.of.placement' FROM json_each(?1)";

/// Files with findings that stand, by week: for all tiers (`*`) and for the tier in which they were found, as far as it is known.
static HOT_FILES: Rollup = Rollup::Statement(
    "INSERT INTO hot_files
  (grain, tier, week, project, path, findings, critical, warning, suggestion)
  SELECT CASE grain WHEN 0 THEN j.value->>0 ELSE '*' END, CASE every WHEN 1 THEN '*' ELSE j.value->>2 END,
  j.value->>1 - (j.value->>1 + 3) % 7, j.value->>0, j.value->>3, sum(j.value->>4), sum(j.value->>5), sum(j.value->>6),
  sum(j.value->>7)
  FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1)))
  CROSS JOIN (SELECT column1 AS every FROM (VALUES (0), (1))) WHERE every = 1 OR j.value->>2 <> ''
  GROUP BY 1, 2, 3, 4, 5
  ON CONFLICT DO UPDATE SET findings = findings + excluded.findings, critical = critical + excluded.critical,
  warning = warning + excluded.warning, suggestion = suggestion + excluded.suggestion",
);

pub(super) const KIND: Kind = Kind {
    statements: &[FINDINGS],
    rollups: &[&HOT_FILES],
    families,
};

impl Meaning for FindingEvent {
    fn check(&self) -> Checked {
        text("reviewer", self.reviewer.as_str(), MAX_REVIEWER)?;
        text("category", self.category.as_str(), 120)?;
        text("path", self.path.as_str(), 1024)?;
        text("fingerprint", self.fingerprint.as_str(), 128)?;
        text("refutation", self.refutation.as_deref(), 40)?;
        text("reason_code", self.reason_code.as_deref(), 120)
    }

    fn write<'a>(&'a self, to: &mut Writer<'a, '_>) {
        to.row(FINDINGS, self);
        let reviewer = name("reviewer", &self.reviewer);
        let [severity, fate] = [self.severity.as_str(), self.fate.as_str()].map(word);
        let reason = self.reason_code.as_deref().map(|reason| name("reason", reason));
        let reason = reason.unwrap_or(word(""));
        to.name("category", &self.category);
        to.count("finding", &[reviewer, severity, fate], 1);
        if self.fate == FindingFate::Kept {
            to.count("category", &[reviewer, name("category", &self.category), severity], 1);
            if let Some(placement) = self.placement {
                to.count("placement", &[word(placement.as_str())], 1);
            }
            let is = |severity| f64::from(u8::from(self.severity == severity));
            let counts = [Severity::Critical, Severity::Warning, Severity::Suggestion].map(is);
            to.sum(&HOT_FILES, [to.tier, &self.path], &[&[1.0], &counts[..]].concat());
            return;
        }
        to.count("reason", &[reviewer, fate, reason], 1);
        if self.removed_by_judge {
            let refutation = word(refutation(self.refutation.as_deref()));
            to.count("removed", &[severity, reason, refutation], 1);
        }
    }
}

/// The code that the judge quoted against a finding, in a closed set of words.
fn refutation(said: Option<&str>) -> &str {
    match said {
        None => "none",
        Some(said @ ("unchanged_code" | "this_change" | "invalid")) => said,
        Some(_) => "other",
    }
}

fn families(to: &mut Families<'_>) {
    to.counts(
        "conclave_findings",
        "Judged findings by reviewer, severity and what the judge did.",
        "finding",
        ["reviewer", "severity", "fate"],
        |names, [reviewer, severity, fate]| [names.agent(reviewer), severity, fate],
    );
    // The reason is left out: clients choose it freely, and the dashboard has it.
    to.counts(
        "conclave_findings_removed",
        "Findings that judges removed, by severity, and by the code that they quoted against them.",
        "removed",
        ["severity", "refutation"],
        |_, [severity, _, refutation]| [severity, refutation],
    );
}
