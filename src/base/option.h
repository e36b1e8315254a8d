/* Option tables. One row describes one setting once; the YAML file, the environment, command
 * line flags, --help, man pages and `ibid config explain` all come from it.
 *
 * Precedence: flags > environment (IBID_SECTION_NAME) > file (section: {name: value}) > default. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum option_type {
    OPTION_BOOL,     /* bool: true|false|yes|no|on|off */
    OPTION_INT,      /* int64_t within [low, high] */
    OPTION_REAL,     /* double within [low, high] */
    OPTION_SIZE,     /* int64_t bytes: 512, 64KB, 50MB, 1GiB (powers of 1024 throughout) */
    OPTION_DURATION, /* int64_t microseconds: 250ms, 30s, 15m, 24h, 7d */
    OPTION_STRING,   /* const char *; NULL when the default is NULL and nothing was set */
    OPTION_PATH,     /* as OPTION_STRING; "~/" stands for the home folder */
    OPTION_CHOICE,   /* int: position in `choices` */
    OPTION_LIST,     /* struct option_list; a flag given again appends; commas part items in text */
};

struct option_list {
    const char **items;
    size_t count;
};

enum option_flags {
    OPTION_SECRET = 1 << 0,   /* never printed or logged */
    OPTION_REPEATED = 1 << 1, /* OPTION_LIST flag: each occurrence is one item, commas are kept */
    OPTION_REQUIRED = 1 << 2, /* a request without it is refused; for those who read it, not for the parser */
    OPTION_DESTINATION = 1 << 3, /* OPTION_STRING: where the secrets beside it are sent */
};

struct option {
    const char *name; /* lower case with '_'; the flag spells it with '-' */
    char letter;      /* short flag, 0 for none */
    enum option_type type;
    size_t offset;            /* of the value in the struct that holds the settings */
    const char *default_text; /* as a user would write it; NULL: zero value */
    const char *choices;      /* OPTION_CHOICE: "hybrid|vector|keyword" */
    double low, high;         /* OPTION_INT, _REAL, _SIZE, _DURATION (in stored units); both 0: any */
    unsigned flags;
    const char *placeholder; /* what help calls the value: "FILE"; NULL: by type */
    const char *help;        /* one or two sentences */
};

/* Ends every table. */
#define OPTION_END   \
    {                \
        .name = NULL \
    }

/* Fills `values` with every option's default. A table whose default does not parse is a BUG. */
void option_set_defaults(const struct option *table, void *values, struct arena *arena);

/* Parses `text` into the field of one option. IBID_EINVAL says what would be right. */
ibid_code option_set(const struct option *option, void *values, struct str text, struct arena *arena,
                     ibid_error *err) MUST_CHECK;

/* NULL when the table has none of that name. `name` may be spelt with '-' or '_'. */
const struct option *option_find(const struct option *table, struct str name);

/* The value as text a user could write; "***" for a set secret. */
const char *option_format(const struct option *option, const void *values, struct arena *arena);

/* What help shows for the value: "N", "SIZE", "hybrid|vector|keyword"... */
const char *option_placeholder(const struct option *option);

/* Reads flags (--name=value, --name value, -x value, --no-name for booleans, `--` ends them)
 * in any order between positional arguments. *ret_positional (arena) holds the others.
 * An unknown flag names the nearest known one. */
ibid_code option_parse_arguments(const struct option *table, void *values, int argc, const char *const argv[],
                                 struct arena *arena, const char ***ret_positional, size_t *ret_count,
                                 ibid_error *err) MUST_CHECK;

/* ---- settings: several tables under section names, with the origin of each value ---- */

struct option_section {
    const char *name; /* "server"; dots nest in the file: "embedder.openai" */
    const char *help;
    const struct option *table;
};

struct settings;

struct settings *settings_new(void) __attribute__((returns_nonnull));
void settings_free(struct settings *settings);
/* Adds a section; `values` is borrowed for the life of the settings and gets its defaults. */
void settings_add(struct settings *settings, const struct option_section *section, void *values);

/* IBID_EINVAL names file, line and key of an unknown or wrong setting. A missing file is
 * IBID_ENOTFOUND. The file is at most 1 MiB. */
ibid_code settings_load_file(struct settings *settings, const char *path, ibid_error *err) MUST_CHECK;
/* Takes every IBID_<SECTION>_<NAME> from `environment` ("KEY=value", NULL-ended). Variables that
 * name no setting are left alone: other programs of ibid may own them. */
ibid_code settings_load_environment(struct settings *settings, char *const environment[],
                                    ibid_error *err) MUST_CHECK;
/* `key` is "section.name"; `origin` is shown by explain ("flag"). */
ibid_code settings_set(struct settings *settings, struct str key, struct str text, const char *origin,
                       ibid_error *err) MUST_CHECK;
/* The same for "section.name=value". */
ibid_code settings_set_pair(struct settings *settings, struct str pair, const char *origin,
                            ibid_error *err) MUST_CHECK;

/* Calls `each` for every setting in order. Strings are borrowed for the call. */
void settings_explain(struct settings *settings,
                      void (*each)(const struct option_section *section, const struct option *option,
                                   const char *value, const char *origin, void *context),
                      void *context);
