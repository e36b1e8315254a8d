#include "embedder/local/bert_text.h"

#include <pthread.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include "base/error.h"
#include "base/utf8.h"

/* Folded away altogether (a noncharacter, so no code point folds to it). */
#define FOLDED_TO_NOTHING 0xFFFF

/* More marks in a row than any word may have characters: beyond, their order decides nothing. */
enum { PENDING_MAX = BERT_WORD_CHARACTERS_MAX };

/* The reference decomposes by Unicode 12. What was added later stays as it is, whatever ICU knows. */
enum { DECOMPOSED_UNICODE_VERSION = 12 };

/* bert_ranges, unrolled. Written once, by classes_once. */
static unsigned char class_table[0x110000];
static pthread_once_t classes_once = PTHREAD_ONCE_INIT;

static void unroll_ranges(void)
{
    for (size_t i = 0; i < bert_range_count; i++)
        for (uint32_t code = bert_ranges[i].first; code <= bert_ranges[i].last; code++)
            class_table[code] |= (unsigned char)bert_ranges[i].class;
}

struct pending_mark {
    uint32_t code_point;
    uint8_t combining_class;
};

struct scan {
    const struct bert_text *text;
    bool (*take_word)(void *context, struct bert_word word);
    void *context;
    bool stopped;

    char word[4 * BERT_WORD_CHARACTERS_MAX];
    size_t size;
    size_t characters;

    /* Marks that are kept, in canonical order, waiting for the next starter. */
    struct pending_mark pending[PENDING_MAX];
    size_t pending_count;
};

static void end_word(struct scan *scan)
{
    if (scan->characters == 0)
        return;
    if (!scan->stopped)
        scan->stopped =
            !scan->take_word(scan->context, (struct bert_word){{scan->word, scan->size}, scan->characters});
    scan->size = 0;
    scan->characters = 0;
}

static inline void append_to_word(struct scan *scan, uint32_t code_point)
{
    if (scan->characters++ < scan->text->rules.word_characters)
        scan->size += utf8_encode(code_point, scan->word + scan->size);
}

static void put_folded(struct scan *scan, uint32_t code_point)
{
    const unsigned classes = class_table[code_point];
    if (classes & BERT_SPACE) {
        end_word(scan);
    } else if (classes & BERT_PUNCTUATION) {
        end_word(scan);
        append_to_word(scan, code_point);
        end_word(scan);
    } else {
        append_to_word(scan, code_point);
    }
}

static void put_lowercased(struct scan *scan, uint32_t code_point)
{
    if (!scan->text->rules.lowercase) {
        put_folded(scan, code_point);
    } else if (code_point == 0x130) { /* the one letter whose lower case without context is two */
        put_folded(scan, 'i');
        put_folded(scan, 0x307);
    } else {
        put_folded(scan, (uint32_t)u_tolower((UChar32)code_point));
    }
}

static void flush_pending(struct scan *scan)
{
    for (size_t i = 0; i < scan->pending_count; i++)
        put_lowercased(scan, scan->pending[i].code_point);
    scan->pending_count = 0;
}

/* The canonical ordering of UAX #15: marks between two starters sorted by class, stably. */
static void put_ordered(struct scan *scan, uint32_t code_point, uint8_t combining_class)
{
    if (combining_class == 0 || scan->pending_count == PENDING_MAX)
        flush_pending(scan);
    if (combining_class == 0) {
        put_lowercased(scan, code_point);
        return;
    }
    size_t position = scan->pending_count++;
    for (; position > 0 && scan->pending[position - 1].combining_class > combining_class; position--)
        scan->pending[position] = scan->pending[position - 1];
    scan->pending[position] = (struct pending_mark){code_point, combining_class};
}

static bool is_known_to_reference(uint32_t code_point)
{
    UVersionInfo age;
    u_charAge((UChar32)code_point, age);
    return age[0] <= DECOMPOSED_UNICODE_VERSION;
}

static uint8_t combining_class_of(uint32_t code_point)
{
    const uint8_t combining_class = u_getCombiningClass((UChar32)code_point);
    return combining_class && is_known_to_reference(code_point) ? combining_class : 0;
}

/* The full canonical decomposition in UTF-16; returns its length, 0 when the code point has none. */
static int32_t decompose(uint32_t code_point, UChar out[32])
{
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&status);
    if (U_FAILURE(status))
        BUG("ICU has no canonical decomposition: %s", u_errorName(status));
    const int32_t length = unorm2_getDecomposition(nfd, (UChar32)code_point, out, 32, &status);
    return length > 0 && U_SUCCESS(status) && is_known_to_reference(code_point) ? length : 0;
}

static void put_stripped(struct scan *scan, uint32_t code_point)
{
    UChar decomposed[32];
    const int32_t length = decompose(code_point, decomposed);
    if (length == 0) {
        if (!(class_table[code_point] & BERT_MARK))
            put_ordered(scan, code_point, combining_class_of(code_point));
        return;
    }
    for (int32_t i = 0; i < length;) {
        UChar32 part;
        U16_NEXT(decomposed, i, length, part);
        if (!(class_table[part] & BERT_MARK))
            put_ordered(scan, (uint32_t)part, combining_class_of((uint32_t)part));
    }
}

static void put_accented(struct scan *scan, uint32_t code_point)
{
    if (scan->text->rules.strip_accents)
        put_stripped(scan, code_point);
    else
        put_lowercased(scan, code_point);
}

/* One code point of the text through all rules. */
static void put(struct scan *scan, uint32_t code_point)
{
    const struct bert_rules *rules = &scan->text->rules;
    const unsigned classes = class_table[code_point];
    if (rules->clean && classes & BERT_REMOVED)
        return;
    if (rules->clean && classes & BERT_SPACE)
        code_point = ' ';
    const bool apart = rules->separate_ideographs && classes & BERT_IDEOGRAPH;
    if (apart)
        put_accented(scan, ' ');
    put_accented(scan, code_point);
    if (apart)
        put_accented(scan, ' ');
}

static bool note_word(void *context, struct bert_word word)
{
    struct bert_word *noted = context;
    noted->characters += word.characters;
    return true;
}

/* What `code_point` folds to within a word: a code point of the BMP, FOLDED_TO_NOTHING,
 * or 0 when it does more than that (ends words, joins the ordering of marks). */
static uint16_t fold(const struct bert_text *text, uint32_t code_point)
{
    struct bert_word ended = {0};
    struct scan scan = {.text = text, .take_word = note_word, .context = &ended};
    const unsigned classes = class_table[code_point];
    if (classes & (BERT_SPACE | BERT_REMOVED))
        return 0;
    put(&scan, code_point);
    if (ended.characters || scan.pending_count || scan.characters > 1)
        return 0;
    if (scan.characters == 0)
        return classes & BERT_MARK ? FOLDED_TO_NOTHING : 0;
    size_t position = 0;
    const uint32_t folded = utf8_next((struct str){scan.word, scan.size}, &position);
    return folded < FOLDED_TO_NOTHING ? (uint16_t)folded : 0;
}

void bert_text_init(struct bert_text *self, struct bert_rules rules)
{
    ASSERT(rules.word_characters > 0 && rules.word_characters <= BERT_WORD_CHARACTERS_MAX);
    pthread_once(&classes_once, unroll_ranges);
    memset(self, 0, sizeof *self);
    self->rules = rules;
    for (uint32_t code = 1; code < BERT_FOLDED_END; code++)
        self->folded[code] = fold(self, code);
    for (uint32_t code = 0; code < 128; code++)
        self->ascii[code] = (char)self->folded[code];
}

/* Letters and digits of ASCII from *position on: nearly all of most texts. */
static void put_ascii_run(struct scan *scan, struct str text, size_t *position)
{
    const struct bert_text *self = scan->text;
    const size_t limit = self->rules.word_characters;
    size_t i = *position;
    char plain;
    while (i < text.size && !(text.data[i] & 0x80) && (plain = self->ascii[(unsigned char)text.data[i]])) {
        if (scan->characters++ < limit)
            scan->word[scan->size++] = plain;
        i++;
    }
    *position = i;
}

void bert_text_split(const struct bert_text *self, struct str text,
                     bool (*take_word)(void *context, struct bert_word word), void *context)
{
    struct scan scan;
    scan.text = self;
    scan.take_word = take_word;
    scan.context = context;
    scan.stopped = false;
    scan.size = scan.characters = scan.pending_count = 0;
    for (size_t position = 0; position < text.size && !scan.stopped;) {
        const unsigned char byte = (unsigned char)text.data[position];
        if (byte < 0x80 && self->ascii[byte]) {
            flush_pending(&scan);
            put_ascii_run(&scan, text, &position);
            continue;
        }
        const uint32_t code_point = utf8_next(text, &position);
        const uint16_t folded = code_point < BERT_FOLDED_END ? self->folded[code_point] : 0;
        if (folded == FOLDED_TO_NOTHING)
            continue;
        if (folded) {
            flush_pending(&scan);
            append_to_word(&scan, folded);
        } else {
            put(&scan, code_point);
        }
    }
    flush_pending(&scan);
    end_word(&scan);
}
