/* Settings of the local embedder, for those who fill them without the option table (tests, bench). */
#pragma once

#include <stddef.h>

enum local_precision { LOCAL_PRECISION_AUTO, LOCAL_PRECISION_F32, LOCAL_PRECISION_BF16 };

struct local_options {
    const char *model;                         /* a name of the catalogue, or a path with '/' in it */
    const char *models_folder;                 /* NULL: see model_cache_folder() */
    int precision;                             /* enum local_precision */
    const char *kernel;                        /* "auto" or a kernel's name */
    const char *query_prefix, *passage_prefix; /* NULL: the model's own */
};
