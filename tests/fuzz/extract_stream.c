/* What a child in an attacker's hands could send to the host. The first byte says in what pieces. */
#include "tests/fuzz/fuzz.h"

#include "extract/assembly.h"
#include "tests/support/extraction_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    static const struct assembly_limits limits = {.max_text = 100000, .max_pages = 1000, .words = true};
    static const struct request request = {.max_memory = UINT64_C(1) << 30};
    struct assembly *assembly = assembly_new(&limits);
    size_t step = data[0] ? data[0] : size;
    for (size_t at = 1; at < size; at += step)
        if (!assembly_feed(assembly, data + at, size - at < step ? size - at : step))
            break;
    AUTO_ARENA arena = ARENA_INIT;
    struct child_report report = {.ending = (enum child_ending)(data[0] % ENDING_REFUSED),
                                  .detail = data[0] % 32};
    struct extraction extraction;
    assembly_finish(assembly, &report, &request, &arena, &extraction);
    assembly_free(assembly);
    const char *fault = extraction_find_fault(&extraction);
    if (fault)
        BUG("%s", fault);
    return 0;
}
