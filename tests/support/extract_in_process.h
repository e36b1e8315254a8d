/* Runs an extractor without broker, child and sandbox: for fuzzing, where each run must be cheap and a
 * crash must be seen. */
#pragma once

#include "base/arena.h"
#include "extract/extractor.h"

/* As extract_document() would answer, but for format, extractor and media type. */
void extract_in_process(extract_function *extract, const struct extract_input *input, struct arena *arena,
                        struct extraction *ret);

/* The same for a fuzz target: stops the process when the result breaks a promise. */
void fuzz_extractor(extract_function *extract, const struct extract_input *input);
