#include "tests/fuzz/fuzz.h"

#include "extract/text_kinds.h"
#include "tests/support/extract_in_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct extract_input input = {.bytes = {(const char *)data, size}};
    fuzz_extractor(extract_markdown, &input);
    return 0;
}
