-- Of free names each project may bring only so many, so that one project, or a stolen token bound to it, cannot use up the places of
-- all. `project` is the project that brought a name; it is empty for projects themselves, for names that the product has itself, which
-- take no place (their rank is 0), and for names from before this migration.
ALTER TABLE names ADD COLUMN project TEXT NOT NULL DEFAULT '';
CREATE INDEX names_by_project ON names (kind, project) WHERE project <> '';
