-- The media type that a source declares of the bytes which a line is about: an upload's new bytes are known to
-- the ledger before its document has them.
ALTER TABLE ledger ADD COLUMN media_type TEXT NOT NULL DEFAULT '';
