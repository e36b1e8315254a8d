#include "tests/fuzz/fuzz.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "net/http_multipart.h"

/* What the parser said, as one buffer. */
static ibid_code begin(const struct multipart_part *part, void *context, ibid_error *err)
{
    struct buffer *out = context;
    buffer_printf(out, "<%zu,%zu,%d,%zu>", part->name.size, part->file_name.size, part->is_file,
                  part->media_type.size);
    buffer_append_str(out, part->name);
    buffer_append_str(out, part->file_name);
    buffer_append_str(out, part->media_type);
    return IBID_OK;
}

static ibid_code data(struct str bytes, void *context, ibid_error *err)
{
    buffer_append_str(context, bytes);
    return IBID_OK;
}

static ibid_code end(void *context, ibid_error *err)
{
    buffer_append_string(context, "<end>");
    return IBID_OK;
}

static const struct multipart_ops ops = {begin, data, end};

static ibid_code parse(struct str type, struct str body, size_t piece, struct buffer *out)
{
    struct multipart *multipart;
    ibid_code code = multipart_open(type, &ops, out, &multipart, NULL);
    if (code != IBID_OK)
        return code;
    for (size_t at = 0; code == IBID_OK && at < body.size; at += piece)
        code = multipart_feed(multipart, str_slice(body, at, at + piece), NULL);
    if (code == IBID_OK)
        code = multipart_finish(multipart, NULL);
    multipart_close(multipart);
    return code;
}

/* The first line is the Content-Type, the rest the body: whatever the pieces, the same comes out. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const struct str text = {(const char *)input, size};
    const size_t line = str_find(text, '\n');
    const struct str type = str_slice(text, 0, line), body = str_slice(text, line + 1, size);
    AUTO_BUFFER whole = BUFFER(SIZE_MAX), pieces = BUFFER(SIZE_MAX);
    const ibid_code code = parse(type, body, body.size + 1, &whole);
    static const size_t sizes[] = {1, 2, 7};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        buffer_clear(&pieces);
        ASSERT(parse(type, body, sizes[i], &pieces) == code);
        ASSERT(code != IBID_OK || str_equal(buffer_str(&whole), buffer_str(&pieces)));
    }
    return 0;
}
