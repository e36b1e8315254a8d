/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/running_titles.h"

#include <cmath>

#include "extract/pdf/text.h"

namespace pdf
{

enum {
    EDGE_ROWS = 3, /* looked at on each side */
    WINDOW = 9,    /* pages before and after that are compared */
    REPEATS = 2,   /* on other pages */
    FEW_PAGES = 4, /* up to here it must stand on every page, and on two pages it must count them */
};

static constexpr float EDGE_PART = 0.2f;   /* of the page's height, on each side */
static constexpr float SAME_PLACE = 6;     /* points */
static constexpr float LEAST_SPACE = 0.6f; /* heights, between a title and the text */
static constexpr float LARGE = 1.3f;       /* times the body: may be a heading that comes again */

/* The value of a number in digits or small Roman numerals, -1 when it is none. */
static long number_of(std::string_view text)
{
    if (text.empty() || text.size() > 6)
        return -1;
    if (text.find_first_not_of("0123456789") == std::string_view::npos)
        return std::stol(std::string(text));
    static const struct {
        char letter;
        int value;
    } numerals[] = {{'i', 1}, {'v', 5}, {'x', 10}, {'l', 50}, {'c', 100}};
    long sum = 0, highest = 0;
    for (size_t i = text.size(); i-- > 0;) {
        long value = 0;
        for (auto [letter, worth] : numerals)
            if (text[i] == letter)
                value = worth;
        if (value == 0)
            return -1;
        sum += value < highest ? -value : value;
        highest = std::max(highest, value);
    }
    return sum;
}

namespace
{

/* A row in words, without the page number at its start or end. */
struct row_text {
    std::string words;
    long number = -1;
};

row_text split_row(const std::string &text)
{
    std::vector<std::string_view> parts;
    for (size_t i = 0, end; i < text.size(); i = end + 1) {
        end = std::min(text.find(' ', i), text.size());
        std::string_view part = std::string_view(text).substr(i, end - i);
        if (has_letter(part) || has_digit(part))
            parts.push_back(part); /* dashes and bars around a page number go */
    }
    row_text row;
    size_t first = 0, last = parts.size();
    if (last && (row.number = number_of(parts[last - 1])) >= 0)
        last--;
    else if (last && (row.number = number_of(parts[0])) >= 0)
        first++;
    for (size_t i = first; i < last; i++)
        row.words += std::string(i > first ? " " : "") + std::string(parts[i]);
    return row;
}

} // namespace

void running_titles::add_row(const std::vector<uint32_t> &members, edge side, uint32_t page,
                             const std::vector<line> &lines, const std::vector<word> &words)
{
    std::string text;
    box place = lines[members[0]].place;
    float size = 0;
    for (uint32_t index : members) {
        text += (text.empty() ? "" : " ") + line_text(lines[index], words);
        place = box_around(place, lines[index].place);
        size = std::max(size, lines[index].size);
    }
    row_text split = split_row(text);
    row row;
    /* Rows of nothing but numbers could be rows of any table: those must be the same to the digit. */
    if (!split.words.empty())
        row.text = hash_text(has_letter(split.words) ? fold_line(split.words) : text);
    row.counts_pages = split.number >= 0;
    row.offset = split.number - static_cast<long>(page);
    row.exact = hash_text(text);
    row.page = page;
    row.y0 = place.y0;
    row.y1 = place.y1;
    row.size = size;
    row.side = side;
    rows.push_back(row);
}

void running_titles::learn(uint32_t page, float height, const std::vector<line> &lines,
                           const std::vector<word> &words)
{
    pages++;
    std::vector<uint32_t> order(lines.size());
    for (uint32_t i = 0; i < order.size(); i++)
        order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return lines[a].place.middle() < lines[b].place.middle(); });
    for (edge side : {edge::top, edge::bottom}) {
        if (side == edge::bottom)
            std::reverse(order.begin(), order.end());
        size_t next = 0;
        float outer = side == edge::top ? 0 : height; /* where the row before ended */
        for (int i = 0; i < EDGE_ROWS && next < order.size(); i++) {
            const box place = lines[order[next]].place;
            if (side == edge::top ? place.y0 > EDGE_PART * height : place.y1 < (1 - EDGE_PART) * height)
                break;
            std::vector<uint32_t> members = {order[next++]};
            for (; next < order.size() && on_one_line(place, lines[order[next]].place); next++)
                members.push_back(order[next]);
            std::sort(members.begin(), members.end(),
                      [&](uint32_t a, uint32_t b) { return lines[a].place.x0 < lines[b].place.x0; });
            add_row(members, side, page, lines, words);
            row &row = rows.back();
            row.outside = side == edge::top ? row.y0 - outer : outer - row.y1;
            row.inside = height;
            if (next < order.size()) {
                const box &inner = lines[order[next]].place;
                row.inside = side == edge::top ? inner.y0 - row.y1 : row.y0 - inner.y1;
            }
            outer = side == edge::top ? row.y1 : row.y0;
        }
    }
}

/* The outermost row is a title when space parts it from the text or it counts the pages; another
 * one when it is nearer to the title outside of it than to the text. */
bool running_titles::stands_apart(size_t index) const
{
    const row &own = rows[index];
    bool outermost = index == 0 || rows[index - 1].page != own.page || rows[index - 1].side != own.side;
    if (outermost)
        return own.counts_pages || own.inside > LEAST_SPACE * (own.y1 - own.y0);
    return rows[index - 1].running && own.outside < own.inside;
}

bool running_titles::repeats(size_t index, float body_size) const
{
    const row &own = rows[index];
    bool large = own.size > LARGE * body_size;
    uint32_t found = 0, last_page = own.page;
    bool differs = false;
    /* What stays on the page stays in its place; a page number alone must count the pages. */
    auto compare = [&](const row &other) {
        bool same = own.counts_pages && other.counts_pages && own.offset == other.offset;
        if (own.text || large)
            same = large ? own.exact == other.exact : same || own.text == other.text;
        if (same && other.side == own.side && other.page != last_page &&
            std::abs(other.y0 - own.y0) < SAME_PLACE) {
            found++;
            differs |= other.exact != own.exact;
            last_page = other.page;
        }
    };
    for (size_t i = index; i-- > 0 && rows[i].page + WINDOW >= own.page;)
        compare(rows[i]);
    last_page = own.page;
    for (size_t i = index + 1; i < rows.size() && rows[i].page <= own.page + WINDOW; i++)
        compare(rows[i]);
    uint32_t window = std::min<uint32_t>(pages, WINDOW);
    if (large)
        return found >= REPEATS && found * 2 >= window;
    if (pages <= 2)
        return found && differs;
    return pages <= FEW_PAGES ? found + 1 >= pages : found >= REPEATS;
}

void running_titles::settle(float body_size)
{
    for (size_t i = 0; i < rows.size(); i++)
        rows[i].running = stands_apart(i) && repeats(i, body_size);
    rows.erase(std::remove_if(rows.begin(), rows.end(), [](const row &row) { return !row.running; }),
               rows.end());
}

edge running_titles::edge_of(uint32_t page, const box &place) const
{
    auto row =
        std::lower_bound(rows.begin(), rows.end(), page,
                         [](const running_titles::row &row, uint32_t page) { return row.page < page; });
    for (; row != rows.end() && row->page == page; ++row)
        if (place.middle() >= row->y0 && place.middle() <= row->y1)
            return row->side;
    return edge::none;
}

} // namespace pdf
