/* The search for hidden text, over whatever bytes: as a content stream and as a file. */
#include "extract/pdf/hidden_text.h"

extern "C" {
#include "tests/fuzz/fuzz.h"
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string_view bytes(reinterpret_cast<const char *>(data), size);
    (void)pdf::content_hides_text(bytes);
    (void)pdf::may_hide_text(bytes);
    return 0;
}
