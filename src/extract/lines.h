/* Reading a text line by line. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Cuts the next line off `rest`, without its end (LF, CR LF or CR). False once nothing is left. */
bool line_next(struct str *rest, struct str *ret_line);

/* Whether it has nothing but white space. */
bool line_is_blank(struct str line);
