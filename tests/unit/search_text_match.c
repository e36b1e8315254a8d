#include "tests/test.h"

#include <math.h>

#include "search/text_match.h"

struct fixture {
    struct analyzer *analyzer;
    struct arena arena;
    struct query_terms terms;
};

static int set_up(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);
    fixture->analyzer = analyzer_new();
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    analyzer_free(fixture->analyzer);
    arena_release(&fixture->arena);
    free(fixture);
    return 0;
}

static void ask(struct fixture *fixture, const char *text, const char *first, const char *second)
{
    const struct query_language languages[] = {{str_from(first), 0.5}, {str_from(second), 0.5}};
    query_terms_make(fixture->analyzer, str_from(text), languages, second ? 2 : 1, &fixture->arena,
                     &fixture->terms);
}

static struct text_match match(struct fixture *fixture, const char *text, const char *language)
{
    return text_match_make(&fixture->terms, fixture->analyzer, str_from(text), str_from(language),
                           &fixture->arena);
}

static float weight_of(const struct fixture *fixture, const char *term)
{
    const struct query_term *found = query_terms_find(&fixture->terms, str_from(term));
    return found ? fixture->terms.weights[found - fixture->terms.terms] : -1;
}

/* "[black] cat" style. */
static const char *marked(struct fixture *fixture, const char *text, const struct text_match *match)
{
    AUTO_BUFFER out = BUFFER(100000);
    size_t at = 0;
    for (size_t i = 0; i < match->place_count; i++) {
        buffer_append(&out, text + at, match->places[i].start - at);
        buffer_printf(&out, "[%.*s]", (int)(match->places[i].end - match->places[i].start),
                      text + match->places[i].start);
        at = match->places[i].end;
    }
    buffer_append_string(&out, text + at);
    return arena_strdup(&fixture->arena, out.data);
}

static void weighs_stems_forms_and_parts(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture, "running cats, index_file_chunks RUNNING", "en", NULL);
    assert_true(weight_of(fixture, "run") == 1);
    assert_true(weight_of(fixture, "running") == QUERY_WEIGHT_FORM);
    assert_true(weight_of(fixture, "cat") == 1);
    assert_true(weight_of(fixture, "index_file_chunks") > 0);
    assert_true(weight_of(fixture, "file") == QUERY_WEIGHT_PART);
    assert_true(weight_of(fixture, "dog") < 0);
    assert_int_equal(fixture->terms.word_count, 3);
    assert_int_equal(fixture->terms.sequence_count, 4);
}

static void goes_through_every_language(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture, "Häuser boats", "de", "en");
    struct text_match german = match(fixture, "Ein Haus am See.", "de");
    struct text_match english = match(fixture, "One boat on the lake.", "en");
    assert_true(word_set_has(&german.means, 0) && !word_set_has(&german.means, 1));
    assert_true(word_set_has(&english.means, 1) && !word_set_has(&english.means, 0));
    assert_int_equal(fixture->terms.word_count, 2);
    assert_int_equal(fixture->terms.sequence_count, 2);
}

static void marks_every_form(void **state)
{
    struct fixture *fixture = *state;
    const char *text = "The CATS ran; a cat runs. Runner-up: concatenate. Café";
    ask(fixture, "cat run cafe", "en", NULL);
    struct text_match found = match(fixture, text, "en");
    assert_string_equal(marked(fixture, text, &found),
                        "The [CATS] ran; a [cat] [runs]. Runner-up: concatenate. [Café]");
    ask(fixture, "黑豹队", "zh", NULL);
    const char *chinese = "在常规赛，黑豹队的防守";
    found = match(fixture, chinese, "zh");
    assert_string_equal(marked(fixture, chinese, &found), "在常规赛，[黑豹队]的防守");
}

static void measures_overlap(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture, "clear error message", "en", NULL);
    static const struct {
        const char *text;
        double overlap;
    } cases[] = {
        {"A clear error message helps.", 1},
        {"An error is clear without a message.", 0.5},
        {"Some error message.", 0.5 * 2 / 3 + 0.5 * 1 / 2},
        {"Errors and messages clearly.", 0},
        {"", 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct text_match found = match(fixture, cases[i].text, "en");
        double overlap = text_match_overlap(&fixture->terms, &found);
        if (fabs(overlap - cases[i].overlap) > 1e-9)
            fail_msg("'%s': %f is not %f", cases[i].text, overlap, cases[i].overlap);
    }
    ask(fixture, "...", "en", NULL);
    struct text_match found = match(fixture, "anything", "en");
    assert_true(text_match_overlap(&fixture->terms, &found) == 0);
}

static void coverage_counts_rare_words_more(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture, "the quasar", "en", NULL);
    struct text_match both = match(fixture, "The quasars", "en"), common = match(fixture, "the end", "en");
    /* Without statistics every word counts alike. */
    assert_true(fabs(query_terms_coverage(&fixture->terms, &common.means) - 0.5) < 1e-9);
    for (size_t i = 0; i < fixture->terms.count; i++)
        fixture->terms.idf[i] = str_is(fixture->terms.texts[i], "the") ? 0.1f : 3.9f;
    assert_true(fabs(query_terms_coverage(&fixture->terms, &common.means) - 0.1 / 4.0) < 1e-6);
    assert_true(fabs(query_terms_coverage(&fixture->terms, &both.means) - 1) < 1e-6);
}

static void long_queries_are_cut(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER text = BUFFER(100000);
    for (int i = 0; i < 500; i++)
        buffer_printf(&text, "word%d ", i);
    ask(fixture, text.data, "en", "de");
    assert_int_equal(fixture->terms.word_count, QUERY_WORD_LIMIT);
    assert_true(fixture->terms.count <= TERM_QUERY_LIMIT);
    assert_true(weight_of(fixture, "word127") > 0);
    assert_true(weight_of(fixture, "word128") < 0);
    struct text_match found = match(fixture, text.data, "en");
    assert_int_equal(found.longest_phrase, QUERY_WORD_LIMIT);
}

static void parts_of_long_identifiers_stay_within_the_limit(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER text = BUFFER(1000000);
    for (int i = 0; i < QUERY_WORD_LIMIT; i++) {
        for (int j = 0; j < 30; j++)
            buffer_printf(&text, "part%dx%d_", i, j);
        buffer_append_string(&text, "end ");
    }
    ask(fixture, text.data, "en", NULL);
    assert_int_equal(fixture->terms.count, TERM_QUERY_LIMIT);
}

static struct str passage(struct fixture *fixture, const char *text, size_t bytes)
{
    struct text_match found = match(fixture, text, "en");
    struct text_range range = text_match_passage(&fixture->terms, &found, str_from(text), bytes);
    assert_true(range.start <= range.end && range.end <= strlen(text));
    return arena_str(&fixture->arena, str_slice(str_from(text), range.start, range.end));
}

static void passage_shows_the_best_place(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER text = BUFFER(100000);
    for (int i = 0; i < 20; i++)
        buffer_append_string(&text, "Nothing of interest stands in this sentence. ");
    buffer_append_string(&text, "A quasar appears once. ");
    for (int i = 0; i < 20; i++)
        buffer_append_string(&text, "Still nothing of interest stands in this sentence. ");
    buffer_append_string(&text, "Here the quasar emits radio waves. ");
    for (int i = 0; i < 20; i++)
        buffer_append_string(&text, "And again nothing of interest. ");
    ask(fixture, "quasar radio", "en", NULL);
    struct str found = passage(fixture, text.data, 160);
    assert_non_null(strstr(found.data, "Here the quasar emits radio waves."));
    assert_true(found.size <= 160);
    assert_true(str_starts_with(found, "Still ") || str_starts_with(found, "Here "));
    assert_true(str_is(passage(fixture, text.data, 0), text.data));
    ask(fixture, "unknown", "en", NULL);
    assert_true(str_starts_with(passage(fixture, text.data, 160), "Nothing of interest"));
}

static void passage_cuts_between_characters(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER text = BUFFER(100000);
    for (int i = 0; i < 300; i++)
        buffer_append_string(&text, "在常规赛的防守");
    buffer_append_string(&text, "黑豹队");
    for (int i = 0; i < 300; i++)
        buffer_append_string(&text, "在常规赛的防守");
    ask(fixture, "黑豹队", "zh", NULL);
    for (size_t bytes = 20; bytes < 60; bytes++) {
        struct str found = passage(fixture, text.data, bytes);
        assert_non_null(strstr(found.data, "黑豹队"));
        assert_int_equal((unsigned char)found.data[0] & 0xC0, 0xC0);
        assert_int_equal(found.size % 3, 0);
    }
}

static void passage_survives_a_word_longer_than_itself(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER word = BUFFER(1000);
    buffer_append_repeated(&word, 'x', 100);
    ask(fixture, word.data, "en", NULL);
    AUTO_BUFFER text = BUFFER(10000);
    buffer_printf(&text, "Before it, %s and %s, then some more words.", word.data, word.data);
    struct str found = passage(fixture, text.data, 30);
    assert_true(found.size > 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(weighs_stems_forms_and_parts),
        TEST(goes_through_every_language),
        TEST(marks_every_form),
        TEST(measures_overlap),
        TEST(coverage_counts_rare_words_more),
        TEST(long_queries_are_cut),
        TEST(parts_of_long_identifiers_stay_within_the_limit),
        TEST(passage_shows_the_best_place),
        TEST(passage_cuts_between_characters),
        TEST(passage_survives_a_word_longer_than_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
