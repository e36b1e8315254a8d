#include "tests/test.h"

#include "extract/detect.h"
#include "extract/extract.h"

#define DOCX "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

#define BYTES(literal)               \
    {                                \
        literal, sizeof(literal) - 1 \
    }

static void bytes_come_before_names(void **state)
{
    static const struct {
        struct str head;
        const char *name, *type;
    } rows[] = {
        {BYTES("%PDF-1.7\n"), "x.txt", "application/pdf"},
        {BYTES("\r\njunk\0\0\0\0%PDF-1.4"), "scan", "application/pdf"},
        {BYTES("About %PDF- files"), "about.md", "text/markdown"},
        {BYTES("PK\3\4....[Content_Types].xml.....word/document.xml"), "x", DOCX},
        {BYTES("PK\3\4....[Content_Types].xml.....xl/workbook.xml"), "x.docx",
         "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
        {BYTES("PK\3\4...........mimetypeapplication/epub+zipPK"), "x.zip", "application/epub+zip"},
        {BYTES("PK\3\4...........some.txt"), "x.zip", "application/zip"},
        {BYTES("PK\3\4...........cut"), "x.docx", DOCX},
        {BYTES("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0\0"), "x.docx", DOCX},
        {BYTES("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0\0"), "x.doc", "application/msword"},
        {BYTES("\x89PNG\r\n\x1A\n\0\0\0\r"), "x.txt", "image/png"},
        {BYTES("\x7F"
               "ELF\2\1\1\0\0\0\0\0\0\0"),
         "prog", "application/x-executable"},
        {BYTES("\x1F\x8B\x08\0\0\0\0\0"), "x.txt.gz", "application/gzip"},
        {BYTES("{\\rtf1\\ansi"), "x.doc", "application/rtf"},
        {BYTES("MZ is how the text begins"), "x.txt", "text/plain"},
        {BYTES("MZ\x90\0\3\0\0\0\4\0\0\0\xFF\xFF\0\0\xB8\0\0\0\0\0\0\0@\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
         "x.exe", "application/vnd.microsoft.portable-executable"},
        {BYTES("This is not a zip file!"), "x.odt", "text/plain"},
        {BYTES("\0\1\2\3\4\5\6\7\x80\x81\x82"), "x.txt", "application/octet-stream"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *type = detect_type(rows[i].head, STR_EMPTY, rows[i].name, NULL);
        if (strcmp(type, rows[i].type) != 0)
            fail_msg("row %zu (%s): %s instead of %s", i, rows[i].name, type, rows[i].type);
    }
}

static void names_tell_texts_apart(void **state)
{
    static const struct {
        struct str head;
        const char *name, *declared, *type;
    } rows[] = {
        {BYTES("# x"), "README.md", NULL, "text/markdown"},
        {BYTES("# x"), "dir.d/README.MD", NULL, "text/markdown"},
        {BYTES("a,b"), "x.csv", NULL, "text/csv"},
        {BYTES("int x;"), "x.c", NULL, "text/x-source"},
        {BYTES("{}"), "x.json", NULL, "application/json"},
        {BYTES("= T"), "x.adoc", NULL, "text/asciidoc"},
        {BYTES("words"), "noext", NULL, "text/plain"},
        {BYTES("words"), NULL, NULL, "text/plain"},
        {BYTES(""), "x.bin", NULL, "text/plain"},
        {BYTES("  <!DOCTYPE html><p>x"), "page", NULL, "text/html"},
        {BYTES("\xEF\xBB\xBF<html lang=en>"), "page.asp", NULL, "text/html"},
        {BYTES("\xFF\xFE<\0h\0t\0m\0l\0>\0"), "wide", NULL, "text/html"},
        {BYTES("<?xml version='1.0'?><html xmlns='x'>"), "p", NULL, "application/xhtml+xml"},
        {BYTES("<?xml version='1.0'?><feed/>"), "feed", NULL, "application/xml"},
        {BYTES("words"), "download", "text/markdown; charset=utf-8", "text/markdown"},
        {BYTES("words"), "download", "TEXT/HTML", "text/html"},
        {BYTES("words"), "x.md", "text/plain", "text/markdown"},
        {BYTES("words"), "x", "application/pdf", "text/plain"},
        {BYTES("From a Sat Jan\nFrom: b\nSubject: c\n\nx"), "box", NULL, "application/mbox"},
        {BYTES("Received: x\nFrom: b\nSubject: c\n\nx"), "mail", NULL, "message/rfc822"},
        {BYTES("From here on it is text.\nSubject to change."), "t", NULL, "text/plain"},
        {BYTES("w\0i\0d\0e\0 \0t\0e\0x\0t\0"), "t", NULL, "text/plain"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *type = detect_type(rows[i].head, STR_EMPTY, rows[i].name, rows[i].declared);
        if (strcmp(type, rows[i].type) != 0)
            fail_msg("row %zu: %s instead of %s", i, type, rows[i].type);
    }
}

static void the_end_of_a_package_counts(void **state)
{
    struct str head = STR("PK\3\4..........docProps/app.xml"),
               tail = STR("[Content_Types].xml...word/document2.xml");
    assert_string_equal(detect_type(head, tail, "x", NULL), DOCX);
}

static void versions_name_the_extractor(void **state)
{
    assert_string_equal(extract_extractor_version("text/html"), "html/1");
    assert_string_equal(extract_extractor_version("text/csv"), "text/1");
    assert_string_equal(extract_extractor_version(DOCX), "docx/1");
    assert_null(extract_extractor_version("application/zip"));
    assert_null(extract_extractor_version(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_before_names),
        cmocka_unit_test(names_tell_texts_apart),
        cmocka_unit_test(the_end_of_a_package_counts),
        cmocka_unit_test(versions_name_the_extractor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
