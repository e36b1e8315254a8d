#include "vector_store/embedded/row_set.h"

#include "vector_store/embedded/bitmap.h"

/* First byte of a stored set. A byte of padding follows, so that the rest is aligned. */
enum form { FORM_ARRAY = 1, FORM_RUNS = 2, FORM_BITS = 3 };

static uint32_t count_runs(const uint16_t *members, uint32_t count)
{
    uint32_t runs = count > 0;
    for (uint32_t i = 1; i < count; i++)
        runs += members[i] != members[i - 1] + 1;
    return runs;
}

static void append_form(struct buffer *out, enum form form)
{
    buffer_append_u8(out, form);
    buffer_append_u8(out, 0);
}

static void append_runs(struct buffer *out, const uint16_t *members, uint32_t count)
{
    append_form(out, FORM_RUNS);
    for (uint32_t i = 0; i < count;) {
        uint32_t last = i;
        while (last + 1 < count && members[last + 1] == members[last] + 1)
            last++;
        const uint16_t run[2] = {members[i], members[last]};
        buffer_append(out, run, sizeof run);
        i = last + 1;
    }
}

static void append_bits(struct buffer *out, const uint16_t *members, uint32_t count, uint32_t rows)
{
    append_form(out, FORM_BITS);
    const size_t size = (rows + 7) / 8;
    char *bytes = buffer_reserve(out, size);
    if (!bytes)
        return;
    memset(bytes, 0, size);
    for (uint32_t i = 0; i < count; i++)
        bytes[members[i] / 8] |= (char)(1 << members[i] % 8);
    out->size += size;
}

void row_set_append(struct buffer *out, const uint16_t *members, uint32_t count, uint32_t rows)
{
    const size_t as_runs = count_runs(members, count) * 4, as_array = count * 2, as_bits = (rows + 7) / 8;
    if (as_runs <= as_array && as_runs <= as_bits) {
        append_runs(out, members, count);
    } else if (as_array <= as_bits) {
        append_form(out, FORM_ARRAY);
        buffer_append(out, members, as_array);
    } else {
        append_bits(out, members, count, rows);
    }
}

static uint16_t read_u16(const unsigned char *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static bool add_array(const unsigned char *bytes, size_t size, uint32_t rows, uint64_t *bits)
{
    if (size % 2)
        return false;
    for (size_t at = 0; at < size; at += 2) {
        const uint16_t row = read_u16(bytes + at);
        if (row >= rows)
            return false;
        bitmap_set(bits, row);
    }
    return true;
}

static bool add_runs(const unsigned char *bytes, size_t size, uint32_t rows, uint64_t *bits)
{
    if (size % 4)
        return false;
    for (size_t at = 0; at < size; at += 4) {
        const uint16_t first = read_u16(bytes + at), last = read_u16(bytes + at + 2);
        if (first > last || last >= rows)
            return false;
        bitmap_set_range(bits, first, last);
    }
    return true;
}

static bool add_bits(const unsigned char *bytes, size_t size, uint32_t rows, uint64_t *bits)
{
    if (size != (rows + 7) / 8 || (rows % 8 && bytes[size - 1] >> rows % 8))
        return false;
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        bits[at / 8] |= word;
    }
    uint64_t word = 0;
    memcpy(&word, bytes + at, size - at);
    if (at < size)
        bits[at / 8] |= word;
    return true;
}

bool row_set_add(const void *data, size_t size, uint32_t rows, uint64_t *bits)
{
    const unsigned char *bytes = data;
    if (size < 2)
        return false;
    switch (bytes[0]) {
    case FORM_ARRAY:
        return add_array(bytes + 2, size - 2, rows, bits);
    case FORM_RUNS:
        return add_runs(bytes + 2, size - 2, rows, bits);
    case FORM_BITS:
        return add_bits(bytes + 2, size - 2, rows, bits);
    default:
        return false;
    }
}
