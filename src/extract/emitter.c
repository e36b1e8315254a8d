#include "extract/emitter.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "extract/emitter_core.h"
#include "extract/protocol.h"

enum { PENDING_SIZE = 64 * 1024, MESSAGE_SIZE = 512 };

static void flush(struct emitter *emitter)
{
    if (emitter->pending.size)
        emitter->write(emitter->context, buffer_str(&emitter->pending));
    buffer_clear(&emitter->pending);
}

/* Writes an event's header; `size` bytes of payload must follow. */
static struct buffer *begin_event(struct emitter *emitter, enum event event, size_t size)
{
    if (emitter->pending.size + PROTOCOL_EVENT_HEADER + size > PENDING_SIZE)
        flush(emitter);
    buffer_append_u8(&emitter->pending, event);
    buffer_append_u32(&emitter->pending, (unsigned)size);
    return &emitter->pending;
}

/* At most what an event can carry, not cutting a code point. */
static struct str shorten(struct str text, size_t limit)
{
    if (text.size <= limit)
        return text;
    size_t cut = utf8_floor(text, limit);
    return str_slice(text, 0, cut + 4 > limit ? cut : limit);
}

void emitter_begin(struct emitter *emitter, bool words, void (*write)(void *context, struct str events),
                   void (*leave)(void *context), void *context)
{
    *emitter = (struct emitter){
        .write = write,
        .leave = leave,
        .context = context,
        .words = words,
        .pending = BUFFER(PENDING_SIZE + PROTOCOL_EVENT_LIMIT + PROTOCOL_EVENT_HEADER),
    };
    struct buffer *out = begin_event(emitter, EVENT_BEGIN, 8);
    buffer_append_u32(out, PROTOCOL_MAGIC);
    buffer_append_u32(out, PROTOCOL_VERSION);
}

void emitter_end(struct emitter *emitter)
{
    begin_event(emitter, EVENT_END, 0);
    flush(emitter);
    emitter_release(emitter);
}

void emitter_release(struct emitter *emitter)
{
    buffer_release(&emitter->pending);
}

void emit_metadata(struct emitter *emitter, const char *key, struct str value)
{
    struct str name = shorten(str_from(key), PROTOCOL_STRING_LIMIT);
    value = shorten(str_trim(value), PROTOCOL_EVENT_LIMIT - PROTOCOL_STRING_LIMIT - 4);
    if (value.size == 0)
        return;
    struct buffer *out = begin_event(emitter, EVENT_METADATA, 4 + name.size + value.size);
    wire_append_string(out, name);
    buffer_append_str(out, value);
}

void emit_page(struct emitter *emitter, uint32_t number, float width, float height, struct str label)
{
    label = shorten(label, PROTOCOL_STRING_LIMIT);
    struct buffer *out = begin_event(emitter, EVENT_PAGE, 12 + label.size);
    buffer_append_u32(out, number);
    wire_append_float(out, width);
    wire_append_float(out, height);
    buffer_append_str(out, label);
}

void emit_page_needs_ocr(struct emitter *emitter)
{
    begin_event(emitter, EVENT_NEEDS_OCR, 0);
}

void emit_open(struct emitter *emitter, enum block_kind kind, unsigned level, unsigned flags)
{
    struct buffer *out = begin_event(emitter, EVENT_OPEN, 4);
    buffer_append_u8(out, kind);
    buffer_append_u8(out, level > 9 ? 9 : level);
    buffer_append_u8(out, flags & 0xFF);
    buffer_append_u8(out, flags >> 8 & 0xFF);
}

void emit_close(struct emitter *emitter)
{
    begin_event(emitter, EVENT_CLOSE, 0);
}

void emit_text(struct emitter *emitter, struct str text)
{
    while (text.size) {
        struct str piece = shorten(text, PROTOCOL_EVENT_LIMIT);
        buffer_append_str(begin_event(emitter, EVENT_TEXT, piece.size), piece);
        text = str_slice(text, piece.size, text.size);
    }
}

void emit_word(struct emitter *emitter, struct str text, float x0, float y0, float x1, float y1)
{
    /* A word box has 16 bits for its size: a longer run has no place of its own. */
    if (!emitter->words || text.size > UINT16_MAX) {
        emit_text(emitter, text);
        return;
    }
    struct buffer *out = begin_event(emitter, EVENT_WORD, 16 + text.size);
    wire_append_float(out, x0);
    wire_append_float(out, y0);
    wire_append_float(out, x1);
    wire_append_float(out, y1);
    buffer_append_str(out, text);
}

void emit_cell_end(struct emitter *emitter)
{
    begin_event(emitter, EVENT_CELL_END, 0);
}

void emit_block(struct emitter *emitter, enum block_kind kind, unsigned level, unsigned flags,
                struct str text)
{
    emit_open(emitter, kind, level, flags);
    emit_text(emitter, text);
    emit_close(emitter);
}

void emit_warning(struct emitter *emitter, const char *code, const char *format, ...)
{
    char message[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct str name = shorten(str_from(code), PROTOCOL_STRING_LIMIT), text = str_from(message);
    struct buffer *out = begin_event(emitter, EVENT_WARNING, 4 + name.size + text.size);
    wire_append_string(out, name);
    buffer_append_str(out, text);
}

void emit_failure(struct emitter *emitter, enum extraction_status status, const char *reason, ...)
{
    char message[MESSAGE_SIZE];
    va_list args;
    va_start(args, reason);
    vsnprintf(message, sizeof message, reason, args);
    va_end(args);
    struct buffer *out = begin_event(emitter, EVENT_FAILURE, 1 + strlen(message));
    buffer_append_u8(out, status);
    buffer_append_string(out, message);
    flush(emitter);
    emitter->leave(emitter->context);
    BUG("an extractor was resumed after its failure");
}
