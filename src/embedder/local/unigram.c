/* The Unigram tokenizer of SentencePiece (Kudo, "Subword Regularization", 2018) as XLM-R models use it:
 * normalised by a charsmap, blanks turned into a mark that begins words ("Metaspace"), then cut into the
 * pieces with the highest sum of scores (Viterbi, "Error Bounds for Convolutional Codes", 1967).
 *
 * Text flows through in one pass: cluster -> charsmap -> white space -> words -> lattice. A word is cut
 * piecemeal where it is long (text without blanks): a place that no piece crosses lies on every path. */
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "embedder/local/charsmap.h"
#include "embedder/local/tokenizer_model.h"
#include "embedder/local/vocabulary.h"

enum {
    LATTICE_BYTES = 4096,          /* a word this long is looked at before it ends */
    LATTICE_BYTES_MAX = 64 * 1024, /* a stretch this long is cut where it is best so far */
    BYTE_TOKENS = 256,
};

/* What an unknown code point costs below the lowest score, as the reference has it. */
#define UNKNOWN_PENALTY 10.0

enum prepend { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS };

struct unigram {
    struct token_model base;
    struct charsmap *charsmap; /* NULL: none */
    bool strips_left, strips_right;
    uint32_t runs_become;  /* what two and more blanks become; 0: they stay */
    bool splits_at_spaces; /* any white space parts words and is dropped */
    uint32_t mark;         /* stands for a blank */
    bool splits_at_marks;  /* pieces do not reach over the beginning of a word */
    enum prepend prepend;

    struct vocabulary vocabulary;
    size_t longest; /* bytes of the longest piece */
    double *scores; /* of each id of the vocabulary */
    double unknown_score;
    int32_t unknown;
    int32_t *byte_ids; /* of "<0x00>" to "<0xFF>"; NULL: unknown code points are unknown */
};

/* ---- the lattice ---- */

/* The best way to a place in the text. */
struct node {
    double score;
    int32_t id;           /* of the piece that ends here; -1: no way was found yet */
    uint32_t start, next; /* where that piece starts; where the one behind it ends, once the path is known */
};

struct scan {
    const struct unigram *model;
    struct token_sink *sink;
    bool at_start;        /* nothing of the input stands before */
    bool in_word;         /* the word has begun: its mark, if any, is in place */
    bool any;             /* something other than white space has come */
    bool after_unknown;   /* the last token was unknown: what is unknown in a row is one token */
    struct buffer spaces; /* white space that waits for what follows */

    char *text; /* of the word, as far as it is not cut into pieces */
    size_t size, capacity;
    size_t look_at; /* size at which the lattice is run before the word ends */
    double score;   /* of the way to its beginning */
    struct node *nodes;
    size_t node_capacity;
};

static void reach(struct node *node, double score, int32_t id, size_t start)
{
    if (node->id < 0 || score > node->score)
        *node = (struct node){.score = score, .id = id, .start = (uint32_t)start};
}

/* Follows every piece that starts at `start`; returns where the longest ends, `start` when there is none. */
static size_t reach_pieces(struct scan *scan, size_t start, size_t character_size, bool *ret_single)
{
    const struct unigram *self = scan->model;
    int32_t state = VOCABULARY_ROOT;
    size_t furthest = start;
    *ret_single = false;
    for (size_t end = start; end < scan->size;) {
        state = vocabulary_step(&self->vocabulary, state, (unsigned char)scan->text[end++]);
        if (state == VOCABULARY_NOWHERE)
            break;
        const int32_t id = self->vocabulary.units[state].id;
        if (id < 0)
            continue;
        reach(&scan->nodes[end], scan->nodes[start].score + self->scores[id], id, start);
        *ret_single |= end - start == character_size;
        furthest = end;
    }
    return furthest;
}

/* Fills the lattice up to `limit`; returns the last place there that no piece crosses. */
static size_t fill_lattice(struct scan *scan, size_t limit)
{
    size_t furthest = 0, cut = 0, position = 0;
    if (scan->node_capacity < scan->size + 1) {
        scan->node_capacity = scan->size + LATTICE_BYTES;
        scan->nodes = xrealloc(scan->nodes, scan->node_capacity, sizeof *scan->nodes);
    }
    scan->nodes[0] = (struct node){.score = scan->score, .id = 0};
    for (size_t i = 1; i <= scan->size; i++)
        scan->nodes[i].id = -1;
    while (position < limit) {
        bool single;
        const size_t length = utf8_sequence_length(scan->text + position, scan->size - position);
        const size_t end = reach_pieces(scan, position, length, &single);
        if (!single)
            reach(&scan->nodes[position + length], scan->nodes[position].score + scan->model->unknown_score,
                  scan->model->unknown, position);
        position += length;
        furthest = end > furthest ? end : furthest;
        if (position >= furthest)
            cut = position;
    }
    return limit == scan->size ? limit : cut;
}

static void put_unknown(struct scan *scan, struct str text)
{
    const int32_t *byte_ids = scan->model->byte_ids;
    if (!byte_ids && !scan->after_unknown)
        token_sink_put(scan->sink, scan->model->unknown);
    for (size_t i = 0; byte_ids && i < text.size; i++)
        token_sink_put(scan->sink, byte_ids[(unsigned char)text.data[i]]);
    scan->after_unknown = true;
}

/* Puts the tokens of the best way to `end`, and keeps what stands behind it. */
static void put_path(struct scan *scan, size_t end)
{
    struct node *nodes = scan->nodes;
    for (size_t at = end; at > 0; at = nodes[at].start)
        nodes[nodes[at].start].next = (uint32_t)at;
    for (size_t at = 0; at < end && !token_sink_is_full(scan->sink); at = nodes[at].next) {
        const int32_t id = nodes[nodes[at].next].id;
        if (id == scan->model->unknown) {
            put_unknown(scan, (struct str){scan->text + at, nodes[at].next - at});
        } else {
            token_sink_put(scan->sink, id);
            scan->after_unknown = false;
        }
    }
    scan->score = nodes[end].score;
    scan->size -= end;
    memmove(scan->text, scan->text + end, scan->size);
}

/* Looks at a word that goes on: takes what is certain of it. */
static void look_ahead(struct scan *scan)
{
    const struct str text = {scan->text, scan->size};
    const size_t limit =
        utf8_floor(text, scan->size > scan->model->longest ? scan->size - scan->model->longest : 0);
    size_t cut = fill_lattice(scan, limit);
    if (cut == 0 && scan->size >= LATTICE_BYTES_MAX)
        cut = limit;
    if (cut > 0)
        put_path(scan, cut);
    scan->look_at = cut > 0 ? scan->size + LATTICE_BYTES : 2 * scan->size;
}

/* The word, or the part of it before a mark, ends here. */
static void end_piece(struct scan *scan)
{
    if (scan->size > 0 && !token_sink_is_full(scan->sink)) {
        put_path(scan, fill_lattice(scan, scan->size));
    }
    scan->size = 0;
    scan->score = 0;
    scan->look_at = LATTICE_BYTES;
    scan->after_unknown = false;
}

/* ---- words ---- */

static void append(struct scan *scan, uint32_t code_point)
{
    if (scan->capacity < scan->size + 4) {
        scan->capacity = 2 * scan->capacity + 256;
        scan->text = xrealloc(scan->text, scan->capacity, 1);
    }
    scan->size += utf8_encode(code_point, scan->text + scan->size);
    if (scan->size >= scan->look_at)
        look_ahead(scan);
}

static void put_in_word(struct scan *scan, uint32_t code_point)
{
    const struct unigram *self = scan->model;
    if (self->splits_at_spaces && u_isUWhiteSpace((UChar32)code_point)) {
        end_piece(scan);
        scan->in_word = scan->at_start = false;
        return;
    }
    if (code_point == ' ')
        code_point = self->mark;
    if (!scan->in_word && code_point != self->mark &&
        (self->prepend == PREPEND_ALWAYS || (self->prepend == PREPEND_FIRST && scan->at_start)))
        append(scan, self->mark);
    else if (code_point == self->mark && self->splits_at_marks)
        end_piece(scan);
    scan->in_word = true;
    append(scan, code_point);
}

/* ---- white space ---- */

static void flush_spaces(struct scan *scan)
{
    const struct str spaces = buffer_str(&scan->spaces);
    for (size_t position = 0; position < spaces.size;) {
        const size_t start = position;
        uint32_t code_point = utf8_next(spaces, &position);
        while (scan->model->runs_become && code_point == ' ' && position < spaces.size &&
               spaces.data[position] == ' ')
            position++;
        if (code_point == ' ' && position > start + 1)
            code_point = scan->model->runs_become;
        put_in_word(scan, code_point);
    }
    buffer_clear(&scan->spaces);
}

/* Takes a normalised code point. */
static void put(void *context, uint32_t code_point)
{
    struct scan *scan = context;
    if (u_isUWhiteSpace((UChar32)code_point)) {
        char bytes[4];
        if (scan->any || !scan->model->strips_left)
            buffer_append(&scan->spaces, bytes, utf8_encode(code_point, bytes));
        return;
    }
    scan->any = true;
    if (scan->spaces.size > 0)
        flush_spaces(scan);
    put_in_word(scan, code_point);
}

static void unigram_tokenize(const struct token_model *model, struct str text, bool at_start,
                             struct token_sink *sink)
{
    struct scan scan = {.model = (const struct unigram *)model,
                        .sink = sink,
                        .at_start = at_start,
                        .spaces = BUFFER(SIZE_MAX),
                        .look_at = LATTICE_BYTES};
    for (size_t position = 0; position < text.size && !token_sink_is_full(sink);)
        charsmap_next(scan.model->charsmap, text, &position, put, &scan);
    if (!scan.model->strips_right && !token_sink_is_full(sink))
        flush_spaces(&scan);
    end_piece(&scan);
    buffer_release(&scan.spaces);
    free(scan.text);
    free(scan.nodes);
}

/* ---- reading tokenizer.json ---- */

struct comparison {
    struct str rest;
    bool same;
};

static void compare(void *context, uint32_t code_point)
{
    struct comparison *comparison = context;
    size_t position = 0;
    comparison->same =
        comparison->same && comparison->rest.size > 0 && utf8_next(comparison->rest, &position) == code_point;
    comparison->rest = str_slice(comparison->rest, position, comparison->rest.size);
}

static bool unigram_keeps(const struct token_model *model, struct str text)
{
    const struct unigram *self = (const struct unigram *)model;
    struct comparison comparison = {text, true};
    for (size_t position = 0; position < text.size;)
        charsmap_next(self->charsmap, text, &position, compare, &comparison);
    return comparison.same && comparison.rest.size == 0 && str_find(text, ' ') == text.size;
}

/* {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}: the one pattern that is known. */
static ibid_code read_replace(struct unigram *self, const json_t *part, ibid_error *err)
{
    struct str pattern = STR_EMPTY, content = STR_EMPTY;
    size_t position = 0;
    TRY(json_get_str(json_object_get(part, "pattern"), "Regex", &pattern, err));
    TRY(json_get_str(part, "content", &content, err));
    const uint32_t becomes = content.size > 0 ? utf8_next(content, &position) : 0;
    if (!str_is(pattern, " {2,}") || becomes == 0 || position < content.size)
        return fail(err, IBID_EUNSUPPORTED,
                    "the tokenizer's normalizer replaces '%.*s' by '%.*s', but only runs of blanks by one "
                    "character are supported",
                    STR_ARG(pattern), STR_ARG(content));
    self->runs_become = becomes;
    return IBID_OK;
}

/* The parts of a normalizer come in this order, each once at most. */
static ibid_code read_normalizer_part(struct unigram *self, const json_t *part, int *stage, ibid_error *err)
{
    static const char *const types[] = {"Precompiled", "Strip", "Replace"};
    struct str type = STR_EMPTY, charsmap = STR_EMPTY;
    TRY(json_get_str(part, "type", &type, err));
    int found = 0;
    while (found < (int)COUNT_OF(types) && !str_is(type, types[found]))
        found++;
    if (found == (int)COUNT_OF(types) || found < *stage)
        return fail(err, IBID_EUNSUPPORTED,
                    "the tokenizer's normalizer '%.*s' is not supported for Unigram, or not at that place",
                    STR_ARG(type));
    *stage = found + 1;
    switch (found) {
    case 0:
        TRY(json_get_str(part, "precompiled_charsmap", &charsmap, err));
        return charsmap_parse(charsmap, &self->charsmap, err);
    case 1:
        self->strips_left = self->strips_right = true;
        TRY(json_get_bool(part, "strip_left", &self->strips_left, err));
        return json_get_bool(part, "strip_right", &self->strips_right, err);
    default:
        return read_replace(self, part, err);
    }
}

static ibid_code read_normalizer(struct unigram *self, const json_t *root, ibid_error *err)
{
    const json_t *normalizer = tokenizer_member(root, "normalizer");
    struct str type = STR_EMPTY;
    int stage = 0;
    if (!normalizer)
        return IBID_OK;
    TRY(json_get_str(normalizer, "type", &type, err));
    if (!str_is(type, "Sequence"))
        return read_normalizer_part(self, normalizer, &stage, err);
    const json_t *parts = json_object_get(normalizer, "normalizers");
    for (size_t i = 0; i < json_array_size(parts); i++)
        TRY(read_normalizer_part(self, json_array_get(parts, i), &stage, err));
    return IBID_OK;
}

static ibid_code read_metaspace(struct unigram *self, const json_t *part, ibid_error *err)
{
    struct str mark = STR("\xe2\x96\x81"), scheme = STR_EMPTY;
    bool prepends = true;
    size_t position = 0;
    TRY(tokenizer_check_type(part, "pre-tokenizer", "Metaspace", err));
    TRY(json_get_str(part, "replacement", &mark, err));
    TRY(json_get_str(part, "prepend_scheme", &scheme, err));
    TRY(json_get_bool(part, "add_prefix_space", &prepends, err)); /* older files, without a scheme */
    self->splits_at_marks = true;
    TRY(json_get_bool(part, "split", &self->splits_at_marks, err));
    self->mark = mark.size > 0 ? utf8_next(mark, &position) : 0;
    if (self->mark == 0 || position < mark.size)
        return fail(err, IBID_EFORMAT, "the tokenizer's replacement '%.*s' is not one character",
                    STR_ARG(mark));
    if (scheme.size == 0)
        self->prepend = prepends ? PREPEND_ALWAYS : PREPEND_NEVER;
    else if (str_is(scheme, "always") || str_is(scheme, "first"))
        self->prepend = str_is(scheme, "always") ? PREPEND_ALWAYS : PREPEND_FIRST;
    else if (str_is(scheme, "never"))
        self->prepend = PREPEND_NEVER;
    else
        return fail(err, IBID_EUNSUPPORTED, "the tokenizer's prepend_scheme '%.*s' is not known",
                    STR_ARG(scheme));
    return IBID_OK;
}

/* Metaspace, or WhitespaceSplit and then Metaspace. */
static ibid_code read_pre_tokenizer(struct unigram *self, const json_t *root, ibid_error *err)
{
    const json_t *part = tokenizer_member(root, "pre_tokenizer");
    struct str type = STR_EMPTY;
    TRY(json_get_str(part, "type", &type, err));
    if (!str_is(type, "Sequence"))
        return read_metaspace(self, part, err);
    const json_t *parts = json_object_get(part, "pretokenizers");
    const size_t count = json_array_size(parts);
    if (count == 2) {
        TRY(tokenizer_check_type(json_array_get(parts, 0), "pre-tokenizer", "WhitespaceSplit", err));
        self->splits_at_spaces = true;
    } else if (count != 1) {
        return fail(err, IBID_EUNSUPPORTED, "the tokenizer's %zu pre-tokenizers in a row are not supported",
                    count);
    }
    return read_metaspace(self, json_array_get(parts, count - 1), err);
}

/* The pieces and their scores; the place in the list is the id. */
static ibid_code read_pieces(struct unigram *self, const json_t *pieces, ibid_error *err)
{
    const size_t count = json_array_size(pieces);
    double lowest = 0;
    if (count == 0 || count > VOCABULARY_TOKENS_MAX)
        return fail(err, count ? IBID_ETOOBIG : IBID_EFORMAT,
                    "the tokenizer's vocabulary has %zu pieces, and 1 to %d are possible", count,
                    VOCABULARY_TOKENS_MAX);
    AUTO_FREE struct vocabulary_entry *entries = xcalloc(count, sizeof *entries);
    size_t filled = 0;
    self->scores = xcalloc(count, sizeof *self->scores);
    self->base.id_end = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(pieces, i), *piece = json_array_get(row, 0),
                     *score = json_array_get(row, 1);
        if (!json_is_string(piece) || !json_is_number(score))
            return fail(err, IBID_EFORMAT, "piece %zu of the tokenizer's vocabulary is no text with a score",
                        i);
        self->scores[i] = json_number_value(score);
        lowest = i == 0 || self->scores[i] < lowest ? self->scores[i] : lowest;
        const struct str token = {json_string_value(piece), json_string_length(piece)};
        if (token.size == 0)
            continue; /* never matches */
        entries[filled++] = (struct vocabulary_entry){token, (int32_t)i};
        self->longest = token.size > self->longest ? token.size : self->longest;
    }
    self->unknown_score = lowest - UNKNOWN_PENALTY;
    return vocabulary_build(entries, filled, &self->vocabulary, err);
}

static ibid_code read_byte_tokens(struct unigram *self, ibid_error *err)
{
    self->byte_ids = xcalloc(BYTE_TOKENS, sizeof *self->byte_ids);
    for (unsigned byte = 0; byte < BYTE_TOKENS; byte++) {
        static const char digits[] = "0123456789ABCDEF";
        const char token[] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
        self->byte_ids[byte] = vocabulary_find(&self->vocabulary, (struct str){token, sizeof token});
        if (self->byte_ids[byte] < 0)
            return fail(err, IBID_EUNSUPPORTED,
                        "the tokenizer has byte_fallback, but not the token '%.6s', which is not supported",
                        token);
    }
    return IBID_OK;
}

static ibid_code read_model(struct unigram *self, const json_t *root, ibid_error *err)
{
    const json_t *model = tokenizer_member(root, "model");
    bool byte_fallback = false;
    int64_t unknown = -1;
    TRY(read_normalizer(self, root, err));
    TRY(read_pre_tokenizer(self, root, err));
    TRY(read_pieces(self, json_object_get(model, "vocab"), err));
    TRY(json_get_int(model, "unk_id", 0, (int64_t)self->base.id_end - 1, &unknown, err));
    if (unknown < 0)
        return fail(err, IBID_EUNSUPPORTED, "the tokenizer has no unk_id, which is not supported");
    self->unknown = (int32_t)unknown;
    TRY(json_get_bool(model, "byte_fallback", &byte_fallback, err));
    return byte_fallback ? read_byte_tokens(self, err) : IBID_OK;
}

static void unigram_free(struct token_model *model)
{
    struct unigram *self = (struct unigram *)model;
    charsmap_free(self->charsmap);
    vocabulary_release(&self->vocabulary);
    free(self->scores);
    free(self->byte_ids);
    free(self);
}

static ibid_code unigram_open(const json_t *root, struct token_model **ret, ibid_error *err)
{
    struct unigram *self = xcalloc(1, sizeof *self);
    self->base.ops = &unigram_model;
    const ibid_code code = read_model(self, root, err);
    if (code != IBID_OK) {
        unigram_free(&self->base);
        return code;
    }
    *ret = &self->base;
    return IBID_OK;
}

const struct token_model_ops unigram_model = {
    .type = "Unigram",
    .open = unigram_open,
    .free = unigram_free,
    .tokenize = unigram_tokenize,
    .keeps = unigram_keeps,
};
