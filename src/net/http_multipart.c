#include "net/http_multipart.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/memory.h"

/* The body is: [preamble] CRLF --boundary CRLF head CRLF CRLF data CRLF --boundary ... --boundary--
 * [epilogue]. A CRLF is put before the first byte, so that every delimiter looks the same. */
enum stage { STAGE_PREAMBLE, STAGE_DELIMITER, STAGE_HEAD, STAGE_DATA, STAGE_EPILOGUE };

struct multipart {
    const struct multipart_ops *ops;
    void *context;
    enum stage stage;
    char delimiter[MULTIPART_BOUNDARY_LIMIT + 5]; /* CRLF "--" boundary */
    size_t delimiter_size;
    size_t matched;     /* bytes of the delimiter that the last bytes fed equal */
    struct buffer line; /* what stands after a delimiter, or a part's head */
    unsigned part_count;
};

static bool is_boundary(struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        const char byte = text.data[i];
        if (!http_is_token(str_slice(text, i, i + 1)) && (byte == '\0' || !strchr("()+,/:=? ", byte)))
            return false;
    }
    return text.size > 0 && text.size <= MULTIPART_BOUNDARY_LIMIT && text.data[text.size - 1] != ' ';
}

/* A parameter of a header value such as `form-data; name="a"`: false without it. Quoted strings end at the
 * quote; a backslash escapes only a quote, since browsers send Windows paths unescaped. */
static bool parameter(struct str value, const char *name, struct arena *arena, struct str *ret)
{
    const struct str wanted = str_from(name);
    size_t at = str_find(value, ';');
    while (at < value.size) {
        at++;
        while (at < value.size && (value.data[at] == ' ' || value.data[at] == '\t'))
            at++;
        const size_t start = at;
        while (at < value.size && value.data[at] != '=' && value.data[at] != ';')
            at++;
        const struct str key = str_slice(value, start, at);
        char *text = arena_alloc(arena, value.size + 1);
        size_t size = 0;
        if (at + 1 < value.size && value.data[at] == '=' && value.data[at + 1] == '"') {
            for (at += 2; at < value.size && value.data[at] != '"'; at++) {
                if (value.data[at] == '\\' && at + 1 < value.size && value.data[at + 1] == '"')
                    at++;
                text[size++] = value.data[at];
            }
            at += str_find(str_slice(value, at, value.size), ';');
        } else if (at < value.size && value.data[at] == '=') {
            for (at++; at < value.size && value.data[at] != ';'; at++)
                text[size++] = value.data[at];
            while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t'))
                size--;
        }
        if (str_equal_nocase(key, wanted)) {
            *ret = (struct str){text, size};
            return true;
        }
    }
    return false;
}

ibid_code multipart_open(struct str content_type, const struct multipart_ops *ops, void *context,
                         struct multipart **ret, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct str boundary;
    const struct str type = str_trim(str_slice(content_type, 0, str_find(content_type, ';')));
    if (!str_equal_nocase(type, STR("multipart/form-data")))
        return fail(err, IBID_EINVAL, "the body must be multipart/form-data");
    if (!parameter(content_type, "boundary", &arena, &boundary) || !is_boundary(boundary))
        return fail(err, IBID_EINVAL, "the Content-Type names no valid boundary");
    struct multipart *multipart = xcalloc(1, sizeof *multipart);
    multipart->ops = ops;
    multipart->context = context;
    multipart->line = BUFFER(MULTIPART_HEAD_LIMIT);
    multipart->delimiter_size = boundary.size + 4;
    memcpy(multipart->delimiter, "\r\n--", 4);
    memcpy(multipart->delimiter + 4, boundary.data, boundary.size);
    multipart->matched = 2; /* the CRLF before the first byte */
    *ret = multipart;
    return IBID_OK;
}

void multipart_close(struct multipart *multipart)
{
    if (!multipart)
        return;
    buffer_release(&multipart->line);
    free(multipart);
}

/* Browsers send the whole path at times; only the last part is a name. */
static struct str base_name(struct str path)
{
    size_t start = path.size;
    while (start > 0 && path.data[start - 1] != '/' && path.data[start - 1] != '\\')
        start--;
    return str_slice(path, start, path.size);
}

/* The part's head has come whole (without the empty line). */
static ibid_code begin_part(struct multipart *multipart, struct str head, ibid_error *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct multipart_part part = {.name = STR_EMPTY, .file_name = STR_EMPTY, .media_type = STR_EMPTY};
    bool has_name = false;
    struct str line;
    while (str_split(&head, '\n', &line)) {
        line = str_trim(line);
        const size_t colon = str_find(line, ':');
        const struct str name = str_slice(line, 0, colon);
        const struct str value = str_trim(str_slice(line, colon + 1, line.size));
        if (str_equal_nocase(name, STR("content-disposition"))) {
            has_name = parameter(value, "name", &arena, &part.name);
            part.is_file = parameter(value, "filename", &arena, &part.file_name);
            part.file_name = base_name(part.file_name);
        } else if (str_equal_nocase(name, STR("content-type"))) {
            part.media_type = value;
        }
    }
    if (!has_name)
        return fail(err, IBID_EINVAL, "part %u of the upload has no name", multipart->part_count);
    return multipart->ops->begin(&part, multipart->context, err);
}

/* What follows a delimiter: "--" ends the body, CRLF begins a part. */
static ibid_code take_delimiter_byte(struct multipart *multipart, char byte, ibid_error *err)
{
    buffer_append_byte(&multipart->line, byte);
    const struct str line = buffer_str(&multipart->line);
    if (line.size < 2)
        return IBID_OK;
    if (str_is(line, "--")) {
        multipart->stage = STAGE_EPILOGUE;
    } else if (str_ends_with(line, "\r\n")) {
        if (str_trim(line).size > 0)
            return fail(err, IBID_EINVAL, "the upload is malformed after a boundary");
        if (++multipart->part_count > MULTIPART_PART_LIMIT)
            return fail(err, IBID_ETOOBIG, "the upload has more than the limit of %d parts",
                        MULTIPART_PART_LIMIT);
        multipart->stage = STAGE_HEAD;
    } else if (line.size > 100) {
        return fail(err, IBID_EINVAL, "the upload is malformed after a boundary");
    } else {
        return IBID_OK;
    }
    buffer_clear(&multipart->line);
    return IBID_OK;
}

static ibid_code take_head_byte(struct multipart *multipart, char byte, ibid_error *err)
{
    if (multipart->line.size == MULTIPART_HEAD_LIMIT)
        return fail(err, IBID_ETOOBIG,
                    "the head of part %u of the upload is larger than the limit of %d bytes",
                    multipart->part_count, MULTIPART_HEAD_LIMIT);
    buffer_append_byte(&multipart->line, byte);
    const struct str head = buffer_str(&multipart->line);
    if (!str_ends_with(head, "\r\n\r\n"))
        return str_is(head, "\r\n")
                   ? fail(err, IBID_EINVAL, "part %u of the upload has no name", multipart->part_count)
                   : IBID_OK;
    const ibid_code code = begin_part(multipart, str_slice(head, 0, head.size - 4), err);
    buffer_clear(&multipart->line);
    multipart->stage = STAGE_DATA;
    multipart->matched = 0;
    return code;
}

static ibid_code give_data(struct multipart *multipart, const char *data, size_t size, ibid_error *err)
{
    if (size == 0 || multipart->stage != STAGE_DATA)
        return IBID_OK;
    return multipart->ops->data((struct str){data, size}, multipart->context, err);
}

/* Hands on data up to the next delimiter and moves *at behind what it used. A delimiter has its only CR at
 * its start, so a mismatch can only begin anew at the present byte. */
static ibid_code scan(struct multipart *multipart, struct str bytes, size_t *at, ibid_error *err)
{
    size_t start = *at; /* data not yet handed on */
    while (*at < bytes.size) {
        if (multipart->matched == 0) {
            const char *found = memchr(bytes.data + *at, '\r', bytes.size - *at);
            *at = found ? (size_t)(found - bytes.data) : bytes.size;
            TRY(give_data(multipart, bytes.data + start, *at - start, err));
            start = *at;
            if (!found)
                return IBID_OK;
        }
        if (bytes.data[*at] == multipart->delimiter[multipart->matched]) {
            ++*at;
            if (++multipart->matched < multipart->delimiter_size)
                continue;
            if (multipart->stage == STAGE_DATA)
                TRY(multipart->ops->end(multipart->context, err));
            multipart->stage = STAGE_DELIMITER;
            multipart->matched = 0;
            return IBID_OK;
        }
        TRY(give_data(multipart, multipart->delimiter, multipart->matched, err)); /* was data after all */
        start = *at;
        multipart->matched = 0;
    }
    return IBID_OK;
}

ibid_code multipart_feed(struct multipart *multipart, struct str bytes, ibid_error *err)
{
    for (size_t at = 0; at < bytes.size;) {
        switch (multipart->stage) {
        case STAGE_PREAMBLE:
        case STAGE_DATA:
            TRY(scan(multipart, bytes, &at, err));
            break;
        case STAGE_DELIMITER:
            TRY(take_delimiter_byte(multipart, bytes.data[at++], err));
            break;
        case STAGE_HEAD:
            TRY(take_head_byte(multipart, bytes.data[at++], err));
            break;
        case STAGE_EPILOGUE:
            return IBID_OK;
        }
    }
    return IBID_OK;
}

ibid_code multipart_finish(struct multipart *multipart, ibid_error *err)
{
    if (multipart->stage != STAGE_EPILOGUE)
        return fail(err, IBID_EINVAL, "the upload ends without its closing boundary");
    return IBID_OK;
}
