/* The extract seam, seen by a format's author: one function in a sandboxed child.
 *
 * To add a format:
 *   1. src/extract/<name>.c with `void extract_<name>(struct emitter *, const struct extract_input *)`
 *   2. a row in EXTRACTOR_MAP below
 *   3. its marks in src/extract/detect.c, which decides the type
 *   4. a line in src/extract/meson.build, among the formats of its broker
 *   5. samples with their expected extraction in tests/golden/extract/<name>/
 *   6. a target in tests/fuzz/, named in tests/meson.build
 *
 * The function runs alone in a forked child under seccomp, landlock and rlimits: it may use memory
 * and read its input, nothing else. It may simply crash or exit: that is a named failure of this one
 * file. It reports by emitter.h. */
#pragma once

#include "base/str.h"
#include "extract/emitter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A document as the child sees it. */
struct extract_input {
    struct str bytes;          /* the whole file, mapped for reading */
    struct str name;           /* base name, for a title or a hint; may be empty */
    struct str media_type;     /* as detected */
    struct str charset;        /* declared by the source (an HTTP header), or empty */
    struct str password;       /* or empty */
    struct str parent;         /* file_id of the document that holds this one, or empty */
    struct str container_path; /* path inside it, or empty */
};

/* The brokers: one program for each licence group. */
enum extract_broker { BROKER_EXTRACT, BROKER_EXTRACT_PDF, BROKER_COUNT };

/* name, version (raise it when the same file gives another result), broker, media types, suffixes */
#define EXTRACTOR_MAP(X)                                                                           \
    X(text, 1, BROKER_EXTRACT, "text/plain text/csv text/tab-separated-values text/x-source text/asciidoc " \
                               "application/json application/xml application/yaml application/toml",         \
                               ".txt .text .log .csv .tsv .ini .conf .cfg .adoc .asciidoc .rst .org .tex "   \
                               ".c .h .cc .cpp .hpp .py .js .ts .go .rs .java .rb .php .sh .sql .css .json " \
                               ".jsonl .xml .yaml .yml .toml")                                               \
    X(markdown, 1, BROKER_EXTRACT, "text/markdown", ".md .markdown .mdown")                        \
    X(html, 1, BROKER_EXTRACT, "text/html application/xhtml+xml", ".html .htm .xhtml")             \
    X(docx, 1, BROKER_EXTRACT, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx .docm") \
    X(pdf, 1, BROKER_EXTRACT_PDF, "application/pdf", ".pdf")

typedef void extract_function(struct emitter *emitter, const struct extract_input *input);

#ifdef __cplusplus
}
#endif
