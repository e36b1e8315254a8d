/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/words.h"

#include <array>
#include <cmath>
#include <numeric>

#include "extract/pdf/text.h"

namespace pdf
{

enum { FEWEST_HIDDEN_LETTERS = 4 };

/* What a single code point becomes: itself, or letters. NULL: itself; "": nothing. */
static const char *replacement_of(uint32_t code_point)
{
    static const char *const ligatures[] = {"ff", "fi", "fl", "ffi", "ffl", "\u017Ft", "st"};
    if (code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0))
        return "";
    if (code_point >= 0xFB00 && code_point <= 0xFB06)
        return ligatures[code_point - 0xFB00];
    switch (code_point) {
    case 0xA0: /* spaces that do not break, or of a fixed width */
    case 0x2007:
    case 0x202F:
        return " ";
    case 0xAD:   /* soft hyphen */
    case 0x200B: /* of no width */
    case 0x200E: /* directions: the text is in logical order */
    case 0x200F:
    case 0x202A:
    case 0x202B:
    case 0x202C:
    case 0x202D:
    case 0x202E:
    case 0x2060:
    case 0x2066:
    case 0x2067:
    case 0x2068:
    case 0x2069:
    case 0xFEFF:
        return "";
    case 0xF0A7: /* symbol fonts, by their usual place in the private use area */
        return "\u25AA";
    case 0xF0B7:
        return "\u2022";
    case 0xF0D8:
        return "\u27A2";
    case 0xF0FC:
        return "\u2713";
    default:
        return nullptr;
    }
}

static bool is_plain(const std::string &text)
{
    for (char byte : text)
        if (static_cast<unsigned char>(byte) < 0x21 || static_cast<unsigned char>(byte) > 0x7E)
            return false;
    return true;
}

/* "Introduction........5" of a table of contents. */
static void part_leaders(std::string &text)
{
    size_t start = text.find(".....");
    if (start == std::string::npos || start == 0)
        return;
    size_t end = std::min(text.find_first_not_of('.', start), text.size());
    text.replace(start, end - start, end < text.size() ? " " : "");
}

void repair_text(word &word)
{
    part_leaders(word.text);
    if (is_plain(word.text))
        return;
    word.soft_hyphen = last_code_point(word.text) == 0xAD;
    std::string repaired;
    repaired.reserve(word.text.size());
    for (size_t i = 0; i < word.text.size();) {
        uint32_t code_point = next_code_point(word.text, i);
        if (const char *replacement = replacement_of(code_point))
            repaired += replacement;
        else
            append_code_point(repaired, code_point);
    }
    size_t start = repaired.find_first_not_of(' '), end = repaired.find_last_not_of(' ');
    word.text = start == std::string::npos ? "" : repaired.substr(start, end + 1 - start);
}

static float shared_area(const box &a, const box &b)
{
    float width = shared_width(a, b), height = shared_height(a, b);
    return width > 0 && height > 0 ? width * height : 0;
}

/* Calls visit(i, j) for pairs of words, i before j in the list, whose boxes may share area. At
 * most a fixed number of neighbours is looked at, so that a page of words in one place stays cheap. */
template <typename Visit> static void visit_neighbours(const std::vector<word> &words, Visit visit)
{
    enum { NEIGHBOURS = 24 };
    std::vector<uint32_t> order(words.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const box &p = words[a].place, &q = words[b].place;
        return p.x0 != q.x0 ? p.x0 < q.x0 : a < b;
    });
    /* The last words of each horizontal band, found by the middle of a word. */
    struct band {
        std::array<uint32_t, NEIGHBOURS> words;
        uint32_t count = 0;
    };
    enum { BANDS = 512 };
    std::vector<band> bands(BANDS);
    for (uint32_t current : order) {
        const box &place = words[current].place;
        float height = std::max(place.height(), 4.0f);
        /* Bands are 4 points high and shared by places 2048 points apart. */
        unsigned middle = static_cast<unsigned>(std::clamp(place.middle(), 0.0f, 1e6f) / 4);
        unsigned reach = std::min(8u, static_cast<unsigned>(height / 8) + 1);
        for (unsigned row = middle >= reach ? middle - reach : 0; row <= middle + reach; row++) {
            const band &near = bands[row % BANDS];
            for (uint32_t i = 0; i < std::min<uint32_t>(near.count, NEIGHBOURS); i++) {
                uint32_t other = near.words[i];
                if (shared_area(words[other].place, place) > 0)
                    visit(std::min(other, current), std::max(other, current));
            }
        }
        band &own = bands[middle % BANDS];
        own.words[own.count++ % NEIGHBOURS] = current;
    }
}

static bool is_copy(const word &a, const word &b)
{
    float smaller = std::min(a.place.width() * a.place.height(), b.place.width() * b.place.height());
    return a.text == b.text && a.rotation == b.rotation && smaller > 0 &&
           shared_area(a.place, b.place) > 0.8f * smaller;
}

void repair_words(std::vector<word> &words)
{
    for (word &word : words)
        repair_text(word);
    std::vector<bool> dropped(words.size());
    for (size_t i = 0; i < words.size(); i++)
        dropped[i] = words[i].text.empty();
    visit_neighbours(words, [&](uint32_t first, uint32_t second) {
        if (!dropped[first] && is_copy(words[first], words[second]))
            dropped[second] = true;
    });
    size_t kept = 0;
    for (size_t i = 0; i < words.size(); i++) {
        if (dropped[i]) {
            if (kept)
                words[kept - 1].space_after |= words[i].space_after;
            continue;
        }
        if (kept != i)
            words[kept] = std::move(words[i]);
        kept++;
    }
    words.resize(kept);
}

std::vector<uint32_t> find_overlapping_words(const std::vector<word> &words)
{
    std::vector<uint32_t> overlapping;
    visit_neighbours(words, [&](uint32_t first, uint32_t second) {
        const word &a = words[first], &b = words[second];
        if (a.text.size() < 3 || b.text.size() < 3 || a.rotation != b.rotation)
            return;
        float smaller = std::min(a.place.width() * a.place.height(), b.place.width() * b.place.height());
        if (shared_area(a.place, b.place) > 0.5f * smaller)
            overlapping.insert(overlapping.end(), {first, second});
    });
    std::sort(overlapping.begin(), overlapping.end());
    overlapping.erase(std::unique(overlapping.begin(), overlapping.end()), overlapping.end());
    return overlapping;
}

void unmark_short_hidden_words(std::vector<word> &words)
{
    for (size_t first = 0, last; first < words.size(); first = last + 1) {
        size_t letters = 0;
        for (last = first; last < words.size() && words[last].hidden; last++)
            letters += count_letters(words[last].text);
        for (size_t i = first; i < last && letters < FEWEST_HIDDEN_LETTERS; i++)
            words[i].hidden = false;
    }
}

/* The box as seen when the page is turned back by `turns` quarter turns. */
static box turn_back(const box &place, unsigned turns, float width, float height)
{
    switch (turns % 4) {
    case 1: /* the text runs downwards */
        return {place.y0, width - place.x1, place.y1, width - place.x0};
    case 2:
        return {width - place.x1, height - place.y1, width - place.x0, height - place.y0};
    case 3: /* the text runs upwards */
        return {height - place.y1, place.x0, height - place.y0, place.x1};
    default:
        return place;
    }
}

unsigned turn_upright(page &page)
{
    std::array<size_t, 4> letters = {};
    for (const word &word : page.words)
        letters[word.rotation % 4] += word.text.size();
    for (word &word : page.words)
        word.upright = turn_back(word.place, word.rotation, page.width, page.height);
    return static_cast<unsigned>(std::max_element(letters.begin(), letters.end()) - letters.begin());
}

} // namespace pdf
