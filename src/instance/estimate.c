#include "instance/estimate.h"

#include "base/utf8.h"

enum { LATIN_PIECE = 6, OTHER_PIECE = 3, FIRST_IDEOGRAPH = 0x2E80 };

static size_t pieces(size_t letters, bool latin)
{
    const size_t piece = latin ? LATIN_PIECE : OTHER_PIECE;
    return (letters + piece - 1) / piece;
}

static size_t count(const struct token_counter *self, struct str text)
{
    size_t tokens = 0, letters = 0;
    bool latin = true;
    for (size_t at = 0; at < text.size;) {
        const uint32_t code_point = utf8_next(text, &at);
        const bool letter =
            (code_point >= '0' && code_point <= '9') ||
            ((code_point | 0x20) >= 'a' && (code_point | 0x20) <= 'z') ||
            (code_point >= 0xC0 && code_point < FIRST_IDEOGRAPH && code_point / 0x100 != 0x20);
        if (letter) {
            latin = letters == 0 ? code_point < 0x250 : latin && code_point < 0x250;
            letters++;
            continue;
        }
        tokens += pieces(letters, latin) + (code_point > ' ');
        letters = 0;
    }
    return tokens + pieces(letters, latin);
}

const struct token_counter token_estimate = {.count = count, .special_tokens = 2, .max_tokens = 256};
