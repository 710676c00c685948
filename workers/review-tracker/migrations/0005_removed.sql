-- What judges removed, by severity, reason, and the code that they quoted against it: `unchanged_code`, `this_change`, `invalid`,
-- `none`. The rows are counts like all others; only their view is new.

CREATE VIEW daily_removed AS
  SELECT project, day, tier, a AS severity, b AS reason, c AS refutation, n AS findings FROM daily_counts WHERE kind = 'removed';
