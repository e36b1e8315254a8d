/* The files of web/, built into the program (web_files.c is made by scripts/embed-files). */
#pragma once

#include <stddef.h>

struct web_file {
    const char *path, *media_type;
    const unsigned char *bytes;
    size_t size;
};
extern const struct web_file web_files[]; /* ended by a NULL path */
