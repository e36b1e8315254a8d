/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/pieces.h"

#include "extract/pdf/bidi.h"
#include "extract/pdf/text.h"

namespace pdf
{

static bool is_right_to_left_line(const std::vector<uint32_t> &indices, size_t first, size_t last,
                                  const std::vector<word> &words)
{
    for (size_t i = first; i < last; i++)
        if (!is_ascii(words[indices[i]].text) && has_right_to_left(words[indices[i]].text))
            return true;
    return false;
}

std::vector<piece> pieces_of(const std::vector<uint32_t> &indices, const std::vector<word> &words)
{
    std::vector<piece> pieces;
    pieces.reserve(indices.size());
    for (size_t first = 0, last; first < indices.size(); first = last) {
        /* One visual line at a time. */
        std::vector<piece> line;
        gap before = gap::none;
        for (last = first; last < indices.size(); last++) {
            const word &word = words[indices[last]];
            if (last > first) {
                const struct word &left = words[indices[last - 1]];
                if (!on_one_line(left.upright, word.upright) || word.upright.x0 < left.upright.x0)
                    break;
                before = left.space_after ? gap::space : gap::none;
            }
            line.push_back({word.text, word.place, before});
            if (word.soft_hyphen)
                line.back().text += "\u00AD"; /* for the joining of lines; goes there */
        }
        if (is_right_to_left_line(indices, first, last, words))
            line = to_logical_order(std::move(line));
        append_pieces(pieces, std::move(line), gap::line);
    }
    return pieces;
}

gap gap_between_lines(std::string_view end, std::string_view start)
{
    return is_ideographic(last_code_point(end)) && is_ideographic(first_code_point(start)) ? gap::none
                                                                                           : gap::line;
}

void append_pieces(std::vector<piece> &pieces, std::vector<piece> more, gap between)
{
    if (more.empty())
        return;
    if (!pieces.empty())
        more[0].before = between == gap::line ? gap_between_lines(pieces.back().text, more[0].text) : between;
    for (piece &piece : more)
        pieces.push_back(std::move(piece));
}

std::string block_text(const block &block)
{
    std::string text;
    for (const piece &piece : block.pieces) {
        switch (piece.before) {
        case gap::none:
            break;
        case gap::cell:
            text += '\t';
            break;
        case gap::newline:
            text += '\n';
            break;
        default:
            text += ' ';
        }
        text += piece.text;
    }
    return text;
}

} // namespace pdf
