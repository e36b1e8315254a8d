#include "extract/inline_text.h"

void inline_release(struct inline_text *self)
{
    buffer_release(&self->text);
}

void inline_clear(struct inline_text *self)
{
    buffer_clear(&self->text);
    self->space = self->has_words = self->has_image = false;
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f' || byte == '\v';
}

static bool at_line_start(const struct inline_text *self)
{
    return self->text.size == 0 || self->text.data[self->text.size - 1] == '\n';
}

/* Length of an invisible sequence at `data`: U+00AD, U+200B, U+FEFF, NUL; 0 when it is none. */
static size_t invisible_length(struct str rest)
{
    if (rest.data[0] == '\0')
        return 1;
    if (str_starts_with(rest, "\xC2\xAD"))
        return 2;
    if (str_starts_with(rest, "\xE2\x80\x8B") || str_starts_with(rest, "\xEF\xBB\xBF"))
        return 3;
    return 0;
}

/* How many bytes at the front of `rest` can be taken as they are. */
static size_t plain_length(struct str rest, bool preformatted)
{
    size_t size = 0;
    while (size < rest.size) {
        char byte = rest.data[size];
        if (!preformatted && is_space(byte))
            break;
        bool suspicious = byte == '\0' || byte == '\xC2' || byte == '\xE2' || byte == '\xEF';
        if (suspicious && invisible_length(str_slice(rest, size, rest.size)))
            break;
        size++;
    }
    return size;
}

static void append_plain(struct inline_text *self, struct str text)
{
    if (text.size == 0)
        return;
    if (self->space && !at_line_start(self))
        buffer_append_byte(&self->text, ' ');
    self->space = false;
    buffer_append_str(&self->text, text);
}

void inline_append(struct inline_text *self, struct str text)
{
    size_t before = self->text.size;
    while (text.size) {
        size_t size = plain_length(text, self->preformatted);
        append_plain(self, str_slice(text, 0, size));
        text = str_slice(text, size, text.size);
        if (text.size == 0)
            break;
        size_t invisible = invisible_length(text);
        self->space |= invisible == 0;
        text = str_slice(text, invisible ? invisible : 1, text.size);
    }
    self->has_words |= self->text.size > before;
}

void inline_append_image(struct inline_text *self, struct str alternative)
{
    bool had_words = self->has_words;
    self->space = true;
    inline_append(self, alternative);
    self->space = true;
    self->has_words = had_words;
    self->has_image = true;
}

void inline_break(struct inline_text *self)
{
    self->space = false;
    if (self->preformatted || !at_line_start(self))
        buffer_append_byte(&self->text, '\n');
}

void inline_space(struct inline_text *self)
{
    self->space = true;
}

bool inline_is_blank(const struct inline_text *self)
{
    for (size_t i = 0; i < self->text.size; i++)
        if (!is_space(self->text.data[i]))
            return false;
    return true;
}

bool inline_is_image(const struct inline_text *self)
{
    return self->has_image && !self->has_words;
}

struct str inline_str(const struct inline_text *self)
{
    return buffer_str(&self->text);
}
