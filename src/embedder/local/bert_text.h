/* BERT's text rules: cleaning, folding and cutting text into words, as the reference tokenizer's
 * BertNormalizer and BertPreTokenizer do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* What the rules need to know of a code point; one may be several of these. */
enum bert_class {
    BERT_REMOVED = 1 << 0, /* control, format, private use: dropped by cleaning */
    BERT_SPACE = 1 << 1,
    BERT_PUNCTUATION = 1 << 2, /* a word of its own */
    BERT_MARK = 1 << 3,        /* an accent that stripping drops */
    BERT_IDEOGRAPH = 1 << 4,   /* Han, which is written without spaces: a word of its own */
};

struct bert_range {
    unsigned class;
    uint32_t first, last;
};
extern const struct bert_range bert_ranges[];
extern const size_t bert_range_count;

enum {
    BERT_WORD_CHARACTERS_MAX = 256, /* ceiling of bert_rules.word_characters */
    BERT_FOLDED_END = 0x3000,       /* code points below have their folding precomputed */
};

struct bert_rules {
    bool clean; /* drop BERT_REMOVED; any space becomes ' ' */
    bool separate_ideographs;
    bool strip_accents;     /* canonical decomposition without BERT_MARK */
    bool lowercase;         /* one code point at a time, without context */
    size_t word_characters; /* a longer word is reported by its length alone */
};

/* Rules with what is computed from them; immutable once made, shared between threads. */
struct bert_text {
    struct bert_rules rules;
    char ascii[128];                  /* a letter or digit as it stands in a word, else 0 */
    uint16_t folded[BERT_FOLDED_END]; /* what stands for a code point within a word; 0: take the long way */
};

struct bert_word {
    struct str text;   /* UTF-8, folded; borrowed for the call. Cut when the word is too long */
    size_t characters; /* of the whole word; may be above rules.word_characters */
};

void bert_text_init(struct bert_text *self, struct bert_rules rules);

/* Calls `take_word` for every word in order until it returns false. Ill-formed UTF-8 counts as
 * U+FFFD, which cleaning drops. Runs in time linear in the text and in constant memory. */
void bert_text_split(const struct bert_text *self, struct str text,
                     bool (*take_word)(void *context, struct bert_word word), void *context);
