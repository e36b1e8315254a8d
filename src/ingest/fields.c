#include "ingest/fields.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "model/language.h"

enum {
    TITLE_LIMIT = 300,
    AUTHOR_LIMIT = 300,
    VALUE_LIMIT = 2000, /* bytes of one piece of metadata */
    VALUES_LIMIT = 64,
};

static struct str one_line(struct str text, size_t limit, struct arena *arena)
{
    text = str_trim(text);
    AUTO_BUFFER line = BUFFER(limit + 4);
    bool space = false;
    for (size_t i = 0; i < text.size && line.size < limit; i++) {
        const bool blank = (unsigned char)text.data[i] <= ' ';
        if (!blank)
            buffer_append_byte(&line, text.data[i]);
        else if (!space)
            buffer_append_byte(&line, ' ');
        space = blank;
    }
    const struct str cut = buffer_str(&line);
    return arena_str(arena, str_trim(str_slice(cut, 0, utf8_floor(cut, limit))));
}

/* The first heading that is no deeper than the second level. */
static struct str first_heading(const struct extraction *extraction)
{
    for (size_t i = 0; i < extraction->block_count; i++) {
        const struct block *block = &extraction->blocks[i];
        if (block->kind != BLOCK_HEADING || block->level > 2 || block->flags)
            continue;
        const struct str text = str_trim(str_slice(extraction->text, block->start, block->end));
        if (text.size)
            return text;
    }
    return STR_EMPTY;
}

/* What a person called it when bringing it. */
static struct str given_title(struct task *task)
{
    AUTO_JSON *object = NULL;
    struct str title = STR_EMPTY;
    if (task->document.metadata.size == 0 || json_parse(task->document.metadata, &object, NULL) != IBID_OK ||
        json_get_str(object, "title", &title, NULL) != IBID_OK)
        return STR_EMPTY;
    return arena_str(&task->arena, title);
}

static struct str pick_title(struct task *task, const struct connector_item *item)
{
    const struct str given = given_title(task);
    if (given.size)
        return given;
    const struct str own = str_trim(extraction_metadata(&task->extraction, "title"));
    if (own.size)
        return own;
    const struct str heading = first_heading(&task->extraction);
    if (heading.size)
        return heading;
    return item->title.size ? item->title : path_base_name(str_from(task->work->external_key));
}

/* The language that the document names, if it is one: "en-US" is "en". */
static struct str declared_language(const struct extraction *extraction, struct arena *arena)
{
    const struct str declared = str_trim(extraction_metadata(extraction, "language"));
    size_t size = 0;
    while (size < declared.size && size < 4 && ((declared.data[size] | 0x20) >= 'a') &&
           ((declared.data[size] | 0x20) <= 'z'))
        size++;
    if (size != 2 || (size < declared.size && declared.data[size] != '-' && declared.data[size] != '_'))
        return STR_EMPTY;
    char *code = arena_memdup0(arena, declared.data, size);
    for (size_t i = 0; i < size; i++)
        code[i] |= 0x20;
    return str_from(code);
}

static int64_t time_of(const struct extraction *extraction, const char *key)
{
    int64_t time_us;
    return clock_parse(extraction_metadata(extraction, key), &time_us) ? time_us : 0;
}

/* What has a column of its own, or is not for the document to say. */
static bool is_field(struct str key)
{
    static const char *const fields[] = {"title",    "author",        "created", "modified",
                                         "language", "document_type", "pages"};
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (str_is(key, fields[i]))
            return true;
    return false;
}

/* Sets a member, unless there is no room for it: a document is not refused for what it says of itself. */
static void set_if_it_fits(json_t *object, const char *key, json_t *take_value)
{
    json_t *before = json_incref(json_object_get(object, key));
    json_set(object, key, take_value);
    if (json_dumpb(object, NULL, 0, JSON_COMPACT) <= DOCUMENT_METADATA_LIMIT)
        json_decref(before);
    else if (before)
        json_set(object, key, before);
    else
        json_object_del(object, key);
}

/* Everything that has no column of its own; what was there before (labels that a person gave) stays. */
static struct str collect_metadata(struct task *task)
{
    AUTO_JSON *object = NULL;
    if (task->document.metadata.size == 0 || json_parse(task->document.metadata, &object, NULL) != IBID_OK ||
        !json_is_object(object)) {
        json_decref(object);
        object = json_object();
    }
    const struct extraction *extraction = &task->extraction;
    set_if_it_fits(object, "document_type", json_str(extraction->format));
    if (extraction->page_count)
        set_if_it_fits(object, "pages", json_integer((json_int_t)extraction->page_count));
    for (size_t i = 0; i < extraction->metadata_count && i < VALUES_LIMIT; i++) {
        const struct metadata_entry *entry = &extraction->metadata[i];
        if (is_field(entry->key) || entry->key.size > 64)
            continue;
        const char *key = arena_memdup0(&task->arena, entry->key.data, entry->key.size);
        const struct str value = str_slice(entry->value, 0, utf8_floor(entry->value, VALUE_LIMIT));
        set_if_it_fits(object, key, json_str(value));
    }
    AUTO_BUFFER text = BUFFER(DOCUMENT_METADATA_LIMIT);
    json_append(&text, object);
    return arena_str(&task->arena, buffer_str(&text));
}

void fill_fields(struct task *task, const struct connector_item *item)
{
    const struct extraction *extraction = &task->extraction;
    task->title = one_line(pick_title(task, item), TITLE_LIMIT, &task->arena);
    task->author = one_line(extraction_metadata(extraction, "author"), AUTHOR_LIMIT, &task->arena);
    const struct str detected = str_from(language_detect(extraction->text));
    task->language = detected.size ? detected : declared_language(extraction, &task->arena);
    if (task->language.size == 0)
        task->language = str_from(task->work->origin->recipe.collection_language);
    task->created_at = time_of(extraction, "created");
    const int64_t modified = time_of(extraction, "modified");
    task->document_modified_at = modified ? modified : task->modified_at;
    task->metadata = collect_metadata(task);
}
