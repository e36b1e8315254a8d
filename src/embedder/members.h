/* The members of the embedder seam; everyone else finds them through embedder_registry. */
#pragma once

#include "embedder/embedder.h"

extern const struct embedder_ops embedder_local;
extern const struct embedder_ops embedder_openai;
extern const struct embedder_ops embedder_hash;
