#include "base/base64.h"

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

bool base64_decode(struct str text, struct buffer *out)
{
    unsigned bits = 0, bit_count = 0;
    for (int i = 0; i < 2 && text.size > 0 && text.data[text.size - 1] == '='; i++)
        text.size--;
    if (text.size % 4 == 1)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        const int digit = digit_of(text.data[i]);
        if (digit < 0)
            return false;
        bits = (bits << 6 | (unsigned)digit) & 0xFFF;
        bit_count += 6;
        if (bit_count < 8)
            continue;
        bit_count -= 8;
        buffer_append_byte(out, (char)(bits >> bit_count));
    }
    return true;
}
