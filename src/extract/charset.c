#include "extract/charset.h"

#include <stdio.h>
#include <stdlib.h>
#include <uchardet/uchardet.h>
#include <unicode/ucnv.h>
#include <unicode/ucsdet.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "extract/wide_text.h"

enum {
    NAME_SIZE = 64,
    SAMPLE_SIZE = 256 * 1024, /* what the detectors look at */
    TIE_CONFIDENCE = 60,
    PIVOT_SIZE = 16 * 1024,
    OUTPUT_SIZE = 64 * 1024,
    DECODED_LIMIT = 512 * 1024 * 1024,
};

static void set_name(char out[NAME_SIZE], const char *name)
{
    snprintf(out, NAME_SIZE, "%s", name);
}

static bool is_nocase(const char *name, const char *other)
{
    return str_equal_nocase(str_from(name), str_from(other));
}

/* ---- which charset ---- */

static size_t byte_order_mark(struct str bytes, char out[NAME_SIZE])
{
    static const struct {
        struct str mark;
        const char *name;
    } marks[] = {
        {{"\xEF\xBB\xBF", 3}, "UTF-8"},    {{"\xFF\xFE\0\0", 4}, "UTF-32LE"},
        {{"\0\0\xFE\xFF", 4}, "UTF-32BE"}, {{"\xFF\xFE", 2}, "UTF-16LE"},
        {{"\xFE\xFF", 2}, "UTF-16BE"},     {{"\x84\x31\x95\x33", 4}, "gb18030"},
    };
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        if (bytes.size >= marks[i].mark.size &&
            memcmp(bytes.data, marks[i].mark.data, marks[i].mark.size) == 0) {
            set_name(out, marks[i].name);
            return marks[i].mark.size;
        }
    return 0;
}

static bool is_ascii(struct str bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        if ((unsigned char)bytes.data[i] >= 0x80 || bytes.data[i] == '\0')
            return false;
    return true;
}

/* The name that the web's standards read a label as: their Latin-1 and ASCII are windows-1252, their
 * Shift_JIS and GBK the supersets that are really in use. And what ICU calls uchardet's findings. */
static void web_name(char name[NAME_SIZE])
{
    static const struct {
        const char *label, *means;
    } rows[] = {
        {"iso-8859-1", "windows-1252"},
        {"iso8859-1", "windows-1252"},
        {"latin1", "windows-1252"},
        {"latin-1", "windows-1252"},
        {"us-ascii", "windows-1252"},
        {"ascii", "windows-1252"},
        {"iso-8859-9", "windows-1254"},
        {"tis-620", "windows-874"},
        {"shift_jis", "windows-31j"},
        {"shift-jis", "windows-31j"},
        {"sjis", "windows-31j"},
        {"x-sjis", "windows-31j"},
        {"cp932", "windows-31j"},
        {"gb2312", "gb18030"},
        {"gbk", "gb18030"},
        {"cp936", "gb18030"},
        {"ks_c_5601-1987", "windows-949"},
        {"euc-kr", "windows-949"},
        {"unicode", "UTF-16LE"},
        {"uhc", "windows-949"},
        {"mac-cyrillic", "x-mac-cyrillic"},
        {"mac-centraleurope", "x-mac-centraleurroman"},
        {"utf8", "UTF-8"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (is_nocase(name, rows[i].label)) {
            set_name(name, rows[i].means);
            return;
        }
}

static bool known_converter(const char *name)
{
    UErrorCode status = U_ZERO_ERROR;
    UConverter *converter = ucnv_open(name, &status);
    ucnv_close(converter);
    return U_SUCCESS(status);
}

static void normalize_label(struct str label, char out[NAME_SIZE])
{
    label = str_trim(label);
    while (label.size && (label.data[0] == '"' || label.data[0] == '\''))
        label = str_slice(label, 1, label.size);
    size_t size = 0;
    while (size < label.size && size < NAME_SIZE - 1 && (unsigned char)label.data[size] > ' ' &&
           (unsigned char)label.data[size] < 0x7F && !strchr("\"';,", label.data[size]))
        size++;
    if (size)
        memcpy(out, label.data, size);
    out[size] = '\0';
    web_name(out);
}

bool charset_is_known(struct str label)
{
    char name[NAME_SIZE];
    normalize_label(label, name);
    return name[0] && known_converter(name);
}

/* A wide charset declared inside bytes that are no wide text is a lie. */
static bool accept_declared(struct str bytes, struct str declared, char out[NAME_SIZE])
{
    char name[NAME_SIZE];
    normalize_label(declared, name);
    if (!name[0] || is_nocase(name, "UTF-8") || !known_converter(name))
        return false;
    bool declares_wide =
        str_starts_with(str_from(name), "UTF-16") || str_starts_with(str_from(name), "utf-16") ||
        str_starts_with(str_from(name), "UTF-32") || str_starts_with(str_from(name), "utf-32");
    if (declares_wide && !memchr(bytes.data, 0, bytes.size))
        return false;
    set_name(out, name);
    return true;
}

/* ISO-2022 switches character sets by escape sequences in bytes that are all ASCII. */
static bool has_escape_sequences(struct str bytes)
{
    return bytes.size &&
           (memmem(bytes.data, bytes.size, "\x1B$", 2) || memmem(bytes.data, bytes.size, "\x1B(", 2));
}

static bool is_western(const char *name)
{
    static const char *const names[] = {"windows-1250", "windows-1252",
                                        "windows-1254", "windows-1257",
                                        "ISO-8859-1",   "ISO-8859-2",
                                        "ISO-8859-3",   "ISO-8859-4",
                                        "ISO-8859-9",   "ISO-8859-10",
                                        "ISO-8859-13",  "ISO-8859-15",
                                        "ISO-8859-16",  "x-mac-centraleurroman",
                                        "IBM852",       "windows-1258"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (is_nocase(name, names[i]))
            return true;
    return false;
}

static void ask_uchardet(struct str sample, char out[NAME_SIZE])
{
    uchardet_t detector = uchardet_new();
    uchardet_handle_data(detector, sample.data, sample.size);
    uchardet_data_end(detector);
    set_name(out, uchardet_get_charset(detector));
    uchardet_delete(detector);
}

static int ask_icu(struct str sample, char out[NAME_SIZE])
{
    UErrorCode status = U_ZERO_ERROR;
    UCharsetDetector *detector = ucsdet_open(&status);
    ucsdet_setText(detector, sample.data, (int32_t)sample.size, &status);
    const UCharsetMatch *match = ucsdet_detect(detector, &status);
    const char *name = match ? ucsdet_getName(match, &status) : NULL;
    int confidence = match ? ucsdet_getConfidence(match, &status) : 0;
    set_name(out, U_SUCCESS(status) && name ? name : "");
    ucsdet_close(detector);
    return out[0] ? confidence : 0;
}

static void guess(struct str bytes, char out[NAME_SIZE])
{
    struct str sample = str_slice(bytes, 0, SAMPLE_SIZE);
    char first[NAME_SIZE], second[NAME_SIZE];
    ask_uchardet(sample, first);
    web_name(first);
    if (!known_converter(first) || is_nocase(first, "ASCII"))
        first[0] = '\0';
    if (first[0] && !is_western(first)) {
        set_name(out, first);
    } else {
        int confidence = ask_icu(sample, second);
        if (confidence >= TIE_CONFIDENCE && is_western(second))
            set_name(out, second);
        else
            set_name(out, first[0] ? first : "windows-1252");
        web_name(out);
    }
}

/* ---- conversion ---- */

/* Counts what cannot be read, and goes on with U+FFFD. */
static void count_replaced(const void *context, UConverterToUnicodeArgs *args, const char *units,
                           int32_t length, UConverterCallbackReason reason, UErrorCode *status)
{
    if (reason <= UCNV_IRREGULAR)
        (*(size_t *)context)++;
    UCNV_TO_U_CALLBACK_SUBSTITUTE(NULL, args, units, length, reason, status);
}

static bool convert(struct str bytes, const char *charset, struct decoded_text *decoded)
{
    UErrorCode status = U_ZERO_ERROR;
    UConverter *from = ucnv_open(charset, &status), *to = ucnv_open("UTF-8", &status);
    ucnv_setToUCallBack(from, count_replaced, &decoded->replaced, NULL, NULL, &status);
    UChar *pivot = xmalloc(PIVOT_SIZE * sizeof *pivot), *pivot_source = pivot, *pivot_target = pivot;
    const char *source = bytes.data, *source_end = bytes.data + bytes.size;
    bool first = true;
    decoded->storage = BUFFER(DECODED_LIMIT);
    do {
        char *room = buffer_reserve(&decoded->storage, OUTPUT_SIZE), *target = room;
        if (!room || (U_FAILURE(status) && status != U_BUFFER_OVERFLOW_ERROR))
            break;
        status = U_ZERO_ERROR;
        ucnv_convertEx(to, from, &target, room + OUTPUT_SIZE, &source, source_end, pivot, &pivot_source,
                       &pivot_target, pivot + PIVOT_SIZE, first, true, &status);
        decoded->storage.size += (size_t)(target - room);
        first = false;
    } while (status == U_BUFFER_OVERFLOW_ERROR);
    free(pivot);
    ucnv_close(from);
    ucnv_close(to);
    decoded->text = buffer_str(&decoded->storage);
    return U_SUCCESS(status) && !decoded->storage.overflowed;
}

/* Takes UTF-8 as it is, or a repaired copy when there is something wrong in it. */
static void take_utf8(struct str bytes, struct decoded_text *ret)
{
    ret->text = bytes;
    if (utf8_is_valid(bytes) && !(bytes.size && memchr(bytes.data, '\0', bytes.size)))
        return;
    struct buffer repaired = BUFFER(DECODED_LIMIT);
    size_t replaced = utf8_append_repaired(&repaired, bytes);
    buffer_release(&ret->storage);
    ret->storage = repaired;
    ret->text = buffer_str(&ret->storage);
    ret->replaced += replaced;
}

/* The charset of bytes without a byte order mark. */
static void determine(struct str bytes, struct str declared, char out[NAME_SIZE])
{
    const char *wide = wide_text_guess(bytes);
    if (wide) {
        set_name(out, wide);
        return;
    }
    bool valid = utf8_is_valid(bytes), ascii = valid && is_ascii(bytes);
    if (valid && !ascii)
        set_name(out, "UTF-8");
    else if (accept_declared(bytes, declared, out))
        return;
    else if (!valid || has_escape_sequences(bytes))
        guess(bytes, out);
    else
        set_name(out, "UTF-8");
}

void charset_decode(struct str bytes, struct str declared, struct decoded_text *ret)
{
    *ret = (struct decoded_text){.text = bytes};
    size_t mark = byte_order_mark(bytes, ret->charset);
    if (mark == 0)
        determine(bytes, declared, ret->charset);
    struct str rest = str_slice(bytes, mark, bytes.size);
    if (!is_nocase(ret->charset, "UTF-8") && convert(rest, ret->charset, ret))
        rest = ret->text;
    else
        set_name(ret->charset, "UTF-8");
    take_utf8(rest, ret);
}

void charset_release(struct decoded_text *decoded)
{
    buffer_release(&decoded->storage);
}
