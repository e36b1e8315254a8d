#include "metadata_store/migration.h"

#include <string.h>

static const char foundation[] =
#include "metadata_store/migrations/0001_foundation.sql.inc"
    ;

static const char declared_type[] =
#include "metadata_store/migrations/0002_declared_type.sql.inc"
    ;

static const char metrics_token[] =
#include "metadata_store/migrations/0003_metrics_token.sql.inc"
    ;

static const char succession[] =
#include "metadata_store/migrations/0004_succession.sql.inc"
    ;

const struct migration migrations[] = {
    {1, foundation},
    {2, declared_type},
    {3, metrics_token},
    {4, succession},
    {0, NULL},
};

int migration_newest_version(void)
{
    int newest = 0;
    for (const struct migration *migration = migrations; migration->sql; migration++)
        newest = migration->version;
    return newest;
}

static const struct migration_word *word_at(const char *text, const struct migration_word *words)
{
    for (; words->word; words++)
        if (strncmp(text, words->word, strlen(words->word)) == 0)
            return words;
    BUG("a migration uses a word without spelling: %.20s", text);
}

void migration_append(struct buffer *out, const char *sql, const struct migration_word *words)
{
    for (;;) {
        const char *brace = strpbrk(sql, "{'-");
        if (!brace)
            break;
        buffer_append(out, sql, (size_t)(brace - sql));
        if (*brace == '{') {
            const struct migration_word *word = word_at(brace, words);
            buffer_append_string(out, word->spelling);
            sql = brace + strlen(word->word);
            continue;
        }
        /* Quoted text and comments are copied as they stand. */
        const bool comment = brace[0] == '-' && brace[1] == '-';
        const char *end = *brace == '\'' ? strchr(brace + 1, '\'') : comment ? strchr(brace, '\n') : brace;
        ASSERT(end);
        buffer_append(out, brace, (size_t)(end + 1 - brace));
        sql = end + 1;
    }
    buffer_append_string(out, sql);
}
