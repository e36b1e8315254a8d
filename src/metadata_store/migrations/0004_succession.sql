-- A change of embedder (records/succession.h). The rows under the old one serve until a successor, a collection
-- of its own that nobody asks for by its id, has rows for every document.
ALTER TABLE collections ADD COLUMN parent_id {int} REFERENCES collections (id); -- of a successor; null: no successor
ALTER TABLE collections ADD COLUMN serving_id {int}; -- the former successor whose rows serve; null: its own do
ALTER TABLE collections ADD COLUMN successor_id {int}; -- the one that is being filled; null: none
ALTER TABLE collections ADD COLUMN complete {int} NOT NULL DEFAULT 0; -- 1: a successor that may take over
-- What the embedder was opened with, so that queries can be embedded by it after the settings name another.
ALTER TABLE collections ADD COLUMN embedder_options TEXT NOT NULL DEFAULT '{}'; -- JSON, without secrets
