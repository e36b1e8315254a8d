/* The XML parts of a package: the input is cut at each 0xFF byte (which no UTF-8 text has) into main
 * document, styles, numbering, footnotes and comments, around which a package is put. */
#include "tests/fuzz/fuzz.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "extract/docx.h"
#include "tests/support/extract_in_process.h"

#define TYPE "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
#define RELATIONSHIPS(items)                                                                     \
    "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>" items \
    "</Relationships>"

struct part {
    const char *name;
    struct str content;
    uint32_t crc, offset;
};

static uint32_t crc32_of(struct str bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes.size; i++) {
        crc ^= (unsigned char)bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
    }
    return ~crc;
}

static void append_u16(struct buffer *out, unsigned value)
{
    buffer_append_u8(out, value & 0xFF);
    buffer_append_u8(out, value >> 8);
}

/* The fields that a local header and a directory entry share. */
static void append_fields(struct buffer *out, const struct part *part)
{
    append_u16(out, 20);
    append_u16(out, 0);
    append_u16(out, 0); /* stored */
    buffer_append_u32(out, 0x00210000);
    buffer_append_u32(out, part->crc);
    buffer_append_u32(out, (unsigned)part->content.size);
    buffer_append_u32(out, (unsigned)part->content.size);
    append_u16(out, (unsigned)strlen(part->name));
    append_u16(out, 0);
}

static void append_package(struct buffer *out, struct part parts[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        parts[i].crc = crc32_of(parts[i].content);
        parts[i].offset = (uint32_t)out->size;
        buffer_append(out, "PK\3\4", 4);
        append_fields(out, &parts[i]);
        buffer_append_string(out, parts[i].name);
        buffer_append_str(out, parts[i].content);
    }
    size_t directory = out->size;
    for (unsigned i = 0; i < count; i++) {
        buffer_append(out, "PK\1\2\24\0", 6);
        append_fields(out, &parts[i]);
        buffer_append_repeated(out, '\0', 10);
        buffer_append_u32(out, parts[i].offset);
        buffer_append_string(out, parts[i].name);
    }
    size_t size = out->size - directory;
    buffer_append(out, "PK\5\6\0\0\0\0", 8);
    append_u16(out, count);
    append_u16(out, count);
    buffer_append_u32(out, (unsigned)size);
    buffer_append_u32(out, (unsigned)directory);
    append_u16(out, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part parts[] = {
        {.name = "_rels/.rels",
         .content =
             STR(RELATIONSHIPS("<Relationship Id='a' Type='" TYPE "officeDocument' Target='w/d.xml'/>"))},
        {.name = "w/_rels/d.xml.rels",
         .content = STR(RELATIONSHIPS("<Relationship Id='b' Type='" TYPE "styles' Target='s.xml'/>"
                                      "<Relationship Id='c' Type='" TYPE "numbering' Target='n.xml'/>"
                                      "<Relationship Id='d' Type='" TYPE "footnotes' Target='f.xml'/>"
                                      "<Relationship Id='e' Type='" TYPE "comments' Target='c.xml'/>"
                                      "<Relationship Id='f' Type='" TYPE "header' Target='d.xml'/>"))},
        {.name = "w/d.xml"},
        {.name = "w/s.xml"},
        {.name = "w/n.xml"},
        {.name = "w/f.xml"},
        {.name = "w/c.xml"},
    };
    struct str rest = {(const char *)data, size};
    for (size_t i = 2; i < COUNT_OF(parts); i++)
        if (!str_split(&rest, '\xFF', &parts[i].content))
            parts[i].content = STR_EMPTY;
    AUTO_BUFFER package = BUFFER(64 << 20);
    append_package(&package, parts, COUNT_OF(parts));
    struct extract_input input = {.bytes = buffer_str(&package)};
    fuzz_extractor(extract_docx, &input);
    return 0;
}
