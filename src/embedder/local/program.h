/* Runs another program and waits for it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

struct program {
    const char *const *arguments; /* NULL-ended; the first is found through PATH */
    const char *temporary_folder; /* TMPDIR of the program, and where its output is caught */
    const _Atomic bool *cancel;   /* NULL: none; the program and its children are ended then */
    void (*tick)(void *context);  /* called a few times a second; NULL: none */
    void *context;
};

/* Appends the end of what the program wrote (both outputs, as much as has room) to `output`.
 * IBID_ENOTFOUND: there is no such program; IBID_ECANCELED; IBID_EUPSTREAM: it failed. */
ibid_code program_run(const struct program *program, struct buffer *output, ibid_error *err) MUST_CHECK;
