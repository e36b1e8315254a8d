/* Which language a text is in: CLD2 for running text, the script where it cannot tell. */
#pragma once

#include "base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The language that most of `text` (well-formed UTF-8) is in: ISO 639-1, or ISO 639-2 where there is no such
 * code. "" when it cannot be told, as for most texts of a few words in Latin script. Static. Looks at the
 * first LANGUAGE_SAMPLE bytes. Thread-safe. */
const char *language_detect(struct str text);

enum { LANGUAGE_SAMPLE = 32 * 1024 };

#ifdef __cplusplus
}
#endif
