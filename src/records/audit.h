/* The audit log: who changed what, when, through which door. Entries are only added, and removed once they
 * are older than is to be kept. No text of a query or a document is in it. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "metadata_store/metadata_store.h"

struct audit_entry {
    int64_t id;
    int64_t at;        /* microseconds since 1970 */
    int64_t user_id;   /* 0: nobody known */
    struct str user;   /* name; of a user who is no more, empty */
    int64_t token_id;  /* 0: without one */
    struct str action; /* "document.remove", "denied", ... */
    struct str object; /* "document 17" */
    struct str door;   /* "local", or the address of a peer on the network */
};

enum { AUDIT_OBJECT_LIMIT = 500 };

/* Adds an entry as of now. Used of `entry`: user_id, token_id, action, object (cut to AUDIT_OBJECT_LIMIT
 * bytes and one line), door. Removes some of the oldest that are from before `keep_after` (0: keeps all). */
ibid_code audit_append(struct transaction *transaction, const struct audit_entry *entry, int64_t keep_after,
                       ibid_error *err) MUST_CHECK;

struct audit_query {
    int64_t before_id; /* the page's cursor: the last id of the page before, or 0 */
    size_t limit;      /* 1..1000 */
    struct str action; /* empty: any */
};
/* A page, newest first. *ret_more: whether another follows. */
ibid_code audit_list(struct transaction *transaction, const struct audit_query *query, struct arena *arena,
                     struct audit_entry **ret, size_t *ret_count, bool *ret_more, ibid_error *err) MUST_CHECK;
