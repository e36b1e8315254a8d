#include "extract/asciidoc_inline.h"

#include <stdbool.h>

#include "base/memory.h"

enum { SPAN_LIMIT = 1000, DEPTH_LIMIT = 8 };

static bool is_word(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (unsigned char)byte >= 0x80 || byte == '_';
}

struct str asciidoc_alternative(struct str attributes)
{
    struct str rest = attributes, part;
    bool first = true;
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        size_t equals = str_find(part, '=');
        bool named = equals < part.size && str_is(str_trim(str_slice(part, 0, equals)), "alt");
        if (named)
            part = str_trim(str_slice(part, equals + 1, part.size));
        if (named || (first && equals == part.size)) {
            bool quoted = part.size >= 2 && part.data[0] == '"' && part.data[part.size - 1] == '"';
            return quoted ? str_slice(part, 1, part.size - 1) : part;
        }
        first = false;
    }
    return STR_EMPTY;
}

/* "*bold*", "_italic_", "`code`", "#marked#", or with doubled marks inside words: the length of the
 * marked span with its marks, 0 when there is none here. */
static size_t marked_span(struct str text, size_t at, size_t *ret_marks)
{
    char mark = text.data[at];
    if (!strchr("*_`#", mark))
        return 0;
    size_t marks = at + 1 < text.size && text.data[at + 1] == mark ? 2 : 1;
    size_t inside = at + marks;
    bool starts_word = at == 0 || !is_word(text.data[at - 1]);
    if ((marks == 1 && !starts_word) || inside >= text.size || (unsigned char)text.data[inside] <= ' ')
        return 0;
    for (size_t end = inside + 1; end + marks <= text.size && end - inside < SPAN_LIMIT; end++) {
        bool closes = text.data[end] == mark && (marks == 1 || text.data[end + 1] == mark);
        bool ends_word = end + marks == text.size || !is_word(text.data[end + marks]);
        if (closes && (unsigned char)text.data[end - 1] > ' ' && (marks == 2 || ends_word)) {
            *ret_marks = marks;
            return end + marks - at;
        }
    }
    return 0;
}

/* "name:target[text]" or "https://...[text]": its length and the text, 0 when there is none here. */
static size_t bracketed_macro(struct str text, size_t at, struct str *ret_text)
{
    static const char *const names[] = {"link:", "xref:", "image:",  "mailto:",  "footnote:", "kbd:",
                                        "btn:",  "icon:", "http://", "https://", "ftp://",    "irc://"};
    struct str rest = str_slice(text, at, at + 4 * SPAN_LIMIT);
    if (at > 0 && is_word(text.data[at - 1]))
        return 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!str_starts_with(rest, names[i]))
            continue;
        size_t open = strlen(names[i]);
        while (open < rest.size && (unsigned char)rest.data[open] > ' ' && rest.data[open] != '[')
            open++;
        struct str after = str_slice(rest, open + 1, rest.size);
        size_t close = str_find(after, ']');
        if (open >= rest.size || rest.data[open] != '[' || close == after.size)
            return 0;
        *ret_text = str_slice(after, 0, close);
        if (str_is(str_slice(rest, 0, 6), "image:"))
            *ret_text = asciidoc_alternative(*ret_text);
        if (ret_text->size == 0 && names[i][strlen(names[i]) - 1] == '/')
            *ret_text = str_slice(rest, 0, open); /* a bare address */
        if (str_ends_with(*ret_text, "^"))
            *ret_text = str_slice(*ret_text, 0, ret_text->size - 1);
        return open + close + 2;
    }
    return 0;
}

/* "<<id,text>>" and "[[id]]": the length and the text. */
static size_t reference(struct str text, size_t at, struct str *ret_text)
{
    struct str rest = str_slice(text, at, at + SPAN_LIMIT);
    bool link = str_starts_with(rest, "<<"), anchor = str_starts_with(rest, "[[");
    if (!link && !anchor)
        return 0;
    const char *end = memmem(rest.data, rest.size, link ? ">>" : "]]", 2);
    if (!end)
        return 0;
    struct str inside = {rest.data + 2, (size_t)(end - rest.data) - 2};
    size_t comma = str_find(inside, ',');
    *ret_text =
        anchor ? STR_EMPTY : str_trim(str_slice(inside, comma < inside.size ? comma + 1 : 0, inside.size));
    return (size_t)(end - rest.data) + 2;
}

static void append(struct buffer *out, struct str text, unsigned depth)
{
    for (size_t at = 0; at < text.size;) {
        struct str inside = STR_EMPTY;
        size_t marks = 0, size = 0;
        if (depth < DEPTH_LIMIT)
            size = marked_span(text, at, &marks);
        if (size) {
            inside = str_slice(text, at + marks, at + size - marks);
            if (text.data[at] == '`')
                buffer_append_str(out, inside);
            else
                append(out, inside, depth + 1);
        } else if ((size = bracketed_macro(text, at, &inside)) || (size = reference(text, at, &inside))) {
            bool note = str_starts_with(str_slice(text, at, text.size), "footnote:");
            buffer_append_string(out, note ? "(" : "");
            buffer_append_str(out, inside);
            buffer_append_string(out, note ? ")" : "");
        } else {
            buffer_append_byte(out, text.data[at]);
            size = 1;
        }
        at += size;
    }
}

void asciidoc_append_inline(struct buffer *out, struct str text)
{
    append(out, text, 0);
}
