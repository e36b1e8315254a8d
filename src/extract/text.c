/* Plain text in any charset. Prose becomes paragraphs, tables with delimiters become rows, source
 * code and data formats stay as they are. */
#include "extract/charset.h"
#include "extract/extractor.h"
#include "extract/lines.h"
#include "extract/text_kinds.h"

void text_decode(struct emitter *emitter, const struct extract_input *input, struct decoded_text *ret)
{
    charset_decode(input->bytes, input->charset, ret);
    if (ret->replaced)
        emit_warning(emitter, "charset_replaced", "%zu places could not be read as %s", ret->replaced,
                     ret->charset);
}

/* Paragraphs are parted by blank lines and form feeds; their line breaks are kept. */
static void read_prose(struct emitter *emitter, struct str text)
{
    struct str line;
    bool open = false;
    while (line_next(&text, &line)) {
        bool new_page = line.size && line.data[0] == '\f';
        if (open && (new_page || line_is_blank(line))) {
            emit_close(emitter);
            open = false;
        }
        if (line_is_blank(line))
            continue;
        if (!open)
            emit_open(emitter, BLOCK_PARAGRAPH, 0, 0);
        else
            emit_text(emitter, STR("\n"));
        open = true;
        emit_text(emitter, line);
    }
    if (open)
        emit_close(emitter);
}

/* One block; chunking parts it where its lines allow. */
static void read_code(struct emitter *emitter, struct str text)
{
    struct str line;
    emit_open(emitter, BLOCK_CODE, 0, 0);
    while (line_next(&text, &line)) {
        emit_text(emitter, line);
        emit_text(emitter, STR("\n"));
    }
    emit_close(emitter);
}

static const struct {
    const char *media_type;
    text_reader *read;
} readers[] = {
    {"text/csv", csv_read},           {"text/tab-separated-values", csv_read},
    {"text/asciidoc", asciidoc_read}, {"text/x-source", read_code},
    {"application/json", read_code},  {"application/xml", read_code},
    {"application/yaml", read_code},  {"application/toml", read_code},
};

void extract_text(struct emitter *emitter, const struct extract_input *input)
{
    struct decoded_text decoded;
    text_decode(emitter, input, &decoded);
    text_reader *read = read_prose;
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        if (str_is(input->media_type, readers[i].media_type))
            read = readers[i].read;
    read(emitter, decoded.text);
    charset_release(&decoded);
}
