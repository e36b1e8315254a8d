#include "extract/lines.h"

bool line_next(struct str *rest, struct str *ret_line)
{
    if (rest->size == 0)
        return false;
    size_t end = 0;
    while (end < rest->size && rest->data[end] != '\n' && rest->data[end] != '\r')
        end++;
    size_t after = end < rest->size ? end + 1 : end;
    if (after < rest->size && rest->data[end] == '\r' && rest->data[after] == '\n')
        after++;
    *ret_line = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, after, rest->size);
    return true;
}

struct str line_normalize_ends(struct str text, struct buffer *storage)
{
    if (text.size == 0 || !memchr(text.data, '\r', text.size))
        return text;
    struct str rest = text, line;
    while (line_next(&rest, &line)) {
        buffer_append_str(storage, line);
        bool ended = line.data + line.size < text.data + text.size;
        if (ended)
            buffer_append_byte(storage, '\n');
    }
    return buffer_str(storage);
}

bool line_is_blank(struct str line)
{
    for (size_t i = 0; i < line.size; i++)
        if ((unsigned char)line.data[i] > ' ')
            return false;
    return true;
}
