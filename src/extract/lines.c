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

bool line_is_blank(struct str line)
{
    for (size_t i = 0; i < line.size; i++)
        if ((unsigned char)line.data[i] > ' ')
            return false;
    return true;
}
