#include "extract/front_matter.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "extract/lines.h"

enum { LINE_LIMIT = 1000, KEY_SIZE = 64, VALUE_LIMIT = 16 * 1024 };

/* What authors call the same thing. */
static const struct {
    const char *name, *key;
} known_names[] = {
    {"authors", "author"},         {"date", "created"},         {"created_at", "created"},
    {"published", "created"},      {"updated", "modified"},     {"lastmod", "modified"},
    {"last_modified", "modified"}, {"modified_at", "modified"}, {"lang", "language"},
    {"tags", "keywords"},          {"categories", "keywords"},  {"summary", "description"},
    {"abstract", "description"},
};

struct reader {
    struct emitter *emitter;
    char key[KEY_SIZE];
    struct buffer value; /* items of a list are joined by ", " */
    bool has_title;
};

static const char *normal_key(struct reader *self)
{
    for (size_t i = 0; i < COUNT_OF(known_names); i++)
        if (strcmp(self->key, known_names[i].name) == 0)
            return known_names[i].key;
    return self->key;
}

static void emit_entry(struct reader *self)
{
    struct str value = buffer_str(&self->value);
    const char *key = normal_key(self);
    int64_t us;
    char time[CLOCK_TEXT_SIZE];
    bool is_time = strcmp(key, "created") == 0 || strcmp(key, "modified") == 0;
    if (is_time && clock_parse(value, &us))
        value = str_from(clock_format(us, time));
    else if (is_time)
        value = STR_EMPTY;
    if (self->key[0] && value.size) {
        emit_metadata(self->emitter, key, value);
        self->has_title |= strcmp(key, "title") == 0;
    }
    self->key[0] = '\0';
    buffer_clear(&self->value);
}

static struct str unquote(struct str text)
{
    text = str_trim(text);
    bool quoted = text.size >= 2 && (text.data[0] == '"' || text.data[0] == '\'') &&
                  text.data[text.size - 1] == text.data[0];
    return quoted ? str_slice(text, 1, text.size - 1) : text;
}

static void add_item(struct reader *self, struct str item)
{
    item = unquote(item);
    if (item.size == 0)
        return;
    if (self->value.size)
        buffer_append_string(&self->value, ", ");
    buffer_append_str(&self->value, item);
}

static void add_value(struct reader *self, struct str value)
{
    value = str_trim(value);
    if (str_starts_with(value, "[") && str_ends_with(value, "]")) {
        struct str rest = str_slice(value, 1, value.size - 1), item;
        while (str_split(&rest, ',', &item))
            add_item(self, item);
    } else if (!str_is(value, "|") && !str_is(value, ">")) {
        add_item(self, value);
    }
}

static bool set_key(struct reader *self, struct str key)
{
    key = unquote(key);
    if (key.size == 0 || key.size >= KEY_SIZE)
        return false;
    for (size_t i = 0; i < key.size; i++) {
        char byte = key.data[i];
        bool upper = byte >= 'A' && byte <= 'Z';
        bool plain =
            upper || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || strchr("_-. ", byte);
        if (!plain)
            return false;
        self->key[i] = upper ? (char)(byte | 0x20) : byte;
    }
    self->key[key.size] = '\0';
    return true;
}

static void read_line(struct reader *self, struct str line, char separator)
{
    bool indented = line.size && (line.data[0] == ' ' || line.data[0] == '\t');
    struct str trimmed = str_trim(line);
    if (str_starts_with(trimmed, "- ")) {
        add_item(self, str_slice(trimmed, 2, trimmed.size));
    } else if (!indented && !str_starts_with(line, "#")) {
        size_t at = str_find(line, separator);
        emit_entry(self);
        if (at < line.size && set_key(self, str_slice(line, 0, at)))
            add_value(self, str_slice(line, at + 1, line.size));
        else
            self->key[0] = '\0';
    }
}

/* Where the block's lines end and where the text goes on; false when it is never closed. */
static bool find_end(struct str text, const char *fence, struct str *ret_inside, struct str *ret_after)
{
    struct str rest = text, line;
    for (int i = 0; i < LINE_LIMIT; i++) {
        size_t start = (size_t)(rest.data - text.data);
        if (!line_next(&rest, &line))
            return false;
        struct str trimmed = str_trim(line);
        if (str_is(trimmed, fence) || (fence[0] == '-' && str_is(trimmed, "..."))) {
            *ret_inside = str_slice(text, 0, start);
            *ret_after = rest;
            return true;
        }
    }
    return false;
}

struct str front_matter_read(struct emitter *emitter, struct str text, bool *ret_title)
{
    struct str rest = text, line, inside, after;
    *ret_title = false;
    if (!line_next(&rest, &line))
        return text;
    bool yaml = str_is(str_trim(line), "---"), toml = str_is(str_trim(line), "+++");
    if ((!yaml && !toml) || !find_end(rest, yaml ? "---" : "+++", &inside, &after))
        return text;
    struct reader self = {.emitter = emitter, .value = BUFFER(VALUE_LIMIT)};
    while (line_next(&inside, &line))
        read_line(&self, line, yaml ? ':' : '=');
    emit_entry(&self);
    buffer_release(&self.value);
    *ret_title = self.has_title;
    return after;
}
