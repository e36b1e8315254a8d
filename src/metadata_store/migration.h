/* The numbered migrations, the same for every member but for a few words (see metadata_store.h). */
#pragma once

#include "base/buffer.h"

struct migration {
    int version; /* from 1, without gaps */
    const char *sql;
};

extern const struct migration migrations[]; /* ended by version 0 */
int migration_newest_version(void);

/* How a member spells one word. */
struct migration_word {
    const char *word;     /* "{id}" */
    const char *spelling; /* "INTEGER PRIMARY KEY AUTOINCREMENT" */
};

/* Appends the statements with each word replaced; a word without spelling is a BUG. `words` is ended by
 * a NULL word. */
void migration_append(struct buffer *out, const char *sql, const struct migration_word *words);
