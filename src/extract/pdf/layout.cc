/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pdf/layout.h"

#include "extract/pdf/columns.h"
#include "extract/pdf/paragraphs.h"
#include "extract/pdf/pieces.h"
#include "extract/pdf/tables.h"
#include "extract/pdf/text.h"
#include "extract/pdf/words.h"

namespace pdf
{

/* Smaller than the body by this much, at the foot of a column: a footnote. */
static constexpr float FOOTNOTE_SIZE = 0.93f;
static constexpr float FOOTNOTE_ZONE = 0.45f; /* of the column's height at most */

static std::vector<line> lines_of(page &page, unsigned rotation)
{
    std::vector<line> lines = build_lines(page.words, rotation);
    drop_leaders(lines, page.words);
    join_markers(lines, page.words);
    return lines;
}

/* The height of the page as the layout sees it. */
static float upright_height(const page &page, unsigned rotation)
{
    return rotation % 2 ? page.width : page.height;
}

void document_profile::count_words(const std::vector<line> &lines, const std::vector<word> &words)
{
    bool broken = false; /* the line before ended with a hyphen: its word ends here */
    for (const line &line : lines) {
        for (size_t i = 0; i < line.words.size(); i++) {
            const std::string &text = words[line.words[i]].text;
            bool last = i + 1 == line.words.size();
            if ((i == 0 && broken) || (last && is_hyphen(last_code_point(text))))
                continue;
            std::string folded = fold_word(text);
            counts.add(folded);
            for (size_t start = 0, end; (end = folded.find('-', start)) != std::string::npos;
                 start = end + 1) {
                counts.add(std::string_view(folded).substr(start, end - start));
                if (folded.find('-', end + 1) == std::string::npos)
                    counts.add(std::string_view(folded).substr(end + 1));
            }
        }
        broken = is_hyphen(last_code_point(last_text(line, words)));
    }
}

void document_profile::learn(page &page)
{
    unsigned rotation = turn_upright(page);
    std::vector<line> lines = lines_of(page, rotation);
    for (const line &line : lines)
        style.learn(line, page.words, page.number);
    titles.learn(page.number, upright_height(page, rotation), lines, page.words);
    count_words(lines, page.words);
}

void document_profile::settle()
{
    style.settle();
    titles.settle(style.body_size());
}

static bool reads_right_to_left(const page &page)
{
    size_t right_to_left = 0, letters = 0;
    for (const word &word : page.words) {
        if (is_ascii(word.text)) {
            letters += has_letter(word.text) ? word.text.size() : 0;
            continue;
        }
        for (size_t i = 0; i < word.text.size();) {
            right_to_left += is_right_to_left(next_code_point(word.text, i));
            letters++;
        }
    }
    return right_to_left * 2 > letters;
}

/* Takes the lines of running titles out; they become blocks of their own. */
static void take_running_titles(page &page, std::vector<line> &lines, const document_profile &profile,
                                page_content &content)
{
    std::vector<line> kept;
    std::vector<uint32_t> rows[2];
    for (size_t i = 0; i < lines.size(); i++) {
        edge side = profile.titles.edge_of(page.number, lines[i].place);
        if (side == edge::none)
            kept.push_back(std::move(lines[i]));
        else
            rows[side == edge::bottom].push_back(static_cast<uint32_t>(i));
    }
    for (int bottom = 0; bottom < 2; bottom++) {
        std::sort(rows[bottom].begin(), rows[bottom].end(), [&](uint32_t a, uint32_t b) {
            const box &p = lines[a].place, &q = lines[b].place;
            return on_one_line(p, q) ? p.x0 < q.x0 : p.y0 < q.y0;
        });
        block block;
        block.kind = bottom ? BLOCK_PAGE_FOOTER : BLOCK_PAGE_HEADER;
        for (uint32_t index : rows[bottom])
            append_pieces(block.pieces, pieces_of(lines[index].words, page.words), gap::space);
        if (!block.pieces.empty())
            (bottom ? content.after : content.before).push_back(std::move(block));
    }
    lines = std::move(kept);
}

static bool is_small_print(const block &block, const document_style &style, float height)
{
    bool plain =
        block.kind == BLOCK_PARAGRAPH || block.kind == BLOCK_LIST_ITEM || block.kind == BLOCK_CAPTION;
    return plain && block.size < FOOTNOTE_SIZE * style.body_size() && block.place.y0 > height / 2;
}

/* Small print at the foot of a column, below text of the body's size, is taken out of it. That text
 * is in the column, or (where a wide gap cut the column) in `body`, which came before. */
static std::vector<block> take_footnotes(std::vector<block> &column, const std::vector<block> &body,
                                         const document_style &style, float height)
{
    if (column.empty())
        return {};
    float top = std::min(column.front().place.y0, height / 2), bottom = column.back().place.y1;
    size_t first = column.size();
    while (first > 0 && is_small_print(column[first - 1], style, height) &&
           bottom - column[first - 1].place.y0 < FOOTNOTE_ZONE * (bottom - top))
        first--;
    if (first == column.size() || column[first].kind == BLOCK_CAPTION || (first == 0 && body.empty()))
        return {};
    const block &above = first ? column[first - 1] : body.back();
    if (above.kind == BLOCK_HEADING || above.kind == BLOCK_TABLE ||
        above.size < FOOTNOTE_SIZE * style.body_size() || above.place.y1 > column[first].place.y0)
        return {};
    std::vector<block> footnotes(std::make_move_iterator(column.begin() + static_cast<long>(first)),
                                 std::make_move_iterator(column.end()));
    column.resize(first);
    for (block &footnote : footnotes)
        footnote.kind = BLOCK_FOOTNOTE;
    return footnotes;
}

/* The last block that the text could go on from: captions and tables may stand between. */
static block *open_end(std::vector<block> &body)
{
    for (size_t i = body.size(); i-- > 0;)
        if (body[i].kind != BLOCK_CAPTION && body[i].kind != BLOCK_TABLE)
            return &body[i];
    return nullptr;
}

/* Appends a column to the page's body; its first paragraph may go on from the column before. */
static void append_column(std::vector<block> &body, std::vector<block> column)
{
    block *last = open_end(body);
    size_t first = 0;
    if (last && !column.empty() && goes_on(*last, column[0]) &&
        (last == &body.back() || starts_lower(column[0].pieces[0].text))) {
        append_pieces(last->pieces, std::move(column[0].pieces), gap::line);
        last->lines = static_cast<uint16_t>(last->lines + column[0].lines);
        last->last_full = column[0].last_full;
        first = 1;
    }
    for (; first < column.size(); first++)
        body.push_back(std::move(column[first]));
}

static void join_all_hyphens(std::vector<block> &blocks, const word_counts &counts)
{
    for (block &block : blocks) {
        if (block.kind != BLOCK_CODE)
            join_hyphens(block.pieces, counts);
        join_all_hyphens(block.children, counts);
    }
}

page_content lay_out(page &page, const document_profile &profile)
{
    page_content content;
    content.number = page.number;
    content.width = page.width;
    content.height = page.height;
    content.label = page.label;
    unsigned main = turn_upright(page);
    std::vector<line> lines = lines_of(page, main);
    take_running_titles(page, lines, profile, content);
    bool right_to_left = reads_right_to_left(page);
    reading_order order = find_reading_order(lines, page.words, right_to_left);
    content.wants_ranks = order.wants_ranks;
    std::vector<block> footnotes;
    for (const region &region : order.regions) {
        std::vector<std::vector<uint32_t>> parts = {region.lines};
        if (region.kind == region_kind::table)
            parts = split_table_region(region.lines, lines);
        for (const std::vector<uint32_t> &part : parts) {
            if (region.kind == region_kind::table) {
                block table = build_table(part, lines, page.words, right_to_left);
                if (!table.children.empty()) {
                    content.body.push_back(std::move(table));
                    continue;
                }
            }
            std::vector<block> column = build_paragraphs(part, lines, page.words, profile.style);
            for (block &footnote :
                 take_footnotes(column, content.body, profile.style, upright_height(page, main)))
                footnotes.push_back(std::move(footnote));
            append_column(content.body, std::move(column));
        }
    }
    for (unsigned turn = 1; turn < 4; turn++) {
        /* Stamps in the margin, labels of axes: by themselves, after the text. */
        std::vector<line> turned = lines_of(page, (main + turn) % 4);
        std::vector<uint32_t> all(turned.size());
        for (uint32_t i = 0; i < all.size(); i++)
            all[i] = i;
        for (block &block : build_paragraphs(all, turned, page.words, profile.style)) {
            block.kind = BLOCK_PARAGRAPH;
            block.level = 0;
            content.body.push_back(std::move(block));
        }
    }
    content.body = gather_lists(std::move(content.body));
    content.after.insert(content.after.begin(), std::make_move_iterator(footnotes.begin()),
                         std::make_move_iterator(footnotes.end()));
    join_all_hyphens(content.body, profile.counts);
    join_all_hyphens(content.before, profile.counts);
    join_all_hyphens(content.after, profile.counts);
    return content;
}

} // namespace pdf
