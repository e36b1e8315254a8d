-- Schema version 1. Words in braces are spelt by each member (metadata_store.h):
-- {id} a primary key never reused, {int} 64 bits, {real} double, {blob}, {now} microseconds since 1970,
-- {strict} ends a table, {clustered} ends a table that is stored in the order of its primary key.
-- Times are microseconds in UTC, 0 when unknown. Enumerations are stored by their stable names.

-- ---- counters ---------------------------------------------------------------------------------

-- 'commit_seq': the number of the last write transaction that changed what a search can see.
CREATE TABLE counters (
    name  TEXT NOT NULL PRIMARY KEY,
    value {int} NOT NULL
) {clustered};
INSERT INTO counters (name, value) VALUES ('commit_seq', 0);

-- ---- who --------------------------------------------------------------------------------------

CREATE TABLE users (
    id            {id},
    name          TEXT NOT NULL UNIQUE,
    display_name  TEXT NOT NULL DEFAULT '',
    role          TEXT NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'system_admin')),
    password_hash TEXT,
    disabled      {int} NOT NULL DEFAULT 0,
    created_at    {int} NOT NULL
) {strict};

CREATE TABLE tokens (
    id           {id},
    user_id      {int} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    hash         {blob} NOT NULL UNIQUE,
    hint         TEXT NOT NULL, -- its first characters, for people to tell tokens apart
    created_at   {int} NOT NULL,
    expires_at   {int} NOT NULL DEFAULT 0,
    last_used_at {int} NOT NULL DEFAULT 0,
    revoked_at   {int} NOT NULL DEFAULT 0
) {strict};
CREATE INDEX tokens_by_user ON tokens (user_id);

CREATE TABLE workspaces (
    id         {id},
    name       TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL DEFAULT 'team' CHECK (kind IN ('team', 'personal')),
    created_at {int} NOT NULL
) {strict};

CREATE TABLE memberships (
    workspace_id {int} NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      {int} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role         TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'admin', 'owner')),
    created_at   {int} NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
) {clustered};
CREATE INDEX memberships_by_user ON memberships (user_id);

-- ---- where from -------------------------------------------------------------------------------

CREATE TABLE connectors (
    id          {id},
    type        TEXT NOT NULL, -- a member of the connector seam
    name        TEXT NOT NULL UNIQUE,
    options     TEXT NOT NULL DEFAULT '{}', -- JSON, without secrets
    credentials {blob},                     -- encrypted
    schedule    TEXT NOT NULL DEFAULT '',
    enabled     {int} NOT NULL DEFAULT 1,
    created_at  {int} NOT NULL
) {strict};

CREATE TABLE sources (
    id                {id},
    connector_id      {int} NOT NULL REFERENCES connectors (id),
    location          TEXT NOT NULL, -- what the connector calls its source: a path, a space, a URL
    options           TEXT NOT NULL DEFAULT '{}', -- JSON
    home_workspace_id {int} NOT NULL REFERENCES workspaces (id),
    collection_id     {int} NOT NULL, -- home collection of its documents
    enabled           {int} NOT NULL DEFAULT 1,
    failures          {int} NOT NULL DEFAULT 0, -- failed runs in a row
    last_run_at       {int} NOT NULL DEFAULT 0,
    last_complete_at  {int} NOT NULL DEFAULT 0,
    created_at        {int} NOT NULL,
    UNIQUE (connector_id, location)
) {strict};

-- A System-Admin maps a source to workspaces; a Workspace-Admin switches the mapping on and off.
CREATE TABLE source_workspaces (
    id           {id},
    source_id    {int} NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    workspace_id {int} NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    enabled      {int} NOT NULL DEFAULT 1,
    created_at   {int} NOT NULL,
    UNIQUE (source_id, workspace_id)
) {strict};
CREATE INDEX source_workspaces_by_workspace ON source_workspaces (workspace_id);

-- Where an incremental listing goes on (a delta token, a last id).
CREATE TABLE cursors (
    source_id  {int} NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,
    updated_at {int} NOT NULL,
    PRIMARY KEY (source_id, name)
) {clustered};

-- ---- what -------------------------------------------------------------------------------------

CREATE TABLE collections (
    id               {id},
    name             TEXT NOT NULL UNIQUE,
    kind             TEXT NOT NULL DEFAULT 'local' CHECK (kind IN ('local', 'remote')),
    embedder         TEXT NOT NULL DEFAULT '', -- provider/model@revision; '' until the first indexing, or keyword only
    embedder_fingerprint TEXT NOT NULL DEFAULT '',
    dimension        {int} NOT NULL DEFAULT 0,
    chunker          TEXT NOT NULL DEFAULT '', -- '' : the program's default
    chunking         TEXT NOT NULL DEFAULT '{}', -- JSON
    language         TEXT NOT NULL DEFAULT '',
    seq              {int} NOT NULL DEFAULT 0, -- commit_seq of the newest change of its rows
    created_at       {int} NOT NULL
) {strict};

CREATE TABLE documents (
    id                 {id},
    file_id            TEXT NOT NULL UNIQUE, -- stable, for the outside
    source_id          {int} NOT NULL REFERENCES sources (id),
    external_key       TEXT NOT NULL,
    document_title     TEXT NOT NULL DEFAULT '',
    source_url         TEXT NOT NULL DEFAULT '',
    path               TEXT NOT NULL DEFAULT '',
    author             TEXT NOT NULL DEFAULT '',
    media_type         TEXT NOT NULL DEFAULT '',
    language           TEXT NOT NULL DEFAULT '',
    size               {int} NOT NULL DEFAULT -1,
    sha256             {blob}, -- of the bytes; null until they were read
    blob               {int} NOT NULL DEFAULT 0, -- 1: the blob store keeps the bytes under sha256
    version            TEXT NOT NULL DEFAULT '', -- the source's own: etag, revision number
    owner_id           {int} REFERENCES users (id),
    home_workspace_id  {int} NOT NULL REFERENCES workspaces (id),
    home_collection_id {int} NOT NULL REFERENCES collections (id),
    state              TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'archived', 'expired', 'sensitive')),
    processing_state   TEXT NOT NULL DEFAULT 'pending'
                       CHECK (processing_state IN ('pending', 'in_progress', 'completed', 'failed', 'skipped')),
    processing_stage   TEXT NOT NULL DEFAULT '',
    processing_reason  TEXT NOT NULL DEFAULT '',
    attempts           {int} NOT NULL DEFAULT 0,
    metadata           TEXT NOT NULL DEFAULT '{}', -- JSON
    warnings           TEXT NOT NULL DEFAULT '[]', -- JSON, of the extraction
    revision_id        {int}, -- the one that is shown; null until there is one
    created_at         {int} NOT NULL DEFAULT 0, -- as the document says
    modified_at        {int} NOT NULL DEFAULT 0, -- as the document or its source says
    added_at           {int} NOT NULL,
    indexed_at         {int} NOT NULL DEFAULT 0,
    updates            {int} NOT NULL DEFAULT 0, -- how often its content changed: trust of a source
    UNIQUE (source_id, external_key)
) {strict};
CREATE INDEX documents_by_sha256 ON documents (sha256);
CREATE INDEX documents_by_processing ON documents (processing_state, id);
CREATE INDEX documents_by_source ON documents (source_id, id);
CREATE INDEX documents_sensitive ON documents (id) WHERE state = 'sensitive';

-- Who may see it. mapping_id names the source mapping it comes from; 0: home or shared by hand.
CREATE TABLE document_workspaces (
    document_id  {int} NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    workspace_id {int} NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    mapping_id   {int} NOT NULL DEFAULT 0,
    PRIMARY KEY (document_id, workspace_id, mapping_id)
) {clustered};
CREATE INDEX document_workspaces_by_workspace ON document_workspaces (workspace_id, document_id);
CREATE INDEX document_workspaces_by_mapping ON document_workspaces (mapping_id, document_id);

-- How it is indexed: the chunk set that serves each collection.
CREATE TABLE document_collections (
    document_id   {int} NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    collection_id {int} NOT NULL REFERENCES collections (id),
    chunk_set_id  {int} NOT NULL,
    PRIMARY KEY (document_id, collection_id)
) {clustered};
CREATE INDEX document_collections_by_collection ON document_collections (collection_id, document_id);
CREATE INDEX document_collections_by_chunk_set ON document_collections (chunk_set_id);

-- documents.metadata taken apart, for filters on keys that the index does not keep.
CREATE TABLE document_metadata (
    document_id {int} NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    key         TEXT NOT NULL,
    position    {int} NOT NULL, -- of several values of one key
    text        TEXT,           -- one of the three is set, by the type of the value
    number      {real},
    boolean     {int},
    PRIMARY KEY (document_id, key, position)
) {clustered};
CREATE INDEX document_metadata_by_text ON document_metadata (key, text);
CREATE INDEX document_metadata_by_number ON document_metadata (key, number);

CREATE TABLE revisions (
    id          {id},
    document_id {int} NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    sha256      {blob},
    extractor   TEXT NOT NULL, -- name and version
    text_size   {int} NOT NULL,
    text_checksum {int} NOT NULL,
    page_count  {int} NOT NULL,
    created_at  {int} NOT NULL
) {strict};
CREATE INDEX revisions_by_document ON revisions (document_id);

-- The canonical text in pieces of at most 64 KiB that never part a character: a range is read
-- without its document.
CREATE TABLE canonical_texts (
    revision_id {int} NOT NULL REFERENCES revisions (id) ON DELETE CASCADE,
    start       {int} NOT NULL,
    text        TEXT NOT NULL,
    PRIMARY KEY (revision_id, start)
) {strict};

CREATE TABLE page_layouts (
    revision_id {int} NOT NULL REFERENCES revisions (id) ON DELETE CASCADE,
    page        {int} NOT NULL,
    start       {int} NOT NULL, -- of the page in the canonical text
    layout      {blob} NOT NULL, -- records/page_layout.h
    PRIMARY KEY (revision_id, page)
) {strict};

CREATE TABLE chunk_sets (
    id          {id},
    revision_id {int} NOT NULL REFERENCES revisions (id) ON DELETE CASCADE,
    fingerprint TEXT NOT NULL, -- of the chunking
    UNIQUE (revision_id, fingerprint)
) {strict};

-- The text of a row never changes: new text is a new row. chunk_set_id is null once a chunk was
-- replaced or deleted; it then waits for the vector stores to forget it, and is swept.
CREATE TABLE chunks (
    id             {id},
    chunk_set_id   {int} REFERENCES chunk_sets (id),
    chunk_id       TEXT NOT NULL, -- for the outside
    chunk_index    {int} NOT NULL,
    origin         TEXT NOT NULL DEFAULT 'extracted' CHECK (origin IN ('extracted', 'external')),
    range_start    {int} NOT NULL,
    range_end      {int} NOT NULL,
    own_start      {int} NOT NULL,
    page_first     {int} NOT NULL DEFAULT 0,
    page_last      {int} NOT NULL DEFAULT 0,
    heading_path   TEXT NOT NULL DEFAULT '',
    structure      TEXT NOT NULL DEFAULT '',
    tokens         {int} NOT NULL DEFAULT 0,
    metadata       TEXT,          -- JSON; null: none
    embed_text     TEXT NOT NULL, -- embedded and searched
    text_start     {int} NOT NULL, -- the shown text is embed_text from this byte on...
    text           TEXT           -- ...or this
) {strict};
CREATE UNIQUE INDEX chunks_by_set ON chunks (chunk_set_id, chunk_id);
CREATE INDEX chunks_by_order ON chunks (chunk_set_id, chunk_index);

-- chunks.metadata taken apart, as document_metadata.
CREATE TABLE chunk_metadata (
    chunk_id {int} NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    key      TEXT NOT NULL,
    position {int} NOT NULL,
    text     TEXT,
    number   {real},
    boolean  {int},
    PRIMARY KEY (chunk_id, key, position)
) {clustered};
CREATE INDEX chunk_metadata_by_text ON chunk_metadata (key, text);
CREATE INDEX chunk_metadata_by_number ON chunk_metadata (key, number);

-- ---- what the vector stores follow ------------------------------------------------------------

-- Vectors by the hash of everything that decides them. The rows that use one are its references.
-- Hashes come in any order, so that each new one changes another page of an index over them. The index over
-- their first 48 bits alone has a third of the pages; who looks one up compares the whole.
CREATE TABLE embeddings (
    id         {id},
    key_start  {int} NOT NULL,
    key        {blob} NOT NULL,
    dimension  {int} NOT NULL,
    created_at {int} NOT NULL,
    vector     {blob} NOT NULL -- f32, little-endian, length 1
) {strict};
CREATE INDEX embeddings_by_key_start ON embeddings (key_start);

-- Vectors that no row may be using: stored before the rows that will use them, or left by a change of
-- embedder. The sweep deletes those that no row uses some time after.
CREATE TABLE embeddings_ahead (
    embedding_id {int} NOT NULL PRIMARY KEY,
    created_at   {int} NOT NULL
) {clustered};
CREATE INDEX embeddings_ahead_by_time ON embeddings_ahead (created_at);

CREATE TABLE rows (
    row_id        {id},
    collection_id {int} NOT NULL,
    chunk_id      {int} NOT NULL,
    document_id   {int} NOT NULL,
    embedding_id  {int},
    seq           {int} NOT NULL,
    removed       {int} NOT NULL DEFAULT 0
) {strict};
CREATE INDEX rows_by_seq ON rows (collection_id, seq);
CREATE INDEX rows_by_document ON rows (document_id, collection_id);
CREATE INDEX rows_by_chunk ON rows (chunk_id);
CREATE INDEX rows_by_embedding ON rows (embedding_id) WHERE embedding_id IS NOT NULL;
CREATE INDEX rows_removed ON rows (collection_id, seq) WHERE removed = 1;
CREATE INDEX rows_pending ON rows (collection_id, row_id) WHERE embedding_id IS NULL AND removed = 0;

-- What each vector store has applied.
CREATE TABLE watermarks (
    vector_store  TEXT NOT NULL,
    collection_id {int} NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    seq           {int} NOT NULL,
    updated_at    {int} NOT NULL,
    PRIMARY KEY (vector_store, collection_id)
) {clustered};

-- ---- what is going on -------------------------------------------------------------------------

CREATE TABLE jobs (
    id          {id},
    kind        TEXT NOT NULL,
    payload     TEXT NOT NULL DEFAULT '{}',
    state       TEXT NOT NULL DEFAULT 'pending'
                CHECK (state IN ('pending', 'leased', 'done', 'failed', 'canceled')),
    priority    {int} NOT NULL DEFAULT 0,
    attempts    {int} NOT NULL DEFAULT 0,
    reason      TEXT NOT NULL DEFAULT '',
    run_after   {int} NOT NULL DEFAULT 0,
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_until {int} NOT NULL DEFAULT 0,
    created_at  {int} NOT NULL
) {strict};
CREATE INDEX jobs_by_state ON jobs (state, priority, run_after);

CREATE TABLE runs (
    id           {id},
    source_id    {int} REFERENCES sources (id) ON DELETE CASCADE,
    kind         TEXT NOT NULL, -- 'index', 'retry', 'reindex'
    state        TEXT NOT NULL DEFAULT 'running'
                 CHECK (state IN ('running', 'completed', 'failed', 'canceled', 'interrupted')),
    reason       TEXT NOT NULL DEFAULT '',
    started_at   {int} NOT NULL,
    heartbeat_at {int} NOT NULL,
    finished_at  {int} NOT NULL DEFAULT 0,
    discovered   {int} NOT NULL DEFAULT 0,
    indexed      {int} NOT NULL DEFAULT 0,
    unchanged    {int} NOT NULL DEFAULT 0,
    skipped      {int} NOT NULL DEFAULT 0,
    failed       {int} NOT NULL DEFAULT 0,
    removed      {int} NOT NULL DEFAULT 0,
    chunks       {int} NOT NULL DEFAULT 0,
    bytes        {int} NOT NULL DEFAULT 0
) {strict};
CREATE INDEX runs_by_state ON runs (state, id);
CREATE INDEX runs_by_source ON runs (source_id, id);

-- For each thing a source showed: what became of it. Lines of deleted documents stay for audit.
CREATE TABLE ledger (
    source_id    {int} NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    external_key TEXT NOT NULL,
    document_id  {int}, -- null: never became a document
    outcome      TEXT NOT NULL
                 CHECK (outcome IN ('seen', 'skipped', 'failed', 'indexed', 'removed')),
    stage        TEXT NOT NULL DEFAULT '',
    reason       TEXT NOT NULL DEFAULT '',
    size         {int} NOT NULL DEFAULT -1,
    modified_at  {int} NOT NULL DEFAULT 0,
    version      TEXT NOT NULL DEFAULT '',
    sha256       {blob},
    extractor    TEXT NOT NULL DEFAULT '',
    chunker      TEXT NOT NULL DEFAULT '',
    embedder     TEXT NOT NULL DEFAULT '',
    attempts     {int} NOT NULL DEFAULT 0,
    seen_run     {int} NOT NULL DEFAULT 0,
    updated_at   {int} NOT NULL,
    PRIMARY KEY (source_id, external_key)
) {clustered};
CREATE INDEX ledger_by_outcome ON ledger (source_id, outcome, external_key);
CREATE INDEX ledger_by_document ON ledger (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX ledger_by_sha256 ON ledger (sha256) WHERE sha256 IS NOT NULL;

CREATE TABLE alerts (
    id          {id},
    kind        TEXT NOT NULL,
    source_id   {int} REFERENCES sources (id) ON DELETE CASCADE,
    message     TEXT NOT NULL,
    created_at  {int} NOT NULL,
    resolved_at {int} NOT NULL DEFAULT 0
) {strict};
CREATE INDEX alerts_open ON alerts (resolved_at, id);

-- Append-only; without the text of queries.
CREATE TABLE audit (
    id         {id},
    at         {int} NOT NULL,
    user_id    {int},
    action     TEXT NOT NULL,
    object     TEXT NOT NULL DEFAULT '', -- 'document 17'
    details    TEXT NOT NULL DEFAULT '{}'
) {strict};
CREATE INDEX audit_by_user ON audit (user_id, id);

-- ---- answers ----------------------------------------------------------------------------------

CREATE TABLE chats (
    id         {id},
    user_id    {int} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    title      TEXT NOT NULL DEFAULT '',
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL
) {strict};
CREATE INDEX chats_by_user ON chats (user_id, updated_at);

CREATE TABLE chat_messages (
    id         {id},
    chat_id    {int} NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    role       TEXT NOT NULL,
    content    TEXT NOT NULL,
    citations  TEXT NOT NULL DEFAULT '[]',
    created_at {int} NOT NULL
) {strict};
CREATE INDEX chat_messages_by_chat ON chat_messages (chat_id, id);

CREATE TABLE feedback (
    id          {id},
    user_id     {int} REFERENCES users (id) ON DELETE CASCADE,
    message_id  {int} REFERENCES chat_messages (id) ON DELETE CASCADE,
    document_id {int} REFERENCES documents (id) ON DELETE CASCADE,
    rating      TEXT NOT NULL CHECK (rating IN ('positive', 'negative', 'neutral')),
    comment     TEXT NOT NULL DEFAULT '',
    created_at  {int} NOT NULL
) {strict};
CREATE INDEX feedback_by_user ON feedback (user_id);
CREATE INDEX feedback_by_message ON feedback (message_id);
CREATE INDEX feedback_by_document ON feedback (document_id);

CREATE TABLE cached_answers (
    id          {id},
    scope       {int} NOT NULL, -- scope_fingerprint
    collection_id {int} NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    question    TEXT NOT NULL,
    vector      {blob},
    answer      TEXT NOT NULL, -- JSON
    seq         {int} NOT NULL, -- commit_seq that it was made at
    created_at  {int} NOT NULL,
    expires_at  {int} NOT NULL
) {strict};
CREATE INDEX cached_answers_by_scope ON cached_answers (scope, collection_id);
CREATE INDEX cached_answers_by_expiry ON cached_answers (expires_at);
CREATE INDEX cached_answers_by_collection ON cached_answers (collection_id);

CREATE TABLE cached_answer_documents (
    answer_id   {int} NOT NULL REFERENCES cached_answers (id) ON DELETE CASCADE,
    document_id {int} NOT NULL,
    PRIMARY KEY (answer_id, document_id)
) {clustered};
CREATE INDEX cached_answer_documents_by_document ON cached_answer_documents (document_id);

-- ---- what every new store holds: records/bootstrap.h names these ids ----------------------------

INSERT INTO users (name, display_name, role, created_at) VALUES ('owner', 'Local owner', 'system_admin', {now});
INSERT INTO workspaces (name, kind, created_at) VALUES ('default', 'team', {now});
INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES (1, 1, 'owner', {now});
INSERT INTO collections (name, created_at) VALUES ('default', {now});
INSERT INTO connectors (type, name, created_at) VALUES ('folder', 'folders', {now}), ('upload', 'uploads', {now});
INSERT INTO sources (connector_id, location, home_workspace_id, collection_id, created_at)
VALUES (2, 'uploads', 1, 1, {now});
