#include "records/chunk_record.h"

#include <stdlib.h>

#include "records/collection_internal.h"
#include "records/document_internal.h"
#include "records/sql.h"

enum { PAGE_LIMIT = 10000 };

/* What read_chunk expects, in this order. */
#define CHUNK_COLUMNS                                                                                   \
    "c.id, c.chunk_id, c.chunk_index, c.origin, c.range_start, c.range_end, c.own_start, c.page_first," \
    " c.page_last, c.heading_path, c.structure, c.tokens, c.metadata, c.embed_text, c.text_start, c.text"

/* ---- reading one ------------------------------------------------------------------------------ */

static struct chunk_record read_chunk(struct statement *statement, struct arena *arena)
{
    struct chunk_record chunk = {
        .id = statement_int(statement, 0),
        .chunk_id = sql_str(statement, 1, arena),
        .chunk_index = (uint32_t)statement_int(statement, 2),
        .origin = str_is(statement_text(statement, 3), "external") ? CHUNK_EXTERNAL : CHUNK_EXTRACTED,
        .start = (uint32_t)statement_int(statement, 4),
        .end = (uint32_t)statement_int(statement, 5),
        .own_start = (uint32_t)statement_int(statement, 6),
        .page_first = (uint32_t)statement_int(statement, 7),
        .page_last = (uint32_t)statement_int(statement, 8),
        .heading_path = sql_str(statement, 9, arena),
        .structure = sql_str(statement, 10, arena),
        .tokens = (uint32_t)statement_int(statement, 11),
        .metadata = sql_str(statement, 12, arena),
        .embed_text = sql_str(statement, 13, arena),
    };
    if (statement_text(statement, 15).data)
        chunk.text = sql_str(statement, 15, arena);
    else
        chunk.text = str_slice(chunk.embed_text, (size_t)statement_int(statement, 14), chunk.embed_text.size);
    return chunk;
}

struct serving {
    int64_t chunk_set_id; /* 0: the document has no chunks in the collection */
    int64_t revision_id;
};

static ibid_code find_serving(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                              struct serving *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "SELECT s.id, s.revision_id FROM document_collections d JOIN chunk_sets s ON s.id = d.chunk_set_id"
        " WHERE d.document_id = ?1"
        " AND d.collection_id = " SERVING_ID("?2"),
        &statement, err, document_id, collection_id));
    bool row;
    TRY(statement_step(statement, &row, err));
    *ret = row ? (struct serving){statement_int(statement, 0), statement_int(statement, 1)}
               : (struct serving){0};
    statement_reset(statement);
    return IBID_OK;
}

/* Reads every row of the statement, at most `limit`. */
static ibid_code read_chunks(struct statement *statement, int64_t document_id, const struct serving *serving,
                             size_t limit, struct arena *arena, struct chunk_record **ret, size_t *ret_count,
                             ibid_error *err)
{
    struct chunk_record *chunks = ARENA_ARRAY(arena, struct chunk_record, limit);
    size_t count = 0;
    for (bool row; count < limit;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        chunks[count] = read_chunk(statement, arena);
        chunks[count].document_id = document_id;
        chunks[count++].revision_id = serving->revision_id;
    }
    statement_reset(statement);
    *ret = chunks;
    *ret_count = count;
    return IBID_OK;
}

ibid_code chunk_record_list(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                            int64_t offset, size_t limit, struct arena *arena, struct chunk_record **ret,
                            size_t *ret_count, int64_t *ret_total, ibid_error *err)
{
    if (offset < 0 || limit < 1 || limit > PAGE_LIMIT)
        return fail(err, IBID_EINVAL, "a page begins at 0 or above and has 1 to %d chunks", PAGE_LIMIT);
    struct serving serving;
    int64_t total;
    TRY(find_serving(transaction, document_id, collection_id, &serving, err));
    TRY(SQL_INT(transaction, "SELECT count(*) FROM chunks WHERE chunk_set_id = ?1", 0, &total, err,
                serving.chunk_set_id));
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT " CHUNK_COLUMNS " FROM chunks c WHERE c.chunk_set_id = ?1"
                    " ORDER BY c.chunk_index LIMIT ?2 OFFSET ?3",
                    &statement, err, serving.chunk_set_id, (int64_t)limit, offset));
    TRY(read_chunks(statement, document_id, &serving, limit, arena, ret, ret_count, err));
    *ret_total = total;
    return IBID_OK;
}

ibid_code chunk_record_at(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                          uint32_t chunk_index, struct arena *arena, struct chunk_record *ret,
                          ibid_error *err)
{
    struct serving serving;
    TRY(find_serving(transaction, document_id, collection_id, &serving, err));
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT " CHUNK_COLUMNS " FROM chunks c WHERE c.chunk_set_id = ?1 AND c.chunk_index = ?2",
                    &statement, err, serving.chunk_set_id, chunk_index));
    struct chunk_record *chunk;
    size_t count;
    TRY(read_chunks(statement, document_id, &serving, 1, arena, &chunk, &count, err));
    if (count == 0)
        return fail(err, IBID_ENOTFOUND, "document %lld has no chunk at %u", (long long)document_id,
                    chunk_index);
    *ret = *chunk;
    return IBID_OK;
}

ibid_code chunk_record_find(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                            struct str chunk_id, struct arena *arena, struct chunk_record *ret,
                            ibid_error *err)
{
    struct serving serving;
    TRY(find_serving(transaction, document_id, collection_id, &serving, err));
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT " CHUNK_COLUMNS " FROM chunks c WHERE c.chunk_set_id = ?1 AND c.chunk_id = ?2",
                    &statement, err, serving.chunk_set_id));
    sql_bind_str(statement, 2, chunk_id);
    struct chunk_record *chunk;
    size_t count;
    TRY(read_chunks(statement, document_id, &serving, 1, arena, &chunk, &count, err));
    if (count == 0)
        return fail(err, IBID_ENOTFOUND, "document %lld has no chunk '%.*s'", (long long)document_id,
                    STR_ARG(str_slice(chunk_id, 0, 100)));
    *ret = *chunk;
    return IBID_OK;
}

/* ---- from a search ---------------------------------------------------------------------------- */

/* Documents met in one call: those read, and those that may not be. */
struct met_document {
    int64_t id;
    const struct document *document; /* NULL: not for this scope */
};

struct row_reader {
    struct transaction *transaction;
    const struct scope *scope;
    struct arena *arena;
    struct met_document *met;
    size_t met_count, met_capacity;
};

static ibid_code meet_document(struct row_reader *reader, int64_t id, const struct document **ret,
                               ibid_error *err)
{
    for (size_t i = reader->met_count; i-- > 0;)
        if (reader->met[i].id == id) {
            *ret = reader->met[i].document;
            return IBID_OK;
        }
    struct document *document = ARENA_NEW(reader->arena, struct document);
    const ibid_code code =
        document_read(reader->transaction, reader->scope, id, reader->arena, document, err);
    if (code != IBID_OK && code != IBID_ENOTFOUND)
        return code;
    const bool found = code == IBID_OK && document->state != DOCUMENT_EXPIRED;
    GROW(reader->met, reader->met_count, reader->met_capacity);
    reader->met[reader->met_count++] = (struct met_document){id, found ? document : NULL};
    *ret = found ? document : NULL;
    return IBID_OK;
}

static ibid_code read_row(struct row_reader *reader, int64_t row_id, struct row_record *ret, bool *ret_found,
                          ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(reader->transaction,
                    "SELECT " CHUNK_COLUMNS ", r.document_id, r.collection_id, s.revision_id FROM rows r"
                    " JOIN chunks c ON c.id = r.chunk_id JOIN chunk_sets s ON s.id = c.chunk_set_id"
                    " WHERE r.row_id = ?1 AND r.removed = 0",
                    &statement, err, row_id));
    bool row;
    TRY(statement_step(statement, &row, err));
    *ret_found = false;
    if (!row)
        return IBID_OK;
    const struct document *document;
    TRY(meet_document(reader, statement_int(statement, 16), &document, err));
    if (document) {
        *ret = (struct row_record){.row_id = row_id,
                                   .collection_id = statement_int(statement, 17),
                                   .chunk = read_chunk(statement, reader->arena),
                                   .document = document};
        ret->chunk.document_id = document->id;
        ret->chunk.revision_id = statement_int(statement, 18);
        *ret_found = true;
    }
    statement_reset(statement);
    return IBID_OK;
}

ibid_code row_record_read(struct transaction *transaction, const struct scope *scope, const int64_t *row_ids,
                          size_t count, struct arena *arena, struct row_record **ret, size_t *ret_count,
                          ibid_error *err)
{
    if (count > PAGE_LIMIT)
        return fail(err, IBID_ETOOBIG, "at most %d rows are read at a time", PAGE_LIMIT);
    struct row_reader reader = {.transaction = transaction, .scope = scope, .arena = arena};
    struct row_record *records = ARENA_ARRAY(arena, struct row_record, count);
    size_t kept = 0;
    ibid_code code = IBID_OK;
    for (size_t i = 0; i < count && code == IBID_OK && !scope_is_empty(scope); i++) {
        bool found = false;
        code = read_row(&reader, row_ids[i], &records[kept], &found, err);
        kept += found;
    }
    free(reader.met);
    TRY(code);
    *ret = records;
    *ret_count = kept;
    return IBID_OK;
}
