/* What the host, a broker and its children say to each other. Version 1.
 *
 *   host    -- control socket (SOCK_SEQPACKET, the broker's stdin) --  broker
 *                <- hello, once
 *                -> request, with three descriptors: document, output, status
 *   child   -- output pipe -->  host    events
 *   broker  -- status pipe -->  host    one report, after the child has ended
 *
 * All integers are little-endian. Both sides check everything: the host trusts neither the stream
 * of a child nor, beyond its version, that of a broker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PROTOCOL_MAGIC = 0x58454249, /* "IBEX" */
    PROTOCOL_VERSION = 1,
    PROTOCOL_PACKET_LIMIT = 64 * 1024,
    PROTOCOL_STRING_LIMIT = 8 * 1024,
    PROTOCOL_EVENT_LIMIT = 256 * 1024, /* payload of one event */
    PROTOCOL_EVENT_HEADER = 5,         /* kind u8, payload size u32 */
    PROTOCOL_FD_COUNT = 3,
    PROTOCOL_EXTRACTOR_LIMIT = 32,
};

/* Reads a message; a read past the end gives zeros and sets `failed`. */
struct wire_reader {
    struct str rest;
    bool failed;
};

/* `count` <= 8 bytes as a little-endian integer. */
uint64_t wire_integer(struct wire_reader *reader, size_t count);
float wire_float(struct wire_reader *reader);
/* A u32 length and that many bytes, borrowed from the message. */
struct str wire_string(struct wire_reader *reader);
void wire_append_float(struct buffer *out, float value);
void wire_append_string(struct buffer *out, struct str text);

/* ---- broker to host, once at its start ---- */

enum hello_flags { HELLO_SECCOMP = 1 << 0, HELLO_LANDLOCK = 1 << 1, HELLO_FULL = 1 << 2 };

struct hello {
    uint32_t flags; /* enum hello_flags */
    uint32_t count;
    struct {
        struct str name;   /* of an extractor */
        struct str engine; /* "poppler 22.12.0", or empty when it is code of our own */
    } extractors[PROTOCOL_EXTRACTOR_LIMIT];
};

void hello_encode(const struct hello *hello, struct buffer *out);
/* Strings are borrowed from `packet`. False when it is no hello of this version. */
bool hello_decode(struct str packet, struct hello *ret);

/* ---- host to broker, for each document ---- */

struct request {
    bool words;            /* whether word boxes are wanted */
    uint64_t max_memory;   /* bytes of address space */
    uint64_t max_cpu_time; /* microseconds */
    uint64_t max_time;     /* microseconds of wall clock */
    struct str extractor;
    struct str name;
    struct str media_type;
    struct str charset;
    struct str password;
    struct str parent;
    struct str container_path;
};

void request_encode(const struct request *request, struct buffer *out);
bool request_decode(struct str packet, struct request *ret);

/* ---- broker to host, after a child has ended ---- */

enum child_ending {
    ENDING_EXIT,     /* detail: exit code */
    ENDING_SIGNAL,   /* detail: signal */
    ENDING_TIMEOUT,  /* killed at its deadline */
    ENDING_CANCELED, /* killed because the host stopped listening */
    ENDING_REFUSED,  /* never started; detail: errno */
    ENDING_COUNT
};

/* Exit codes of a child. */
enum child_exit {
    CHILD_EXIT_DONE = 0,        /* the stream is complete */
    CHILD_EXIT_MEMORY = 71,     /* an allocation failed */
    CHILD_EXIT_UNREADABLE = 72, /* the document could not be mapped */
    CHILD_EXIT_SANDBOX = 73,    /* the sandbox could not be entered */
};

enum { PROTOCOL_REPORT_SIZE = 32 };

struct child_report {
    enum child_ending ending;
    uint32_t detail;
    uint64_t cpu_us;
    uint64_t peak_memory; /* bytes resident */
};

void report_encode(const struct child_report *report, struct buffer *out);
bool report_decode(struct str packet, struct child_report *ret);

/* ---- child to host ---- */

enum event {
    EVENT_BEGIN,     /* magic u32, version u32 */
    EVENT_METADATA,  /* key string, value: the rest */
    EVENT_PAGE,      /* number u32, width f32, height f32, label: the rest */
    EVENT_NEEDS_OCR, /* */
    EVENT_OPEN,      /* kind u8, level u8, flags u16 */
    EVENT_CLOSE,     /* */
    EVENT_TEXT,      /* text */
    EVENT_WORD,      /* x0 f32, y0 f32, x1 f32, y1 f32, text: the rest */
    EVENT_CELL_END,  /* */
    EVENT_WARNING,   /* code string, message: the rest */
    EVENT_FAILURE,   /* status u8, reason: the rest; nothing may follow */
    EVENT_END,       /* nothing may follow */
    EVENT_COUNT
};

#ifdef __cplusplus
}
#endif
