/* Which kernel is fastest on this machine: timed once, kept beside the models. */
#pragma once

#include <stdbool.h>

#include "embedder/local/kernel.h"
#include "embedder/local/local.h"

/* The fastest usable kernel of the precision asked for (enum local_precision); an f32 one when there is
 * no other. `pairs` says whether the model's sizes suit kernels that multiply in pairs. Speeds are read
 * from a file in `folder`, or measured in a few milliseconds and kept there if that is possible. */
const struct kernel *kernel_probe(int precision, bool pairs, const char *folder);
