#include "model/terms.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utext.h>

#include "base/error.h"
#include "base/utf8.h"
#include "model/fold.h"

struct analyzer {
    struct folder folder;
    struct stemmers *stemmers;
    UBreakIterator *words;
    UText *piece; /* what `words` walks over */
    /* The text at hand. */
    struct str text;
    char *lower; /* copy of the text with ASCII letters in lower case, in the arena */
    struct arena *arena;
    struct term *terms;
    size_t count, capacity;
    uint32_t position;
};

#define ANALYSIS_VERSION "1"

const char *analyzer_fingerprint(void)
{
    return "terms/" ANALYSIS_VERSION " icu/" U_ICU_VERSION " snowball/2";
}

struct analyzer *analyzer_new(void)
{
    struct analyzer *analyzer = xcalloc(1, sizeof *analyzer);
    UErrorCode status = U_ZERO_ERROR;
    folder_start(&analyzer->folder);
    analyzer->stemmers = stemmers_new();
    analyzer->words = ubrk_open(UBRK_WORD, "", NULL, 0, &status);
    if (U_FAILURE(status))
        BUG("ICU has no word break data: %s", u_errorName(status));
    return analyzer;
}

void analyzer_free(struct analyzer *analyzer)
{
    if (!analyzer)
        return;
    ubrk_close(analyzer->words);
    utext_close(analyzer->piece);
    stemmers_free(analyzer->stemmers);
    free(analyzer->terms);
    free(analyzer);
}

void analyzer_auto_free(struct analyzer **analyzer)
{
    analyzer_free(*analyzer);
}

/* ---- terms ---- */

static void emit(struct analyzer *analyzer, struct str text, enum term_kind kind, size_t start, size_t end)
{
    GROW(analyzer->terms, analyzer->count, analyzer->capacity);
    analyzer->terms[analyzer->count++] =
        (struct term){text, kind, (uint32_t)start, (uint32_t)end, analyzer->position};
}

static bool is_ascii(struct str text)
{
    unsigned char all = 0;
    for (size_t i = 0; i < text.size; i++)
        all |= (unsigned char)text.data[i];
    return all < 0x80;
}

/* A stretch of the text in its two folded forms: with accents (for the stemmer) and without (the term). */
struct folded {
    struct str cased, plain; /* `plain` lives in the arena, `cased` there or in `buffer` */
    char buffer[TERM_LIMIT];
};

static void fold(struct analyzer *analyzer, size_t start, size_t end, struct folded *ret)
{
    const struct str source = str_slice(analyzer->text, start, end);
    if (is_ascii(source)) {
        ret->plain =
            (struct str){analyzer->lower + start, source.size < TERM_LIMIT ? source.size : TERM_LIMIT};
        ret->cased = ret->plain;
        return;
    }
    char plain[TERM_LIMIT];
    ret->cased = (struct str){ret->buffer, fold_case(&analyzer->folder, source, ret->buffer)};
    const size_t size = fold_accents(&analyzer->folder, ret->cased, plain);
    ret->plain = arena_str(analyzer->arena, (struct str){plain, size});
}

/* The stem of a folded stretch, when it differs from what stands already. */
static void emit_stem(struct analyzer *analyzer, const struct folded *folded, size_t start, size_t end)
{
    const struct str stem = stemmers_stem(analyzer->stemmers, folded->cased);
    char buffer[TERM_LIMIT];
    struct str plain = stem;
    if (!is_ascii(stem))
        plain = (struct str){buffer, fold_accents(&analyzer->folder, stem, buffer)};
    if (plain.size == 0 || str_equal(plain, folded->plain))
        return;
    if (plain.size < folded->plain.size && memcmp(plain.data, folded->plain.data, plain.size) == 0)
        plain = str_slice(folded->plain, 0, plain.size); /* most stems are the front of their word */
    else
        plain = arena_str(analyzer->arena, plain);
    emit(analyzer, plain, TERM_STEM, start, end);
}

static bool is_upper(char byte)
{
    return byte >= 'A' && byte <= 'Z';
}

static bool is_lower(char byte)
{
    return byte >= 'a' && byte <= 'z';
}

/* Size of what parts an identifier or an elision at `at`: 0 when nothing does. */
static size_t separator_size(struct str word, size_t at)
{
    static const char apostrophe[] = "\xE2\x80\x99";
    switch (word.data[at]) {
    case '_':
    case '.':
    case '\'':
    case ',':
    case ';':
        return 1;
    case '\xE2':
        return at + 3 <= word.size && memcmp(word.data + at, apostrophe, 3) == 0 ? 3 : 0;
    default:
        return 0;
    }
}

/* Whether a part begins at `at` by case alone: camel|Case, HTML|Parser (but not PD|Fs). */
static bool case_changes(struct str word, size_t at)
{
    if (at == 0 || !is_upper(word.data[at]))
        return false;
    if (is_lower(word.data[at - 1]))
        return true;
    return is_upper(word.data[at - 1]) && at + 2 < word.size && is_lower(word.data[at + 1]) &&
           is_lower(word.data[at + 2]);
}

static bool is_number(struct str word)
{
    for (size_t i = 0; i < word.size; i++)
        if ((word.data[i] < '0' || word.data[i] > '9') && !separator_size(word, i))
            return false;
    return true;
}

static void emit_part(struct analyzer *analyzer, size_t start, size_t end)
{
    struct folded folded;
    if (end - start < 2)
        return;
    fold(analyzer, start, end, &folded);
    if (folded.plain.size == 0)
        return;
    emit(analyzer, folded.plain, TERM_PART, start, end);
    emit_stem(analyzer, &folded, start, end);
}

static void emit_parts(struct analyzer *analyzer, size_t start, size_t end)
{
    const struct str word = str_slice(analyzer->text, start, end);
    size_t part = 0, parts = 0;
    for (size_t at = 0; at < word.size && parts < TERM_PART_LIMIT;) {
        const size_t separator = separator_size(word, at);
        if (separator || case_changes(word, at)) {
            emit_part(analyzer, start + part, start + at);
            part = at + separator;
            parts++;
        }
        at += separator ? separator : 1;
    }
    if (parts > 0 && parts < TERM_PART_LIMIT)
        emit_part(analyzer, start + part, end);
}

static void emit_word(struct analyzer *analyzer, size_t start, size_t end)
{
    struct folded folded;
    fold(analyzer, start, end, &folded);
    if (folded.plain.size == 0)
        return;
    emit(analyzer, folded.plain, TERM_SURFACE, start, end);
    if (!is_number(str_slice(analyzer->text, start, end))) {
        emit_stem(analyzer, &folded, start, end);
        emit_parts(analyzer, start, end);
    }
    analyzer->position++;
}

/* ---- ASCII: the rules of UAX #29 for its 128 characters ---- */

static bool is_letter(char byte)
{
    return is_upper(byte) || is_lower(byte);
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_word_byte(char byte)
{
    return is_letter(byte) || is_digit(byte) || byte == '_';
}

/* Whether the byte at `at` joins the letters or digits on both sides of it (WB6, WB7, WB11, WB12). The colon,
 * which joins in Swedish alone, does not. */
static bool joins(const char *text, size_t at, size_t end)
{
    if (at + 1 >= end)
        return false;
    const char before = text[at - 1], after = text[at + 1];
    switch (text[at]) {
    case '.':
    case '\'':
        return (is_letter(before) && is_letter(after)) || (is_digit(before) && is_digit(after));
    case ',':
    case ';':
        return is_digit(before) && is_digit(after);
    default:
        return false;
    }
}

static void ascii_words(struct analyzer *analyzer, size_t start, size_t end)
{
    const char *text = analyzer->text.data;
    for (size_t at = start; at < end;) {
        if (!is_word_byte(text[at])) {
            at++;
            continue;
        }
        const size_t word = at;
        bool any = false; /* underscores alone are no word */
        for (; at < end && (is_word_byte(text[at]) || joins(text, at, end)); at++)
            any |= text[at] != '_';
        if (any)
            emit_word(analyzer, word, at);
    }
}

/* ---- everything else ---- */

/* Han, Kana, Hangul, and the marks that follow them. */
static bool is_unspaced(UChar32 letter)
{
    if (letter < 0x1100)
        return false;
    if (letter == 0x30FC || (letter >= 0xFF66 && letter <= 0xFF9F) || letter == 0x3099 || letter == 0x309A)
        return true;
    UErrorCode status = U_ZERO_ERROR;
    switch (uscript_getScript(letter, &status)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_HANGUL:
    case USCRIPT_BOPOMOFO:
        return u_isalpha(letter) || letter == 0x3007;
    default:
        return (letter >= 0xFE00 && letter <= 0xFE0F) || (letter >= 0xE0100 && letter <= 0xE01EF);
    }
}

static bool has_letter_or_digit(struct str text)
{
    for (size_t at = 0; at < text.size;)
        if (u_isalnum((UChar32)utf8_next(text, &at)))
            return true;
    return false;
}

static void segmented_words(struct analyzer *analyzer, size_t start, size_t end)
{
    UErrorCode status = U_ZERO_ERROR;
    analyzer->piece =
        utext_openUTF8(analyzer->piece, analyzer->text.data + start, (int64_t)(end - start), &status);
    ubrk_setUText(analyzer->words, analyzer->piece, &status);
    if (U_FAILURE(status))
        BUG("ICU cannot break text into words: %s", u_errorName(status));
    int32_t from = ubrk_first(analyzer->words);
    for (int32_t to = ubrk_next(analyzer->words); to != UBRK_DONE;
         from = to, to = ubrk_next(analyzer->words)) {
        const struct str word = str_slice(analyzer->text, start + (size_t)from, start + (size_t)to);
        if (has_letter_or_digit(word))
            emit_word(analyzer, start + (size_t)from, start + (size_t)to);
    }
}

/* One character of a run without spaces: what normalization takes together. */
struct unit {
    size_t start, end;
    size_t size;
    char folded[TERM_LIMIT];
};

/* Reads the unit at *at and moves behind it. */
static void next_unit(struct analyzer *analyzer, size_t *at, size_t end, struct unit *ret)
{
    const struct str text = str_slice(analyzer->text, 0, end);
    ret->start = *at;
    utf8_next(text, at);
    while (*at < end) {
        size_t next = *at;
        if (unorm2_hasBoundaryBefore(analyzer->folder.compatible, (UChar32)utf8_next(text, &next)))
            break;
        *at = next;
    }
    ret->end = *at;
    ret->size = fold_case(&analyzer->folder, str_slice(text, ret->start, ret->end), ret->folded);
}

static void emit_units(struct analyzer *analyzer, const struct unit *first, const struct unit *second)
{
    char both[2 * TERM_LIMIT];
    memcpy(both, first->folded, first->size);
    size_t size = first->size;
    if (second) {
        memcpy(both + size, second->folded, second->size);
        size += second->size;
    }
    if (size > TERM_LIMIT)
        size = utf8_floor((struct str){both, size}, TERM_LIMIT);
    emit(analyzer, arena_str(analyzer->arena, (struct str){both, size}), TERM_SURFACE, first->start,
         second ? second->end : first->end);
    analyzer->position++;
}

static void bigrams(struct analyzer *analyzer, size_t start, size_t end)
{
    struct unit units[2];
    size_t count = 0;
    for (size_t at = start; at < end;) {
        struct unit *unit = &units[count % 2];
        next_unit(analyzer, &at, end, unit);
        if (unit->size == 0)
            continue; /* a variation selector: says nothing */
        if (count > 0)
            emit_units(analyzer, &units[(count - 1) % 2], unit);
        count++;
    }
    if (count == 1)
        emit_units(analyzer, &units[0], NULL);
}

/* A piece without white space: runs that are spaced and runs that are not take turns. */
static void mixed_piece(struct analyzer *analyzer, size_t start, size_t end)
{
    const struct str text = str_slice(analyzer->text, 0, end);
    size_t run = start;
    bool unspaced = false;
    for (size_t at = start; at < end;) {
        const size_t here = at;
        const bool now = is_unspaced((UChar32)utf8_next(text, &at));
        if (now == unspaced)
            continue;
        if (unspaced)
            bigrams(analyzer, run, here);
        else if (here > run)
            segmented_words(analyzer, run, here);
        run = here;
        unspaced = now;
    }
    if (unspaced)
        bigrams(analyzer, run, end);
    else if (end > run)
        segmented_words(analyzer, run, end);
}

static bool is_space(char byte)
{
    return (unsigned char)byte <= ' ';
}

void analyzer_terms(struct analyzer *analyzer, struct str text, struct str language, struct arena *arena,
                    struct term **ret_terms, size_t *ret_count)
{
    analyzer->text = text;
    analyzer->arena = arena;
    analyzer->count = 0;
    analyzer->position = 0;
    analyzer->lower = arena_alloc(arena, text.size);
    for (size_t i = 0; i < text.size; i++)
        analyzer->lower[i] = is_upper(text.data[i]) ? (char)(text.data[i] | 0x20) : text.data[i];
    stemmers_choose(analyzer->stemmers, language);
    /* White space always parts words, so that text in which few words are beyond ASCII stays fast. */
    for (size_t at = 0; at < text.size;) {
        if (is_space(text.data[at])) {
            at++;
            continue;
        }
        const size_t piece = at;
        unsigned char all = 0;
        for (; at < text.size && !is_space(text.data[at]); at++)
            all |= (unsigned char)text.data[at];
        if (all < 0x80)
            ascii_words(analyzer, piece, at);
        else
            mixed_piece(analyzer, piece, at);
    }
    struct term *terms = ARENA_ARRAY(arena, struct term, analyzer->count);
    if (analyzer->count)
        memcpy(terms, analyzer->terms, analyzer->count * sizeof *terms);
    *ret_terms = terms;
    *ret_count = analyzer->count;
    analyzer->arena = NULL;
}
