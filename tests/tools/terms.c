/* Takes texts apart into words for scripts/compare_bm25.py, as indexing does.
 * usage: terms [LANGUAGE] < texts > words
 * texts: one a line. words: one line for each: its language (LANGUAGE, or as detected; "-" for none), TAB,
 * and the stem of each word (the word itself where it has none), parted by blanks. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "model/language.h"
#include "model/terms.h"

static void print_words(struct analyzer *analyzer, struct str text, struct str language)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct term *terms;
    size_t count;
    analyzer_terms(analyzer, text, language, &arena, &terms, &count);
    printf("%.*s\t", STR_ARG(language.size ? language : STR("-")));
    for (size_t i = 0, end; i < count; i = end) {
        struct str word = terms[i].text;
        for (end = i + 1; end < count && terms[end].position == terms[i].position; end++)
            if (terms[end].kind == TERM_STEM && terms[end].start == terms[i].start &&
                terms[end].end == terms[i].end)
                word = terms[end].text;
        printf("%s%.*s", i ? " " : "", STR_ARG(word));
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    struct analyzer *analyzer = analyzer_new();
    while ((size = getline(&line, &capacity, stdin)) >= 0) {
        const struct str text = str_trim((struct str){line, (size_t)size});
        if (!utf8_is_valid(text)) {
            fprintf(stderr, "a line is not valid UTF-8\n");
            return 1;
        }
        const char *language = argc > 1 ? argv[1] : language_detect(text);
        print_words(analyzer, text, str_from(strcmp(language, "-") ? language : ""));
    }
    free(line);
    analyzer_free(analyzer);
    return 0;
}
