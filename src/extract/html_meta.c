#include "extract/html_meta.h"

#include "base/clock.h"
#include "base/memory.h"
#include "extract/html_parse.h"

enum { TITLE_LIMIT = 64 * 1024 };

enum key {
    KEY_DESCRIPTION,
    KEY_AUTHOR,
    KEY_KEYWORDS,
    KEY_LANGUAGE,
    KEY_CREATED,
    KEY_MODIFIED,
    KEY_CANONICAL
};

static const char *const key_names[] = {
    [KEY_DESCRIPTION] = "description", [KEY_AUTHOR] = "author",   [KEY_KEYWORDS] = "keywords",
    [KEY_LANGUAGE] = "language",       [KEY_CREATED] = "created", [KEY_MODIFIED] = "modified",
    [KEY_CANONICAL] = "canonical",
};

/* Names that pages use for the same thing. */
static const struct {
    const char *name;
    enum key key;
} meta_names[] = {
    {"description", KEY_DESCRIPTION},
    {"og:description", KEY_DESCRIPTION},
    {"dc.description", KEY_DESCRIPTION},
    {"author", KEY_AUTHOR},
    {"dc.creator", KEY_AUTHOR},
    {"article:author", KEY_AUTHOR},
    {"keywords", KEY_KEYWORDS},
    {"content-language", KEY_LANGUAGE},
    {"dc.language", KEY_LANGUAGE},
    {"article:published_time", KEY_CREATED},
    {"dcterms.created", KEY_CREATED},
    {"dc.date", KEY_CREATED},
    {"date", KEY_CREATED},
    {"article:modified_time", KEY_MODIFIED},
    {"dcterms.modified", KEY_MODIFIED},
    {"last-modified", KEY_MODIFIED},
};

void html_meta_init(struct html_meta *self, struct emitter *emitter)
{
    *self = (struct html_meta){.emitter = emitter, .title = INLINE_TEXT(TITLE_LIMIT)};
}

void html_meta_release(struct html_meta *self)
{
    inline_release(&self->title);
}

/* The first value that a page gives for a key counts. */
static void emit_once(struct html_meta *self, enum key key, struct str value)
{
    char time[CLOCK_TEXT_SIZE];
    if (key == KEY_CREATED || key == KEY_MODIFIED) {
        int64_t us;
        if (!clock_parse(str_trim(value), &us))
            return;
        value = str_from(clock_format(us, time));
    }
    if (str_trim(value).size == 0 || self->seen & 1U << key)
        return;
    self->seen |= 1U << key;
    emit_metadata(self->emitter, key_names[key], value);
}

static void on_meta(struct html_meta *self, const xmlChar **attributes)
{
    const char *content = html_attribute(attributes, "content", NULL);
    const char *name = html_attribute(attributes, "name", NULL);
    if (!name)
        name = html_attribute(attributes, "property", NULL);
    if (!name)
        name = html_attribute(attributes, "http-equiv", NULL);
    if (!name || !content)
        return;
    for (size_t i = 0; i < COUNT_OF(meta_names); i++)
        if (str_equal_nocase(str_from(name), str_from(meta_names[i].name)))
            emit_once(self, meta_names[i].key, str_from(content));
}

void html_meta_start(struct html_meta *self, const char *name, const xmlChar **attributes)
{
    if (!self->emitter)
        return;
    if (strcmp(name, "html") == 0) {
        const char *language = html_attribute(attributes, "lang", NULL);
        if (!language)
            language = html_attribute(attributes, "xml:lang", "");
        emit_once(self, KEY_LANGUAGE, str_from(language));
    } else if (strcmp(name, "meta") == 0) {
        on_meta(self, attributes);
    } else if (strcmp(name, "link") == 0) {
        if (str_equal_nocase(str_from(html_attribute(attributes, "rel", "")), STR("canonical")))
            emit_once(self, KEY_CANONICAL, str_from(html_attribute(attributes, "href", "")));
    } else if (strcmp(name, "title") == 0) {
        self->in_title = !self->has_title;
    }
}

void html_meta_end(struct html_meta *self)
{
    if (!self->in_title)
        return;
    self->in_title = false;
    self->has_title = !inline_is_blank(&self->title);
    emit_metadata(self->emitter, "title", inline_str(&self->title));
}

bool html_meta_text(struct html_meta *self, struct str text)
{
    if (self->in_title)
        inline_append(&self->title, text);
    return self->in_title;
}
