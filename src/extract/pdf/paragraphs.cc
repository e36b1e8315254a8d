/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/paragraphs.h"

#include <cmath>

#include "extract/pdf/pieces.h"
#include "extract/pdf/text.h"

namespace pdf
{

namespace
{

/* In font sizes. */
constexpr float INDENT = 0.8f;      /* the least that is meant */
constexpr float SAME_MARGIN = 0.4f; /* the most that is not */
constexpr float SHORT_LINE = 2.5f;  /* what a paragraph's last line leaves free */
/* In line distances. */
constexpr float PARAGRAPH_SPACE = 1.3f;

enum { LONGEST_CAPTION_LINES = 12, CODE_SIGNS = 25 /* one in so many characters */ };

struct column_shape {
    float left = 0, right = 0; /* where most lines begin and end */
    float pitch = 0;           /* usual distance of lines */
};

/* Lines that stand side by side in the column are one line of text. */
std::vector<line> join_rows(const std::vector<uint32_t> &region, const std::vector<line> &lines,
                            const std::vector<word> &words)
{
    std::vector<uint32_t> order = region;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        float p = lines[a].place.middle(), q = lines[b].place.middle();
        return p != q ? p < q : lines[a].place.x0 < lines[b].place.x0;
    });
    std::vector<line> rows;
    for (size_t first = 0, last; first < order.size(); first = last) {
        const box &place = lines[order[first]].place;
        for (last = first + 1; last < order.size() && on_one_line(place, lines[order[last]].place); last++)
            ;
        auto begin = order.begin() + static_cast<long>(first), end = order.begin() + static_cast<long>(last);
        std::sort(begin, end, [&](uint32_t a, uint32_t b) {
            const box &p = lines[a].place, &q = lines[b].place;
            return p.x0 != q.x0 ? p.x0 < q.x0 : lines[a].rank < lines[b].rank;
        });
        for (auto it = begin; it != end; ++it) {
            const line &next = lines[*it];
            if (it == begin || rows.back().place.x1 > next.place.x0 + next.size ||
                rows.back().hidden != next.hidden) {
                rows.push_back(next);
                continue;
            }
            rows.back().words.insert(rows.back().words.end(), next.words.begin(), next.words.end());
            rows.back().has_leaders |= next.has_leaders;
            measure_line(rows.back(), words);
        }
    }
    return rows;
}

float percentile(std::vector<float> values, float part)
{
    auto at = values.begin() + static_cast<long>(part * static_cast<float>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

column_shape measure_column(const std::vector<line> &rows)
{
    column_shape shape;
    std::vector<float> starts, ends, pitches, sizes;
    for (size_t i = 0; i < rows.size(); i++) {
        starts.push_back(rows[i].place.x0);
        ends.push_back(rows[i].place.x1);
        sizes.push_back(rows[i].size);
        if (i == 0)
            continue;
        float pitch = rows[i].place.y1 - rows[i - 1].place.y1;
        float size = std::max(rows[i].size, rows[i - 1].size);
        if (pitch > 0.5f * size && pitch < 2.5f * size &&
            std::abs(rows[i].size - rows[i - 1].size) < 0.1f * size)
            pitches.push_back(pitch);
    }
    shape.left = percentile(starts, 0.1f);
    shape.right = percentile(ends, 0.9f);
    shape.pitch = pitches.empty() ? 1.3f * percentile(sizes, 0.5f) : percentile(pitches, 0.4f);
    return shape;
}

/* What prose hardly has. */
size_t count_code_signs(const std::string &text)
{
    size_t count = 0;
    for (char c : text)
        count += std::string_view("{}()\"=<>[]_\\$#|&+*/@%^~`").find(c) != std::string_view::npos;
    return count;
}

/* Spaces that the gap before word `i` of a line in a font of fixed pitch stands for. */
size_t count_spaces(const line &line, size_t i, const std::vector<word> &words)
{
    const word &left = words[line.words[i - 1]], &right = words[line.words[i]];
    float character =
        left.upright.width() / static_cast<float>(std::max<size_t>(count_code_points(left.text), 1));
    float spaces = (right.upright.x0 - left.upright.x1) / std::max(character, 0.1f);
    return left.space_after ? static_cast<size_t>(std::clamp(std::lround(spaces), 1l, 80l)) : 0;
}

class builder
{
  public:
    builder(std::vector<line> rows, const std::vector<word> &words, const document_style &style)
        : rows(std::move(rows)), words(words), style(style)
    {
        shape = measure_column(this->rows);
        find_code();
    }

    std::vector<block> build();

  private:
    std::vector<line> rows;
    const std::vector<word> &words;
    const document_style &style;
    column_shape shape;
    std::vector<bool> code;      /* by row */
    size_t start = 0;            /* first row of the present block */
    marker label = marker::none; /* its list marker */

    std::string row_start(size_t row) const;
    void find_code();
    bool ends_on_purpose(size_t row) const;
    bool is_short(size_t row) const;
    bool are_centered(size_t a, size_t b) const;
    bool breaks_by_style(size_t row) const;
    bool breaks_by_distance(size_t row) const;
    bool breaks_by_marker(size_t row) const;
    bool breaks_by_indent(size_t row) const;
    bool breaks_before(size_t row) const;
    block make_block(size_t end) const;
    block make_code(size_t end) const;
    void measure_block(block &block, size_t end) const;
};

/* The first two words, enough for markers and numbers. */
std::string builder::row_start(size_t row) const
{
    const line &line = rows[row];
    std::string start(first_text(line, words));
    if (line.words.size() > 1)
        start += " " + words[line.words[1]].text;
    return start;
}

/* Runs of lines in a font of fixed pitch are code when they look like it: titles are set in such
 * fonts, too. */
void builder::find_code()
{
    code.assign(rows.size(), false);
    if (style.body_is_fixed_pitch())
        return;
    for (size_t first = 0, last; first < rows.size(); first = last + 1) {
        size_t characters = 0, signs = 0;
        for (last = first; last < rows.size() && rows[last].fixed_pitch; last++) {
            characters += rows[last].characters;
            for (uint32_t index : rows[last].words)
                signs += count_code_signs(words[index].text);
            for (size_t i = 1; i < rows[last].words.size(); i++)
                signs += count_spaces(rows[last], i, words) > 1; /* cells set with spaces */
        }
        if (signs * CODE_SIGNS >= characters && signs > 0)
            std::fill(code.begin() + static_cast<long>(first), code.begin() + static_cast<long>(last), true);
    }
}

/* The next line's first word would have had room in this one. */
bool builder::ends_on_purpose(size_t row) const
{
    if (row + 1 >= rows.size())
        return false;
    if (rows[row].has_leaders)
        return true;
    float room = shape.right - rows[row].place.x1;
    return room > words[rows[row + 1].words[0]].upright.width() + rows[row].size;
}

bool builder::is_short(size_t row) const
{
    return rows[row].place.x1 < shape.right - SHORT_LINE * rows[row].size;
}

bool builder::are_centered(size_t a, size_t b) const
{
    const line &above = rows[a], &below = rows[b];
    float margin = INDENT * below.size;
    return std::abs(above.place.center() - below.place.center()) < 0.6f * below.size &&
           std::abs(above.place.x0 - below.place.x0) > SAME_MARGIN * below.size &&
           (above.place.x0 > shape.left + margin || below.place.x0 > shape.left + margin);
}

bool builder::breaks_by_style(size_t row) const
{
    const line &above = rows[row - 1], &below = rows[row];
    if (std::abs(above.size - below.size) > 0.08f * std::max(above.size, below.size))
        return true;
    if (above.hidden != below.hidden)
        return true;
    if (above.bold == below.bold)
        return false;
    /* A phrase in bold at the start of a paragraph may fill its first line. */
    bool runs_on = above.bold && !is_short(row - 1) && starts_lower(first_text(below, words));
    return !runs_on && !(row - start > 1 && !is_short(row - 1));
}

bool builder::breaks_by_distance(size_t row) const
{
    const line &above = rows[row - 1], &below = rows[row];
    float pitch = below.place.y1 - above.place.y1;
    float usual = std::max(shape.pitch, 1.1f * below.size);
    return pitch > PARAGRAPH_SPACE * usual + 0.5f || pitch < 0.3f * below.size;
}

bool builder::breaks_by_marker(size_t row) const
{
    marker own = marker_of(row_start(row));
    if (own == marker::none)
        return false;
    if (own == marker::bullet)
        return true;
    if (label == own && std::abs(rows[row].place.x0 - rows[start].place.x0) < 1.5f * rows[row].size)
        return true;
    return ends_sentence(last_text(rows[row - 1], words)) || is_short(row - 1);
}

bool builder::breaks_by_indent(size_t row) const
{
    const line &above = rows[row - 1], &below = rows[row];
    float step = below.place.x0 - above.place.x0;
    bool closed = ends_sentence(last_text(above, words));
    if (are_centered(row - 1, row))
        return false;
    if (label != marker::none && row - start == 1 && step > -SAME_MARGIN * below.size)
        return false; /* the item's text hangs behind its label */
    if (step > INDENT * below.size) {
        /* A first line is indented alone; in a hanging paragraph the lines that follow keep to it. */
        bool next_returns =
            row + 1 >= rows.size() || rows[row + 1].place.x0 < below.place.x0 - SAME_MARGIN * below.size;
        return closed || is_short(row - 1) || (next_returns && row - start > 1);
    }
    if (step < -INDENT * below.size) {
        /* Back from the indent of a first line, which was full. */
        bool above_was_first = row - start == 1 && label == marker::none && !ends_on_purpose(row - 1);
        return !above_was_first;
    }
    /* Without indents only a short last line tells. */
    return closed && ends_on_purpose(row - 1) && !starts_lower(first_text(below, words));
}

bool builder::breaks_before(size_t row) const
{
    if (code[row] || code[row - 1])
        return code[row] != code[row - 1];
    return breaks_by_style(row) || breaks_by_distance(row) || breaks_by_marker(row) || breaks_by_indent(row);
}

void builder::measure_block(block &block, size_t end) const
{
    const line &first = rows[start], &last = rows[end - 1];
    block.place = first.place;
    block.bold = true;
    block.fixed_pitch = true;
    bool hidden = true;
    std::vector<float> sizes;
    for (size_t i = start; i < end; i++) {
        block.place = box_around(block.place, rows[i].place);
        block.bold &= rows[i].bold;
        block.fixed_pitch &= rows[i].fixed_pitch;
        block.has_leaders |= rows[i].has_leaders;
        hidden &= rows[i].hidden;
        sizes.push_back(rows[i].size);
    }
    block.size = percentile(sizes, 0.5f);
    block.flags = hidden ? BLOCK_HIDDEN : 0;
    block.lines = static_cast<uint16_t>(std::min<size_t>(end - start, UINT16_MAX));
    block.indented = first.place.x0 > shape.left + INDENT * first.size;
    block.last_full = last.place.x1 > shape.right - SHORT_LINE * last.size;
}

block builder::make_code(size_t end) const
{
    block block;
    block.kind = BLOCK_CODE;
    measure_block(block, end);
    float character = 0.6f * block.size; /* the usual advance of a font of fixed pitch */
    for (size_t i = start; i < end; i++) {
        std::vector<piece> pieces = pieces_of(rows[i].words, words);
        float indent = (rows[i].place.x0 - block.place.x0) / std::max(character, 0.1f);
        size_t spaces = static_cast<size_t>(std::clamp(std::lround(indent), 0l, 80l));
        for (size_t k = 0; k < pieces.size(); k++) {
            if (k)
                spaces = pieces.size() == rows[i].words.size() ? count_spaces(rows[i], k, words) : 1;
            gap before = k || i == start ? gap::none : gap::newline;
            if (spaces)
                block.pieces.push_back({std::string(spaces, ' '), {}, before});
            pieces[k].before = spaces ? gap::none : before;
            block.pieces.push_back(std::move(pieces[k]));
        }
    }
    return block;
}

block builder::make_block(size_t end) const
{
    if (code[start])
        return make_code(end);
    block block;
    measure_block(block, end);
    for (size_t i = start; i < end; i++)
        append_pieces(block.pieces, pieces_of(rows[i].words, words),
                      i > start && ends_on_purpose(i - 1) ? gap::newline : gap::line);
    std::string text = block_text(block);
    if (unsigned level = style.heading_level(block)) {
        for (piece &piece : block.pieces)
            if (piece.before == gap::newline)
                piece.before = gap::line;
        block.kind = BLOCK_HEADING;
        block.level = static_cast<uint8_t>(level);
    } else if (block.lines <= LONGEST_CAPTION_LINES && starts_like_caption(text)) {
        block.kind = BLOCK_CAPTION;
    } else if (marker_of(text) != marker::none) {
        block.kind = BLOCK_LIST_ITEM;
        block.level = 1;
    }
    return block;
}

std::vector<block> builder::build()
{
    std::vector<block> blocks;
    for (size_t row = 0; row < rows.size(); row++) {
        if (row > start && !breaks_before(row))
            continue;
        if (row > start)
            blocks.push_back(make_block(row));
        start = row;
        label = marker_of(row_start(row));
    }
    if (!rows.empty())
        blocks.push_back(make_block(rows.size()));
    return blocks;
}

} // namespace

std::vector<block> build_paragraphs(const std::vector<uint32_t> &region, const std::vector<line> &lines,
                                    const std::vector<word> &words, const document_style &style)
{
    return region.empty() ? std::vector<block>()
                          : builder(join_rows(region, lines, words), words, style).build();
}

/* Items of one list have few different indents: the level is the rank of an item's own. */
static void set_levels(std::vector<block> &items)
{
    std::vector<float> margins;
    for (block &item : items) {
        while (!margins.empty() && item.place.x0 < margins.back() - INDENT * item.size)
            margins.pop_back();
        if (margins.empty() || item.place.x0 > margins.back() + INDENT * item.size)
            margins.push_back(item.place.x0);
        item.level = static_cast<uint8_t>(std::min<size_t>(margins.size(), 9));
    }
}

static block make_list(std::vector<block> items)
{
    block list;
    list.kind = BLOCK_LIST;
    list.size = items[0].size;
    list.place = items[0].place;
    list.last_full = items.back().last_full;
    for (const block &item : items)
        list.place = box_around(list.place, item.place);
    set_levels(items);
    list.children = std::move(items);
    return list;
}

std::vector<block> gather_lists(std::vector<block> blocks)
{
    std::vector<block> gathered;
    for (size_t first = 0, last; first < blocks.size(); first = last) {
        for (last = first; last < blocks.size() && blocks[last].kind == BLOCK_LIST_ITEM; last++)
            ;
        if (last == first) {
            gathered.push_back(std::move(blocks[last++]));
            continue;
        }
        if (last - first == 1 && marker_of(block_text(blocks[first])) != marker::bullet) {
            blocks[first].kind = BLOCK_PARAGRAPH;
            blocks[first].level = 0;
            gathered.push_back(std::move(blocks[first]));
            continue;
        }
        gathered.push_back(make_list({std::make_move_iterator(blocks.begin() + static_cast<long>(first)),
                                      std::make_move_iterator(blocks.begin() + static_cast<long>(last))}));
    }
    return gathered;
}

bool goes_on(const block &last, const block &next)
{
    if (next.kind != BLOCK_PARAGRAPH || (last.kind != BLOCK_PARAGRAPH && last.kind != BLOCK_LIST_ITEM))
        return false;
    if (last.pieces.empty() || next.pieces.empty() || last.bold != next.bold ||
        (last.flags & BLOCK_HIDDEN) != (next.flags & BLOCK_HIDDEN) ||
        std::abs(last.size - next.size) > 0.06f * std::max(last.size, next.size))
        return false;
    const std::string &end = last.pieces.back().text, &start = next.pieces.front().text;
    if (ends_sentence(end))
        return false;
    bool broken = is_hyphen(last_code_point(end));
    if (starts_lower(start))
        return broken || ((last.last_full || last.lines > 1) &&
                          (next.lines > 1 || ends_sentence(next.pieces.back().text)));
    return last.last_full && !next.indented && last.lines > 1 && next.lines > 1;
}

bool starts_like_caption(std::string_view text)
{
    static const char *const labels[] = {
        "figure",
        "fig",
        "table",
        "chart",
        "listing",
        "exhibit",
        "scheme",
        "plate",
        "algorithm",
        "box",
        "map",
        "photo",
        "diagram",
        "abbildung",
        "abb",
        "tabelle",
        "tab",
        "tableau",
        "figura",
        "tabla",
        "tabela",
        "tabella",
        "grafik",
        "graphique",
        "obr\u00E1zek",
        "rysunek",
        "\u0440\u0438\u0441\u0443\u043D\u043E\u043A",
        "\u0440\u0438\u0441",
        "\u0442\u0430\u0431\u043B\u0438\u0446\u0430",
        "\u56FE",
        "\u8868",
        "\u56F3",
    };
    size_t space = text.find(' ');
    if (space == std::string_view::npos || space == 0 || space > 20)
        return false;
    std::string label = fold_word(text.substr(0, space));
    if (std::none_of(std::begin(labels), std::end(labels), [&](const char *known) { return label == known; }))
        return false;
    /* The number, then what parts it from the caption; "Figure 3 shows" is a sentence. */
    std::string_view rest = text.substr(space + 1);
    size_t end = std::min(rest.find(' '), rest.size());
    std::string_view number = rest.substr(0, end);
    if (!has_digit(number) && !is_all_upper(number))
        return false;
    switch (last_code_point(number)) {
    case '.':
    case ':':
    case ')':
    case 0xFF1A:
        return true;
    default:
        return end == rest.size() || starts_upper(rest.substr(end + 1)) ||
               !has_letter(rest.substr(end + 1, 4));
    }
}

} // namespace pdf
