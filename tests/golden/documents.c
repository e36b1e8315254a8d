/* Documents of well-known projects' test suites, where they are at hand (IBID_DOCUMENTS, or
 * ../shared/data/docs beside the source folder): each contains what a right extraction must contain,
 * and whatever it is, it ends within its limits. Skipped, and said so, where they are not. */
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "extract/extract.h"
#include "tests/support/extraction_check.h"

static struct extract_pool *pool;
static char *folder;

/* Parts of the text in order, each after the one before; one that begins with '!' must not be in it. */
static const struct {
    const char *file;
    enum extraction_status status;
    const char *contains[8];
} rows[] = {
    {"053-lists_restarting.docx", EXTRACTION_OK, {"2. Foo\n3. Bar\n4. Baz", "Interruption", "1. Bop."}},
    {"056-docx_list_resumed_numbering.docx",
     EXTRACTION_OK,
     {"1. First", "2. Second", "• bullet one", "3. Third"}},
    {"057-enumerated_headings.docx", EXTRACTION_OK, {"H1", "H2", "H3", "And some text"}},
    {"059-table_header_rowspan.docx", EXTRACTION_OK, {"A\tB\tC\tD\tE", "A\tB\tC\tD\tG\tH\tI\tF"}},
    {"061-track_changes_deletion.docx", EXTRACTION_OK, {"This is a text with a deletion.", "!excessively"}},
    {"064-nested_sdt.docx", EXTRACTION_OK, {"Test Paragraph1", "Test Paragraph2", "Test Paragraph3"}},
    {"066-text-box.docx", EXTRACTION_OK, {"Datum plane"}},
    {"067-footnotes.docx", EXTRACTION_OK, {"Ouch.", "A tachyon walks into a bar.", "Fin."}},
    {"069-utf8-bom.docx", EXTRACTION_OK, {"This XML has a byte order mark."}},
    {"070-docx_comments.docx",
     EXTRACTION_OK,
     {"first paragraph", "John Reviewer: This is a sample", "Jane Editor: "}},
    {"072-testWORD_missing_text.docx", EXTRACTION_OK, {"Seasoned", "BigCompany", "Rich_text_in_cell"}},
    {"074-testWORD_truncated.docx", EXTRACTION_CORRUPT, {NULL}},
    {"102-testODTnotaZipFile.odt", EXTRACTION_OK, {"This is not a zip file!"}},
    {"117-testHTML_charset_utf16le.html", EXTRACTION_OK, {"This is a sample text"}},
    {"119-russian.cp866.txt", EXTRACTION_OK, {"Однажды, в студеную зимнюю пору,\nЯ из лесу вышел"}},
    {"121-test_mskanji.csv", EXTRACTION_OK, {"名前\t年齢\t住所\n佐藤太郎\t30\t東京", "髙橋淳\t35\t名古屋"}},
    {"123-csv-too-many-columns.csv", EXTRACTION_OK, {"1\t2\t3\t4\na\tb\tc\td\na\tb\tc\td\te\na\tb\tc\td"}},
    {"125-asciidoc_02.asciidoc",
     EXTRACTION_OK,
     {"2nd Sample Document Title", "Section 1: Testing nestedlists", "• First item\n• Nested item 1",
      "1. Nested ordered item 1", "Cell 1\t\tCell 3"}},
    {"127-escaped_characters.md", EXTRACTION_OK, {"00:16.000 ----> 00:18.000"}},
    {"128-droste.zip", EXTRACTION_UNSUPPORTED, {NULL}},
};

static void extract(const char *file, struct arena *arena, struct extraction *ret)
{
    AUTO_FREE char *path = path_join(folder, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct extract_request request = {.fd = fd, .name = file, .words = true};
    assert_ok(extract_document(pool, &request, NULL, arena, ret, err));
    close(fd);
}

static void a_document_contains_what_it_must(void **state)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct extraction extraction;
        extract(rows[i].file, &arena, &extraction);
        if (extraction.status != rows[i].status)
            fail_msg("%s: %s", rows[i].file, extraction_status_string(extraction.status));
        const char *from = extraction.text.size ? extraction.text.data : "";
        for (size_t j = 0; j < COUNT_OF(rows[i].contains) && rows[i].contains[j]; j++) {
            const char *wanted = rows[i].contains[j];
            const char *found =
                strstr(wanted[0] == '!' ? extraction.text.data : from, wanted + (wanted[0] == '!'));
            if ((found != NULL) == (wanted[0] == '!'))
                fail_msg("%s: '%s' in\n%s", rows[i].file, wanted, extraction.text.data);
            if (found)
                from = found + strlen(wanted);
        }
    }
}

static void every_document_ends_in_order(void **state)
{
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.')
            continue;
        AUTO_ARENA arena = ARENA_INIT;
        struct extraction extraction;
        extract(entry->d_name, &arena, &extraction);
        const char *fault = extraction_find_fault(&extraction);
        if (fault || extraction.status == EXTRACTION_CRASHED || extraction.status == EXTRACTION_TIMEOUT)
            fail_msg("%s: %s %s", entry->d_name, extraction_status_string(extraction.status),
                     fault ? fault : "");
    }
    closedir(entries);
}

static int set_up(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct extract_settings settings = {0};
    option_set_defaults(extract_section.table, &settings, &arena);
    assert_ok(extract_pool_open(&settings, &pool, err));
    return 0;
}

static int tear_down(void **state)
{
    extract_pool_close(pool);
    free(folder);
    return 0;
}

int main(void)
{
    const char *source = getenv("IBID_SOURCE_ROOT"), *given = getenv("IBID_DOCUMENTS");
    folder = given ? xstrdup(given) : path_join(source ? source : ".", "../shared/data/docs");
    if (!folder_exists(folder)) {
        printf("1..0 # SKIP %s is not here; IBID_DOCUMENTS names another folder\n", folder);
        free(folder);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_contains_what_it_must),
        cmocka_unit_test(every_document_ends_in_order),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
