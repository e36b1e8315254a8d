/* The extract seam, seen by its callers: bytes in, struct extraction out.
 *
 * A pool starts the broker programs (found in the install's libexec folder) and asks them to fork
 * one sandboxed child for each document. A document that crashes, hangs or balloons its parser ends
 * as a status of that document; the pool goes on, and a broker that dies is started again. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/option.h"
#include "model/extraction.h"

enum extract_sandbox { SANDBOX_REQUIRED, SANDBOX_AUTO, SANDBOX_OFF };

struct extract_settings {
    int sandbox;             /* enum extract_sandbox: `required` refuses to start without seccomp */
    int64_t max_file_size;   /* bytes */
    int64_t max_memory;      /* bytes of address space per document */
    int64_t max_cpu_time;    /* microseconds per document */
    int64_t max_time;        /* microseconds of wall clock per document */
    int64_t max_pages;
    int64_t max_text;        /* bytes of canonical text */
    const char *libexec;     /* folder of the broker programs; NULL: beside the program or as installed */
};
extern const struct option_section extract_section; /* "extract" */

struct extract_pool;

/* Starts `ibid-extract`; the other brokers start with their first document. IBID_EUNAVAILABLE when it
 * is missing or cannot start, or when the sandbox is required and the system has none. */
ibid_code extract_pool_open(const struct extract_settings *settings, struct extract_pool **ret, ibid_error *err)
    MUST_CHECK;
/* Ends the brokers; waits for documents under way to fail. NULL is fine. */
void extract_pool_close(struct extract_pool *take_pool);

/* "full", "basic" or "off": what the sandbox is made of here. */
const char *extract_pool_sandbox_level(const struct extract_pool *pool);

struct extract_request {
    int fd;                  /* open for reading, borrowed; read from its start */
    const char *name;        /* file name, for type detection and titles */
    const char *media_type;  /* declared by the source; NULL when unknown */
    const char *charset;     /* declared by the source; NULL when unknown */
    const char *password;    /* or NULL */
    const char *parent;      /* file_id of the holding document, or NULL */
    const char *container_path; /* or NULL */
    bool words;              /* whether word boxes are wanted */
};

/* Extracts one document; blocks until it is done or its limits end it. Thread-safe: each call has a
 * child of its own. The answer is IBID_OK for every fate of the *document* (see ret->status);
 * an error means that the pool could not do its work (IBID_EUNAVAILABLE) or `*cancel` was raised
 * (IBID_ECANCELED). ret lives in `arena`. */
ibid_code extract_document(struct extract_pool *pool, const struct extract_request *request,
                           const _Atomic bool *cancel, struct arena *arena, struct extraction *ret,
                           ibid_error *err) MUST_CHECK;

/* The media type that extract_document goes by, from the bytes, the name and what the source declares (or NULL);
 * "application/octet-stream" when it is none that ibid knows. The position of `fd` stays. */
const char *extract_detect_type(int fd, const char *name, const char *declared);

/* The version string that the ledger keeps ("pdf/1"): extractor for a media type, NULL when unsupported. */
const char *extract_extractor_version(const char *media_type);

/* What the ledger keeps for a document that no extractor reads: it changes whenever an extractor does. */
const char *extract_none_version(void);

/* Whether a version that the ledger keeps is still that of an extractor here (or of none reading it). */
bool extract_version_is_current(struct str version);
