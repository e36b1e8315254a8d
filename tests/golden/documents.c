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
    const char *password;
} rows[] = {
    {"001-tracemonkey.pdf",
     EXTRACTION_OK,
     {"more difficult to compile than statically typed ones",
      "for client-side web programming and is used for the application logic",
      "Our system uses a mixed-mode execution", "Permission to make digital",
      "Hence, recording and compiling a trace",
      "Tag\tJS Type\tDescription\nxx1\tnumber\t31-bit integer representation"}},
    {"004-dehypenisation2.pdf", EXTRACTION_OK, {"We test the dehypenisation of a short text."}},
    {"005-copy_paste_ligatures.pdf", EXTRACTION_OK, {"abcdeffffiflffifflſtstghijklmno"}},
    {"007-right_to_left_03.pdf",
     EXTRACTION_OK,
     {"اميدنامه پذيرش در بازار اصلی", "شرکت بورس کالای ايران", "!\xE2\x80\xAB"}},
    {"010-ArabicCIDTrueType.pdf",
     EXTRACTION_OK,
     {"انواع الخطوط العربية", "انواع الخطوط العربية", "انواع الخطوط العربية", "انواع الخطوط العربية"}},
    {"011-90ms_rksj_h_sample.pdf", EXTRACTION_OK, {"Hello ASCII", "日本語テスト"}},
    {"013-issue16176.pdf", EXTRACTION_OK, {"𠮷"}},
    {"015-issue-625-identity-cmap.pdf",
     EXTRACTION_OK,
     {"Faktura nr FV 1/2021", "Termin płatności: 2021-05-03"}},
    {"019-issue13226.pdf",
     EXTRACTION_OK,
     {"Mitarbeiterinnen und Mitarbeiter arbeiten in über 100 Ländern engagiert im Dienste"}},
    {"022-issue10900.pdf",
     EXTRACTION_OK,
     {"851.5\t854.9\t839.3\t837.5\n633.6\t727.8\t789.9\t796.2\n1,485.1\t1,582.7\t1,629.2\t1,633.7\n"
      "114.2\t121.7\t125.3\t130.7\n13.0x"}},
    {"023-eu-001.pdf",
     EXTRACTION_OK,
     {"E-PRTR pollutants and their thresholds", "• the facility falls under", "Greenhouse gases",
      "Carbon dioxide (CO2)\t100 million\t-\t-", "Chlorine and inorganic compounds (as HCl)\t10 000\t-\t-",
      "Benzene\t1 000\t200 (as BTEX)\t200 (as BTEX)\nBenzo(g,h,i)perylene",
      "Total Phosphorus\t-\t5 000\t5 000"}},
    {"026-testPDFTwoTextBoxes.pdf",
     EXTRACTION_OK,
     {"Left column line 1", "Left column line 2", "Right column line 1", "Right column line 2"}},
    {"029-testOverlappingText.pdf", EXTRACTION_OK, {"Text the first time", "Text the second time"}},
    {"031-invisible_text_layer.pdf", EXTRACTION_OK, {"Visible heading line", "Invisible OCR text layer"}},
    {"032-freeculture.pdf",
     EXTRACTION_OK,
     {"FREE CULTURE", "On December 17, 1903", "!14773_00_i-xviii_r9jm.qxd"}},
    {"035-zen_of_python_corrupted.pdf",
     EXTRACTION_OK,
     {"Mai 30, 18 13:27", "zen_of_python.txt", "Beautiful is better than ugly."}},
    {"036-xref_command_missing.pdf", EXTRACTION_OK, {"Reduced test-case"}},
    {"037-issue-1113-evil-xobjects.pdf", EXTRACTION_OK, {"Hello world"}},
    {"040-poppler-91414-0-53.pdf", EXTRACTION_CORRUPT, {NULL}},
    {"042-aes-256-r6.pdf", EXTRACTION_ENCRYPTED, {NULL}},
    {"042-aes-256-r6.pdf", EXTRACTION_ENCRYPTED, {NULL}, "wrong"},
    {"042-aes-256-r6.pdf", EXTRACTION_OK, {"Hello World"}, "usersecret"},
    {"044-testOCR.pdf", EXTRACTION_NEEDS_OCR, {NULL}},
    {"046-ocr_test_rotated_90.pdf", EXTRACTION_NEEDS_OCR, {NULL}},
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

static void extract(const char *file, const char *password, struct arena *arena, struct extraction *ret)
{
    AUTO_FREE char *path = path_join(folder, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct extract_request request = {.fd = fd, .name = file, .password = password, .words = true};
    assert_ok(extract_document(pool, &request, NULL, arena, ret, err));
    close(fd);
}

static void a_document_contains_what_it_must(void **state)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_ARENA arena = ARENA_INIT;
        struct extraction extraction;
        extract(rows[i].file, rows[i].password, &arena, &extraction);
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

static void text_that_no_reader_sees_is_flagged(void **state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct extraction extraction;
    extract("031-invisible_text_layer.pdf", NULL, &arena, &extraction);
    assert_int_equal(extraction.block_count, 2);
    assert_int_equal(extraction.blocks[0].flags & BLOCK_HIDDEN, 0);
    assert_int_equal(extraction.blocks[1].flags & BLOCK_HIDDEN, BLOCK_HIDDEN);
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
        extract(entry->d_name, NULL, &arena, &extraction);
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
        cmocka_unit_test(text_that_no_reader_sees_is_flagged),
        cmocka_unit_test(every_document_ends_in_order),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
