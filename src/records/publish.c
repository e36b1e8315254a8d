#include "records/publish.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "records/chunk_record.h"
#include "records/content_internal.h"
#include "records/document_internal.h"
#include "records/embedding_internal.h"
#include "records/publish_internal.h"
#include "records/revision_internal.h"
#include "records/row_feed.h"
#include "records/sql.h"

/* ---- the document as it was ------------------------------------------------------------------- */

static ibid_code load_head(struct publisher *publisher)
{
    ibid_error *err = publisher->err;
    struct document_head *head = &publisher->head;
    const int64_t id = publisher->publication->document_id;
    struct statement *statement;
    TRY(SQL_PREPARE(
        publisher->transaction,
        "SELECT file_id, document_title, author, media_type, language, size, created_at, modified_at,"
        " metadata, revision_id, indexed_at, sha256 FROM documents WHERE id = ?1",
        &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no document %lld", (long long)id);
    *head = (struct document_head){
        .file_id = sql_str(statement, 0, publisher->arena),
        .title = sql_str(statement, 1, publisher->arena),
        .author = sql_str(statement, 2, publisher->arena),
        .media_type = sql_str(statement, 3, publisher->arena),
        .language = sql_str(statement, 4, publisher->arena),
        .size = statement_int(statement, 5),
        .created_at = statement_int(statement, 6),
        .modified_at = statement_int(statement, 7),
        .metadata = sql_str(statement, 8, publisher->arena),
        .revision_id = statement_int(statement, 9),
        .indexed_at = statement_int(statement, 10),
    };
    TRY(sql_sha256(statement, 11, &head->has_sha256, &head->sha256, err));
    statement_reset(statement);
    return IBID_OK;
}

static void replace_text(struct str *old, struct str new, bool *changed)
{
    if (new.size && !str_equal(*old, new)) {
        *old = new;
        *changed = true;
    }
}

static void replace_number(int64_t *old, int64_t new, int64_t unknown, bool *changed)
{
    if (new != unknown &&new != *old) {
        *old = new;
        *changed = true;
    }
}

/* Brings the head up to the publication; whether anything differs that a filter looks at. */
static bool update_head(struct document_head *head, const struct publication *publication, bool *ret_metadata)
{
    bool changed = false, metadata = false;
    replace_text(&head->title, publication->document_title, &changed);
    replace_text(&head->author, publication->author, &changed);
    replace_text(&head->media_type, publication->media_type, &changed);
    replace_text(&head->language, publication->language, &changed);
    replace_number(&head->size, publication->size, -1, &changed);
    replace_number(&head->created_at, publication->created_at, 0, &changed);
    replace_number(&head->modified_at, publication->modified_at, 0, &changed);
    replace_text(&head->metadata, publication->metadata, &metadata);
    *ret_metadata = metadata;
    return changed || metadata;
}

/* ---- chunk sets ------------------------------------------------------------------------------- */

/* The set of this chunking that serves the document now, or 0. Every publication with a chunking moves all
 * collections that show it, so there is one at most. */
static ibid_code find_old_set(struct publisher *publisher, int64_t *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(publisher->transaction,
                          "SELECT s.id FROM document_collections d JOIN chunk_sets s ON s.id = d.chunk_set_id"
                          " WHERE d.document_id = ?1 AND s.fingerprint = ?2 LIMIT 1",
                          &statement, err));
    statement_bind_int(statement, 1, publisher->publication->document_id);
    sql_bind_str(statement, 2, publisher->publication->chunking);
    bool row;
    int64_t id = 0;
    TRY(sql_first_int(statement, &row, &id, err));
    *ret = id;
    return IBID_OK;
}

static ibid_code make_set(struct publisher *publisher, int64_t *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(
        publisher->transaction,
        "INSERT INTO chunk_sets (revision_id, fingerprint) VALUES (?1, ?2)"
        " ON CONFLICT (revision_id, fingerprint) DO UPDATE SET fingerprint = excluded.fingerprint"
        " RETURNING id",
        &statement, err));
    statement_bind_int(statement, 1, publisher->revision_id);
    sql_bind_str(statement, 2, publisher->publication->chunking);
    return sql_insert(statement, ret, err);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static ibid_code shows_revision(struct publisher *publisher, int64_t collection_id, bool *ret,
                                ibid_error *err)
{
    int64_t shown;
    TRY(SQL_INT(publisher->transaction,
                "SELECT s.revision_id FROM document_collections d JOIN chunk_sets s ON s.id = d.chunk_set_id"
                " WHERE d.document_id = ?1 AND d.collection_id = ?2",
                0, &shown, err, publisher->publication->document_id, collection_id));
    *ret = shown == publisher->revision_id;
    return IBID_OK;
}

/* Those named, and those that show the chunk set without being named: they follow it, and what has no vector
 * under their embedder yet is pending. */
static ibid_code list_placements(struct publisher *publisher, int64_t old_set, ibid_error *err)
{
    const struct publication *publication = publisher->publication;
    AUTO_ID_LIST showing = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(
        publisher->transaction,
        "SELECT collection_id FROM document_collections WHERE document_id = ?1 AND chunk_set_id = ?2",
        &statement, err, publication->document_id, old_set));
    TRY(id_list_collect(&showing, statement, err));
    struct placement *placements =
        ARENA_ARRAY(publisher->arena, struct placement, publication->placement_count + showing.count);
    size_t count = 0;
    for (size_t i = 0; i < publication->placement_count; i++) {
        bool left_alone = false;
        if (publication->placements[i].unless_shown)
            TRY(shows_revision(publisher, publication->placements[i].collection_id, &left_alone, err));
        if (!left_alone)
            placements[count++] = publication->placements[i];
    }
    const size_t named_count = count;
    for (size_t i = 0; i < showing.count; i++) {
        bool named = false;
        for (size_t j = 0; j < named_count; j++)
            named |= placements[j].collection_id == showing.ids[i];
        if (!named)
            placements[count++] = (struct placement){.collection_id = showing.ids[i]};
    }
    publisher->placements = placements;
    publisher->placement_count = count;
    return IBID_OK;
}

static int compare_living(const void *a, const void *b)
{
    const int64_t x = ((const struct living_row *)a)->chunk_id, y = ((const struct living_row *)b)->chunk_id;
    return (x > y) - (x < y);
}

static ibid_code load_living(struct publisher *publisher, int64_t collection_id, struct living_row **ret,
                             size_t *ret_count, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(publisher->transaction,
                    "SELECT chunk_id, row_id, embedding_id FROM rows"
                    " WHERE document_id = ?1 AND collection_id = ?2 AND removed = 0",
                    &statement, err, publisher->publication->document_id, collection_id));
    struct living_row *rows = NULL;
    size_t count = 0, capacity = 0;
    for (bool row;;) {
        const ibid_code code = statement_step(statement, &row, err);
        if (code != IBID_OK) {
            free(rows);
            return code;
        }
        if (!row)
            break;
        GROW(rows, count, capacity);
        rows[count++] = (struct living_row){statement_int(statement, 0), statement_int(statement, 1),
                                            statement_int(statement, 2), false};
    }
    if (count)
        qsort(rows, count, sizeof *rows, compare_living);
    *ret = rows;
    *ret_count = count;
    return IBID_OK;
}

/* The vector that a chunk's row is to have: 0 when it is not there. */
static ibid_code resolve_embedding(struct publisher *publisher, const struct chunk_embedding *embedding,
                                   int64_t dimension, int64_t *ret, ibid_error *err)
{
    if (!embedding->vector)
        return embedding_find(publisher->transaction, &embedding->key, 1, ret, err);
    if (dimension == 0)
        return fail(err, IBID_EINVAL, "the collection has no embedder: collection_set_embedder comes first");
    return embedding_store(publisher->transaction, &embedding->key, embedding->vector, (uint32_t)dimension,
                           ret, err);
}

static ibid_code insert_row(struct publisher *publisher, int64_t collection_id, int64_t chunk_id,
                            int64_t embedding_id, ibid_error *err)
{
    int64_t seq;
    TRY(commit_seq_take(publisher->transaction, &seq, err));
    struct statement *statement;
    TRY(SQL_PREPARE(publisher->transaction,
                    "INSERT INTO rows (collection_id, chunk_id, document_id, embedding_id, seq)"
                    " VALUES (?1, ?2, ?3, ?4, ?5)",
                    &statement, err, collection_id, chunk_id, publisher->publication->document_id));
    sql_bind_id(statement, 4, embedding_id);
    statement_bind_int(statement, 5, seq);
    publisher->changed = true;
    publisher->result.rows_added++;
    return statement_run(statement, err);
}

static ibid_code change_row(struct publisher *publisher, struct living_row *living, int64_t embedding_id,
                            ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(publisher->transaction, "UPDATE rows SET embedding_id = ?2 WHERE row_id = ?1", &statement,
                    err, living->row_id));
    sql_bind_id(statement, 2, embedding_id);
    id_list_add(&publisher->released, living->embedding_id);
    living->embedding_id = embedding_id;
    publisher->changed = true;
    return statement_run(statement, err);
}

static ibid_code place_chunk(struct publisher *publisher, const struct placement *placement,
                             int64_t dimension, size_t i, struct living_row *living, ibid_error *err)
{
    int64_t embedding_id = living ? living->embedding_id : 0;
    if (placement->embeddings)
        TRY(resolve_embedding(publisher, &placement->embeddings[i], dimension, &embedding_id, err));
    if (!living)
        TRY(insert_row(publisher, placement->collection_id, publisher->chunk_ids[i], embedding_id, err));
    else if (living->embedding_id != embedding_id)
        TRY(change_row(publisher, living, embedding_id, err));
    if (living) {
        living->kept = true;
        publisher->result.rows_kept++;
    }
    publisher->result.rows_pending += embedding_id == 0 && dimension != 0 && !placement->unless_shown;
    return IBID_OK;
}

static ibid_code remove_rest(struct publisher *publisher, struct living_row *living, size_t count,
                             ibid_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (living[i].kept)
            continue;
        int64_t seq;
        TRY(commit_seq_take(publisher->transaction, &seq, err));
        TRY(SQL_RUN(publisher->transaction,
                    "UPDATE rows SET removed = 1, embedding_id = NULL, seq = ?2 WHERE row_id = ?1", err,
                    living[i].row_id, seq));
        id_list_add(&publisher->released, living[i].embedding_id);
        publisher->changed = true;
        publisher->result.rows_removed++;
    }
    return IBID_OK;
}

static ibid_code place(struct publisher *publisher, const struct placement *placement, ibid_error *err)
{
    int64_t dimension;
    TRY(SQL_INT(publisher->transaction, "SELECT dimension FROM collections WHERE id = ?1", -1, &dimension,
                err, placement->collection_id));
    if (dimension < 0)
        return fail(err, IBID_ENOTFOUND, "there is no collection %lld", (long long)placement->collection_id);
    struct living_row *living;
    size_t count;
    TRY(load_living(publisher, placement->collection_id, &living, &count, err));
    ibid_code code = IBID_OK;
    for (size_t i = 0; i < publisher->publication->chunk_count && code == IBID_OK; i++) {
        const struct living_row wanted = {.chunk_id = publisher->chunk_ids[i]};
        struct living_row *found =
            count ? bsearch(&wanted, living, count, sizeof *living, compare_living) : NULL;
        code = place_chunk(publisher, placement, dimension, i, found, err);
    }
    if (code == IBID_OK)
        code = remove_rest(publisher, living, count, err);
    free(living);
    TRY(code);
    return SQL_RUN(
        publisher->transaction,
        "INSERT INTO document_collections (document_id, collection_id, chunk_set_id) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (document_id, collection_id) DO UPDATE SET chunk_set_id = excluded.chunk_set_id",
        err, publisher->publication->document_id, placement->collection_id, publisher->chunk_set_id);
}

/* ---- the document as it is now ------------------------------------------------------------------ */

static void append_warnings(struct buffer *out, const struct extraction *extraction)
{
    AUTO_JSON *list = json_array();
    for (size_t i = 0; i < extraction->warning_count; i++) {
        const struct extraction_warning *warning = &extraction->warnings[i];
        json_t *item = json_object();
        json_set_str(item, "code", warning->code);
        json_set_str(item, "message", warning->message);
        json_set_int(item, "count", warning->count);
        json_array_append_new(list, item);
    }
    json_append(out, list);
}

static ibid_code store_head(struct publisher *publisher, ibid_error *err)
{
    enum { WARNINGS_LIMIT = 256 * 1024 };
    const struct publication *publication = publisher->publication;
    const struct document_head *head = &publisher->head;
    const bool same_bytes =
        !publication->has_sha256 || !head->has_sha256 || sha256_equal(&publication->sha256, &head->sha256);
    AUTO_BUFFER warnings = BUFFER(WARNINGS_LIMIT);
    append_warnings(&warnings, publication->extraction);
    TRY(buffer_check(&warnings, "the extraction's warnings", err));
    struct statement *statement;
    TRY(statement_prepare(
        publisher->transaction,
        "UPDATE documents SET document_title = ?2, author = ?3, media_type = ?4, language = ?5,"
        " size = ?6, created_at = ?7, modified_at = ?8, metadata = ?9, revision_id = ?10,"
        " sha256 = coalesce(?11, sha256), warnings = ?12, indexed_at = ?13, updates = updates + ?14,"
        " processing_state = 'completed', processing_stage = '', processing_reason = '', attempts = 0,"
        " version = CASE ?15 WHEN '' THEN version ELSE ?15 END WHERE id = ?1",
        &statement, err));
    statement_bind_int(statement, 1, publication->document_id);
    sql_bind_str(statement, 2, head->title);
    sql_bind_str(statement, 3, head->author);
    sql_bind_str(statement, 4, head->media_type);
    sql_bind_str(statement, 5, head->language);
    statement_bind_int(statement, 6, head->size);
    statement_bind_int(statement, 7, head->created_at);
    statement_bind_int(statement, 8, head->modified_at);
    sql_bind_str(statement, 9, head->metadata);
    statement_bind_int(statement, 10, publisher->revision_id);
    sql_bind_sha256(statement, 11, publication->has_sha256, &publication->sha256);
    statement_bind_text(statement, 12, buffer_str(&warnings));
    statement_bind_int(statement, 13, publisher->changed ? clock_now_us() : head->indexed_at);
    statement_bind_int(statement, 14, head->revision_id != 0 && !same_bytes);
    sql_bind_str(statement, 15, publication->version);
    return statement_run(statement, err);
}

static ibid_code publish_content(struct publisher *publisher, ibid_error *err)
{
    const struct publication *publication = publisher->publication;
    int64_t old_set;
    TRY(revision_store(publisher->transaction, publication->document_id, publication->has_sha256,
                       &publication->sha256, publication->extraction, &publisher->revision_id, err));
    TRY(find_old_set(publisher, &old_set, err));
    TRY(make_set(publisher, &publisher->chunk_set_id, err));
    TRY(list_placements(publisher, old_set, err));
    TRY(publish_chunks(publisher, old_set, err));
    for (size_t i = 0; i < publisher->placement_count; i++)
        TRY(place(publisher, &publisher->placements[i], err));
    return IBID_OK;
}

static ibid_code finish(struct publisher *publisher, bool metadata_changed, ibid_error *err)
{
    const int64_t id = publisher->publication->document_id;
    if (publisher->revision_id != publisher->head.revision_id || publisher->head.indexed_at == 0)
        publisher->changed = true;
    TRY(store_head(publisher, err));
    if (metadata_changed)
        TRY(document_metadata_store(publisher->transaction, id, publisher->head.metadata, err));
    TRY(content_collect(publisher->transaction, id, err));
    TRY(embedding_release(publisher->transaction, publisher->released.ids, publisher->released.count, err));
    if (!publisher->changed)
        return IBID_OK;
    /* Filters look at indexed_at, size and times, too: all rows of the document are told anew. */
    TRY(cached_answers_drop(publisher->transaction, id, err));
    return rows_touch_document(publisher->transaction, id, err);
}

static ibid_code check(const struct publication *publication, ibid_error *err)
{
    if (publication->chunk_count == 0 || publication->placement_count == 0)
        return fail(err, IBID_EINVAL, "a publication has at least one chunk and one collection");
    if (!extraction_is_usable(publication->extraction->status))
        return fail(err, IBID_EINVAL, "an extraction that is '%s' cannot be published",
                    extraction_status_string(publication->extraction->status));
    return IBID_OK;
}

ibid_code document_publish(struct transaction *transaction, const struct publication *publication,
                           struct publication_result *ret, ibid_error *err)
{
    TRY(check(publication, err));
    commit_seq_next_document(transaction);
    AUTO_ARENA arena = ARENA_INIT;
    struct publisher publisher = {
        .transaction = transaction, .publication = publication, .arena = &arena, .err = err};
    TRY(load_head(&publisher));
    bool metadata_changed;
    publisher.changed = update_head(&publisher.head, publication, &metadata_changed);
    ibid_code code = publish_content(&publisher, err);
    if (code == IBID_OK)
        code = finish(&publisher, metadata_changed, err);
    id_list_release(&publisher.released);
    TRY(code);
    publisher.result.revision_id = publisher.revision_id;
    *ret = publisher.result;
    return IBID_OK;
}

ibid_code document_withdraw(struct transaction *transaction, int64_t document_id, int64_t collection_id,
                            ibid_error *err)
{
    AUTO_ID_LIST released = {0};
    int64_t count;
    TRY(content_remove_rows(transaction, document_id, collection_id, &released, &count, err));
    TRY(SQL_RUN(transaction, "DELETE FROM document_collections WHERE document_id = ?1 AND collection_id = ?2",
                err, document_id, collection_id));
    TRY(content_collect(transaction, document_id, err));
    TRY(cached_answers_drop(transaction, document_id, err));
    return embedding_release(transaction, released.ids, released.count, err);
}
