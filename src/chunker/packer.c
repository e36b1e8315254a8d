#include "chunker/packer.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "chunker/draft.h"
#include "chunker/prefix.h"

enum {
    BYTES_PER_TOKEN = 32,  /* more text than that makes no chunk, whatever a vocabulary calls one token */
    WIDE_TABLE_SIZE = 400, /* bytes from which on a table is not mixed with prose */
};

/* The end of a chunk, to be repeated by the next one. */
struct tail {
    uint32_t start, tokens; /* tokens 0: there is none */
    uint32_t section;
};

struct packer {
    const struct extraction *extraction;
    const struct chunking *chunking;
    const struct packing *packing;
    const struct token_counter *counter;
    struct arena *arena;
    struct outline outline;
    struct splitter splitter;
    struct prefixes prefixes;
    uint32_t next_leaf;
    struct piece *pending; /* the next one last */
    size_t pending_count, pending_capacity;
    struct draft draft;
    struct tail tail;
    struct chunk *chunks;
    size_t chunk_count, chunk_capacity;
};

static const struct leaf *leaf_of(const struct packer *packer, const struct piece *piece)
{
    return &packer->outline.leaves[piece->leaf];
}

/* ---- the pieces still to come ---- */

static void push(struct packer *packer, const struct piece *piece)
{
    GROW(packer->pending, packer->pending_count, packer->pending_capacity);
    packer->pending[packer->pending_count++] = *piece;
}

/* Puts smaller pieces in the place of the next one, down to packing->unit when `to_unit`.
 * False when it stays whole. */
static bool split_next(struct packer *packer, bool to_unit)
{
    struct piece parts[SPLIT_LIMIT];
    const struct piece *whole = &packer->pending[packer->pending_count - 1];
    const uint32_t part_size = packer->chunking->size * BYTES_PER_TOKEN / 2;
    const size_t count = splitter_split(&packer->splitter, whole, part_size, parts);
    if (count == 0 || (to_unit && parts[0].level > packer->packing->unit))
        return false;
    packer->pending_count--;
    for (size_t i = count; i-- > 0;)
        push(packer, &parts[i]);
    return true;
}

/* The next piece, at the level of the packing's unit or below; NULL at the end. */
static struct piece *peek(struct packer *packer)
{
    if (packer->pending_count == 0) {
        if (packer->next_leaf == packer->outline.leaf_count)
            return NULL;
        const struct leaf *leaf = &packer->outline.leaves[packer->next_leaf];
        push(packer, &(struct piece){
                         .start = leaf->start, .end = leaf->end, .leaf = packer->next_leaf++, .first = true});
    }
    while (packer->pending[packer->pending_count - 1].level < packer->packing->unit)
        if (!split_next(packer, true))
            packer->pending[packer->pending_count - 1].level = (uint8_t)packer->packing->unit;
    return &packer->pending[packer->pending_count - 1];
}

/* At least 1, so that nothing is free; far too many for what is too long to be counted. */
static uint32_t tokens_of(const struct packer *packer, struct piece *piece)
{
    if (piece->tokens == 0) {
        const struct str text = str_slice(packer->extraction->text, piece->start, piece->end);
        const size_t tokens = text.size > (size_t)packer->chunking->size * BYTES_PER_TOKEN
                                  ? UINT32_MAX / 4
                                  : packer->counter->count(packer->counter, text);
        piece->tokens = tokens ? (uint32_t)tokens : 1;
    }
    return piece->tokens;
}

/* A label that would take more than a quarter of the chunk is left off. */
static uint32_t label_tokens(const struct packer *packer, struct piece *piece)
{
    const struct str label = piece_label(&packer->outline, packer->extraction->text, piece);
    if (label.size == 0)
        return 0;
    const uint32_t tokens = (uint32_t)packer->counter->count(packer->counter, label) + 1;
    piece->unlabelled = tokens > packer->chunking->size / 4;
    return piece->unlabelled ? 0 : tokens;
}

/* ---- the chunk in the making ---- */

/* Whether everything in the draft only leads to what follows. */
static bool draft_leads(const struct packer *packer)
{
    for (size_t i = 0; i < packer->draft.count; i++)
        if (!leaf_of(packer, &packer->draft.own[i])->leads)
            return false;
    return true;
}

static bool draft_is_headings(const struct packer *packer)
{
    for (size_t i = 0; i < packer->draft.count; i++)
        if (leaf_of(packer, &packer->draft.own[i])->kind != BLOCK_HEADING)
            return false;
    return true;
}

/* Tokens for the text of a chunk, overlap included. */
static uint32_t room(const struct packer *packer)
{
    const struct draft *draft = &packer->draft;
    return packer->chunking->size - (uint32_t)packer->counter->special_tokens - draft->prefix_tokens -
           draft->header_tokens;
}

static bool is_prose(const struct leaf *leaf)
{
    return leaf->kind != BLOCK_HEADING && leaf->kind != BLOCK_CODE && leaf->table == NO_TABLE;
}

static void begin_overlap(struct packer *packer, const struct piece *first)
{
    const struct leaf *leaf = leaf_of(packer, first);
    const struct tail *tail = &packer->tail;
    struct draft *draft = &packer->draft;
    draft->overlap_tokens = 0;
    if (draft->without_overlap || tail->tokens == 0 || piece_follows_gap(&packer->outline, first))
        return;
    if (packer->packing->structure && (leaf->section != tail->section || !is_prose(leaf)))
        return;
    draft->overlap_start = tail->start;
    draft->overlap_tokens = tail->tokens;
}

/* The header of a table whose rows go on in this chunk. */
static void begin_header(struct packer *packer, const struct piece *first)
{
    struct draft *draft = &packer->draft;
    draft->header = STR_EMPTY;
    draft->header_tokens = 0;
    const struct leaf *leaf = leaf_of(packer, first);
    if (!packer->packing->structure || leaf->table == NO_TABLE || first->level != PIECE_BLOCK)
        return;
    const struct table *table = &packer->outline.tables[leaf->table];
    if (table->header_end == table->header_start || first->start < table->header_end)
        return;
    const uint32_t limit = room(packer) / 3, size = limit * BYTES_PER_TOKEN;
    const struct str header = str_slice(packer->extraction->text, table->header_start, table->header_end);
    const struct str front = str_slice(header, 0, utf8_floor(header, size));
    draft->header = cut_to_tokens(front, limit, packer->counter, &draft->header_tokens);
}

/* What depends on the first piece. May be called again when that has changed. */
static void begin(struct packer *packer, const struct piece *first)
{
    const struct leaf *leaf = leaf_of(packer, first);
    struct draft *draft = &packer->draft;
    draft->prefix = STR_EMPTY;
    draft->prefix_tokens = 0;
    if (packer->packing->structure) {
        /* A heading that stands in the text is not repeated before it. */
        const uint32_t section =
            leaf->kind == BLOCK_HEADING ? packer->outline.sections[leaf->section].parent : leaf->section;
        const struct prefix *prefix = prefix_of(&packer->prefixes, section);
        const struct str text = str_slice(packer->extraction->text, first->start, first->end);
        if (!str_equal_nocase(prefix->text, text)) {
            draft->prefix = prefix->text;
            draft->prefix_tokens = prefix->tokens;
        }
    }
    begin_header(packer, first);
    begin_overlap(packer, first);
}

/* Whether a boundary of the document stands before `next`. */
static bool must_part(const struct packer *packer, const struct piece *next)
{
    const struct piece *last = &packer->draft.own[packer->draft.count - 1];
    if (!packer->packing->structure || last->leaf == next->leaf)
        return false;
    const struct leaf *from = leaf_of(packer, last), *to = leaf_of(packer, next);
    if (from->section != to->section) {
        /* A heading without text of its own goes with the next one beside or below it. */
        const struct section *sections = packer->outline.sections;
        return to->kind != BLOCK_HEADING || !draft_is_headings(packer) ||
               sections[to->section].level < sections[from->section].level;
    }
    if (from->table == to->table || draft_leads(packer))
        return false;
    const uint32_t tables[] = {from->table, to->table};
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (tables[i] != NO_TABLE &&
            packer->outline.tables[tables[i]].end - packer->outline.tables[tables[i]].start >=
                WIDE_TABLE_SIZE)
            return true;
    return false;
}

static bool fits(const struct packer *packer, struct piece *next)
{
    const struct draft *draft = &packer->draft;
    const uint32_t start = draft->count ? draft_start(draft) : next->start;
    if (next->end - start > packer->chunking->size * BYTES_PER_TOKEN)
        return false;
    return draft->overlap_tokens + draft->tokens + tokens_of(packer, next) + label_tokens(packer, next) <=
           room(packer);
}

/* Whether cutting `next`, which does not fit, is better than leaving it whole to the next chunk. */
static bool is_worth_splitting(const struct packer *packer, struct piece *next)
{
    const struct draft *draft = &packer->draft;
    if (draft->count == 0)
        return true;
    const uint32_t used = draft->overlap_tokens + draft->tokens, all = room(packer);
    if (next->level >= PIECE_WORD || used > all)
        return false;
    if (draft_leads(packer))
        return all - used >= all / 4;
    return tokens_of(packer, next) > all && used < all / 2;
}

static void place_next(struct packer *packer)
{
    struct draft *draft = &packer->draft;
    struct piece *piece = &packer->pending[--packer->pending_count];
    draft->tokens += tokens_of(packer, piece) + label_tokens(packer, piece);
    GROW(draft->own, draft->count, draft->capacity);
    draft->own[draft->count++] = *piece;
}

static uint32_t give_back(struct packer *packer)
{
    struct draft *draft = &packer->draft;
    struct piece *piece = &draft->own[--draft->count];
    const uint32_t tokens = tokens_of(packer, piece) + label_tokens(packer, piece);
    draft->tokens -= tokens;
    push(packer, piece);
    return tokens;
}

/* What leads to the following goes there, unless there is nothing else in the draft. */
static void give_back_leading(struct packer *packer)
{
    const struct draft *draft = &packer->draft;
    if (!peek(packer) || draft_leads(packer))
        return;
    while (leaf_of(packer, &draft->own[draft->count - 1])->leads)
        give_back(packer);
}

/* Makes a draft smaller that takes `excess` tokens too many. False when nothing is left to give. */
static bool lighten(struct packer *packer, uint32_t excess)
{
    struct draft *draft = &packer->draft;
    if (draft->overlap_tokens) {
        draft->overlap_tokens = 0;
        return true;
    }
    if (draft->count > 1) {
        for (uint32_t given = 0; given < excess && draft->count > 1;)
            given += give_back(packer);
        return true;
    }
    give_back(packer);
    const bool smaller = split_next(packer, false);
    place_next(packer);
    if (smaller)
        return true;
    if (!draft->header_tokens && !draft->prefix_tokens)
        return false;
    draft->header = draft->prefix = STR_EMPTY;
    draft->header_tokens = draft->prefix_tokens = 0;
    return true;
}

/* ---- overlap ---- */

/* The sentences at the end of `piece` that take at most `limit` tokens. */
static void last_sentences(struct packer *packer, const struct piece *piece, uint32_t limit,
                           struct tail *tail)
{
    struct piece parts[SPLIT_LIMIT];
    struct piece block = *piece;
    block.level = PIECE_CELL; /* whatever it is, it is cut into sentences */
    size_t count = splitter_split(&packer->splitter, &block, 4, parts);
    for (uint32_t left = limit; count-- > 1;) { /* not all of it: that would repeat a whole chunk */
        const uint32_t tokens = tokens_of(packer, &parts[count]);
        if (parts[count].level != PIECE_SENTENCE || tokens > left)
            return;
        left -= tokens;
        tail->start = parts[count].start;
        tail->tokens += tokens;
    }
}

/* What the next chunk may repeat of the draft. */
static struct tail find_tail(struct packer *packer)
{
    const struct draft *draft = &packer->draft;
    const uint32_t limit = packer->chunking->size * packer->chunking->overlap_percent / 100;
    struct tail tail = {.section = leaf_of(packer, &draft->own[draft->count - 1])->section};
    for (size_t i = draft->count; i-- > 0;) {
        struct piece *piece = &draft->own[i];
        const struct leaf *leaf = leaf_of(packer, piece);
        if (packer->packing->structure && !is_prose(leaf))
            break;
        const bool whole = packer->packing->overlap_words ? piece->level == PIECE_WORD
                                                          : piece->level <= PIECE_SENTENCE && !piece->cut;
        if (!whole)
            break;
        const uint32_t tokens = tokens_of(packer, piece);
        if (tail.tokens + tokens > limit || i == 0) {
            if (piece->level < PIECE_SENTENCE)
                last_sentences(packer, piece, limit - tail.tokens, &tail);
            break;
        }
        tail.start = piece->start;
        tail.tokens += tokens;
        if (piece_follows_gap(&packer->outline, piece))
            break;
    }
    return tail;
}

/* ---- the whole ---- */

static void finish(struct packer *packer)
{
    struct draft *draft = &packer->draft;
    const size_t limit = packer->chunking->size - packer->counter->special_tokens;
    struct chunk chunk;
    size_t tokens;
    do {
        give_back_leading(packer);
        draft_compose(draft, packer->extraction, &packer->outline, packer->arena, &chunk);
        /* Pieces counted one by one are nearly, not exactly, what they take together. */
        tokens = packer->counter->count(packer->counter, chunk.embed_text);
    } while (tokens > limit && lighten(packer, (uint32_t)(tokens - limit)));
    chunk.tokens = (uint32_t)tokens;
    chunk.order = (uint32_t)packer->chunk_count;
    GROW(packer->chunks, packer->chunk_count, packer->chunk_capacity);
    packer->chunks[packer->chunk_count++] = chunk;
    packer->tail = find_tail(packer);
    draft->count = 0;
    draft->tokens = 0;
    draft->without_overlap = false;
}

static void pack(struct packer *packer)
{
    struct draft *draft = &packer->draft;
    for (;;) {
        struct piece *next = peek(packer);
        if (!next && draft->count == 0)
            return;
        if (!next) {
            finish(packer); /* which may give back pieces */
            continue;
        }
        if (draft->count == 0) {
            begin(packer, next);
        } else if (must_part(packer, next)) {
            finish(packer);
            continue;
        }
        if (fits(packer, next)) {
            place_next(packer);
        } else if (draft->count == 0 && draft->overlap_tokens) {
            draft->without_overlap = true;
        } else if (!is_worth_splitting(packer, next) || !split_next(packer, false)) {
            if (draft->count == 0)
                place_next(packer); /* one code point */
            else
                finish(packer);
        }
    }
}

static void packer_release(struct packer *packer)
{
    outline_release(&packer->outline);
    splitter_release(&packer->splitter);
    free(packer->pending);
    free(packer->draft.own);
    free(packer->chunks);
}

ibid_code pack_chunks(const struct extraction *extraction, struct str title, const struct chunking *chunking,
                      const struct token_counter *counter, const struct packing *packing, struct arena *arena,
                      struct chunk **ret_chunks, size_t *ret_count, ibid_error *err)
{
    struct packer packer = {.extraction = extraction,
                            .chunking = chunking,
                            .packing = packing,
                            .counter = counter,
                            .arena = arena};
    TRY(outline_build(extraction, arena, &packer.outline, err));
    packer.splitter = (struct splitter){
        .text = extraction->text, .outline = &packer.outline, .language = chunking->language};
    prefixes_init(&packer.prefixes, &packer.outline, title, chunking->heading_tokens, counter, arena);
    pack(&packer);
    struct chunk *chunks = ARENA_ARRAY(arena, struct chunk, packer.chunk_count);
    memcpy(chunks, packer.chunks, packer.chunk_count * sizeof *chunks);
    *ret_chunks = chunks;
    *ret_count = packer.chunk_count;
    packer_release(&packer);
    return IBID_OK;
}
