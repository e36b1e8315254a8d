#include "base/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include "base/error.h"
#include "base/memory.h"

struct segmenter {
    UBreakIterator *iterator;
    UText *text;
    size_t size;
};

struct segmenter *segmenter_new(enum segment_unit unit, const char *language)
{
    static const UBreakIteratorType types[] = {
        [SEGMENT_CHARACTER] = UBRK_CHARACTER, [SEGMENT_WORD] = UBRK_WORD, [SEGMENT_SENTENCE] = UBRK_SENTENCE};
    char locale[32]; /* ss=standard: "Dr. Smith" is one sentence */
    snprintf(locale, sizeof locale, unit == SEGMENT_SENTENCE ? "%.8s@ss=standard" : "%.8s",
             language && *language ? language : "en");
    struct segmenter *segmenter = xcalloc(1, sizeof *segmenter);
    UErrorCode status = U_ZERO_ERROR;
    segmenter->iterator = ubrk_open(types[unit], locale, NULL, 0, &status);
    if (U_FAILURE(status))
        BUG("ICU has no break rules for %s: %s", locale, u_errorName(status));
    segmenter_start(segmenter, STR_EMPTY);
    return segmenter;
}

void segmenter_free(struct segmenter *segmenter)
{
    if (!segmenter)
        return;
    ubrk_close(segmenter->iterator);
    utext_close(segmenter->text);
    free(segmenter);
}

void segmenter_start(struct segmenter *segmenter, struct str text)
{
    UErrorCode status = U_ZERO_ERROR;
    segmenter->text =
        utext_openUTF8(segmenter->text, text.size ? text.data : "", (int64_t)text.size, &status);
    segmenter->size = text.size;
    ubrk_setUText(segmenter->iterator, segmenter->text, &status);
    if (U_FAILURE(status))
        BUG("ICU cannot walk over %zu bytes: %s", text.size, u_errorName(status));
}

bool segmenter_next(struct segmenter *segmenter, size_t *ret_end)
{
    const int32_t end = ubrk_next(segmenter->iterator);
    if (end == UBRK_DONE)
        return false;
    *ret_end = (size_t)end;
    return true;
}

size_t segmenter_floor(struct segmenter *segmenter, size_t position)
{
    if (position >= segmenter->size)
        return segmenter->size;
    const int32_t boundary = ubrk_preceding(segmenter->iterator, (int32_t)position + 1);
    return boundary == UBRK_DONE ? 0 : (size_t)boundary;
}
