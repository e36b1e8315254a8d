/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/garbage.h"

#include <set>
#include <unicode/uchar.h>

#include "extract/pdf/text.h"

namespace pdf
{

enum { FEWEST_CHARACTERS = 20, FEWEST_LETTERS = 150, SHIFTS = 32, DIFFERENT_WORDS = 4 };

static constexpr float BAD_SHARE = 0.05f;
/* Latin text of any language has more vowels, and short words that everybody uses. */
static constexpr float LEAST_VOWELS = 0.22f;
static constexpr float FEW_COMMON_WORDS = 0.04f, MANY_COMMON_WORDS = 0.12f;

static bool is_bad(uint32_t code_point)
{
    switch (code_point) {
    case 0xF0A7: /* bullets of symbol fonts, which are understood */
    case 0xF0B7:
    case 0xF0D8:
    case 0xF0FC:
        return false;
    default:
        break;
    }
    switch (u_charType(static_cast<UChar32>(code_point))) {
    case U_UNASSIGNED:
    case U_PRIVATE_USE_CHAR:
    case U_SURROGATE:
    case U_CONTROL_CHAR:
        return true;
    default:
        return code_point == 0xFFFD;
    }
}

static bool is_common_word(const std::string &folded)
{
    static const char *const common[] = {
        "a",       "al",      "als", "and", "are", "at",      "av",   "che", "com", "da",  "das", "de",
        "del",     "den",     "der", "des", "det", "di",      "die",  "do",  "e",   "een", "ei",  "el",
        "en",      "er",      "es",  "est", "et",  "for",     "het",  "i",   "il",  "in",  "is",  "ist",
        "it",      "ja",      "je",  "la",  "las", "le",      "les",  "lo",  "na",  "ne",  "nie", "no",
        "o",       "og",      "of",  "on",  "os",  "p\u00E5", "para", "por", "que", "se",  "si",  "som",
        "s\u0103", "\u0219i", "the", "to",  "u",   "un",      "und",  "une", "v",   "van", "ve",  "von",
        "w",       "y",       "z",   "za",  "zu",  "\u00E4r",
    };
    for (const char *word : common)
        if (folded == word)
            return true;
    return false;
}

static bool is_vowel(uint32_t letter)
{
    switch (letter) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
    case 'y':
        return true;
    default:
        return letter >= 0xE0 && letter < 0x250; /* mostly vowels, and not what the test is about */
    }
}

namespace
{

struct letter_counts {
    size_t characters = 0, bad = 0;
    size_t latin = 0, vowels = 0, other_letters = 0;
    size_t words = 0, common = 0;
};

void count_word(const std::string &text, letter_counts &counts)
{
    for (size_t i = 0; i < text.size();) {
        uint32_t code_point = next_code_point(text, i);
        counts.characters++;
        counts.bad += is_bad(code_point);
        if (!u_isalpha(static_cast<UChar32>(code_point)))
            continue;
        uint32_t folded =
            static_cast<uint32_t>(u_foldCase(static_cast<UChar32>(code_point), U_FOLD_CASE_DEFAULT));
        if (folded >= 0x250) {
            counts.other_letters++;
        } else {
            counts.latin++;
            counts.vowels += is_vowel(folded);
        }
    }
    std::string folded = fold_word(text);
    counts.words += has_letter(folded);
    counts.common += is_common_word(folded);
}

} // namespace

static float share(size_t part, size_t whole)
{
    return static_cast<float>(part) / static_cast<float>(std::max<size_t>(whole, 1));
}

/* Whether the text makes sense once every character is moved by the same distance. */
static bool is_shifted(const std::vector<word> &words)
{
    for (int shift = -SHIFTS; shift <= SHIFTS; shift++) {
        size_t common = 0, count = 0;
        std::set<std::string> different;
        for (const word &word : words) {
            std::string moved;
            for (char c : word.text)
                moved += static_cast<char>((static_cast<unsigned char>(c) + shift) & 0x7F);
            count += count_letters(moved) > 0;
            moved = fold_word(moved);
            if (moved.size() < 2 || !is_common_word(moved))
                continue;
            common++;
            different.insert(moved);
        }
        if (share(common, count) > MANY_COMMON_WORDS && different.size() >= DIFFERENT_WORDS)
            return true;
    }
    return false;
}

bool is_garbage(const std::vector<word> &words)
{
    letter_counts counts;
    for (const word &word : words)
        count_word(word.text, counts);
    if (counts.characters >= FEWEST_CHARACTERS && share(counts.bad, counts.characters) > BAD_SHARE)
        return true;
    return counts.latin >= FEWEST_LETTERS && counts.latin > counts.other_letters &&
           share(counts.vowels, counts.latin) < LEAST_VOWELS &&
           share(counts.common, counts.words) < FEW_COMMON_WORDS && is_shifted(words);
}

} // namespace pdf
