-- What is proved to come from its project, and who settled a finding.
--
-- An ingest token proves nothing about a project, and the memory changes reviews. So an outcome teaches it only if the Worker has
-- seen a proof: the job's own token, or a signature with the installation's secret (`src/ingest/proof.rs`). An outcome that the merge
-- request's author caused teaches nothing either, however well it is proved.
--
-- What was stored before counts as unproven: nobody can tell it from what a stolen token sent. It stays for the figures, and the memory
-- leaves it out until it is proved anew. An operator who trusts it says so once for a project:
--   UPDATE memory SET proven = 1 WHERE project = 'group/project';
ALTER TABLE events ADD COLUMN proven INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outcomes ADD COLUMN proven INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory ADD COLUMN proven INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER memory_remembers;
CREATE TRIGGER memory_remembers AFTER INSERT ON events
WHEN NEW.kind = 'finding_outcome' AND NEW.proven = 1 AND NEW.body->>'outcome' IN ('fixed', 'rejected')
  AND NEW.body->>'merge_request' IS NOT NULL AND coalesce(NEW.body->>'settled_by', '') <> 'author'
BEGIN
  INSERT INTO memory (project, outcome, merge_request, fingerprint, claim, category, path, at_ms, proven)
    SELECT NEW.project, NEW.body->>'outcome', NEW.body->>'merge_request', NEW.body->>'fingerprint', NEW.body->>'claim',
      NEW.body->>'category', NEW.body->>'path', NEW.at_ms, 1
    WHERE NOT EXISTS (SELECT 1 FROM memory_cleared AS c
      WHERE c.project = NEW.project AND c.fingerprint IN ('', NEW.body->>'fingerprint') AND c.at_ms >= NEW.at_ms)
    -- What was there unproven is replaced, with all that it said.
    ON CONFLICT (project, outcome, merge_request, fingerprint) DO UPDATE SET
      claim = excluded.claim, category = excluded.category, path = excluded.path, at_ms = excluded.at_ms, proven = 1
      WHERE memory.proven = 0;
END;
