#include "search/eval_collection.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "search/eval.h"

/* ---- lines of a file ---- */

struct line_reader {
    const char *path;
    struct file_map map;
    struct str rest;
    size_t number;
};

static ibid_code lines_open(const char *path, struct line_reader *ret, ibid_error *err)
{
    *ret = (struct line_reader){.path = path};
    TRY(file_map_open(path, &ret->map, err));
    ret->rest = (struct str){ret->map.data, ret->map.size};
    return IBID_OK;
}

/* The next line that is not empty; *ret_line.data is NULL at the end. */
static ibid_code lines_next(struct line_reader *reader, struct str *ret_line, ibid_error *err)
{
    struct str line;
    while (str_split(&reader->rest, '\n', &line)) {
        reader->number++;
        if (line.size > EVAL_LINE_LIMIT)
            return fail(err, IBID_ETOOBIG, "%s, line %zu: longer than %d bytes", reader->path, reader->number,
                        EVAL_LINE_LIMIT);
        *ret_line = str_trim(line);
        if (ret_line->size)
            return IBID_OK;
    }
    *ret_line = (struct str){NULL, 0};
    return IBID_OK;
}

static ibid_code line_is_wrong(const struct line_reader *reader, const char *what, ibid_error *err)
{
    return fail(err, IBID_EFORMAT, "%s, line %zu: %s", reader->path, reader->number, what);
}

/* ---- corpus.jsonl, queries.jsonl ---- */

struct entry {
    struct str id, text; /* the title is part of the text */
};

static ibid_code parse_entry(const struct line_reader *reader, struct str line, struct arena *arena,
                             struct entry *ret, ibid_error *err)
{
    AUTO_JSON *json = NULL;
    ibid_error wrong = {0};
    struct str id = {NULL, 0}, title = STR_EMPTY, text = {NULL, 0};
    if (json_parse(line, &json, &wrong) != IBID_OK)
        return line_is_wrong(reader, "not valid JSON", err);
    if (!json_is_object(json))
        return line_is_wrong(reader, "not a JSON object", err);
    if (json_get_str(json, "_id", &id, &wrong) != IBID_OK ||
        json_get_str(json, "title", &title, &wrong) != IBID_OK ||
        json_get_str(json, "text", &text, &wrong) != IBID_OK)
        return line_is_wrong(reader, wrong.message, err);
    if (id.size == 0)
        return line_is_wrong(reader, "has no \"_id\"", err);
    if (!text.data)
        return line_is_wrong(reader, "has no \"text\"", err);
    ret->id = arena_str(arena, id);
    ret->text =
        str_from(arena_printf(arena, "%.*s%s%.*s", STR_ARG(title), title.size ? " " : "", STR_ARG(text)));
    return IBID_OK;
}

/* Reads every line of a file; `ret_entries` is to be freed. */
static ibid_code read_entries(struct line_reader *reader, size_t limit, struct arena *arena,
                              struct entry **ret, size_t *ret_count, ibid_error *err)
{
    struct entry *entries = NULL;
    size_t count = 0, capacity = 0;
    struct str line;
    ibid_code code;
    while ((code = lines_next(reader, &line, err)) == IBID_OK && line.data) {
        if (count == limit) {
            code = fail(err, IBID_ETOOBIG, "%s has more than %zu lines", reader->path, limit);
            break;
        }
        GROW(entries, count, capacity);
        if ((code = parse_entry(reader, line, arena, &entries[count++], err)) != IBID_OK)
            break;
    }
    if (code == IBID_OK && count == 0)
        code = fail(err, IBID_EFORMAT, "%s is empty", reader->path);
    if (code != IBID_OK) {
        free(entries);
        return code;
    }
    *ret = entries;
    *ret_count = count;
    return IBID_OK;
}

static ibid_code read_entry_file(const char *folder, const char *name, size_t limit, struct arena *arena,
                                 struct entry **ret, size_t *ret_count, ibid_error *err)
{
    AUTO_FREE char *path = path_join(folder, name);
    struct line_reader reader;
    TRY(lines_open(path, &reader, err));
    ibid_code code = read_entries(&reader, limit, arena, ret, ret_count, err);
    file_map_close(&reader.map);
    return code;
}

/* ---- ids ---- */

struct id_place {
    struct str id;
    size_t place;
};

struct id_index {
    struct id_place *places; /* by id */
    size_t count;
};

static int compare_ids(const void *a, const void *b)
{
    return str_compare(((const struct id_place *)a)->id, ((const struct id_place *)b)->id);
}

static ibid_code id_index_make(const struct entry *entries, size_t count, const char *what,
                               struct arena *arena, struct id_index *ret, ibid_error *err)
{
    *ret = (struct id_index){ARENA_ARRAY(arena, struct id_place, count), count};
    for (size_t i = 0; i < count; i++)
        ret->places[i] = (struct id_place){entries[i].id, i};
    qsort(ret->places, count, sizeof *ret->places, compare_ids);
    for (size_t i = 1; i < count; i++)
        if (str_equal(ret->places[i].id, ret->places[i - 1].id))
            return fail(err, IBID_EFORMAT, "two %s have the _id '%.*s'", what,
                        STR_ARG(str_slice(ret->places[i].id, 0, 100)));
    return IBID_OK;
}

/* SIZE_MAX when there is none. */
static size_t id_index_find(const struct id_index *index, struct str id)
{
    const struct id_place key = {id, 0};
    const struct id_place *found =
        bsearch(&key, index->places, index->count, sizeof *index->places, compare_ids);
    return found ? found->place : SIZE_MAX;
}

/* ---- qrels.tsv ---- */

struct judgement_line {
    size_t query, line;
    struct judgement judgement;
};

/* *ret_header: the line is no judgement but may be the header. */
static ibid_code parse_judgement(const struct line_reader *reader, struct str line,
                                 const struct id_index *queries, const struct id_index *documents,
                                 struct judgement_line *ret, bool *ret_header, ibid_error *err)
{
    struct str query, document, score, more;
    long long value;
    if (!str_split(&line, '\t', &query) || !str_split(&line, '\t', &document) ||
        !str_split(&line, '\t', &score) || str_split(&line, '\t', &more))
        return line_is_wrong(reader, "not three columns parted by TAB: query-id, corpus-id, score", err);
    *ret_header = !str_to_int64(str_trim(score), &value);
    if (*ret_header)
        return IBID_OK;
    if (value < -1000 || value > 1000)
        return line_is_wrong(reader, "the score is to be from -1000 to 1000", err);
    *ret = (struct judgement_line){
        id_index_find(queries, query), reader->number, {id_index_find(documents, document), (int)value}};
    return IBID_OK;
}

static ibid_code read_judgements(struct line_reader *reader, const struct id_index *queries,
                                 const struct id_index *documents, struct judgement_line **ret,
                                 size_t *ret_count, ibid_error *err)
{
    struct judgement_line *lines = NULL, parsed;
    size_t count = 0, capacity = 0;
    struct str line;
    ibid_code code;
    bool first = true, header = false;
    for (; (code = lines_next(reader, &line, err)) == IBID_OK && line.data; first = false) {
        code = parse_judgement(reader, line, queries, documents, &parsed, &header, err);
        if (code == IBID_OK && header && !first)
            code = line_is_wrong(reader, "the score is no whole number", err);
        if (code == IBID_OK && count == EVAL_JUDGEMENT_LIMIT)
            code = fail(err, IBID_ETOOBIG, "%s has more than %d lines", reader->path, EVAL_JUDGEMENT_LIMIT);
        if (code != IBID_OK)
            break;
        if (header || parsed.query == SIZE_MAX)
            continue;
        GROW(lines, count, capacity);
        lines[count++] = parsed;
    }
    if (code != IBID_OK) {
        free(lines);
        return code;
    }
    *ret = lines;
    *ret_count = count;
    return IBID_OK;
}

static int compare_judgements(const void *a, const void *b)
{
    const struct judgement_line *first = a, *second = b;
    if (first->query != second->query)
        return first->query < second->query ? -1 : 1;
    if (first->judgement.document != second->judgement.document)
        return first->judgement.document < second->judgement.document ? -1 : 1;
    return (first->line > second->line) - (first->line < second->line);
}

/* Whether the next line judges the same pair anew. */
static bool is_replaced(const struct judgement_line *line)
{
    return line[0].query == line[1].query && line[0].judgement.document == line[1].judgement.document &&
           line[0].judgement.document != SIZE_MAX;
}

static void hand_out(struct judgement_line *lines, size_t count, struct arena *arena,
                     struct eval_collection *collection)
{
    if (count)
        qsort(lines, count, sizeof *lines, compare_judgements);
    struct judgement *judgements = ARENA_ARRAY(arena, struct judgement, count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && is_replaced(&lines[i]))
            continue;
        struct judged_query *query = &collection->queries[lines[i].query];
        if (query->judgement_count++ == 0)
            query->judgements = &judgements[kept];
        judgements[kept++] = lines[i].judgement;
    }
}

static ibid_code read_judgement_file(const char *folder, const struct id_index *queries,
                                     const struct id_index *documents, struct arena *arena,
                                     struct eval_collection *collection, ibid_error *err)
{
    AUTO_FREE char *path = path_join(folder, "qrels.tsv"), *split = path_join(folder, "qrels/test.tsv");
    struct line_reader reader;
    struct judgement_line *lines;
    size_t count;
    TRY(lines_open(!file_exists(path) && file_exists(split) ? split : path, &reader, err));
    ibid_code code = read_judgements(&reader, queries, documents, &lines, &count, err);
    file_map_close(&reader.map);
    if (code != IBID_OK)
        return code;
    hand_out(lines, count, arena, collection);
    free(lines);
    return IBID_OK;
}

ibid_code eval_collection_read(const char *folder, struct arena *arena, struct eval_collection *ret,
                               ibid_error *err)
{
    AUTO_FREE struct entry *documents = NULL, *queries = NULL;
    struct id_index document_ids, query_ids;
    size_t document_count, query_count;
    TRY(read_entry_file(folder, "corpus.jsonl", EVAL_DOCUMENT_LIMIT, arena, &documents, &document_count,
                        err));
    TRY(read_entry_file(folder, "queries.jsonl", EVAL_QUERY_LIMIT, arena, &queries, &query_count, err));
    TRY(id_index_make(documents, document_count, "documents", arena, &document_ids, err));
    TRY(id_index_make(queries, query_count, "queries", arena, &query_ids, err));
    struct eval_collection made = {.documents = ARENA_ARRAY(arena, struct eval_document, document_count),
                                   .document_count = document_count,
                                   .queries = ARENA_ARRAY(arena, struct judged_query, query_count),
                                   .query_count = query_count};
    for (size_t i = 0; i < document_count; i++)
        made.documents[i] = (struct eval_document){documents[i].id, documents[i].text};
    for (size_t i = 0; i < query_count; i++)
        made.queries[i] = (struct judged_query){.id = queries[i].id, .text = queries[i].text};
    TRY(read_judgement_file(folder, &query_ids, &document_ids, arena, &made, err));
    *ret = made;
    return IBID_OK;
}
