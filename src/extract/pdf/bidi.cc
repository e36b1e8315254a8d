/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/bidi.h"

#include <unicode/ubidi.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf16.h>

#include "extract/pdf/text.h"

namespace pdf
{

enum { LONGEST_LINE = 16 * 1024 }; /* UTF-16 units; a longer one stays as it is */

bool has_right_to_left(std::string_view text)
{
    for (size_t i = 0; i < text.size();)
        if (is_right_to_left(next_code_point(text, i)))
            return true;
    return false;
}

static bool is_presentation_form(uint32_t code_point)
{
    return (code_point >= 0xFB1D && code_point <= 0xFDFF) || (code_point >= 0xFE70 && code_point <= 0xFEFC);
}

static void append_letters(std::string &text, uint32_t code_point)
{
    if (is_presentation_form(code_point)) {
        UErrorCode status = U_ZERO_ERROR;
        const UNormalizer2 *nfkc = unorm2_getNFKCInstance(&status);
        UChar decomposed[32];
        int32_t size = U_SUCCESS(status) ? unorm2_getDecomposition(nfkc, static_cast<UChar32>(code_point),
                                                                   decomposed, 32, &status)
                                         : -1;
        if (U_SUCCESS(status) && size > 0) {
            for (int32_t i = 0; i < size;) {
                UChar32 part;
                U16_NEXT(decomposed, i, size, part);
                append_code_point(text, static_cast<uint32_t>(part));
            }
            return;
        }
    }
    append_code_point(text, code_point);
}

namespace
{

/* A visual line as UTF-16 with the piece that each unit comes from. */
struct visual_line {
    std::vector<UChar> units;
    std::vector<int> owner; /* index of the piece; -1 for a space between pieces */
};

visual_line flatten(const std::vector<piece> &line)
{
    visual_line flat;
    for (size_t i = 0; i < line.size(); i++) {
        if (i && line[i].before != gap::none) {
            flat.units.push_back(' ');
            flat.owner.push_back(-1);
        }
        for (size_t k = 0; k < line[i].text.size();) {
            UChar32 code_point = static_cast<UChar32>(next_code_point(line[i].text, k));
            UChar pair[2];
            int32_t size = 0;
            UBool failed = false;
            U16_APPEND(pair, size, 2, code_point, failed);
            if (failed)
                continue;
            flat.units.insert(flat.units.end(), pair, pair + size);
            flat.owner.insert(flat.owner.end(), static_cast<size_t>(size), static_cast<int>(i));
        }
    }
    return flat;
}

/* Where each unit of the logical text stands in the visual line. */
struct logical_line {
    std::vector<int32_t> visual;    /* empty on failure */
    std::vector<UBiDiLevel> levels; /* by visual index; odd ones run from right to left */
};

logical_line find_logical_order(const visual_line &flat)
{
    UErrorCode status = U_ZERO_ERROR;
    int32_t size = static_cast<int32_t>(flat.units.size());
    UBiDi *bidi = ubidi_openSized(size, 0, &status);
    logical_line logical;
    if (U_SUCCESS(status)) {
        ubidi_setReorderingMode(bidi, UBIDI_REORDER_INVERSE_LIKE_DIRECT);
        ubidi_setPara(bidi, flat.units.data(), size, UBIDI_DEFAULT_RTL, nullptr, &status);
        logical.visual.resize(flat.units.size());
        ubidi_getVisualMap(bidi, logical.visual.data(), &status);
        const UBiDiLevel *levels = ubidi_getLevels(bidi, &status);
        if (U_SUCCESS(status) && ubidi_getProcessedLength(bidi) == size)
            logical.levels.assign(levels, levels + size);
        else
            logical.visual.clear();
    }
    ubidi_close(bidi);
    return logical;
}

} // namespace

std::vector<piece> to_logical_order(std::vector<piece> line)
{
    visual_line flat = flatten(line);
    if (flat.units.empty() || flat.units.size() > LONGEST_LINE)
        return line;
    logical_line order = find_logical_order(flat);
    if (order.visual.empty())
        return line;
    std::vector<piece> logical;
    int current = -1;
    bool space = false;
    for (size_t i = 0; i < order.visual.size(); i++) {
        size_t at = static_cast<size_t>(order.visual[i]);
        int owner = flat.owner[at];
        if (owner < 0) {
            space = true;
            continue;
        }
        UChar32 code_point = flat.units[at];
        if (U16_IS_SURROGATE(code_point)) {
            /* The halves come in either order: the pair is read where the first of them stands. */
            size_t lead = U16_IS_LEAD(code_point) ? at : at - 1;
            code_point = U16_GET_SUPPLEMENTARY(flat.units[lead], flat.units[lead + 1]);
            i++;
        }
        if (order.levels[at] & 1)
            code_point = u_charMirror(code_point);
        if (owner != current || space)
            logical.push_back({"", line[static_cast<size_t>(owner)].place, space ? gap::space : gap::none});
        current = owner;
        space = false;
        append_letters(logical.back().text, static_cast<uint32_t>(code_point));
    }
    if (!logical.empty())
        logical[0].before = gap::none;
    return logical;
}

} // namespace pdf
