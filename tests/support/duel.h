/* A vector store and the exact oracle beside it, both following one truth of random rows. */
#pragma once

#include "tests/support/truth.h"
#include "vector_store/vector_store.h"

enum { DUEL_COLLECTION = 7 };

struct duel {
    struct arena arena;
    char folder[64]; /* the store's, removed in the end */
    const struct vector_store_ops *ops;
    void *options; /* of the store: in the arena */
    struct truth *truth;
    struct vector_store *store, *oracle;
    uint32_t dimension;
};

/* Default options of a store, to be changed before duel_open. */
void *duel_options(const struct vector_store_ops *ops, struct arena *arena);

/* `options` NULL: the defaults. They and the arena's contents are copied over. */
struct duel *duel_new(const struct vector_store_ops *ops, void *options, uint32_t dimension);
void duel_free(struct duel *duel);
/* Closes the store and opens it anew in its folder. */
void duel_reopen(struct duel *duel);
void duel_attach(struct duel *duel, struct vector_store *store);
/* Commits the truth; both stores follow. */
void duel_follow(struct duel *duel);

/* Random numbers that are the same in each run. */
void random_seed(uint64_t seed);
uint64_t random_next(void);
unsigned random_below(unsigned limit);
/* Of length 1. */
void random_vector(float *out, size_t dimension);

struct attribute text_attribute(const char *key, const char *value);
struct attribute number_attribute(const char *key, double value);

/* A row in workspace 1, with text only. */
void duel_put_text(struct duel *duel, int64_t row_id, const char *text);
/* A row with everything that varies: text, vector (not always), workspaces 1 to 3, state, attributes,
 * metadata. */
void duel_put_random(struct duel *duel, int64_t row_id);
/* Puts or removes random rows of 1..most. */
void duel_change(struct duel *duel, unsigned changes, unsigned most);

extern const struct scope scope_one, scope_all; /* workspace 1; all three and what is sensitive in them */

/* `filter` in the filter language, or NULL. */
struct selection *select_rows(struct vector_store *store, const struct scope *scope, const char *filter);
/* Row ids of a selection of the store as text: "1 2 5"; at most 256. */
const char *duel_listed(struct duel *duel, const struct scope *scope, const char *filter);

/* Whether the store can do something. */
bool duel_can(const struct duel *duel, enum vector_store_capability capability);

struct term_query query_of(const struct str *terms, size_t count);

/* Both give the same for random searches, on every side: the same rows, words scored to 1e-4, vectors to
 * 1e-5. A side that the store cannot search has to be refused. */
void assert_same_answers(struct duel *duel, const struct scope *scope, const char *filter, size_t k);
/* The same, but only this share of the nearest rows (on average over 10 queries) must be the oracle's. */
void assert_near_answers(struct duel *duel, const struct scope *scope, const char *filter, size_t k,
                         double recall);
/* assert_same_answers for several scopes and filters. */
void assert_same_everywhere(struct duel *duel);
