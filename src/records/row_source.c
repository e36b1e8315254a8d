/* The feed of rows. One query streams the rows of a batch with their words and vectors; what a document says
 * of all its rows (attributes, workspaces, state) is read once for each document met and shared. */
#include <stdlib.h>

#include "base/json.h"
#include "base/memory.h"
#include "records/document_internal.h"
#include "records/row_feed.h"
#include "records/row_select.h"
#include "records/sql.h"

enum {
    BATCH_LIMIT = 1 << 20,
    PAGES_LIMIT = 64, /* page numbers of one chunk */
    LABELS_LIMIT = 64,
    ATTRIBUTES_LIMIT = 20, /* of a document */
    RECENT_DOCUMENTS = 64,
};

struct metadata_row_source {
    struct row_source base;
    struct metadata_store *store;
};

/* ---- attributes ------------------------------------------------------------------------------- */

/* Positions in filter_keys[], looked up once a call. */
struct key_positions {
    uint32_t file_id, source, source_type, path, title, author, media_type, language, label, modality,
        structure, page, chunk_index, created_at, modified_at, indexed_at, size, owner;
};

static uint32_t position_of(const char *name)
{
    const struct filter_key *key = filter_key_find(str_from(name));
    ASSERT(key);
    return (uint32_t)(key - filter_keys);
}

static struct key_positions find_positions(void)
{
    return (struct key_positions){
        position_of("file_id"),     position_of("source"),     position_of("source_type"),
        position_of("path"),        position_of("title"),      position_of("author"),
        position_of("media_type"),  position_of("language"),   position_of("label"),
        position_of("modality"),    position_of("structure"),  position_of("page"),
        position_of("chunk_index"), position_of("created_at"), position_of("modified_at"),
        position_of("indexed_at"),  position_of("size"),       position_of("owner"),
    };
}

struct attribute_list {
    struct attribute *items;
    size_t count;
};

static void add_text(struct attribute_list *list, uint32_t key, struct str text)
{
    if (text.size)
        list->items[list->count++] = (struct attribute){key, {.type = VALUE_STRING, .string = text}};
}

static void add_number(struct attribute_list *list, uint32_t key, int64_t number)
{
    list->items[list->count++] = (struct attribute){key, {.type = VALUE_NUMBER, .number = (double)number}};
}

static void add_time(struct attribute_list *list, uint32_t key, int64_t time_us)
{
    if (time_us)
        add_number(list, key, time_us);
}

/* ---- documents -------------------------------------------------------------------------------- */

/* What all rows of a document share. */
struct feed_document {
    int64_t id;
    enum document_state state;
    struct str language;
    const int64_t *workspaces;
    size_t workspace_count;
    struct attribute_list attributes;
};

struct feed {
    struct transaction *transaction;
    struct arena *arena;
    struct key_positions keys;
    size_t dimension;
    const struct feed_document *recent[RECENT_DOCUMENTS]; /* by id, the last one met of each remainder */
    struct row *rows;
    size_t count, capacity;
};

static ibid_code read_document(struct feed *feed, int64_t id, struct feed_document *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        feed->transaction,
        "SELECT d.state, d.language, d.file_id, s.location, c.type, d.path, d.document_title, d.author,"
        " d.media_type, u.name, d.created_at, d.modified_at, d.indexed_at, d.size FROM documents d"
        " JOIN sources s ON s.id = d.source_id JOIN connectors c ON c.id = s.connector_id"
        " LEFT JOIN users u ON u.id = d.owner_id WHERE d.id = ?1",
        &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    struct feed_document document = {.id = id};
    if (!row || !document_state_from_string(statement_text(statement, 0), &document.state))
        return fail(err, IBID_ECORRUPT, "living rows name document %lld, which is not there", (long long)id);
    const struct key_positions *keys = &feed->keys;
    const uint32_t texts[] = {keys->language, keys->file_id, keys->source,     keys->source_type, keys->path,
                              keys->title,    keys->author,  keys->media_type, keys->owner};
    struct attribute_list list = {ARENA_ARRAY(feed->arena, struct attribute, ATTRIBUTES_LIMIT), 0};
    document.language = sql_str(statement, 1, feed->arena);
    add_text(&list, texts[0], document.language);
    for (size_t i = 1; i < COUNT_OF(texts); i++)
        add_text(&list, texts[i], sql_str(statement, (int)i + 1, feed->arena));
    add_time(&list, keys->created_at, statement_int(statement, 10));
    add_time(&list, keys->modified_at, statement_int(statement, 11));
    add_time(&list, keys->indexed_at, statement_int(statement, 12));
    if (statement_int(statement, 13) >= 0)
        add_number(&list, keys->size, statement_int(statement, 13));
    statement_reset(statement);
    document.attributes = list;
    TRY(document_workspaces_load(feed->transaction, id, feed->arena, &document.workspaces,
                                 &document.workspace_count, err));
    *ret = document;
    return IBID_OK;
}

static ibid_code meet_document(struct feed *feed, int64_t id, const struct feed_document **ret,
                               ibid_error *err)
{
    const struct feed_document **slot = &feed->recent[(size_t)id % RECENT_DOCUMENTS];
    if (!*slot || (*slot)->id != id) {
        struct feed_document *document = ARENA_NEW(feed->arena, struct feed_document);
        TRY(read_document(feed, id, document, err));
        *slot = document;
    }
    *ret = *slot;
    return IBID_OK;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* The values of a member that is a string or a list of strings. */
static void add_strings(struct feed *feed, struct attribute_list *list, uint32_t key, const json_t *value)
{
    const size_t count = json_is_array(value) ? json_array_size(value) : json_is_string(value);
    for (size_t i = 0; i < count && i < LABELS_LIMIT; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        if (json_is_string(item))
            add_text(list, key,
                     arena_str(feed->arena, (struct str){json_string_value(item), json_string_length(item)}));
    }
}

static ibid_code add_chunk_metadata(struct feed *feed, struct attribute_list *list, struct str text,
                                    ibid_error *err)
{
    AUTO_JSON *json = NULL;
    if (text.size && json_parse(text, &json, err) != IBID_OK)
        return fail(err, IBID_ECORRUPT, "the metadata of a chunk is no JSON");
    const json_t *modality = json_object_get(json, "modality");
    add_strings(feed, list, feed->keys.label, json_object_get(json, "label"));
    if (modality)
        add_strings(feed, list, feed->keys.modality, modality);
    else
        add_text(list, feed->keys.modality, STR("TEXT"));
    return IBID_OK;
}

/* Columns of the feed's query. */
enum {
    ROW_ID,
    SEQ,
    REMOVED,
    DOCUMENT,
    CHUNK,
    EMBED_TEXT,
    CHUNK_INDEX,
    PAGE_FIRST,
    PAGE_LAST,
    STRUCTURE,
    METADATA,
    VECTOR
};

static ibid_code read_attributes(struct feed *feed, struct statement *statement,
                                 const struct feed_document *document, struct row *row, ibid_error *err)
{
    const struct str metadata = statement_text(statement, METADATA);
    const int64_t first = statement_int(statement, PAGE_FIRST), last = statement_int(statement, PAGE_LAST);
    int64_t pages = first > 0 ? last - first + 1 : 0;
    if (pages > PAGES_LIMIT)
        pages = PAGES_LIMIT;
    const size_t room =
        document->attributes.count + (size_t)pages + 4 + (metadata.size ? 2 * (size_t)LABELS_LIMIT : 0);
    struct attribute_list list = {ARENA_ARRAY(feed->arena, struct attribute, room),
                                  document->attributes.count};
    memcpy(list.items, document->attributes.items, list.count * sizeof *list.items);
    add_text(&list, feed->keys.structure, sql_str(statement, STRUCTURE, feed->arena));
    add_number(&list, feed->keys.chunk_index, statement_int(statement, CHUNK_INDEX));
    for (int64_t page = 0; page < pages; page++)
        add_number(&list, feed->keys.page, first + page);
    TRY(add_chunk_metadata(feed, &list, metadata, err));
    row->attributes = list.items;
    row->attribute_count = list.count;
    return IBID_OK;
}

static ibid_code read_vector(struct feed *feed, struct statement *statement, struct row *row, ibid_error *err)
{
    const struct str vector = statement_blob(statement, VECTOR);
    if (!vector.data)
        return IBID_OK;
    if (vector.size != feed->dimension * sizeof(float))
        return fail(err, IBID_ECORRUPT, "row %lld has a vector of %zu dimensions; its collection has %zu",
                    (long long)row->row_id, vector.size / sizeof(float), feed->dimension);
    float *copy = ARENA_ARRAY(feed->arena, float, feed->dimension);
    memcpy(copy, vector.data, vector.size);
    row->vector = copy;
    return IBID_OK;
}

static ibid_code read_row(struct feed *feed, struct statement *statement, struct row *ret, ibid_error *err)
{
    struct row row = {
        .row_id = statement_int(statement, ROW_ID),
        .seq = statement_int(statement, SEQ),
        .removed = statement_int(statement, REMOVED),
        .text = sql_str(statement, EMBED_TEXT, feed->arena),
    };
    if (!row.removed) {
        const struct feed_document *document;
        TRY(meet_document(feed, statement_int(statement, DOCUMENT), &document, err));
        row.document_id = document->id;
        row.chunk_id = statement_int(statement, CHUNK);
        row.state = document->state;
        row.language = document->language;
        row.workspaces = document->workspaces;
        row.workspace_count = document->workspace_count;
        TRY(read_attributes(feed, statement, document, &row, err));
        TRY(read_vector(feed, statement, &row, err));
    }
    *ret = row;
    return IBID_OK;
}

/* Reads on past `limit` until the seq changes. */
static ibid_code read_rows(struct feed *feed, struct statement *statement, size_t limit, ibid_error *err)
{
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row ||
            (feed->count >= limit && statement_int(statement, SEQ) != feed->rows[feed->count - 1].seq))
            break;
        GROW(feed->rows, feed->count, feed->capacity);
        TRY(read_row(feed, statement, &feed->rows[feed->count], err));
        feed->count++;
    }
    statement_reset(statement);
    return IBID_OK;
}

static ibid_code read_changes(struct feed *feed, int64_t collection_id, int64_t after_seq, size_t limit,
                              ibid_error *err)
{
    int64_t dimension;
    TRY(SQL_INT(feed->transaction, "SELECT dimension FROM collections WHERE id = ?1", -1, &dimension, err,
                collection_id));
    if (dimension < 0)
        return fail(err, IBID_ENOTFOUND, "there is no collection %lld", (long long)collection_id);
    feed->dimension = (size_t)dimension;
    struct statement *statement;
    TRY(SQL_PREPARE(
        feed->transaction,
        "SELECT r.row_id, r.seq, r.removed, r.document_id, r.chunk_id, c.embed_text, c.chunk_index,"
        " c.page_first, c.page_last, c.structure, c.metadata, e.vector FROM rows r"
        " LEFT JOIN chunks c ON c.id = r.chunk_id LEFT JOIN embeddings e ON e.id = r.embedding_id"
        " WHERE r.collection_id = ?1 AND r.seq > ?2 AND (?2 > 0 OR r.removed = 0)"
        " ORDER BY r.seq, r.row_id",
        &statement, err, collection_id, after_seq));
    return read_rows(feed, statement, limit, err);
}

/* ---- struct row_source ------------------------------------------------------------------------ */

static struct metadata_store *store_of(const struct row_source *base)
{
    return ((const struct metadata_row_source *)base)->store;
}

static ibid_code latest_seq(const struct row_source *self, int64_t collection_id, int64_t *ret,
                            ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(store_of(self), TRANSACTION_READ, &transaction, err));
    return SQL_INT(transaction, "SELECT seq FROM collections WHERE id = ?1", 0, ret, err, collection_id);
}

static ibid_code changes(const struct row_source *self, int64_t collection_id, int64_t after_seq,
                         size_t limit, struct arena *arena, struct row **ret, size_t *ret_count,
                         ibid_error *err)
{
    if (limit < 1 || limit > BATCH_LIMIT)
        return fail(err, IBID_EINVAL, "a batch has 1 to %d rows, not %zu", BATCH_LIMIT, limit);
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(store_of(self), TRANSACTION_READ, &transaction, err));
    struct feed feed = {.transaction = transaction, .arena = arena, .keys = find_positions()};
    const ibid_code code = read_changes(&feed, collection_id, after_seq, limit, err);
    if (code == IBID_OK) {
        *ret = ARENA_ARRAY(arena, struct row, feed.count);
        if (feed.count)
            memcpy(*ret, feed.rows, feed.count * sizeof *feed.rows);
        *ret_count = feed.count;
    }
    free(feed.rows);
    return code;
}

static ibid_code vectors(const struct row_source *self, int64_t collection_id, const int64_t *row_ids,
                         size_t count, float *out, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(store_of(self), TRANSACTION_READ, &transaction, err));
    int64_t dimension;
    TRY(SQL_INT(transaction, "SELECT dimension FROM collections WHERE id = ?1", 0, &dimension, err,
                collection_id));
    const size_t size = (size_t)dimension * sizeof *out;
    memset(out, 0, count * size);
    struct statement *statement;
    TRY(statement_prepare(transaction,
                          "SELECT e.vector FROM rows r JOIN embeddings e ON e.id = r.embedding_id"
                          " WHERE r.row_id = ?1 AND r.collection_id = ?2",
                          &statement, err));
    for (size_t i = 0; i < count; i++) {
        statement_reset(statement);
        statement_bind_int(statement, 1, row_ids[i]);
        statement_bind_int(statement, 2, collection_id);
        bool row;
        TRY(statement_step(statement, &row, err));
        const struct str vector = row ? statement_blob(statement, 0) : STR_EMPTY;
        if (row && vector.size != size)
            return fail(err, IBID_ECORRUPT, "row %lld has a vector of %zu bytes, not %zu",
                        (long long)row_ids[i], vector.size, size);
        if (row)
            memcpy(out + i * (size_t)dimension, vector.data, size);
    }
    return IBID_OK;
}

static ibid_code select_rows(const struct row_source *self, int64_t collection_id,
                             const struct filter *filter, struct arena *arena, int64_t **ret_ids,
                             size_t *ret_count, ibid_error *err)
{
    AUTO_TRANSACTION *transaction = NULL;
    TRY(transaction_begin(store_of(self), TRANSACTION_READ, &transaction, err));
    return row_select(transaction, collection_id, filter, arena, ret_ids, ret_count, err);
}

struct row_source *row_source_new(struct metadata_store *store)
{
    struct metadata_row_source *source = xcalloc(1, sizeof *source);
    *source = (struct metadata_row_source){{latest_seq, changes, vectors, select_rows}, store};
    return &source->base;
}

void row_source_free(struct row_source *source)
{
    free(source);
}
