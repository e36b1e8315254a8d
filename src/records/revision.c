#include "records/revision.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "records/revision_internal.h"
#include "records/sql.h"

enum {
    PIECE_SIZE = 64 * 1024,
    LAYOUT_LIMIT = 64 * 1024 * 1024,
};

/* ---- storing ---------------------------------------------------------------------------------- */

static ibid_code store_text(struct transaction *transaction, int64_t id, struct str text, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(transaction,
                          "INSERT INTO canonical_texts (revision_id, start, text) VALUES (?1, ?2, ?3)",
                          &statement, err));
    for (size_t start = 0, end; start < text.size; start = end) {
        end = text.size - start <= PIECE_SIZE ? text.size : utf8_floor(text, start + PIECE_SIZE);
        statement_bind_int(statement, 1, id);
        statement_bind_int(statement, 2, (int64_t)start);
        statement_bind_text(statement, 3, str_slice(text, start, end));
        TRY(statement_run(statement, err));
    }
    return IBID_OK;
}

static ibid_code store_layouts(struct transaction *transaction, int64_t id,
                               const struct extraction *extraction, ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(
        transaction, "INSERT INTO page_layouts (revision_id, page, start, layout) VALUES (?1, ?2, ?3, ?4)",
        &statement, err));
    AUTO_BUFFER blob = BUFFER(LAYOUT_LIMIT);
    size_t word = 0;
    for (size_t i = 0; i < extraction->page_count; i++) {
        struct page_layout layout = {extraction->pages[i], extraction->words + word, 0};
        while (word + layout.word_count < extraction->word_count &&
               extraction->words[word + layout.word_count].page <= layout.page.number)
            layout.word_count++;
        word += layout.word_count;
        buffer_clear(&blob);
        page_layout_append(&blob, &layout);
        TRY(buffer_check(&blob, "the layout of a page", err));
        statement_bind_int(statement, 1, id);
        statement_bind_int(statement, 2, layout.page.number);
        statement_bind_int(statement, 3, layout.page.start);
        statement_bind_blob(statement, 4, blob.data, blob.size);
        TRY(statement_run(statement, err));
    }
    return IBID_OK;
}

static int64_t checksum_of(struct str text)
{
    return (int64_t)checksum64(text.data, text.size, 0);
}

static ibid_code find_same(struct transaction *transaction, int64_t document_id, bool has_sha256,
                           const struct sha256 *sha256, const struct extraction *extraction, int64_t *ret_id,
                           ibid_error *err)
{
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "SELECT id FROM revisions WHERE document_id = ?1 AND extractor = ?2 AND text_size = ?3"
        " AND text_checksum = ?4 AND page_count = ?5 AND sha256 IS NOT DISTINCT FROM ?6 LIMIT 1",
        &statement, err));
    statement_bind_int(statement, 1, document_id);
    sql_bind_str(statement, 2, extraction->extractor);
    statement_bind_int(statement, 3, (int64_t)extraction->text.size);
    statement_bind_int(statement, 4, checksum_of(extraction->text));
    statement_bind_int(statement, 5, (int64_t)extraction->page_count);
    sql_bind_sha256(statement, 6, has_sha256, sha256);
    bool row;
    int64_t id = 0;
    TRY(sql_first_int(statement, &row, &id, err));
    *ret_id = id;
    return IBID_OK;
}

ibid_code revision_store(struct transaction *transaction, int64_t document_id, bool has_sha256,
                         const struct sha256 *sha256, const struct extraction *extraction, int64_t *ret_id,
                         ibid_error *err)
{
    int64_t id;
    TRY(find_same(transaction, document_id, has_sha256, sha256, extraction, &id, err));
    if (id) {
        *ret_id = id;
        return IBID_OK;
    }
    struct statement *statement;
    TRY(statement_prepare(
        transaction,
        "INSERT INTO revisions (document_id, sha256, extractor, text_size, text_checksum, page_count,"
        " created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id",
        &statement, err));
    statement_bind_int(statement, 1, document_id);
    sql_bind_sha256(statement, 2, has_sha256, sha256);
    sql_bind_str(statement, 3, extraction->extractor);
    statement_bind_int(statement, 4, (int64_t)extraction->text.size);
    statement_bind_int(statement, 5, checksum_of(extraction->text));
    statement_bind_int(statement, 6, (int64_t)extraction->page_count);
    statement_bind_int(statement, 7, clock_now_us());
    TRY(sql_insert(statement, &id, err));
    TRY(store_text(transaction, id, extraction->text, err));
    TRY(store_layouts(transaction, id, extraction, err));
    *ret_id = id;
    return IBID_OK;
}

/* ---- reading ---------------------------------------------------------------------------------- */

ibid_code revision_load(struct transaction *transaction, int64_t id, struct arena *arena,
                        struct revision *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT document_id, sha256, extractor, text_size, page_count, created_at FROM revisions"
                    " WHERE id = ?1",
                    &statement, err, id));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no revision %lld", (long long)id);
    struct revision revision = {
        .id = id,
        .document_id = statement_int(statement, 0),
        .extractor = sql_str(statement, 2, arena),
        .text_size = statement_int(statement, 3),
        .page_count = statement_int(statement, 4),
        .created_at = statement_int(statement, 5),
    };
    TRY(sql_sha256(statement, 1, &revision.has_sha256, &revision.sha256, err));
    statement_reset(statement);
    *ret = revision;
    return IBID_OK;
}

ibid_code revision_text(struct transaction *transaction, int64_t id, uint32_t start, uint32_t end,
                        struct arena *arena, struct str *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT start, text FROM canonical_texts WHERE revision_id = ?1 AND start < ?3"
                    " AND start >= (SELECT coalesce(max(start), 0) FROM canonical_texts"
                    " WHERE revision_id = ?1 AND start <= ?2) ORDER BY start",
                    &statement, err, id, start, end));
    AUTO_BUFFER text = BUFFER(EXTRACTION_TEXT_LIMIT);
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row)
            break;
        const size_t at = (size_t)statement_int(statement, 0);
        const size_t from = start > at ? start - at : 0;
        buffer_append_str(&text, str_slice(statement_text(statement, 1), from, end - at));
    }
    TRY(buffer_check(&text, "a canonical text", err));
    *ret = arena_str(arena, buffer_str(&text));
    return IBID_OK;
}

ibid_code revision_page(struct transaction *transaction, int64_t id, uint32_t number, struct arena *arena,
                        struct page_layout *ret, ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(transaction,
                    "SELECT start, layout FROM page_layouts WHERE revision_id = ?1 AND page = ?2", &statement,
                    err, id, number));
    bool row;
    TRY(statement_step(statement, &row, err));
    if (!row)
        return fail(err, IBID_ENOTFOUND, "there is no page %u", number);
    TRY(page_layout_read(statement_blob(statement, 1), number, (uint32_t)statement_int(statement, 0), arena,
                         ret, err));
    statement_reset(statement);
    return IBID_OK;
}

/* ---- boxes ------------------------------------------------------------------------------------ */

struct box_list {
    struct text_box *boxes;
    size_t count, limit;
};

static float smaller(float a, float b)
{
    return a < b ? a : b;
}

static float larger(float a, float b)
{
    return a > b ? a : b;
}

/* Of one line: on the same page, going on to the right, and overlapping by more than half of the lower one.
 */
static bool continues_line(const struct text_box *box, const struct word_box *word)
{
    const float shared = smaller(box->y1, word->y1) - larger(box->y0, word->y0);
    const float lower = smaller(box->y1 - box->y0, word->y1 - word->y0);
    const float height = larger(box->y1 - box->y0, word->y1 - word->y0);
    return box->page == word->page && shared > lower / 2 && word->x0 >= box->x0 &&
           word->x0 - box->x1 < 3 * height;
}

static void add_word(struct box_list *list, const struct page *page, const struct word_box *word)
{
    struct text_box *last = list->count ? &list->boxes[list->count - 1] : NULL;
    if (last && continues_line(last, word)) {
        last->x1 = larger(last->x1, word->x1);
        last->y0 = smaller(last->y0, word->y0);
        last->y1 = larger(last->y1, word->y1);
    } else if (list->count < list->limit) {
        list->boxes[list->count++] =
            (struct text_box){word->page, word->x0, word->y0, word->x1, word->y1, page->width, page->height};
    }
}

ibid_code revision_boxes(struct transaction *transaction, int64_t id, uint32_t start, uint32_t end,
                         size_t limit, struct arena *arena, struct text_box **ret, size_t *ret_count,
                         ibid_error *err)
{
    struct statement *statement;
    TRY(SQL_PREPARE(
        transaction,
        "SELECT page, start, layout FROM page_layouts WHERE revision_id = ?1 AND page >= coalesce("
        "(SELECT max(page) FROM page_layouts WHERE revision_id = ?1 AND start <= ?2), 0) ORDER BY page",
        &statement, err, id, start));
    struct box_list list = {ARENA_ARRAY(arena, struct text_box, limit), 0, limit};
    AUTO_ARENA scratch = ARENA_INIT;
    for (bool row;;) {
        TRY(statement_step(statement, &row, err));
        if (!row || statement_int(statement, 1) >= end)
            break;
        struct page_layout layout;
        TRY(page_layout_read(statement_blob(statement, 2), (uint32_t)statement_int(statement, 0),
                             (uint32_t)statement_int(statement, 1), &scratch, &layout, err));
        for (size_t i = 0; i < layout.word_count; i++)
            if (layout.words[i].start < end && layout.words[i].start + layout.words[i].size > start)
                add_word(&list, &layout.page, &layout.words[i]);
        arena_release(&scratch);
    }
    statement_reset(statement);
    *ret = list.boxes;
    *ret_count = list.count;
    return IBID_OK;
}
