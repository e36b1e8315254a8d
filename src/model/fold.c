#include "model/fold.h"

#include <libstemmer.h>
#include <stdlib.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"

void folder_start(struct folder *folder)
{
    UErrorCode status = U_ZERO_ERROR;
    folder->compatible = unorm2_getNFKCCasefoldInstance(&status);
    folder->canonical = unorm2_getNFCInstance(&status);
    if (U_FAILURE(status))
        BUG("ICU has no normalization data: %s", u_errorName(status));
}

enum { UNITS = 4096 }; /* FOLD_INPUT_LIMIT bytes give at most 512 / 3 * 18 */

static size_t to_utf8(const UChar *units, int32_t count, char out[TERM_LIMIT])
{
    UErrorCode status = U_ZERO_ERROR;
    char bytes[UNITS * 3];
    int32_t size = 0;
    u_strToUTF8(bytes, (int32_t)sizeof bytes, &size, units, count, &status);
    if (U_FAILURE(status))
        return 0;
    const size_t kept =
        size > TERM_LIMIT ? utf8_floor((struct str){bytes, (size_t)size}, TERM_LIMIT) : (size_t)size;
    memcpy(out, bytes, kept);
    return kept;
}

size_t fold_case(const struct folder *folder, struct str word, char out[TERM_LIMIT])
{
    UErrorCode status = U_ZERO_ERROR;
    UChar units[FOLD_INPUT_LIMIT], folded[UNITS];
    int32_t count = 0;
    const size_t size = word.size > FOLD_INPUT_LIMIT ? utf8_floor(word, FOLD_INPUT_LIMIT) : word.size;
    u_strFromUTF8(units, FOLD_INPUT_LIMIT, &count, word.data, (int32_t)size, &status);
    count = unorm2_normalize(folder->compatible, units, count, folded, UNITS, &status);
    for (int32_t i = 0; i < count && U_SUCCESS(status); i++)
        if (folded[i] == 0x2019) /* stemmers know only the apostrophe of ASCII */
            folded[i] = '\'';
    return U_FAILURE(status) ? 0 : to_utf8(folded, count, out);
}

/* Marks that only vary the spelling. The marks of Indic and Thai scripts are vowels and stay. */
static bool is_accent(UChar32 mark, UChar32 base)
{
    if (mark == 0x0306 && base == 0x0438) /* й is a letter of its own, not an accented и */
        return false;
    return (mark >= 0x0300 && mark <= 0x036F) || (mark >= 0x0591 && mark <= 0x05C7) ||
           (mark >= 0x0610 && mark <= 0x061A) || (mark >= 0x064B && mark <= 0x065F) || mark == 0x0670 ||
           (mark >= 0x06D6 && mark <= 0x06ED) || (mark >= 0x1AB0 && mark <= 0x1AFF) ||
           (mark >= 0x1DC0 && mark <= 0x1DFF) || (mark >= 0xFE20 && mark <= 0xFE2F);
}

/* Letters that Unicode does not take apart, as they are written without their stroke. */
static const struct {
    UChar32 letter;
    char plain[3];
} stroked_letters[] = {
    {0x00E6, "ae"}, {0x00F0, "d"}, {0x00F8, "o"},  {0x00FE, "th"}, {0x0111, "d"}, {0x0127, "h"},
    {0x0131, "i"},  {0x0142, "l"}, {0x0153, "oe"}, {0x0167, "t"},  {0x0640, ""},
};

static int32_t append_plain(UChar *out, int32_t count, UChar32 letter)
{
    for (size_t i = 0; i < COUNT_OF(stroked_letters); i++)
        if (stroked_letters[i].letter == letter) {
            for (const char *plain = stroked_letters[i].plain; *plain; plain++)
                out[count++] = (UChar)*plain;
            return count;
        }
    U16_APPEND_UNSAFE(out, count, letter);
    return count;
}

size_t fold_accents(const struct folder *folder, struct str word, char out[TERM_LIMIT])
{
    UErrorCode status = U_ZERO_ERROR;
    UChar units[TERM_LIMIT], plain[2 * UNITS], composed[UNITS];
    int32_t count = 0, plain_count = 0;
    u_strFromUTF8(units, TERM_LIMIT, &count, word.data, (int32_t)word.size, &status);
    UChar32 base = 0;
    for (int32_t at = 0; at < count && U_SUCCESS(status);) {
        UChar32 letter;
        UChar parts[32];
        U16_NEXT(units, at, count, letter);
        int32_t part_count =
            unorm2_getDecomposition(folder->canonical, letter, parts, COUNT_OF(parts), &status);
        if (part_count < 0) {
            part_count = 0;
            U16_APPEND_UNSAFE(parts, part_count, letter);
        }
        for (int32_t part = 0; part < part_count;) {
            U16_NEXT(parts, part, part_count, letter);
            if (!is_accent(letter, base)) {
                plain_count = append_plain(plain, plain_count, letter);
                base = letter;
            }
        }
    }
    count = unorm2_normalize(folder->canonical, plain, plain_count, composed, UNITS, &status);
    return U_FAILURE(status) ? 0 : to_utf8(composed, count, out);
}

/* ---- stems ---- */

/* The first language of a script stands for words of that script whose language is not known. */
static const struct language {
    char code[3];
    UScriptCode script;
} languages[] = {
    {"en", USCRIPT_LATIN},    {"ru", USCRIPT_CYRILLIC},   {"ar", USCRIPT_ARABIC}, {"el", USCRIPT_GREEK},
    {"hy", USCRIPT_ARMENIAN}, {"hi", USCRIPT_DEVANAGARI}, {"ta", USCRIPT_TAMIL},  {"ca", USCRIPT_LATIN},
    {"da", USCRIPT_LATIN},    {"de", USCRIPT_LATIN},      {"es", USCRIPT_LATIN},  {"eu", USCRIPT_LATIN},
    {"fi", USCRIPT_LATIN},    {"fr", USCRIPT_LATIN},      {"ga", USCRIPT_LATIN},  {"hu", USCRIPT_LATIN},
    {"id", USCRIPT_LATIN},    {"it", USCRIPT_LATIN},      {"lt", USCRIPT_LATIN},  {"ne", USCRIPT_DEVANAGARI},
    {"nl", USCRIPT_LATIN},    {"no", USCRIPT_LATIN},      {"pt", USCRIPT_LATIN},  {"ro", USCRIPT_LATIN},
    {"sr", USCRIPT_CYRILLIC}, {"sv", USCRIPT_LATIN},      {"tr", USCRIPT_LATIN},
};
enum { LANGUAGES = sizeof languages / sizeof languages[0], NO_LANGUAGE = LANGUAGES };

/* Most words of a text have been stemmed before: a cache with one place for each hash. */
struct stem_entry {
    uint8_t language, word_size, stem_size;
    char word[30], stem[31];
};
enum { STEM_ENTRIES = 4096 };

struct stemmers {
    struct sb_stemmer *loaded[LANGUAGES]; /* NULL: not needed so far */
    size_t chosen;
    struct stem_entry entries[STEM_ENTRIES];
};

struct stemmers *stemmers_new(void)
{
    struct stemmers *stemmers = xcalloc(1, sizeof *stemmers);
    stemmers->chosen = NO_LANGUAGE;
    return stemmers;
}

void stemmers_free(struct stemmers *stemmers)
{
    for (size_t i = 0; i < LANGUAGES; i++)
        sb_stemmer_delete(stemmers->loaded[i]);
    free(stemmers);
}

void stemmers_choose(struct stemmers *stemmers, struct str language)
{
    stemmers->chosen = NO_LANGUAGE;
    if (language.size > 2 && language.data[2] == '-') /* a region follows */
        language.size = 2;
    if (str_is(language, "nb") || str_is(language, "nn"))
        language = STR("no");
    for (size_t i = 0; i < LANGUAGES; i++)
        if (str_is(language, languages[i].code))
            stemmers->chosen = i;
}

static UScriptCode script_of(struct str word)
{
    if ((unsigned char)word.data[0] < 0x80)
        return USCRIPT_LATIN;
    size_t at = 0;
    UErrorCode status = U_ZERO_ERROR;
    return uscript_getScript((UChar32)utf8_next(word, &at), &status);
}

static size_t language_of(const struct stemmers *stemmers, struct str word)
{
    const UScriptCode script = script_of(word);
    if (stemmers->chosen != NO_LANGUAGE && languages[stemmers->chosen].script == script)
        return stemmers->chosen;
    for (size_t i = 0; i < LANGUAGES; i++)
        if (languages[i].script == script)
            return i;
    return NO_LANGUAGE;
}

static bool has_digit(struct str word)
{
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] >= '0' && word.data[i] <= '9')
            return true;
    return false;
}

/* What the algorithm says; the word itself when it says nothing. Stems longer than a term do not occur. */
static struct str stem_anew(struct stemmers *stemmers, size_t language, struct str word)
{
    struct sb_stemmer **stemmer = &stemmers->loaded[language];
    if (!*stemmer)
        *stemmer = sb_stemmer_new(languages[language].code, "UTF_8");
    if (!*stemmer)
        BUG("no stemmer for '%s'", languages[language].code);
    const sb_symbol *stem = sb_stemmer_stem(*stemmer, (const sb_symbol *)word.data, (int)word.size);
    const int size = stem ? sb_stemmer_length(*stemmer) : 0;
    return size > 0 && size <= TERM_LIMIT ? (struct str){(const char *)stem, (size_t)size} : word;
}

struct str stemmers_stem(struct stemmers *stemmers, struct str word)
{
    const size_t language = word.size < 2 || has_digit(word) ? NO_LANGUAGE : language_of(stemmers, word);
    if (language == NO_LANGUAGE)
        return word;
    struct stem_entry *entry = &stemmers->entries[checksum64(word.data, word.size, language) % STEM_ENTRIES];
    if (word.size > sizeof entry->word)
        return stem_anew(stemmers, language, word);
    if (entry->word_size == word.size && entry->language == language &&
        memcmp(entry->word, word.data, word.size) == 0)
        return (struct str){entry->stem, entry->stem_size};
    const struct str stem = stem_anew(stemmers, language, word);
    if (stem.size > sizeof entry->stem)
        return stem;
    *entry = (struct stem_entry){(uint8_t)language, (uint8_t)word.size, (uint8_t)stem.size, {0}, {0}};
    memcpy(entry->word, word.data, word.size);
    memcpy(entry->stem, stem.data, stem.size);
    return (struct str){entry->stem, entry->stem_size};
}
