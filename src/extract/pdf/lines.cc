/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/lines.h"

#include <cmath>
#include <map>

#include "extract/pdf/text.h"

namespace pdf
{

/* Distances in font sizes. */
static constexpr float WIDEST_WORD_SPACE = 1.6f; /* in a justified line */
static constexpr float LARGEST_BACKSTEP = 0.4f;  /* kerning, an accent set by itself */
static constexpr float WORD_SPACE = 0.12f;       /* what counts as a space where the library saw none */
static constexpr float FRAGMENT_GAP = 0.5f;      /* between pieces that the library parted */
static constexpr float MARKER_GAP = 6.0f;        /* between a bullet and its text */
enum { FEWEST_LEADERS = 4 };                     /* dots in a row */
static constexpr float INITIAL_HEIGHT = 1.8f;    /* of a drop cap, in heights of the line beside it */

/* The size that most characters have. */
static float dominant_size(const line &line, const std::vector<word> &words)
{
    std::map<int, size_t> sizes; /* in tenths of a point */
    for (uint32_t index : line.words)
        sizes[static_cast<int>(std::lround(std::min(words[index].size, 1e6f) * 10))] +=
            words[index].text.size();
    auto most = sizes.begin();
    for (auto it = sizes.begin(); it != sizes.end(); ++it)
        if (it->second >= most->second)
            most = it;
    return most == sizes.end() ? 0 : static_cast<float>(most->first) / 10;
}

void measure_line(line &line, const std::vector<word> &words)
{
    line.size = dominant_size(line, words);
    line.characters = 0;
    line.bold = line.fixed_pitch = line.hidden = true;
    line.rank = UNKNOWN_RANK;
    bool first = true;
    for (uint32_t index : line.words) {
        const word &word = words[index];
        line.characters += static_cast<uint32_t>(count_code_points(word.text));
        line.bold &= word.bold;
        line.fixed_pitch &= word.fixed_pitch;
        line.hidden &= word.hidden;
        line.rank = std::min(line.rank, word.rank);
        if (word.size > 1.5f * line.size)
            continue; /* a drop cap reaches over the lines below */
        line.place = first ? word.upright : box_around(line.place, word.upright);
        first = false;
    }
}

/* In lines set with space between letters ("H e r e") the library takes every letter for a word.
 * The true word spaces are the wider ones. */
static void close_letter_spacing(const line &line, std::vector<word> &words)
{
    size_t single = 0;
    std::vector<float> gaps;
    for (size_t i = 0; i < line.words.size(); i++) {
        const std::string &text = words[line.words[i]].text;
        single += count_code_points(text) == 1 && has_letter(text) && !is_ideographic(first_code_point(text));
        if (i)
            gaps.push_back(words[line.words[i]].upright.x0 - words[line.words[i - 1]].upright.x1);
    }
    if (single < 6 || single * 10 < line.words.size() * 7)
        return;
    std::vector<float> sorted = gaps;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<long>(sorted.size() / 2), sorted.end());
    float usual = sorted[sorted.size() / 2];
    for (size_t i = 0; i < gaps.size(); i++)
        if (gaps[i] <= 1.4f * usual + 0.2f)
            words[line.words[i]].space_after = false;
}

static bool continues(const word &last, const word &next)
{
    float size = std::max(last.size, next.size);
    float gap = next.upright.x0 - last.upright.x1;
    return last.hidden == next.hidden && on_one_line(last.upright, next.upright) &&
           gap > -LARGEST_BACKSTEP * size && gap < WIDEST_WORD_SPACE * size &&
           next.upright.x0 >= last.upright.x0;
}

static void drop_empty(std::vector<line> &lines)
{
    lines.erase(
        std::remove_if(lines.begin(), lines.end(), [](const line &line) { return line.words.empty(); }),
        lines.end());
}

static bool starts_with_closing_mark(const word &word)
{
    switch (word.text.empty() ? 0 : word.text[0]) {
    case ',':
    case '.':
    case ';':
    case ':':
    case ')':
    case ']':
        return true;
    default:
        return false;
    }
}

/* A capital and the small ones that go on with its word, which are another size of the font. */
static bool are_small_capitals(const word &initial, const word &rest)
{
    return rest.size < 0.9f * initial.size && rest.size > 0.6f * initial.size &&
           count_code_points(initial.text) == 1 && is_all_upper(initial.text) && is_all_upper(rest.text);
}

std::vector<line> build_lines(std::vector<word> &words, unsigned rotation)
{
    std::vector<line> lines;
    const word *last = nullptr;
    for (uint32_t i = 0; i < words.size(); i++) {
        word &word = words[i];
        if (word.rotation % 4 != rotation)
            continue;
        if (last && continues(*last, word)) {
            struct word &before = words[lines.back().words.back()];
            float gap = word.upright.x0 - before.upright.x1;
            float size = std::min(before.size, word.size);
            if (gap > 3 * WORD_SPACE * size)
                before.space_after = true;
            else if (gap < WORD_SPACE * size && are_small_capitals(before, word))
                before.space_after = false;
            else if (gap < WORD_SPACE * size && starts_with_closing_mark(word))
                before.space_after = false;
        } else {
            lines.emplace_back();
        }
        lines.back().words.push_back(i);
        last = &word;
    }
    for (line &line : lines) {
        words[line.words.back()].space_after = true; /* whatever may come to stand behind it */
        close_letter_spacing(line, words);
        measure_line(line, words);
    }
    return lines;
}

static bool is_all_dots(const std::string &text)
{
    return text.find_first_not_of('.') == std::string::npos;
}

void drop_leaders(std::vector<line> &lines, std::vector<word> &words)
{
    for (line &line : lines) {
        std::vector<uint32_t> kept;
        for (size_t first = 0, last; first < line.words.size(); first = last) {
            size_t dots = 0;
            for (last = first; last < line.words.size() && is_all_dots(words[line.words[last]].text); last++)
                dots += words[line.words[last]].text.size();
            bool leads = dots >= FEWEST_LEADERS || (last - first > 1 && last + 1 == line.words.size() &&
                                                    has_digit(words[line.words[last]].text));
            if (!leads) {
                last = std::max(last, first + 1);
                kept.insert(kept.end(), line.words.begin() + static_cast<long>(first),
                            line.words.begin() + static_cast<long>(last));
                continue;
            }
            line.has_leaders = true;
            if (!kept.empty())
                words[kept.back()].space_after = true;
        }
        line.words = std::move(kept);
        if (line.has_leaders && !line.words.empty())
            measure_line(line, words);
    }
    drop_empty(lines);
}

static bool is_marker_only(const line &line, const std::vector<word> &words)
{
    if (line.words.size() != 1)
        return false;
    std::string text = words[line.words[0]].text + " ";
    return marker_of(text) != marker::none || section_number_depth(text + "X") > 0;
}

static bool is_initial(const line &left, const line &right, const std::vector<word> &words)
{
    return left.characters == 1 && has_letter(words[left.words[0]].text) &&
           left.place.height() > INITIAL_HEIGHT * right.place.height() &&
           std::abs(left.place.y0 - right.place.y0) < 0.6f * right.place.height() &&
           right.place.x0 - left.place.x1 < right.size;
}

static bool belongs_together(const line &left, const line &right, const std::vector<word> &words)
{
    float gap = right.place.x0 - left.place.x1;
    float size = std::max(left.size, right.size);
    if (gap < -LARGEST_BACKSTEP * size || left.hidden != right.hidden)
        return false;
    if (is_initial(left, right, words))
        return true;
    float heights = left.place.height() / std::max(right.place.height(), 0.1f);
    if (gap < FRAGMENT_GAP * size)
        return heights < INITIAL_HEIGHT && heights > 1 / (INITIAL_HEIGHT * 1.5f);
    return gap < MARKER_GAP * size && is_marker_only(left, words);
}

static void append_line(line &left, line &right, std::vector<word> &words)
{
    word &last = words[left.words.back()];
    float gap = right.place.x0 - left.place.x1;
    last.space_after = gap > WORD_SPACE * std::min(left.size, right.size) && !is_initial(left, right, words);
    left.words.insert(left.words.end(), right.words.begin(), right.words.end());
    left.has_leaders |= right.has_leaders;
    right.words.clear();
    measure_line(left, words);
}

void join_markers(std::vector<line> &lines, std::vector<word> &words)
{
    std::vector<uint32_t> order(lines.size());
    for (uint32_t i = 0; i < order.size(); i++)
        order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const box &p = lines[a].place, &q = lines[b].place;
        return p.x0 != q.x0 ? p.x0 < q.x0 : p.y0 < q.y0;
    });
    /* By the vertical middle in bands of 4 points: the rightmost line so far. */
    std::map<int, uint32_t> rightmost;
    auto band_of = [](float y) { return static_cast<int>(std::clamp(y, -1e6f, 1e6f) / 4); };
    for (uint32_t index : order) {
        line &right = lines[index];
        uint32_t best = UINT32_MAX;
        auto end = rightmost.upper_bound(band_of(right.place.y1));
        for (auto it = rightmost.lower_bound(band_of(right.place.y0)); it != end; ++it) {
            const line &left = lines[it->second];
            if (on_one_line(left.place, right.place) && belongs_together(left, right, words) &&
                (best == UINT32_MAX || left.place.x1 > lines[best].place.x1))
                best = it->second;
        }
        uint32_t owner = index;
        if (best != UINT32_MAX) {
            append_line(lines[best], right, words);
            owner = best;
        }
        rightmost[band_of(lines[owner].place.middle())] = owner;
    }
    lines.erase(
        std::remove_if(lines.begin(), lines.end(), [](const line &line) { return line.words.empty(); }),
        lines.end());
}

std::string line_text(const line &line, const std::vector<word> &words)
{
    std::string text;
    for (uint32_t index : line.words) {
        text += words[index].text;
        if (words[index].space_after)
            text += ' ';
    }
    if (!text.empty() && text.back() == ' ')
        text.pop_back();
    return text;
}

std::string_view first_text(const line &line, const std::vector<word> &words)
{
    return words[line.words.front()].text;
}

std::string_view last_text(const line &line, const std::vector<word> &words)
{
    return words[line.words.back()].text;
}

/* Length of a run of digits, of one letter, or of a small Roman number at the front. */
static size_t label_length(std::string_view text, bool *ret_letter)
{
    size_t digits = 0;
    while (digits < text.size() && digits < 4 && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    *ret_letter = digits == 0;
    if (digits)
        return digits;
    size_t roman = text.find_first_not_of("ivxIVX");
    if (roman != std::string_view::npos && roman > 0 && roman <= 5)
        return roman;
    char c = text.empty() ? '0' : text[0];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? 1 : 0;
}

marker marker_of(std::string_view text)
{
    size_t space = text.find(' ');
    if (space == std::string_view::npos || space == 0 || space > 8)
        return marker::none;
    std::string_view label = text.substr(0, space);
    uint32_t first = first_code_point(label);
    if (without_last(label).empty()) {
        if (is_bullet(first))
            return marker::bullet;
        if (first == '-' || first == '*' || first == 'o' || (first >= 0x2010 && first <= 0x2015))
            return marker::dash;
        return marker::none;
    }
    bool open = label[0] == '(' || label[0] == '[';
    if (open)
        label.remove_prefix(1);
    bool letter;
    size_t length = label_length(label, &letter);
    if (length == 0 || length + 1 != label.size())
        return marker::none;
    char close = label[length];
    if (close == ')' || (open && close == ']'))
        return letter ? marker::letter : marker::number;
    return close == '.' && !open && !letter ? marker::number : marker::none;
}

unsigned section_number_depth(std::string_view text)
{
    size_t space = text.find(' ');
    if (space == std::string_view::npos || space == 0 || space > 12)
        return 0;
    std::string_view label = text.substr(0, space), rest = text.substr(space + 1);
    if (rest.empty() || !(starts_upper(rest) || is_ideographic(first_code_point(rest))))
        return 0;
    unsigned depth = 0;
    while (!label.empty()) {
        bool letter;
        size_t length = label_length(label, &letter);
        if (length == 0 || length > 3 || (letter && depth))
            return 0;
        depth++;
        label.remove_prefix(length);
        if (label.empty())
            return letter ? 0 : depth; /* a letter needs its dot: "A Title" is none */
        if (label[0] != '.')
            return 0;
        label.remove_prefix(1);
    }
    return depth;
}

} // namespace pdf
