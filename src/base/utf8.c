#include "base/utf8.h"

size_t utf8_sequence_length(const char *data, size_t size)
{
    const unsigned char *byte = (const unsigned char *)data;
    if (byte[0] < 0x80)
        return 1;
    size_t length;
    unsigned char low = 0x80, high = 0xBF; /* what the second byte may be (Unicode, table 3-7) */
    if (byte[0] >= 0xC2 && byte[0] <= 0xDF) {
        length = 2;
    } else if (byte[0] >= 0xE0 && byte[0] <= 0xEF) {
        length = 3;
        if (byte[0] == 0xE0)
            low = 0xA0;
        else if (byte[0] == 0xED)
            high = 0x9F;
    } else if (byte[0] >= 0xF0 && byte[0] <= 0xF4) {
        length = 4;
        if (byte[0] == 0xF0)
            low = 0x90;
        else if (byte[0] == 0xF4)
            high = 0x8F;
    } else {
        return 0;
    }
    if (size < length || byte[1] < low || byte[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((byte[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

uint32_t utf8_next(struct str text, size_t *position)
{
    const unsigned char *byte = (const unsigned char *)text.data + *position;
    size_t length = utf8_sequence_length((const char *)byte, text.size - *position);
    *position += length ? length : 1;
    switch (length) {
    case 1:
        return byte[0];
    case 2:
        return (uint32_t)(byte[0] & 0x1F) << 6 | (byte[1] & 0x3F);
    case 3:
        return (uint32_t)(byte[0] & 0x0F) << 12 | (uint32_t)(byte[1] & 0x3F) << 6 | (byte[2] & 0x3F);
    case 4:
        return (uint32_t)(byte[0] & 0x07) << 18 | (uint32_t)(byte[1] & 0x3F) << 12 |
               (uint32_t)(byte[2] & 0x3F) << 6 | (byte[3] & 0x3F);
    default:
        return UTF8_REPLACEMENT;
    }
}

size_t utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

bool utf8_is_valid(struct str text)
{
    for (size_t at = 0; at < text.size;) {
        size_t length = utf8_sequence_length(text.data + at, text.size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

size_t utf8_append_repaired(struct buffer *out, struct str text)
{
    size_t replaced = 0, good_from = 0, at = 0;
    while (at < text.size) {
        size_t length = utf8_sequence_length(text.data + at, text.size - at);
        if (length && text.data[at] != '\0') {
            at += length;
            continue;
        }
        buffer_append(out, text.data + good_from, at - good_from);
        if (length == 0) {
            buffer_append(out, "\xEF\xBF\xBD", 3);
            replaced++;
        }
        good_from = ++at;
    }
    buffer_append(out, text.data + good_from, at - good_from);
    return replaced;
}

size_t utf8_count(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

size_t utf8_count_utf16(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        count += (byte & 0xC0) != 0x80;
        count += byte >= 0xF0; /* beyond the basic plane: a surrogate pair */
    }
    return count;
}

size_t utf8_floor(struct str text, size_t position)
{
    if (position >= text.size)
        return text.size;
    while (position > 0 && ((unsigned char)text.data[position] & 0xC0) == 0x80)
        position--;
    return position;
}
