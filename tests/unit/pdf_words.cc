#include "tests/test.h"

#include "extract/pdf/bidi.h"
#include "extract/pdf/garbage.h"
#include "extract/pdf/hidden_text.h"
#include "extract/pdf/hyphens.h"
#include "extract/pdf/lines.h"
#include "extract/pdf/page_store.h"
#include "extract/pdf/stream_order.h"
#include "extract/pdf/text.h"
#include "extract/pdf/titles.h"
#include "tests/support/sheet.h"

using sheet::put;

static void assert_same(const std::string &found, const std::string &expected)
{
    assert_string_equal(found.c_str(), expected.c_str());
}

static void artefacts_of_fonts_are_repaired(void **)
{
    static const struct {
        const char *text, *repaired;
    } rows[] = {
        {"plain", "plain"},
        {"e\uFB03cient \uFB02ow", "efficient flow"},
        {"\uFB05\uFB06", "\u017Ftst"},
        {"Mit\u00ADarbei\u00ADter", "Mitarbeiter"},
        {"a\u200B\u202Eb\uFEFF", "ab"},
        {"\x01\x02x", "x"},
        {"\u00A0x\u00A0", "x"},
        {"1\u00A0000", "1 000"},
        {"\uF0B7", "\u2022"},
        {"\u00AD", ""},
    };
    for (const auto &row : rows) {
        pdf::word word;
        word.text = row.text;
        pdf::repair_text(word);
        assert_same(word.text, row.repaired);
    }
}

static void copies_are_dropped_and_neighbours_are_not(void **)
{
    pdf::page page = sheet::blank();
    put(page, 100, 100, "bold bold");
    put(page, 100.4f, 100.2f, "bold bold");
    put(page, 100, 112, "bold");
    put(page, 101, 100, "cold");
    pdf::repair_words(page.words);
    std::string left;
    for (const pdf::word &word : page.words)
        left += word.text + " ";
    assert_same(left, "bold bold bold cold ");
    assert_int_equal(pdf::find_overlapping_words(page.words).size(), 2);
}

static std::string lines_of(pdf::page &page)
{
    pdf::turn_upright(page);
    std::vector<pdf::line> lines = pdf::build_lines(page.words, 0);
    pdf::join_markers(lines, page.words);
    std::string out;
    for (const pdf::line &line : lines)
        out += pdf::line_text(line, page.words) + "/";
    return out;
}

static void a_line_ends_at_a_wide_gap(void **)
{
    pdf::page page = sheet::blank();
    float end = put(page, 100, 100, "left column");
    put(page, end + 20, 100, "right column");
    put(page, 100, 112, "below");
    assert_same(lines_of(page), "left column/right column/below/");
}

static void labels_join_their_text(void **)
{
    pdf::page page = sheet::blank();
    put(page, 100, 100, "\u2022");
    put(page, 100, 112, "2.1");
    put(page, 100, 124, "word");
    put(page, 140, 100, "item");
    put(page, 140, 112, "Heading");
    put(page, 140, 124, "word");
    assert_same(lines_of(page), "\u2022 item/2.1 Heading/word/word/");
}

static void fragments_and_initials_join_their_word(void **)
{
    pdf::page page = sheet::blank();
    put(page, 100, 98, "O", 30); /* a drop cap, two lines high */
    put(page, 116, 100, "nce upon", 12);
    put(page, 116, 114, "a time", 12);
    assert_same(lines_of(page), "Once upon/a time/");
    page = sheet::blank();
    float end = put(page, 100, 100, "T", 10);
    put(page, end + 0.2f, 102, "HRESHOLD", 8);
    page.words[0].space_after = true;
    assert_same(lines_of(page), "THRESHOLD/");
}

static void spaced_letters_become_words(void **)
{
    pdf::page page = sheet::blank();
    float x = 100;
    for (const char *word : {"Here", "is"}) {
        for (const char *c = word; *c; c++)
            x = put(page, x, 100, std::string(1, *c)) + 4;
        x += 6;
    }
    for (pdf::word &word : page.words)
        word.space_after = true;
    assert_same(lines_of(page), "Here is/");
}

static void markers_and_section_numbers_are_told(void **)
{
    using pdf::marker;
    static const struct {
        const char *text;
        marker kind;
        unsigned depth;
    } rows[] = {
        {"\u2022 item", marker::bullet, 0},
        {"- item", marker::dash, 0},
        {"\u2013 item", marker::dash, 0},
        {"3. Item", marker::number, 1},
        {"3) item", marker::number, 0},
        {"(12) item", marker::number, 0},
        {"a) item", marker::letter, 0},
        {"(iv) item", marker::letter, 0},
        {"2.3.1 Title", marker::none, 3},
        {"IV. Title", marker::none, 1},
        {"A. Title", marker::none, 1},
        {"A Title", marker::none, 0},
        {"1987 was", marker::none, 0},
        {"word", marker::none, 0},
        {"", marker::none, 0},
        {"2.3 lower", marker::none, 0},
        {"-", marker::none, 0},
        {"1.2.", marker::none, 0},
    };
    for (const auto &row : rows) {
        if (pdf::marker_of(row.text) != row.kind)
            fail_msg("marker of '%s'", row.text);
        if (pdf::section_number_depth(row.text) != row.depth)
            fail_msg("section number of '%s'", row.text);
    }
}

static void broken_words_are_joined_by_evidence(void **)
{
    pdf::word_counts counts;
    for (const char *word :
         {"compile", "mode", "able", "run-time", "run-time", "runtime", "tracemonkey", "over", "head", "in"})
        counts.add(word);
    static const struct {
        const char *end, *start;
        bool joined;
    } rows[] = {
        {"com-", "pile", true},        /* occurs joined */
        {"run-", "time", false},       /* occurs more often with its hyphen */
        {"mixed-", "mode", false},     /* the second part is a word */
        {"un-", "able", true},         /* the first is a mere prefix */
        {"in-", "crease", true},       /* the second part is none */
        {"over-", "head", false},      /* both are words */
        {"dehypenisa-", "tion", true}, /* neither is */
        {"Trace-", "Monkey", true},    /* occurs joined, though it starts upper case */
        {"Jean-", "Paul", false},      /* upper case, no evidence */
        {"com\u2010", "pile", true},   /* another hyphen */
        {"com\u2013", "pile", false},  /* a dash is none */
        {"-", "pile", false},          {"com", "pile", false},
    };
    for (const auto &row : rows)
        if (pdf::is_broken_word(row.end, row.start, counts) != row.joined)
            fail_msg("'%s' and '%s'", row.end, row.start);
}

static void hyphens_close_the_gap_or_stay(void **)
{
    pdf::word_counts counts;
    counts.add("compile");
    static const struct {
        const char *end, *start, *text;
    } rows[] = {
        {"com-", "pile", "compile"},    {"pre-", "and", "pre- and"}, {"1990-", "2000", "1990-2000"},
        {"Jean-", "Paul", "Jean-Paul"}, {"a -", "b", "a - b"},       {"soft\u00AD", "Ware", "softWare"},
        {"end.", "Next", "end. Next"},
    };
    for (const auto &row : rows) {
        pdf::block block;
        block.pieces = {{row.end, {}, pdf::gap::none}, {row.start, {}, pdf::gap::line}};
        pdf::join_hyphens(block.pieces, counts);
        assert_same(pdf::block_text(block), row.text);
    }
}

static void word_counts_stay_right_while_they_grow(void **)
{
    pdf::word_counts counts;
    for (int i = 0; i < 5000; i++)
        for (int k = 0; k < 1 + i % 3; k++)
            counts.add("word" + std::to_string(i));
    counts.add("");
    assert_int_equal(counts.size(), 5000);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(counts.count("word" + std::to_string(i)), 1 + i % 3);
    assert_int_equal(counts.count("word5000"), 0);
    assert_int_equal(pdf::word_counts().count("any"), 0);
}

static std::vector<pdf::word> words_of(const std::string &text)
{
    pdf::page page = sheet::blank();
    put(page, 0, 0, text);
    return page.words;
}

static void noise_is_told_from_text(void **)
{
    std::string english =
        "the letters of this page can be read by people but whoever copies them gets only noise since "
        "the font does not say which characters its shapes stand for and the numbers of the shapes are "
        "taken for characters instead so that a program had better look at the page";
    std::string
        shifted = english,
        czech = "Pen\u011B\u017En\u00ED prost\u0159edky jsou ulo\u017Eeny na \u00FA\u010Dtu "
                "a lze je vybrat kdykoli v pr\u016Fb\u011Bhu roku, pokud o to majitel po\u017E\u00E1d\u00E1 "
                "p\u00EDsemn\u011B nebo osobn\u011B v kter\u00E9koli pobo\u010Dce banky, nejpozd\u011Bji "
                "v\u0161ak do konce roku";
    for (char &c : shifted)
        c = c == ' ' ? ' ' : static_cast<char>(c - 29);
    std::string parts;
    for (int i = 0; i < 30; i++)
        parts += "XK-4471 RJ45 BNC SMD PCB TTL 74HC04 XTRM QFN-32 NPN PNP MOSFET ";
    assert_false(pdf::is_garbage(words_of(english)));
    assert_false(pdf::is_garbage(words_of(czech)));
    assert_false(pdf::is_garbage(words_of(parts)));
    assert_false(pdf::is_garbage(words_of("\u65E5\u672C\u8A9E\u306E\u30C6\u30B9\u30C8\u3067\u3059\u3002\u65E5"
                                          "\u672C\u8A9E\u306E\u30C6\u30B9\u30C8\u3067\u3059")));
    assert_false(pdf::is_garbage({}));
    assert_true(pdf::is_garbage(words_of(shifted)));
    assert_true(pdf::is_garbage(
        words_of("\uE001\uE002\uE003 \uE004\uE005\uE006 hidden \uE007\uE008 letters \uE009")));
    assert_true(pdf::is_garbage(
        words_of("\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD the only word here")));
}

static void visual_lines_become_logical(void **)
{
    using pdf::gap;
    static const struct {
        std::vector<pdf::piece> visual;
        const char *text;
    } rows[] = {
        /* "shalom olam", drawn from the left */
        {{{"\u05DD\u05DC\u05D5\u05E2", {}, gap::none}, {"\u05DD\u05D5\u05DC\u05E9", {}, gap::space}},
         "\u05E9\u05DC\u05D5\u05DD \u05E2\u05D5\u05DC\u05DD"},
        /* a number keeps its direction */
        {{{"\u05DC\u05E7\u05E9", {}, gap::none},
          {"120", {}, gap::space},
          {"\u05D4\u05DC\u05D5\u05E2", {}, gap::space}},
         "\u05E2\u05D5\u05DC\u05D4 120 \u05E9\u05E7\u05DC"},
        /* presentation forms become letters, brackets turn round */
        {{{"(\uFEA9\uFE8E\uFEB3)", {}, gap::none}}, "(\u0633\u0627\u062F)"},
        {{{"\uFEFB", {}, gap::none}}, "\u0644\u0627"},
    };
    for (const auto &row : rows) {
        pdf::block block;
        block.pieces = pdf::to_logical_order(row.visual);
        assert_same(pdf::block_text(block), row.text);
    }
}

static void logical_pieces_keep_their_places(void **)
{
    std::vector<pdf::piece> line = {{"\u05D1\u05D0", {1, 0, 2, 1}, pdf::gap::none},
                                    {"\u05D3\u05D2", {3, 0, 4, 1}, pdf::gap::space}};
    line = pdf::to_logical_order(std::move(line));
    assert_int_equal(line.size(), 2);
    assert_same(line[0].text, "\u05D2\u05D3");
    assert_true(line[0].place.x0 == 3 && line[1].place.x0 == 1);
}

static void stream_order_is_found_again(void **)
{
    pdf::page page = sheet::blank();
    put(page, 100, 100, "a b");
    put(page, 300, 100, "a c");
    put(page, 100, 112, "a d");
    pdf::rank_words(page.words, "a b\na d\na c\n");
    static const uint32_t expected[] = {0, 1, 4, 5, 2, 3};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(page.words[i].rank, expected[i]);
    page.words[3].text = "\u05D2\u05D1\u05D0"; /* in the list as it is seen, in the stream as it is read */
    pdf::rank_words(page.words, "a b\n\u202B\u05D0\u05D1\u05D2\u202C a d\na");
    assert_int_equal(page.words[3].rank, 2);
    pdf::rank_words(page.words, "");
    pdf::rank_words(page.words, "none of them");
}

static void texts_on_each_other_are_taken_apart(void **)
{
    pdf::page page = sheet::blank();
    put(page, 100, 100, "Text the second");
    put(page, 141, 100, "first time");
    put(page, 174, 100, "time");
    put(page, 100, 300, "the rest");
    std::vector<uint32_t> overlapping = pdf::find_overlapping_words(page.words);
    assert_false(overlapping.empty());
    pdf::restore_overlapping_lines(page.words, overlapping,
                                   "Text the first time\nText the second time\nthe rest\n");
    std::string text;
    for (const pdf::word &word : page.words)
        text += word.text + (word.space_after ? " " : "/");
    assert_same(text, "the rest/Text the first time/Text the second time/");
}

static void hidden_text_is_suspected(void **)
{
    static const struct {
        const char *content;
        bool hides;
    } rows[] = {
        {"BT /F 12 Tf 72 700 Td (seen) Tj ET", false},
        {"BT 3 Tr (hidden) Tj ET", true},
        {"BT 7 Tr [(hid) -20 (den)] TJ ET", true},
        {"BT 3 Tr 0 Tr (seen) Tj ET", false},
        {"q 3 Tr Q BT (seen) Tj ET", false},
        {"1 1 1 rg BT (white) ' ET", true},
        {"1 g 0 0 9 9 re f 0 g (black) Tj", false},
        {"0 0 0 0 k (white) Tj", true},
        {"/P cs 1 scn (white) Tj", true},
        {"(3 Tr ) Tj <33205472> Tj % 3 Tr\n", false},
        {"(a \\) 3 Tr (b)) Tj", false},
        {"BI /W 1 ID 3 Tr EI (seen) Tj", false},
        {"3 Tr", false},
        {"", false},
        {"(", false},
        {"<", false},
        {"/", false},
    };
    for (const auto &row : rows)
        if (pdf::content_hides_text(row.content) != row.hides)
            fail_msg("%s", row.content);
    assert_true(pdf::may_hide_text("1 0 obj <</Length 9>> stream\n3 Tr (x) Tj\nendstream endobj"));
    assert_false(pdf::may_hide_text("1 0 obj <</Subtype/Image>> stream\n3 Tr (x) Tj\nendstream endobj"));
    assert_false(pdf::may_hide_text("1 0 obj <</Filter/FlateDecode>> stream\n3 Tr (x) Tj\nendstream endobj"));
    assert_false(pdf::may_hide_text("stream"));
    assert_false(pdf::may_hide_text("endstream"));
}

static void single_short_words_are_not_called_hidden(void **)
{
    pdf::page page = sheet::blank();
    put(page, 0, 0, "a big to do");
    for (size_t i : {0, 2, 3})
        page.words[i].hidden = true;
    pdf::unmark_short_hidden_words(page.words);
    assert_false(page.words[0].hidden);
    assert_true(page.words[2].hidden && page.words[3].hidden);
}

static void pages_come_back_from_the_store(void **)
{
    pdf::page page = sheet::blank(7);
    put(page, 10, 20, "some words of it", 9, sheet::BOLD | sheet::HIDDEN);
    page.words[1].text = std::string(1000, 'x');
    page.words[2].rotation = 3;
    page.words[3].soft_hyphen = true;
    std::vector<pdf::word> before = page.words;
    pdf::page_store store(2000);
    std::string packed;
    assert_true(store.keep(page, packed));
    assert_true(page.words.empty());
    pdf::page_store::unpack(packed, page);
    assert_int_equal(page.words.size(), before.size());
    for (size_t i = 0; i < before.size(); i++) {
        const pdf::word &a = page.words[i], &b = before[i];
        assert_same(a.text, b.text);
        assert_true(a.place.x0 == b.place.x0 && a.place.y1 == b.place.y1 && a.size == b.size);
        assert_true(a.rotation == b.rotation && a.bold && a.hidden && a.soft_hyphen == b.soft_hyphen);
        assert_true(a.space_after == b.space_after && !a.fixed_pitch);
    }
    assert_false(store.keep(page, packed));
    assert_int_equal(page.words.size(), before.size());
}

static void titles_worth_the_name_are_kept(void **)
{
    static const struct {
        const char *embedded, *title;
    } rows[] = {
        {"On Bridges", "On Bridges"},
        {"Microsoft Word - bridges_final.doc", ""},
        {"Microsoft Word - On Bridges", "On Bridges"},
        {"untitled", ""},
        {"Untitled-3", ""},
        {"report.pdf", ""},
        {"  ", ""},
        {"", ""},
        {"42", ""},
    };
    for (const auto &row : rows)
        assert_same(pdf::clean_title(row.embedded), row.title);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(artefacts_of_fonts_are_repaired),
        cmocka_unit_test(copies_are_dropped_and_neighbours_are_not),
        cmocka_unit_test(a_line_ends_at_a_wide_gap),
        cmocka_unit_test(labels_join_their_text),
        cmocka_unit_test(fragments_and_initials_join_their_word),
        cmocka_unit_test(spaced_letters_become_words),
        cmocka_unit_test(markers_and_section_numbers_are_told),
        cmocka_unit_test(broken_words_are_joined_by_evidence),
        cmocka_unit_test(hyphens_close_the_gap_or_stay),
        cmocka_unit_test(word_counts_stay_right_while_they_grow),
        cmocka_unit_test(noise_is_told_from_text),
        cmocka_unit_test(visual_lines_become_logical),
        cmocka_unit_test(logical_pieces_keep_their_places),
        cmocka_unit_test(stream_order_is_found_again),
        cmocka_unit_test(texts_on_each_other_are_taken_apart),
        cmocka_unit_test(hidden_text_is_suspected),
        cmocka_unit_test(single_short_words_are_not_called_hidden),
        cmocka_unit_test(pages_come_back_from_the_store),
        cmocka_unit_test(titles_worth_the_name_are_kept),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
