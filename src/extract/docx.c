/* Office Open XML text documents (ECMA-376), transitional and strict. */
#include "extract/docx.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "extract/xml_reader.h"

/* Password-protected packages are wrapped in an OLE container, as the old formats are. */
static void refuse_compound_file(struct emitter *emitter, struct str bytes)
{
    static const char encrypted[] = "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e";
    if (!str_starts_with(bytes, "\xD0\xCF\x11\xE0"))
        return;
    if (memmem(bytes.data, bytes.size, encrypted, sizeof encrypted - 1))
        emit_failure(emitter, EXTRACTION_ENCRYPTED, "the document is protected by a password");
    emit_failure(emitter, EXTRACTION_UNSUPPORTED, "it is an old Word document (.doc) under another name");
}

static void emit_core_property(struct emitter *emitter, const char *name, struct str value)
{
    static const struct {
        const char *element, *key;
    } rows[] = {
        {"dc:title", "title"},          {"dc:creator", "author"},
        {"dc:subject", "subject"},      {"dc:description", "description"},
        {"dc:language", "language"},    {"cp:keywords", "keywords"},
        {"cp:category", "category"},    {"cp:lastModifiedBy", "last_modified_by"},
        {"dcterms:created", "created"}, {"dcterms:modified", "modified"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(name, rows[i].element) != 0)
            continue;
        char time[CLOCK_TEXT_SIZE];
        int64_t us;
        if (strncmp(name, "dcterms:", 8) == 0)
            value = clock_parse(str_trim(value), &us) ? str_from(clock_format(us, time)) : STR_EMPTY;
        emit_metadata(emitter, rows[i].key, value);
    }
}

static void read_core_properties(struct docx *docx, const char *part)
{
    struct xml_reader *reader = part ? xml_reader_open(docx->emitter, docx->package, part) : NULL;
    if (!reader)
        return;
    enum xml_event event;
    while ((event = xml_reader_next(reader)) != XML_DONE && event != XML_BROKEN) {
        if (event != XML_START)
            continue;
        AUTO_FREE char *name = xstrdup(xml_reader_name(reader));
        if (strcmp(name, "cp:coreProperties") == 0 || xml_reader_next(reader) != XML_TEXT)
            continue;
        struct str value = xml_reader_text(reader);
        docx->has_title |= strcmp(name, "dc:title") == 0 && str_trim(value).size > 0;
        emit_core_property(docx->emitter, name, value);
    }
    xml_reader_close(reader);
}

/* Headers and footers stand apart: they are on every page, but in no sentence. */
static void read_margins(struct docx *docx, const struct docx_body_result *body)
{
    for (size_t i = 0; i < body->margin_count; i++) {
        const char *part = opc_target_by_id(&docx->relationships, body->margin_parts[i]);
        bool footer = body->margin_is_footer[i];
        struct docx_body_result result;
        if (part && docx_body_read(docx, part, footer ? "w:ftr" : "w:hdr",
                                   footer ? BLOCK_PAGE_FOOTER : BLOCK_PAGE_HEADER, &result))
            docx_body_result_release(&result);
    }
}

static void read_parts(struct docx *docx)
{
    struct emitter *emitter = docx->emitter;
    struct zip_package *package = docx->package;
    opc_relationships_read(emitter, package, docx->main_part, &docx->relationships);
    const struct opc_relationships *parts = &docx->relationships;
    docx_styles_read(emitter, package, opc_target_by_type(parts, "styles"), &docx->styles);
    docx_numbering_read(emitter, package, opc_target_by_type(parts, "numbering"), &docx->numbering);
    docx_notes_read(emitter, package, opc_target_by_type(parts, "footnotes"), "w:footnote", &docx->footnotes);
    docx_notes_read(emitter, package, opc_target_by_type(parts, "endnotes"), "w:endnote", &docx->endnotes);
    docx_notes_read(emitter, package, opc_target_by_type(parts, "comments"), "w:comment", &docx->comments);
}

static void release(struct docx *docx)
{
    docx_notes_release(&docx->comments);
    docx_notes_release(&docx->endnotes);
    docx_notes_release(&docx->footnotes);
    docx_numbering_release(&docx->numbering);
    docx_styles_release(&docx->styles);
    opc_relationships_release(&docx->relationships);
    zip_package_close(docx->package);
}

void extract_docx(struct emitter *emitter, const struct extract_input *input)
{
    refuse_compound_file(emitter, input->bytes);
    struct docx docx = {.emitter = emitter, .package = zip_package_open(emitter, input->bytes)};
    struct opc_relationships package_parts;
    opc_relationships_read(emitter, docx.package, "", &package_parts);
    docx.main_part = opc_target_by_type(&package_parts, "officeDocument");
    if (!docx.main_part)
        docx.main_part = "word/document.xml";
    if (!zip_package_has(docx.package, docx.main_part))
        emit_failure(emitter, EXTRACTION_CORRUPT, "the package has no main document");
    read_core_properties(&docx, opc_target_by_type(&package_parts, "core-properties"));
    read_parts(&docx);
    struct docx_body_result body;
    if (!docx_body_read(&docx, docx.main_part, "w:document", BLOCK_PARAGRAPH, &body))
        emit_failure(emitter, EXTRACTION_CORRUPT, "its main part is no text document");
    if (!body.whole && !body.any_text)
        emit_failure(emitter, EXTRACTION_CORRUPT, "its main part is damaged");
    if (!body.whole)
        emit_failure(emitter, EXTRACTION_PARTIAL, "its main part is damaged: what follows is missing");
    read_margins(&docx, &body);
    docx_body_result_release(&body);
    release(&docx);
    opc_relationships_release(&package_parts);
}
