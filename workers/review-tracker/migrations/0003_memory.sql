-- What repositories remember: findings that people turned down, and findings that were fixed. Metadata only.
--
-- It comes out of the `finding_outcome` events, by a trigger: so an outcome that was accepted is remembered, once, whoever
-- writes the event and however often it arrives; and there is one way in, with one right. Raw events go after their time,
-- this stays.
--
-- Bounded: of each project the newest 2,000 stay, give or take 32 (`memory_forgets`), and a question is answered from the
-- newest 500 of the last year (`src/store/memory.rs`).
CREATE TABLE memory (
  position INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  outcome TEXT NOT NULL,           -- `fixed` or `rejected`
  merge_request INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  claim TEXT,                      -- a hash; NULL from clients that do not say
  category TEXT NOT NULL,
  path TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  UNIQUE (project, outcome, merge_request, fingerprint)
);
CREATE INDEX memory_by_time ON memory (project, outcome, at_ms DESC);

-- What people have cleared, and until when: an older event that arrives afterwards does not bring it back. `fingerprint` is empty
-- where all of a project was cleared; `who` is the name of the token, empty for one without.
CREATE TABLE memory_cleared (
  project TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  who TEXT NOT NULL,
  PRIMARY KEY (project, fingerprint)
) WITHOUT ROWID;

CREATE TRIGGER memory_remembers AFTER INSERT ON events
WHEN NEW.kind = 'finding_outcome' AND NEW.body->>'outcome' IN ('fixed', 'rejected') AND NEW.body->>'merge_request' IS NOT NULL
BEGIN
  INSERT OR IGNORE INTO memory (project, outcome, merge_request, fingerprint, claim, category, path, at_ms)
    SELECT NEW.project, NEW.body->>'outcome', NEW.body->>'merge_request', NEW.body->>'fingerprint', NEW.body->>'claim',
      NEW.body->>'category', NEW.body->>'path', NEW.at_ms
    WHERE NOT EXISTS (SELECT 1 FROM memory_cleared AS c
      WHERE c.project = NEW.project AND c.fingerprint IN ('', NEW.body->>'fingerprint') AND c.at_ms >= NEW.at_ms);
END;

-- Now and then, because counting every time would cost more than the rows.
CREATE TRIGGER memory_forgets AFTER INSERT ON memory
WHEN NEW.position % 32 = 0
BEGIN
  DELETE FROM memory WHERE position IN (
    SELECT position FROM memory WHERE project = NEW.project ORDER BY at_ms DESC, position DESC LIMIT -1 OFFSET 2000);
END;
