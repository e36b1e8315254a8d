#include <stdlib.h>

#include "base/memory.h"
#include "records/chunk_record.h"
#include "records/publish_internal.h"
#include "records/sql.h"

/* ---- names ------------------------------------------------------------------------------------ */

void chunk_id_make(struct str file_id, struct str heading_path, struct str text, uint32_t occurrence,
                   char out[CHUNK_ID_SIZE])
{
    struct sha256_state *state = sha256_start();
    sha256_feed_field(state, file_id);
    sha256_feed_field(state, heading_path);
    sha256_feed_field(state, text);
    const unsigned char count[4] = {(unsigned char)occurrence, (unsigned char)(occurrence >> 8),
                                    (unsigned char)(occurrence >> 16), (unsigned char)(occurrence >> 24)};
    sha256_feed(state, count, sizeof count);
    const struct sha256 hash = sha256_finish(state);
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(&hash, hex);
    memcpy(out, hex, CHUNK_ID_SIZE - 1);
    out[CHUNK_ID_SIZE - 1] = '\0';
}

/* Counts how often each first name came: open addressing, never more than half full. */
struct name_counter {
    struct name_count {
        char name[CHUNK_ID_SIZE];
        uint32_t count;
    } * slots;
    size_t slot_count;
};

static struct name_counter name_counter_make(size_t names, struct arena *arena)
{
    size_t slots = 16;
    while (slots < names * 2)
        slots *= 2;
    return (struct name_counter){ARENA_ARRAY(arena, struct name_count, slots), slots};
}

static uint32_t name_counter_next(struct name_counter *counter, const char *name)
{
    size_t slot = checksum64(name, CHUNK_ID_SIZE - 1, 0) & (counter->slot_count - 1);
    while (counter->slots[slot].count && strcmp(counter->slots[slot].name, name) != 0)
        slot = (slot + 1) & (counter->slot_count - 1);
    memcpy(counter->slots[slot].name, name, CHUNK_ID_SIZE);
    return counter->slots[slot].count++;
}

static void name_chunk(struct name_counter *counter, struct str file_id, const struct chunk *chunk,
                       char out[CHUNK_ID_SIZE])
{
    chunk_id_make(file_id, chunk->heading_path, chunk->text, 0, out);
    const uint32_t occurrence = name_counter_next(counter, out);
    if (occurrence)
        chunk_id_make(file_id, chunk->heading_path, chunk->text, occurrence, out);
}

/* ---- stored chunks ---------------------------------------------------------------------------- */

struct stored_chunk {
    int64_t id; /* 0: there is none */
    bool same_words;
    bool same_place;    /* where it stands in the text */
    bool same_filtered; /* what a filter looks at */
};

/* Where the shown text begins in the embedded one, or that it has to be stored apart. */
static bool text_is_tail(const struct chunk *chunk)
{
    return chunk->embed_text.size >= chunk->text.size &&
           str_equal(str_slice(chunk->embed_text, chunk->embed_text.size - chunk->text.size,
                               chunk->embed_text.size),
                     chunk->text);
}

static ibid_code find_stored(struct transaction *transaction, int64_t set, const char *name,
                             const struct chunk *chunk, struct stored_chunk *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "SELECT id, embed_text, chunk_index, range_start, range_end, own_start, page_first, page_last,"
        " structure, tokens FROM chunks WHERE chunk_set_id = ?1 AND chunk_id = ?2",
        &statement, err, set));
    statement_bind_text(statement, 2, str_from(name));
    bool row;
    TRY(statement_step(statement, &row, err));
    *ret = (struct stored_chunk){0};
    if (row) {
        ret->id = statement_int(statement, 0);
        ret->same_words = str_equal(statement_text(statement, 1), chunk->embed_text);
        ret->same_filtered = statement_int(statement, 2) == chunk->order &&
                             statement_int(statement, 6) == chunk->page_first &&
                             statement_int(statement, 7) == chunk->page_last &&
                             str_equal(statement_text(statement, 8), chunk->structure);
        ret->same_place = ret->same_filtered && statement_int(statement, 3) == chunk->start &&
                          statement_int(statement, 4) == chunk->end &&
                          statement_int(statement, 5) == chunk->own_start &&
                          statement_int(statement, 9) == chunk->tokens;
    }
    statement_reset(statement);
    return IBID_OK;
}

static void bind_place(struct statement *statement, const struct chunk *chunk, int64_t set)
{
    statement_bind_int(statement, 1, set);
    statement_bind_int(statement, 2, chunk->order);
    statement_bind_int(statement, 3, chunk->start);
    statement_bind_int(statement, 4, chunk->end);
    statement_bind_int(statement, 5, chunk->own_start);
    statement_bind_int(statement, 6, chunk->page_first);
    statement_bind_int(statement, 7, chunk->page_last);
    sql_bind_str(statement, 8, chunk->structure);
    statement_bind_int(statement, 9, chunk->tokens);
}

static ibid_code insert_chunk(struct transaction *transaction, int64_t set, const char *name,
                              const struct chunk *chunk, int64_t *ret_id, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "INSERT INTO chunks (chunk_set_id, chunk_index, range_start, range_end, own_start, page_first,"
        " page_last, structure, tokens, chunk_id, heading_path, embed_text, text_start, text)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) RETURNING id",
        &statement, err));
    bind_place(statement, chunk, set);
    statement_bind_text(statement, 10, str_from(name));
    sql_bind_str(statement, 11, chunk->heading_path);
    sql_bind_str(statement, 12, chunk->embed_text);
    const bool tail = text_is_tail(chunk);
    statement_bind_int(statement, 13, tail ? (int64_t)(chunk->embed_text.size - chunk->text.size) : 0);
    if (tail)
        sql_bind_null(statement, 14);
    else
        sql_bind_str(statement, 14, chunk->text);
    return sql_insert(statement, ret_id, err);
}

static ibid_code take_over(struct transaction *transaction, int64_t id, int64_t set,
                           const struct chunk *chunk, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "UPDATE chunks SET chunk_set_id = ?1, chunk_index = ?2, range_start = ?3, range_end = ?4,"
        " own_start = ?5, page_first = ?6, page_last = ?7, structure = ?8, tokens = ?9"
        " WHERE id = ?10",
        &statement, err));
    bind_place(statement, chunk, set);
    statement_bind_int(statement, 10, id);
    return statement_run(statement, err);
}

static ibid_code let_go(struct transaction *transaction, int64_t id, ibid_error *err)
{
    return SQL_RUN(transaction, "UPDATE chunks SET chunk_set_id = NULL WHERE id = ?1", err, id);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static ibid_code store_chunk(struct publisher *publisher, int64_t old_set, const char *name,
                             const struct chunk *chunk, int64_t *ret_id, ibid_error *err)
{
    struct stored_chunk stored = {0};
    if (old_set)
        TRY(find_stored(publisher->transaction, old_set, name, chunk, &stored, err));
    if (stored.id && stored.same_words) {
        publisher->changed |= !stored.same_filtered;
        *ret_id = stored.id;
        if (stored.same_place && old_set == publisher->chunk_set_id)
            return IBID_OK;
        return take_over(publisher->transaction, stored.id, publisher->chunk_set_id, chunk, err);
    }
    /* The same name with other words around it (a table's header changed): other text is another row. */
    if (stored.id)
        TRY(let_go(publisher->transaction, stored.id, err));
    return insert_chunk(publisher->transaction, publisher->chunk_set_id, name, chunk, ret_id, err);
}

/* Chunks of the set that the publication does not have (any more) wait for the sweep. */
static ibid_code let_go_of_rest(struct publisher *publisher, ibid_error *err)
{
    AUTO_ID_LIST stored = {0}, kept = {0};
    struct statement *statement;
    TRY(SQL_PREPARE(publisher->transaction, "SELECT id FROM chunks WHERE chunk_set_id = ?1", &statement, err,
                    publisher->chunk_set_id));
    TRY(id_list_collect(&stored, statement, err));
    if (stored.count == publisher->publication->chunk_count)
        return IBID_OK;
    for (size_t i = 0; i < publisher->publication->chunk_count; i++)
        id_list_add(&kept, publisher->chunk_ids[i]);
    id_list_sort(&kept);
    for (size_t i = 0; i < stored.count; i++)
        if (id_list_find(&kept, stored.ids[i]) == SIZE_MAX)
            TRY(let_go(publisher->transaction, stored.ids[i], err));
    return IBID_OK;
}

ibid_code publish_chunks(struct publisher *publisher, int64_t old_set, ibid_error *err)
{
    const struct publication *publication = publisher->publication;
    struct name_counter counter = name_counter_make(publication->chunk_count, publisher->arena);
    publisher->chunk_ids = ARENA_ARRAY(publisher->arena, int64_t, publication->chunk_count);
    for (size_t i = 0; i < publication->chunk_count; i++) {
        char name[CHUNK_ID_SIZE];
        name_chunk(&counter, publisher->head.file_id, &publication->chunks[i], name);
        TRY(store_chunk(publisher, old_set, name, &publication->chunks[i], &publisher->chunk_ids[i], err));
    }
    return let_go_of_rest(publisher, err);
}
