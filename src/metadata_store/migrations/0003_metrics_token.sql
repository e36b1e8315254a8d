-- A token for a monitoring program: it may read the metrics and nothing else.
ALTER TABLE tokens ADD COLUMN metrics_only {int} NOT NULL DEFAULT 0;
