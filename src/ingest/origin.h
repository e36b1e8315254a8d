/* A source under way: its connector opened, its options filled, and how its documents are cut and
 * embedded. */
#pragma once

#include "base/arena.h"
#include "chunker/chunker.h"
#include "connector/connector.h"
#include "ingest/ingest.h"
#include "records/source.h"

/* How the documents of one collection are made into chunks. */
struct recipe {
    int64_t collection_id;
    const struct chunker_ops *chunker;
    struct chunking chunking;
    const char *collection_language; /* for documents whose language is not known */
    const struct token_counter *counter;
    const char *chunking_fingerprint;
    struct embedder *embedder;        /* NULL: without vectors */
    const char *embedder_fingerprint; /* "" without */
    const char *missing_embedder;     /* that made the vectors which serve, while there is none; else NULL */
};

struct origin {
    struct arena arena;
    struct source source;
    const char *location;
    struct connector *connector; /* NULL: uploads, whose bytes are in the blob store */
    void *source_options;
    struct recipe recipe;
};

/* Opens a source for a run. Names the embedder in its collection; one with vectors of another embedder gets a
 * successor (records/succession.h). IBID_ENOTFOUND, or why the connector cannot work. */
ibid_code origin_open(struct ingest_host *host, int64_t source_id, struct origin **ret,
                      ibid_error *err) MUST_CHECK;
void origin_close(struct origin *take_origin); /* NULL is fine */

/* As connector_fetch, of an origin that has a connector. */
ibid_code origin_fetch(struct ingest_host *host, struct origin *origin, struct str external_key,
                       struct arena *arena, struct connector_item *ret_item, int *ret_fd,
                       ibid_error *err) MUST_CHECK;

/* What tells one way of counting from another: equal for counters that count alike. */
const char *counter_fingerprint(const struct token_counter *counter, struct arena *arena);

/* Opens the connector of a source, and fills the source's options; `arena` outlives it. IBID_EUNSUPPORTED
 * when there is no such connector. */
ibid_code source_connect(const struct source *source, struct arena *arena, void **ret_options,
                         struct connector **ret, ibid_error *err) MUST_CHECK;

/* The options of one source, from the JSON that is kept of them, over the defaults; `arena`. */
ibid_code source_options_fill(const struct connector_ops *ops, struct str json, struct arena *arena,
                              void **ret, ibid_error *err) MUST_CHECK;
