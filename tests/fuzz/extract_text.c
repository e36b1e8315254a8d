/* The first byte chooses the kind of text, the second the charset that is declared. */
#include "tests/fuzz/fuzz.h"

#include "base/memory.h"
#include "extract/text_kinds.h"
#include "tests/support/extract_in_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {"text/plain", "text/csv", "text/asciidoc", "text/x-source"};
    static const char *const charsets[] = {"",       "utf-8",   "iso-8859-1", "shift_jis",
                                           "utf-16", "gb18030", "iso-2022-jp"};
    if (size < 2)
        return 0;
    struct extract_input input = {
        .bytes = {(const char *)data + 2, size - 2},
        .media_type = str_from(types[data[0] % COUNT_OF(types)]),
        .charset = str_from(charsets[data[1] % COUNT_OF(charsets)]),
    };
    fuzz_extractor(extract_text, &input);
    return 0;
}
