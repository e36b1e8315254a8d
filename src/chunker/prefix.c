#include "chunker/prefix.h"

#include "base/buffer.h"
#include "base/utf8.h"

enum { TITLE_SIZE_LIMIT = 300, DEPTH_LIMIT = 16 };

void prefixes_init(struct prefixes *prefixes, const struct outline *outline, struct str title, uint32_t limit,
                   const struct token_counter *counter, struct arena *arena)
{
    *prefixes = (struct prefixes){
        .outline = outline,
        .counter = counter,
        .arena = arena,
        .title = str_trim(str_slice(title, 0, utf8_floor(title, TITLE_SIZE_LIMIT))),
        .limit = limit,
        .sections = ARENA_ARRAY(arena, struct prefix, outline->section_count),
    };
}

struct str cut_to_tokens(struct str text, uint32_t limit, const struct token_counter *counter,
                         uint32_t *ret_tokens)
{
    size_t tokens = counter->count(counter, text);
    while (tokens > limit) {
        size_t end = utf8_floor(text, text.size * limit / tokens);
        size_t space = end;
        while (space > 0 && text.data[space - 1] != ' ' && text.data[space - 1] != '\t')
            space--;
        text = str_trim(str_slice(text, 0, space ? space : end));
        tokens = counter->count(counter, text);
    }
    *ret_tokens = (uint32_t)tokens;
    return text;
}

/* The headings above the text of `section`, nearest first, then the title. */
static size_t collect_parts(const struct prefixes *prefixes, uint32_t section,
                            struct str parts[DEPTH_LIMIT + 1])
{
    size_t count = 0;
    for (; section && count < DEPTH_LIMIT; section = prefixes->outline->sections[section].parent) {
        const struct str heading = prefixes->outline->sections[section].heading;
        if (heading.size && !str_equal_nocase(heading, prefixes->title))
            parts[count++] = heading;
    }
    if (prefixes->title.size)
        parts[count++] = prefixes->title;
    return count;
}

static struct str join(const struct str *parts, size_t count, struct arena *arena)
{
    AUTO_BUFFER text = BUFFER(64 * 1024);
    for (size_t i = count; i-- > 0;) {
        buffer_append_str(&text, parts[i]);
        if (i > 0)
            buffer_append_string(&text, " › ");
    }
    return arena_str(arena, buffer_str(&text));
}

static struct prefix make_prefix(const struct prefixes *prefixes, uint32_t section)
{
    struct prefix prefix = {.text = STR_EMPTY};
    struct str parts[DEPTH_LIMIT + 1];
    size_t count = prefixes->limit ? collect_parts(prefixes, section, parts) : 0;
    for (; count > 0; count--) {
        prefix.text = join(parts, count, prefixes->arena);
        prefix.tokens = (uint32_t)prefixes->counter->count(prefixes->counter, prefix.text);
        if (prefix.tokens <= prefixes->limit)
            break;
        if (count == 1)
            prefix.text = cut_to_tokens(prefix.text, prefixes->limit, prefixes->counter, &prefix.tokens);
    }
    return prefix;
}

const struct prefix *prefix_of(struct prefixes *prefixes, uint32_t section)
{
    struct prefix *prefix = &prefixes->sections[section];
    if (!prefix->text.data)
        *prefix = make_prefix(prefixes, section);
    return prefix;
}
