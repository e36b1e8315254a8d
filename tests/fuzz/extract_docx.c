/* Whole packages: the container, and what its directory claims. */
#include "tests/fuzz/fuzz.h"

#include "extract/docx.h"
#include "tests/support/extract_in_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct extract_input input = {.bytes = {(const char *)data, size}};
    fuzz_extractor(extract_docx, &input);
    return 0;
}
