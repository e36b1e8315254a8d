#include "tests/test.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "net/http_multipart.h"

static ibid_code begin(const struct multipart_part *part, void *context, ibid_error *err)
{
    buffer_printf(context, "[%.*s|%.*s|%d|%.*s:", STR_ARG(part->name), STR_ARG(part->file_name),
                  part->is_file, STR_ARG(part->media_type));
    return IBID_OK;
}

static ibid_code data(struct str bytes, void *context, ibid_error *err)
{
    if (str_is(bytes, "stop"))
        return fail(err, IBID_ENOSPACE, "full");
    buffer_append_str(context, bytes);
    return IBID_OK;
}

static ibid_code end(void *context, ibid_error *err)
{
    buffer_append_byte(context, ']');
    return IBID_OK;
}

static const struct multipart_ops ops = {begin, data, end};

static ibid_code parse(const char *type, struct str body, size_t piece, struct buffer *out, ibid_error *err)
{
    struct multipart *multipart;
    buffer_clear(out);
    TRY(multipart_open(str_from(type), &ops, out, &multipart, err));
    ibid_code code = IBID_OK;
    for (size_t at = 0; code == IBID_OK && at < body.size; at += piece)
        code = multipart_feed(multipart, str_slice(body, at, at + piece), err);
    if (code == IBID_OK)
        code = multipart_finish(multipart, err);
    multipart_close(multipart);
    return code;
}

#define TYPE "multipart/form-data; boundary=b"
#define FIELD "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n"
#define FILE_HEAD                                                                                  \
    "--b\r\ncontent-disposition: form-data; name=\"f\"; filename=\"C:\\dir\\y \\\"z\\\".txt\"\r\n" \
    "Content-Type: text/plain; charset=x\r\n\r\n"

static void parts_are_told_apart(void **state)
{
    static const struct {
        const char *type, *body, *expected;
    } rows[] = {
        {TYPE, FIELD "value\r\n--b--\r\n", "[a||0|:value]"},
        {TYPE, FIELD "\r\n--b--", "[a||0|:]"},
        {TYPE, "preamble\r\n" FIELD "x\r\n" FILE_HEAD "y\r\n--b--epilogue\r\n--b",
         "[a||0|:x][f|y \"z\".txt|1|text/plain; charset=x:y]"},
        {TYPE, FIELD "1\r\n--\r\n-b\r\n--c\r\n\r\r\n--b--", "[a||0|:1\r\n--\r\n-b\r\n--c\r\n\r]"},
        {TYPE,
         FIELD "x\r\n--b \t\r\nContent-Disposition: form-data; filename=\"a/b.md\"; name=g\r\n\r\n\r\n--b--",
         "[a||0|:x][g|b.md|1|:]"},
        {"Multipart/Form-Data; x=\"a;boundary=c\"; Boundary=\"b\"", FIELD "x\r\n--b--", "[a||0|:x]"},
        {TYPE, "--b--", ""},
    };
    AUTO_BUFFER out = BUFFER(1 << 20);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t piece = 1; piece <= 40; piece += piece < 8 ? 1 : 16) {
            buffer_append_string(&out, "");
            assert_ok(parse(rows[i].type, str_from(rows[i].body), piece, &out, err));
            if (!str_is(buffer_str(&out), rows[i].expected))
                fail_msg("row %zu in pieces of %zu: '%.*s'", i, piece, STR_ARG(buffer_str(&out)));
        }
}

static void malformed_uploads_are_refused(void **state)
{
    static const struct {
        const char *type, *body, *message;
    } rows[] = {
        {"application/json", "{}", "multipart/form-data"},
        {"multipart/form-data", "", "no valid boundary"},
        {"multipart/form-data; boundary=", "", "no valid boundary"},
        {"multipart/form-data; boundary=a\x01", "", "no valid boundary"},
        {TYPE, "", "closing boundary"},
        {TYPE, FIELD "x", "closing boundary"},
        {TYPE, FIELD "x\r\n--b", "closing boundary"},
        {TYPE, "--bx\r\n", "after a boundary"},
        {TYPE, "--b\r\n\r\nx\r\n--b--", "has no name"},
        {TYPE, "--b\r\nContent-Type: a/b\r\n\r\nx\r\n--b--", "has no name"},
        {TYPE, FIELD "stop", "full"},
    };
    AUTO_BUFFER out = BUFFER(1 << 20);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ibid_error why;
        if (parse(rows[i].type, str_from(rows[i].body), 1000, &out, &why) == IBID_OK ||
            !strstr(why.message, rows[i].message))
            fail_msg("row %zu: %s", i, why.message);
    }
}

static void heads_and_parts_have_ceilings(void **state)
{
    AUTO_BUFFER out = BUFFER(1 << 20), body = BUFFER(4 << 20);
    buffer_append_string(&body, "--b\r\nX: ");
    buffer_append_repeated(&body, 'x', 10000);
    ibid_error why;
    assert_int_equal(parse(TYPE, buffer_str(&body), 1 << 20, &out, &why), IBID_ETOOBIG);
    buffer_clear(&body);
    for (unsigned i = 0; i <= MULTIPART_PART_LIMIT; i++)
        buffer_append_string(&body, FIELD "\r\n");
    assert_int_equal(parse(TYPE, buffer_str(&body), 1 << 20, &out, &why), IBID_ETOOBIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_told_apart),
        cmocka_unit_test(malformed_uploads_are_refused),
        cmocka_unit_test(heads_and_parts_have_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
