/* The commands of `ibid`. To add one: src/cli/command_<name>.c with one `const struct command`, its name
 * in command_list.h and a row in command_list.c; in meson.build its file and its manual page. Help and manual
 * pages come from the same struct. */
#pragma once

#include <stdatomic.h>

#include "api/door.h"
#include "base/arena.h"
#include "base/option.h"
#include "cli/terminal.h"
#include "model/filter.h"

/* What the process ends with; `ibid help` lists them. */
enum exit_status {
    EXIT_OK = 0,
    EXIT_FAILED = 1, /* it ran and something is wrong: a failure of disk or system, damage that was found */
    EXIT_USAGE = 2,  /* the command line or a request makes no sense */
    EXIT_NOT_FOUND = 3,
    EXIT_NOT_ALLOWED = 4,
    EXIT_TRY_LATER = 5, /* busy, not reachable, timed out, no model */
    EXIT_INTERRUPTED = 130,
};
int exit_status_of(ibid_code code);

/* Options that every command takes. */
struct global_options {
    const char *data, *config;
    struct option_list set;
    bool json, quiet, verbose, no_color, help;
};
extern const struct option global_options[];

/* A command being carried out. */
struct invocation {
    const struct command *command;
    struct arena arena;
    struct global_options global;
    void *parameters;       /* the command's own struct, filled in */
    const char **arguments; /* positional ones, `argument_count` of them */
    size_t argument_count;
    struct terminal terminal;
    struct rest_settings settings; /* loaded unless command->bare */
    struct door *door;             /* NULL if command->bare */
    const _Atomic bool *cancel;    /* raised by Ctrl-C */
};

struct command {
    const char *name;      /* "model pull": may be two words */
    const char *arguments; /* "PATH..." for help; NULL: takes none */
    size_t argument_min, argument_max;
    const char *summary;                  /* one line, without a full stop */
    const char *text;                     /* paragraphs parted by empty lines */
    const char *examples;                 /* lines "command  # what it does" */
    const struct option *parameters;      /* mostly the route's own table */
    const struct option *more_parameters; /* in the same struct; NULL: none */
    size_t parameters_size;
    const char *const *hidden;     /* names of parameters that make no sense on a command line; NULL-ended */
    const struct filter_key *keys; /* of its filter, ended by a NULL name, for help; NULL: it has no filter */
    bool bare;                     /* needs no settings and no data */
    bool shares_data;              /* takes long: others may use the data meanwhile */
    ibid_code (*run)(struct invocation *invocation, ibid_error *err);
};

extern const struct command *const commands[]; /* NULL-ended, in the order of help */
/* Whether it is "FAMILY SOMETHING". */
bool command_is_of(const struct command *command, const char *family);
/* Why `name` is no command: IBID_EINVAL, which names those that begin with that word. */
ibid_code command_missing(const char *name, ibid_error *err) MUST_CHECK;
/* The command that `argv` begins with, and how many words its name takes; NULL when it is none. */
const struct command *command_find(int argc, const char *const argv[], int *ret_words);

/* ---- what commands share ---- */

/* The option table of a command with the global options before its own, both into one struct: the parameters
 * stand at offset GLOBAL_SIZE of it. */
enum { GLOBAL_SIZE = (sizeof(struct global_options) + 15) / 16 * 16 };
const struct option *command_options(const struct command *command, struct arena *arena);

/* Prints the answer as JSON, indented. */
void print_json(const json_t *value);
/* Writes what was gathered to standard output. */
void print_buffer(const struct buffer *out);
/* Reads members of an answer; missing ones read as "" and 0. Borrowed. */
struct str member_text(const json_t *object, const char *key);
const char *member_string(const json_t *object, const char *key);
int64_t member_int(const json_t *object, const char *key);
double member_real(const json_t *object, const char *key);

/* Appends " · page 3" or " · pages 3-4" of a hit, a chunk or a block; nothing where there are no pages. */
void append_pages(const json_t *object, struct buffer *out);
/* Appends what became of a source's files: "12 indexed, 1 failed, coverage 92.3 %, last run ...". */
void append_outcomes(const json_t *source, struct buffer *out);

/* An existing path as the other process may find it, in the invocation's arena. */
ibid_code absolute_path(struct invocation *invocation, const char *path, const char **ret,
                        ibid_error *err) MUST_CHECK;

/* "/api/v1/documents/<escaped>/suffix", in the invocation's arena. */
const char *document_target(struct invocation *invocation, const char *document, const char *suffix);
/* The document that an argument means: a number, a file_id, or part of a title or path that fits one document
 * only. *ret is its JSON, the caller's. */
ibid_code find_document(struct invocation *invocation, const char *argument, json_t **ret,
                        ibid_error *err) MUST_CHECK;

/* Follows the indexing run under way to its end and prints what came of it. Ctrl-C cancels the run. */
ibid_code follow_run(struct invocation *invocation, ibid_error *err) MUST_CHECK;

/* door_call() for a route that takes long and has the parameter "task" (set here, in `body` or, where that is
 * NULL, in the query): shows how far it is, unless --quiet or --json. Ctrl-C stops it. */
ibid_code call_with_progress(struct invocation *invocation, const char *method, const char *target,
                             json_t *body, json_t **ret, ibid_error *err) MUST_CHECK;

/* The text of `ibid help [COMMAND]`, and its manual page. `command` NULL: of the program. */
void help_append(const struct terminal *terminal, const struct command *command, struct buffer *out);
void manual_append(const struct command *command, struct buffer *out);
