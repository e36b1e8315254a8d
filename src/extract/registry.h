/* The rows of EXTRACTOR_MAP as a table. */
#pragma once

#include "extract/extractor.h"

struct extractor_row {
    const char *name;
    const char *version; /* "pdf/1" */
    enum extract_broker broker;
    const char *media_types, *suffixes; /* parted by spaces */
};

/* NULL when no extractor reads that type. */
const struct extractor_row *registry_find(struct str media_type);

/* File name of a broker program. */
const char *registry_broker_program(enum extract_broker broker);
