/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/text.h"

#include <unicode/uchar.h>

extern "C" {
#include "base/hash.h"
#include "base/utf8.h"
}

namespace pdf
{

static struct str slice_of(std::string_view text)
{
    return {text.data(), text.size()};
}

uint32_t next_code_point(std::string_view text, size_t &position)
{
    unsigned char byte = static_cast<unsigned char>(text[position]);
    if (byte < 0x80) {
        position++;
        return byte;
    }
    return utf8_next(slice_of(text), &position);
}

uint32_t first_code_point(std::string_view text)
{
    size_t position = 0;
    return text.empty() ? 0 : next_code_point(text, position);
}

static size_t last_start(std::string_view text)
{
    return text.empty() ? 0 : utf8_floor(slice_of(text), text.size() - 1);
}

uint32_t last_code_point(std::string_view text)
{
    size_t position = last_start(text);
    return text.empty() ? 0 : next_code_point(text, position);
}

void append_code_point(std::string &text, uint32_t code_point)
{
    if (code_point < 0x80) {
        text.push_back(static_cast<char>(code_point));
        return;
    }
    char bytes[4];
    text.append(bytes, utf8_encode(code_point, bytes));
}

std::string_view without_last(std::string_view text)
{
    return text.substr(0, last_start(text));
}

bool is_ascii(std::string_view text)
{
    for (char byte : text)
        if (static_cast<unsigned char>(byte) >= 0x80)
            return false;
    return true;
}

size_t count_code_points(std::string_view text)
{
    size_t count = 0;
    for (char byte : text)
        count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    return count;
}

size_t count_letters(std::string_view text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size();)
        count += u_isalpha(static_cast<UChar32>(next_code_point(text, i))) != 0;
    return count;
}

bool has_letter(std::string_view text)
{
    for (size_t i = 0; i < text.size();)
        if (u_isalpha(static_cast<UChar32>(next_code_point(text, i))))
            return true;
    return false;
}

bool has_digit(std::string_view text)
{
    for (size_t i = 0; i < text.size();)
        if (u_isdigit(static_cast<UChar32>(next_code_point(text, i))))
            return true;
    return false;
}

bool starts_lower(std::string_view text)
{
    return u_islower(static_cast<UChar32>(first_code_point(text)));
}

bool starts_upper(std::string_view text)
{
    UChar32 code_point = static_cast<UChar32>(first_code_point(text));
    return u_isupper(code_point) || u_istitle(code_point);
}

bool is_all_upper(std::string_view text)
{
    bool any = false;
    for (size_t i = 0; i < text.size();) {
        UChar32 code_point = static_cast<UChar32>(next_code_point(text, i));
        if (u_islower(code_point))
            return false;
        any |= u_isupper(code_point) != 0;
    }
    return any;
}

bool is_ideographic(uint32_t code_point)
{
    if (code_point < 0x2E80)
        return false;
    return (code_point >= 0x2E80 && code_point <= 0x30FF) || (code_point >= 0x3190 && code_point <= 0x31FF) ||
           (code_point >= 0x3300 && code_point <= 0x9FFF) || (code_point >= 0xF900 && code_point <= 0xFAFF) ||
           (code_point >= 0xFF00 && code_point <= 0xFF9F) || (code_point >= 0x20000 && code_point <= 0x3FFFF);
}

bool is_right_to_left(uint32_t code_point)
{
    if (code_point < 0x590)
        return false;
    UCharDirection direction = u_charDirection(static_cast<UChar32>(code_point));
    return direction == U_RIGHT_TO_LEFT || direction == U_RIGHT_TO_LEFT_ARABIC;
}

bool is_hyphen(uint32_t code_point)
{
    switch (code_point) {
    case '-':
    case 0xAD:   /* soft */
    case 0x2010: /* hyphen */
    case 0x2011: /* that does not break */
    case 0x58A:  /* Armenian */
    case 0x1806: /* Mongolian */
    case 0xFE63: /* small */
    case 0xFF0D: /* full width */
        return true;
    default:
        return false;
    }
}

bool is_bullet(uint32_t code_point)
{
    switch (code_point) {
    case 0xB7:
    case 0x2022:
    case 0x2023:
    case 0x2043:
    case 0x204C:
    case 0x204D:
    case 0x2219:
    case 0x25A0:
    case 0x25A1:
    case 0x25AA:
    case 0x25AB:
    case 0x25B6:
    case 0x25B8:
    case 0x25BA:
    case 0x25CB:
    case 0x25CF:
    case 0x25E6:
    case 0x2605:
    case 0x2610:
    case 0x2611:
    case 0x2612:
    case 0x2713:
    case 0x2714:
    case 0x274F:
    case 0x2756:
    case 0x27A2:
    case 0x27A4:
    case 0x29BF:
    case 0x2B25:
        return true;
    default:
        return false;
    }
}

bool is_word_character(uint32_t code_point)
{
    UChar32 c = static_cast<UChar32>(code_point);
    return u_isalnum(c) || (u_getCombiningClass(c) != 0) || u_charType(c) == U_NON_SPACING_MARK;
}

bool ends_sentence(std::string_view text)
{
    while (!text.empty()) {
        uint32_t last = last_code_point(text);
        switch (last) {
        case '"':
        case '\'':
        case ')':
        case ']':
        case 0xBB:
        case 0x2019:
        case 0x201D:
        case 0x300D:
        case 0xFF09:
            text = without_last(text);
            continue;
        case '.':
        case '!':
        case '?':
        case ':':
        case ';':
        case 0x2026:
        case 0x3002:
        case 0x61F:
        case 0x6D4:
        case 0xFF01:
        case 0xFF1A:
        case 0xFF1F:
            return true;
        default:
            return false;
        }
    }
    return false;
}

std::string fold_word(std::string_view text)
{
    std::string folded;
    folded.reserve(text.size());
    size_t wanted = 0; /* without the punctuation at the end */
    for (size_t i = 0; i < text.size();) {
        UChar32 code_point = static_cast<UChar32>(next_code_point(text, i));
        bool counts = u_isalnum(code_point);
        if (folded.empty() && !counts)
            continue;
        append_code_point(folded, static_cast<uint32_t>(u_foldCase(code_point, U_FOLD_CASE_DEFAULT)));
        if (counts || u_charType(code_point) == U_NON_SPACING_MARK)
            wanted = folded.size();
    }
    folded.resize(wanted);
    return folded;
}

std::string fold_line(std::string_view text)
{
    std::string folded;
    folded.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
        UChar32 code_point = static_cast<UChar32>(next_code_point(text, i));
        if (u_isdigit(code_point)) {
            if (folded.empty() || folded.back() != '#')
                folded.push_back('#');
        } else if (!u_isspace(code_point)) {
            append_code_point(folded, static_cast<uint32_t>(u_foldCase(code_point, U_FOLD_CASE_DEFAULT)));
        }
    }
    return folded;
}

uint64_t hash_text(std::string_view text)
{
    return checksum64(text.data(), text.size(), 0);
}

} // namespace pdf
