#include "tests/fuzz/fuzz.h"

#include "base/utf8.h"
#include "search/text_match.h"

/* Input: passage length, query, newline, text. Places rise within the text, passages are cut between
 * characters, and every measure stays within its range. */
static void check_passage(const struct query_terms *terms, const struct text_match *match, struct str text,
                          size_t bytes)
{
    const struct text_range passage = text_match_passage(terms, match, text, bytes);
    ASSERT(passage.start <= passage.end && passage.end <= text.size);
    ASSERT(utf8_floor(text, passage.start) == passage.start);
    ASSERT(utf8_floor(text, passage.end) == passage.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct analyzer *analyzer;
    if (size < 2)
        return 0;
    if (!analyzer)
        analyzer = analyzer_new();
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUFFER repaired = BUFFER(SIZE_MAX);
    utf8_append_repaired(&repaired, (struct str){(const char *)data + 1, size - 1});
    struct str text = buffer_str(&repaired), query = STR_EMPTY;
    if (!str_split(&text, '\n', &query) || !text.data)
        text = STR_EMPTY;
    const struct query_language languages[] = {{STR("de"), 0.5}, {STR_EMPTY, 0.5}};
    struct query_terms terms;
    query_terms_make(analyzer, query, languages, 2, &arena, &terms);
    const struct text_match match = text_match_make(&terms, analyzer, text, STR("de"), &arena);
    for (size_t i = 0; i < match.place_count; i++) {
        ASSERT(match.places[i].start < match.places[i].end && match.places[i].end <= text.size);
        ASSERT(i == 0 || match.places[i - 1].end <= match.places[i].start);
    }
    const double overlap = text_match_overlap(&terms, &match),
                 coverage = query_terms_coverage(&terms, &match.means);
    ASSERT(overlap >= 0 && overlap <= 1 && coverage >= 0 && coverage <= 1);
    check_passage(&terms, &match, text, data[0]);
    check_passage(&terms, &match, text, (size_t)data[0] * 16);
    return 0;
}
