/* Type detection runs in the host. The first byte chooses a name; a ZIP file's end is the input's. */
#include "tests/fuzz/fuzz.h"

#include "base/memory.h"
#include "extract/detect.h"
#include "extract/extract.h"
#include "extract/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {NULL, "x.docx", "x.md", "x", "x.pdf", ".x", "a.b/c"};
    if (size == 0)
        return 0;
    struct str bytes = {(const char *)data + 1, size - 1};
    struct str tail = str_slice(bytes, bytes.size / 2, bytes.size);
    const char *type = detect_type(bytes, tail, names[data[0] % COUNT_OF(names)], "text/html");
    const char *version = extract_extractor_version(type);
    ASSERT(type && (!version || version[0]));
    /* The packets of brokers are decoded in the host, too. */
    struct hello hello;
    struct child_report report;
    if (hello_decode(bytes, &hello))
        ASSERT(hello.count <= PROTOCOL_EXTRACTOR_LIMIT);
    if (report_decode(str_slice(bytes, 0, PROTOCOL_REPORT_SIZE), &report))
        ASSERT(report.ending < ENDING_COUNT);
    return 0;
}
