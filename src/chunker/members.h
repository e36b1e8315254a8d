/* The members of the chunker seam; everyone else finds them through chunker_registry. */
#pragma once

#include "chunker/chunker.h"

extern const struct chunker_ops chunker_structural;
extern const struct chunker_ops chunker_recursive;
extern const struct chunker_ops chunker_sentence;
extern const struct chunker_ops chunker_tokens;
