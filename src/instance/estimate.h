/* Sizes chunks where no model's vocabulary is at hand. */
#pragma once

#include "model/token_counter.h"

/* About what WordPiece makes of a text (a quarter above it for most English), with the window of the default
 * model. */
extern const struct token_counter token_estimate;
