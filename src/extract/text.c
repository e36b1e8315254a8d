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

/* Paragraphs are parted by blank lines and form feeds; their line breaks are kept. Each goes out in
 * one piece: a file of ten million lines is read as fast as one of ten. */
static void read_prose(struct emitter *emitter, struct str text)
{
    struct str rest = text, line;
    const char *start = NULL, *end = NULL; /* of the open paragraph */
    while (line_next(&rest, &line)) {
        bool blank = line_is_blank(line), new_page = line.size && line.data[0] == '\f';
        if (start && (blank || new_page)) {
            emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, (struct str){start, (size_t)(end - start)});
            start = NULL;
        }
        if (blank)
            continue;
        start = start ? start : line.data;
        end = line.data + line.size;
    }
    if (start)
        emit_block(emitter, BLOCK_PARAGRAPH, 0, 0, (struct str){start, (size_t)(end - start)});
}

/* One block; chunking parts it where its lines allow. */
static void read_code(struct emitter *emitter, struct str text)
{
    emit_block(emitter, BLOCK_CODE, 0, 0, text);
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
    struct buffer lines = BUFFER(decoded.text.size);
    struct str text = line_normalize_ends(decoded.text, &lines);
    text_reader *read = read_prose;
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        if (str_is(input->media_type, readers[i].media_type))
            read = readers[i].read;
    read(emitter, text);
    buffer_release(&lines);
    charset_release(&decoded);
}
